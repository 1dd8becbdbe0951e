//! The result of a run, for people and for programs.

use crate::conformance::specification_mutants as shown;
use crate::conformance::{Run, Shown};
use crate::coq::compile::Cost;
use crate::coq::query::{module, Answer};
use crate::finding::Finding;
use crate::mutants::code::{Benign, Campaign};
use crate::mutants::trials::Trials;
use crate::result::{
    MutantCounts, ProofFile, ProveResult, ProvedLayer, ProvedTheorem, SpecificationMutantCounts, TrialCounts,
};
use crate::sources::certified::Layer;
use crate::sources::theorems::Theorem;
use campaign::Record;
use std::collections::{BTreeMap, BTreeSet};

/// All that is known when a run ends.
#[derive(Debug, Default)]
pub struct Report {
    pub findings: Vec<Finding>,
    /// One for each campaign of the run.
    pub records: Vec<Record>,
    pub(crate) seconds: f64,
    pub(crate) costs: Vec<Cost>,
    /// Coq was asked about the theorems; without that nothing is known about them.
    pub(crate) asked: bool,
    pub(crate) theorems: Vec<Theorem>,
    pub(crate) answers: BTreeMap<String, Answer>,
    pub(crate) layers: Vec<Layer>,
    pub(crate) unlisted: Vec<String>,
    pub(crate) campaign: Option<Campaign>,
    pub(crate) conformance: Vec<Run>,
    pub(crate) shown: Shown,
    pub(crate) specifications: Option<Trials>,
    pub(crate) shown_specifications: shown::Shown,
    pub(crate) assumptions: Option<Trials>,
    pub(crate) definitions: Option<Trials>,
}

impl Report {
    /// Head and rows of a table for people: one row a layer; empty if Coq was not asked.
    pub fn table(&self) -> Vec<[String; 4]> {
        if !self.asked {
            return Vec::new();
        }
        let mut rows = vec![["layer", "functions", "certified", "axioms"].map(String::from)];
        for layer in self.layers.iter().filter(|layer| !layer.functions.is_empty()) {
            let theorems = layer.functions.iter().filter_map(|one| one.theorem.as_ref());
            let axioms: BTreeSet<&str> = theorems.flat_map(|name| self.assumptions(name)).collect();
            let axioms = match (layer.certified(), axioms.len()) {
                (0, _) => "-".to_string(),
                (_, 0) => "none".to_string(),
                _ => axioms.into_iter().collect::<Vec<_>>().join(", "),
            };
            rows.push([layer.name.clone(), layer.functions.len().to_string(), layer.certified().to_string(), axioms]);
        }
        rows
    }

    /// What people read below the table; `verbose` names each function.
    pub fn lines(&self, verbose: bool) -> Vec<String> {
        let mut lines = Vec::new();
        if self.asked {
            if verbose {
                lines.extend(self.functions());
            }
            lines.extend(self.summary());
        }
        lines.extend(self.campaigns());
        lines.extend(self.findings.iter().map(Finding::to_string));
        lines
    }

