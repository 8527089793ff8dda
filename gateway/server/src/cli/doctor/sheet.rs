//! What the doctor found, as lines for a person or as one document for a script.

use gateway_console::ShownUpstream;
use serde::Serialize;

use crate::cli::Failure;
use crate::cli::output::{Colour, Output, painted, plain};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Ok,
    Warning,
    Failed,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Finding {
    check: String,
    verdict: Verdict,
    message: String,
    /// What to do about it.
    advice: Option<String>,
}

#[derive(Default)]
pub struct Sheet {
    findings: Vec<Finding>,
    upstreams: Vec<ShownUpstream>,
}

#[derive(Serialize)]
struct Document<'a> {
    ok: bool,
    checks: &'a [Finding],
    upstreams: &'a [ShownUpstream],
}

impl Sheet {
    pub fn good(&mut self, check: impl Into<String>, message: impl Into<String>) {
        self.note(check.into(), Verdict::Ok, message.into(), None);
    }

    pub fn doubtful(&mut self, check: impl Into<String>, message: impl Into<String>, advice: impl Into<String>) {
        self.note(check.into(), Verdict::Warning, message.into(), Some(advice.into()));
    }

    pub fn bad(&mut self, check: impl Into<String>, message: impl Into<String>, advice: impl Into<String>) {
        self.note(check.into(), Verdict::Failed, message.into(), Some(advice.into()));
    }

    pub fn upstream(&mut self, upstream: ShownUpstream) {
        self.upstreams.push(upstream);
    }

    fn note(&mut self, check: String, verdict: Verdict, message: String, advice: Option<String>) {
        self.findings.push(Finding { check, verdict, message, advice });
    }

    pub fn failed(&self) -> usize {
        self.findings.iter().filter(|finding| finding.verdict == Verdict::Failed).count()
    }

    pub fn tell(&self, output: &Output) -> Result<(), Failure> {
        let document = Document { ok: self.failed() == 0, checks: &self.findings, upstreams: &self.upstreams };
        output.answer(&document, || self.findings.iter().map(line).collect::<Vec<_>>().join("\n"))
    }
}

fn line(finding: &Finding) -> String {
    let word = match finding.verdict {
        Verdict::Ok => painted(Colour::Green, "ok     "),
        Verdict::Warning => painted(Colour::Yellow, "warning"),
        Verdict::Failed => painted(Colour::Red, "failed "),
    };
    // Upstreams and databases have a say in these words.
    let said = format!("{word}  {}: {}", finding.check, plain(&finding.message));
    match &finding.advice {
        Some(advice) => format!("{said}\n         {advice}"),
        None => said,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_comes_with_what_to_do() {
        let mut sheet = Sheet::default();
        sheet.good("store", "answers");
        sheet.doubtful("keys", "no agent", "add one");
        assert_eq!(sheet.failed(), 0, "a warning is no failure");
        sheet.bad("upstream crm", "is\u{1b}[2J not reachable", "start it");
        assert_eq!(sheet.failed(), 1);
        let lines: Vec<String> = sheet.findings.iter().map(line).collect();
        let expected = [
            "ok       store: answers",
            "warning  keys: no agent\n         add one",
            "failed   upstream crm: is [2J not reachable\n         start it",
        ];
        assert_eq!(lines, expected);
    }
}
