//! `promotion.yaml`: what an agent must have shown before it may be promoted.

use gateway_core::policies::PromotionRules;

use crate::config::{Problems, parse, read};

pub fn read_promotion(text: &str, problems: &mut Problems) -> Option<PromotionRules> {
    let rules: PromotionRules = read(parse(text, problems)?, "", problems)?;
    let is_share = |share: f64| (0.0..=1.0).contains(&share);
    if !is_share(rules.denials) {
        problems.say("denials", "must be a share between 0 and 1");
    }
    for (mode, earned) in &rules.from {
        let at = |field: &str| format!("from.{mode}.{field}");
        if !is_share(earned.success) {
            problems.say(at("success"), "must be a share between 0 and 1");
        }
        if earned.calls == 0 {
            problems.say(at("calls"), "must not be 0: nobody is promoted for having done nothing");
        }
        if !(1..=3650).contains(&earned.days) {
            problems.say(at("days"), "must be 1 to 3650");
        }
    }
    Some(rules)
}