    fn functions(&self) -> impl Iterator<Item = String> + '_ {
        let functions = self.layers.iter().flat_map(|layer| &layer.functions);
        functions.map(|function| match &function.theorem {
            Some(theorem) => format!("certified      {}  {theorem}", function.name),
            None => format!("not certified  {}", function.name),
        })
    }

    fn summary(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for theorem in &self.theorems {
            let rests: Vec<&str> = self.assumptions(&theorem.name).collect();
            let rests = if rests.is_empty() { "no axiom".to_string() } else { rests.join(", ") };
            lines.push(format!("{}  rests on {rests}", theorem.name));
        }
        if !self.unlisted.is_empty() {
            lines.push(format!("not listed in proof/_CoqProject: {}", self.unlisted.join(", ")));
        }
        let fresh = self.costs.iter().filter(|cost| cost.fresh).count();
        let longest = self.costs.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let longest = longest.map_or(String::new(), |cost| format!("; longest {} {:.1} s", cost.file, cost.seconds));
        let seconds: f64 = self.costs.iter().map(|cost| cost.seconds).sum();
        lines.push(format!("{} files, {fresh} compiled now, {seconds:.1} s in all{longest}", self.costs.len()));
        lines
    }

    fn campaigns(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(campaign) = &self.campaign {
            let Benign { survived, same_terms, broken } = campaign.benign();
            lines.push(format!("mutants: {} killed, {} survived", campaign.killed(), campaign.survived()));
            let all = survived + broken;
            if all > 0 {
                let terms = format!("of {same_terms} the terms are the same");
                lines.push(format!("benign rewritings: {survived} of {all} break no proof; {terms}"));
            }
        }
        let Shown { run, wrong } = self.shown;
        if run > 0 {
            lines.push(format!("mutants that were run: {wrong} of {run} give wrong results"));
        }
        for (what, trials) in [
            ("specification", &self.specifications),
            ("assumption", &self.assumptions),
            ("definition", &self.definitions),
        ] {
            let Some(trials) = trials else { continue };
            let (killed, survived, discarded) = (trials.killed().len(), trials.survived(), trials.discarded());
            let discarded = if discarded > 0 { format!("; {discarded} are not valid Coq") } else { String::new() };
            lines.push(format!("{what} mutants: {killed} killed, {survived} survived{discarded}"));
        }
        let shown::Shown { run, wrong, same } = self.shown_specifications;
        if run + same > 0 {
            let rest = format!("{same} extract to the same program");
            lines.push(format!("specification mutants that were run: {wrong} of {run} differ from the C; {rest}"));
        }
        for Run { layer, operations, seed } in &self.conformance {
            lines.push(format!("specification of {layer}: {operations} operations from seed {seed} agree"));
        }
        lines
    }

    fn assumptions(&self, theorem: &str) -> impl Iterator<Item = &str> {
        self.answers.get(theorem).into_iter().flat_map(|answer| answer.assumptions.iter().map(String::as_str))
    }

    /// The form for programs.
    pub fn result(&self) -> ProveResult {
        let left_out = ["Admitted", "admit", "give_up"];
        let admitted = self.findings.iter().filter(|finding| {
            finding.kind == "forbidden-word" && left_out.iter().any(|word| finding.message.starts_with(word))
        });
        let theorem = |(name, answer): (&String, &Answer)| {
            let file = module(name).trim_start_matches("Ashlar.").replace('.', "/");
            let (name, assumptions) = (name.clone(), answer.assumptions.to_vec());
            ProvedTheorem { name, statement_file: format!("proof/{file}.v"), assumptions }
        };
        let layer = |layer: &Layer| ProvedLayer {
            name: layer.name.clone(),
            functions: layer.functions.len(),
            certified: layer.certified(),
        };
        let none = Campaign::default();
        let campaign = self.campaign.as_ref().unwrap_or(&none);
        let counts = |trials: &Option<Trials>| {
            let none = Trials::default();
            let trials = trials.as_ref().unwrap_or(&none);
            TrialCounts { killed: trials.killed().len(), survived: trials.survived(), discarded: trials.discarded() }
        };
        ProveResult {
            seconds: self.seconds,
            axioms: self.answers.values().flat_map(|answer| answer.assumptions.iter().cloned()).collect(),
            admitted: admitted.count(),
            theorems: self.answers.iter().map(theorem).collect(),
            layers: self.layers.iter().map(layer).collect(),
            benign: campaign.benign(),
            mutants: MutantCounts {
                killed: campaign.killed(),
                survived: campaign.survived(),
                uncertified: campaign.uncertified,
                shown: self.shown,
            },
            specification_mutants: SpecificationMutantCounts {
                trials: counts(&self.specifications),
                shown: self.shown_specifications,
            },
            assumption_mutants: counts(&self.assumptions),
            definition_mutants: counts(&self.definitions),
            conformance: self.conformance.clone(),
            files: self.costs.iter().map(|cost| ProofFile { file: cost.file.clone(), seconds: cost.seconds }).collect(),
            findings: self.findings.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Report;
    use crate::coq::query::Answer;
    use crate::finding::Finding;
    use crate::sources::certified::{Function, Layer};
    use std::collections::BTreeMap;

    #[test]
    fn the_form_for_programs_stays() {
        let theorem = "Ashlar.layers.queue.Proof.queue_peek_correct".to_string();
        let functions = vec![
            Function { name: "queue_peek".into(), theorem: Some(theorem.clone()) },
            Function { name: "queue_next".into(), theorem: None },
        ];
        let answer = Answer { statement: "s".into(), assumptions: vec!["foo".into()] };
        let report = Report {
            findings: vec![Finding::at("forbidden-word", "a.v", Some(1), "admit: a goal is left out")],
            layers: vec![Layer { name: "queue".into(), functions, translated: 2 }],
            answers: BTreeMap::from([(theorem.clone(), answer)]),
            asked: true,
            ..Report::default()
        };
        let value = serde_json::to_value(report.result()).unwrap();
        assert_eq!(value["axioms"], serde_json::json!(["foo"]));
        assert_eq!(value["admitted"], 1);
        assert_eq!(value["theorems"][0]["name"], theorem.as_str());
        assert_eq!(value["theorems"][0]["statement_file"], "proof/layers/queue/Proof.v");
        assert_eq!(value["layers"][0], serde_json::json!({ "name": "queue", "functions": 2, "certified": 1 }));
        assert_eq!(value["mutants"]["killed"], 0);
        assert_eq!(value["mutants"]["survived"], 0);
        assert_eq!(value["benign"], serde_json::json!({ "survived": 0, "same_terms": 0, "broken": 0 }));
        assert_eq!(value["findings"][0]["line"], 1);
    }
}
