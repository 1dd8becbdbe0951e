//! What came of the mutants that were tried: counts, findings, the record of a shard.

use super::mutant::Mutant;
use super::verdicts::Verdict;
use super::SURVIVORS;
use crate::finding::Finding;
use campaign::{Record, Shard};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Every mutant tried, and what came of it.
#[derive(Debug, Default)]
pub struct Campaign {
    pub tried: Vec<(Mutant, Verdict)>,
    /// Mutants of functions without a theorem: nothing could kill them.
    pub uncertified: usize,
}

/// Rewritings that change nothing a program does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Benign {
    /// No proof needed a change.
    pub survived: usize,
    /// Of these, the terms are the same, so that no proof could break.
    pub same_terms: usize,
    pub broken: usize,
}

pub fn survives(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Holds | Verdict::SameTerms)
}

impl Campaign {
    fn count(&self, is: impl Fn(&Mutant, &Verdict) -> bool) -> usize {
        self.tried.iter().filter(|(mutant, verdict)| is(mutant, verdict)).count()
    }

    pub fn killed(&self) -> usize {
        self.count(|mutant, verdict| !mutant.benign && !survives(verdict))
    }

    pub fn survived(&self) -> usize {
        self.count(|mutant, verdict| !mutant.benign && survives(verdict))
    }

    /// Those that broke a proof, in the order in which they were tried.
    pub fn broken(&self) -> Vec<&Mutant> {
        let killed = |(mutant, verdict): &&(Mutant, Verdict)| !mutant.benign && matches!(verdict, Verdict::Breaks(_));
        self.tried.iter().filter(killed).map(|(mutant, _)| mutant).collect()
    }

    pub fn benign(&self) -> Benign {
        Benign {
            survived: self.count(|mutant, verdict| mutant.benign && survives(verdict)),
            same_terms: self.count(|mutant, verdict| mutant.benign && *verdict == Verdict::SameTerms),
            broken: self.count(|mutant, verdict| mutant.benign && !survives(verdict)),
        }
    }

    /// Survivors without a reason, mutants that are no code, and, if all mutants were tried, reasons without a survivor.
    pub fn findings(&self, reasons: &BTreeMap<String, String>, all: bool) -> Vec<Finding> {
        let finding = |(mutant, verdict): &(Mutant, Verdict)| {
            let text = fault(mutant, verdict, reasons)?;
            let text = format!("mutant {}: {} {text}", mutant.number, mutant.description());
            Some(Finding::at("mutant", &mutant.file, Some(mutant.line), text))
        };
        let mut findings: Vec<Finding> = self.tried.iter().filter_map(finding).collect();
        for reason in reasons.keys().filter(|_| all) {
            if !self.tried.iter().any(|(mutant, _)| mutant.description() == *reason) {
                findings.push(Finding::at("mutant", SURVIVORS, None, format!("there is no such mutant: {reason}")));
            }
        }
        findings
    }

    /// Every mutant with its verdict.
    pub fn record(&self, reasons: &BTreeMap<String, String>, seed: u64, shard: Shard) -> Record {
        let mut record = Record::new("prove-mutants", seed, shard);
        for (mutant, verdict) in &self.tried {
            let word = match verdict {
                Verdict::Breaks(_) if mutant.benign => "benign-broken",
                Verdict::Breaks(_) => "killed",
                Verdict::Holds if mutant.benign => "benign",
                Verdict::Holds => "survived",
                Verdict::SameTerms => "same-terms",
                Verdict::NoCode(_) => "no-code",
            };
            let item = record.push(mutant.description(), word, fault(mutant, verdict, reasons).is_none());
            item.detail.insert("place".into(), format!("{}:{}", mutant.file, mutant.line).into());
        }
        record
    }
}

/// What is wrong with this verdict, if anything.
fn fault(mutant: &Mutant, verdict: &Verdict, reasons: &BTreeMap<String, String>) -> Option<String> {
    let known = reasons.contains_key(&mutant.description());
    match verdict {
        Verdict::Holds | Verdict::SameTerms if !mutant.benign && !known => Some("breaks no proof".into()),
        Verdict::Breaks(place) if known => Some(format!("is listed as a survivor, and breaks {place}")),
        Verdict::NoCode(complaint) => Some(format!("is no code: {complaint}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::mutant::mutant;
    use super::{Benign, Campaign, Verdict};
    use campaign::Shard;
    use std::collections::BTreeMap;

    #[test]
    fn survivors_need_a_reason() {
        let tried = vec![(mutant(1, "a"), Verdict::Holds), (mutant(2, "a"), Verdict::Breaks("proof/P.v:3".into()))];
        let campaign = Campaign { tried, uncertified: 0 };
        assert_eq!((campaign.killed(), campaign.survived(), campaign.benign()), (1, 1, Benign::default()));
        assert_eq!(campaign.findings(&BTreeMap::new(), true).len(), 1);
        let reason = |number| (mutant(number, "a").description(), "why".to_string());
        assert!(campaign.findings(&BTreeMap::from([reason(1)]), true).is_empty());
        // One that is killed, and one that does not exist, must not be listed.
        assert_eq!(campaign.findings(&BTreeMap::from([reason(1), reason(2), reason(3)]), true).len(), 2);
        assert_eq!(campaign.findings(&BTreeMap::from([reason(1), reason(3)]), false).len(), 0);
    }

    #[test]
    fn a_record_names_every_mutant_and_the_faults() {
        let verdicts = [Verdict::Holds, Verdict::Breaks("proof/P.v:3".into()), Verdict::NoCode("x".into())];
        let tried = verdicts.into_iter().enumerate().map(|(number, verdict)| (mutant(number, "a"), verdict)).collect();
        let record = Campaign { tried, uncertified: 0 }.record(&BTreeMap::new(), 7, Shard { index: 2, count: 3 });
        assert_eq!(
            (record.campaign.as_str(), record.seed, record.shard.to_string()),
            ("prove-mutants", 7, "2/3".into())
        );
        let items: Vec<(&str, bool)> = record.items.iter().map(|item| (item.verdict.as_str(), item.good)).collect();
        assert_eq!(items, [("survived", false), ("killed", true), ("no-code", false)]);
        assert_eq!(record.items[0].id, mutant(0, "a").description());
        assert_eq!(record.items[0].detail["place"], "f.c:3");
    }

    #[test]
    fn benign_rewritings_are_no_findings() {
        let mut one = mutant(1, "a");
        one.benign = true;
        let verdicts = [Verdict::Holds, Verdict::SameTerms, Verdict::NoCode("x".into())];
        let tried = verdicts.into_iter().map(|verdict| (one.clone(), verdict)).collect();
        let campaign = Campaign { tried, uncertified: 0 };
        assert_eq!(campaign.benign(), Benign { survived: 2, same_terms: 1, broken: 1 });
        assert_eq!(campaign.findings(&BTreeMap::new(), true).len(), 1);
    }
}
