//! How much of a corpus kept elsewhere is reported: lines as `guard tools` reads them, the file named in `SCAN_CORPUS`.

use std::path::Path;

use gateway_core::definitions::{Accepted, ScanAction, Scanner, verdict};
use gateway_plugins::scan::DefinitionScanner;
use serde_json::Value;

#[test]
#[ignore = "needs a corpus: SCAN_CORPUS=file.jsonl, and prints what it finds"]
fn measure() {
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policies/scan.yaml");
    let written = serde_saphyr::from_str(&std::fs::read_to_string(rules).unwrap()).unwrap();
    let scanner = DefinitionScanner::new(&written).unwrap_or_else(|problems| panic!("{problems:#?}"));
    for file in std::env::var("SCAN_CORPUS").unwrap().split(':') {
        let (mut all, mut reported) = (0, 0);
        for line in std::fs::read_to_string(file).unwrap().lines().filter(|line| !line.trim().is_empty()) {
            let row: Value = serde_json::from_str(line).unwrap();
            let server = row["server"].as_str().unwrap_or_default();
            let known: Vec<_> = row["accepted"].as_array().into_iter().flatten().collect();
            let accepted: Vec<_> = known
                .iter()
                .map(|known| Accepted {
                    server: known["server"].as_str().unwrap_or_default(),
                    definition: &known["tool"],
                })
                .collect();
            let findings = scanner.scan(server, &row["tool"], &accepted);
            all += 1;
            if verdict(&findings) == ScanAction::Allow {
                println!("silent {}", row["id"]);
                continue;
            }
            reported += 1;
            for finding in findings {
                println!("reported {} {} {} {}", row["id"], finding.rule, finding.path, finding.message);
            }
        }
        println!("total {file}: {reported} of {all}");
    }
}
