//! The result of `prove`, for people and for programs.

use super::build::Cost;
use super::certified::Layer;
use super::conform::{Run, Shown};
use super::coq::Answer;
use super::finding::Finding;
use super::mutants::{Benign, Campaign};
use super::theorems::Theorem;
use super::wrong::{shown, Trials};
use crate::output::Output;
use crate::verbs::bench::table::Table;
use serde_json::{json, Value};
use std::collections::{BTreeMap, BTreeSet};

/// All that is known when `prove` ends.
#[derive(Debug, Default)]
pub struct Report {
    pub seconds: f64,
    pub findings: Vec<Finding>,
    pub costs: Vec<Cost>,
    /// Coq was asked about the theorems; without that nothing is known about them.
    pub asked: bool,
    pub theorems: Vec<Theorem>,
    pub answers: BTreeMap<String, Answer>,
    pub layers: Vec<Layer>,
    pub unlisted: Vec<String>,
    pub campaign: Option<Campaign>,
    pub conformance: Vec<Run>,
    pub shown: Shown,
    pub specifications: Option<Trials>,
    pub shown_specifications: shown::Shown,
    pub assumptions: Option<Trials>,
}

impl Report {
    pub fn show(&self, output: &Output) {
        output.json(&self.to_json());
        if self.asked {
            output.human(&self.table().render());
            self.uncertified(output);
            self.summary(output);
        }
        if let Some(campaign) = &self.campaign {
            let Benign { survived, same_terms, broken } = campaign.benign();
            output.human(&format!("mutants: {} killed, {} survived", campaign.killed(), campaign.survived()));
            let all = survived + broken;
            if all > 0 {
                let terms = format!("of {same_terms} the terms are the same");
                output.human(&format!("benign rewritings: {survived} of {all} break no proof; {terms}"));
            }
        }
        let Shown { run, wrong } = self.shown;
        if run > 0 {
            output.human(&format!("mutants that were run: {wrong} of {run} answer wrongly"));
        }
        let shown::Shown { run, wrong, same } = self.shown_specifications;
        for (what, trials) in [("specification", &self.specifications), ("assumption", &self.assumptions)] {
            let Some(trials) = trials else { continue };
            let (killed, survived) = (trials.killed().len(), trials.survived());
            let discarded = format!("; {} are no Coq", trials.discarded());
            let discarded = if trials.discarded() > 0 { discarded } else { String::new() };
            output.human(&format!("{what} mutants: {killed} killed, {survived} survived{discarded}"));
        }
        if run + same > 0 {
            let rest = format!("{same} are programs as before");
            output.human(&format!("specification mutants that were run: {wrong} of {run} differ from the C; {rest}"));
        }
        for Run { layer, operations, seed } in &self.conformance {
            output.human(&format!("specification of {layer}: {operations} operations from seed {seed} agree"));
        }
        self.findings.iter().for_each(|finding| output.human(&finding.to_string()));
    }

    /// A row a layer, and with `-v` one a function.
    fn table(&self) -> Table {
        let mut table = Table::new(["layer", "functions", "certified", "axioms"]);
        for layer in self.layers.iter().filter(|layer| !layer.functions.is_empty()) {
            let rests: BTreeSet<&str> = layer
                .functions
                .iter()
                .filter_map(|one| one.theorem.as_ref())
                .flat_map(|name| self.assumptions(name))
                .collect();
            table.row(vec![
                layer.name.clone(),
                layer.functions.len().to_string(),
                layer.certified().to_string(),
                match (layer.certified(), rests.len()) {
                    (0, _) => "-".to_string(),
                    (_, 0) => "none".to_string(),
                    _ => rests.into_iter().collect::<Vec<_>>().join(", "),
                },
            ]);
        }
        table
    }

    fn uncertified(&self, output: &Output) {
        for layer in &self.layers {
            for function in &layer.functions {
                match &function.theorem {
                    Some(theorem) if output.is_verbose() => {
                        output.human(&format!("certified      {}  {theorem}", function.name));
                    }
                    None if output.is_verbose() => output.human(&format!("not certified  {}", function.name)),
                    _ => {}
                }
            }
        }
    }

    fn summary(&self, output: &Output) {
        for theorem in &self.theorems {
            let rests: Vec<&str> = self.assumptions(&theorem.name).collect();
            let rests = if rests.is_empty() { "no axiom".to_string() } else { rests.join(", ") };
            output.human(&format!("{}  rests on {rests}", theorem.name));
        }
        if !self.unlisted.is_empty() {
            output.human(&format!("not listed in proof/_CoqProject: {}", self.unlisted.join(", ")));
        }
        let costs = &self.costs;
        let fresh = costs.iter().filter(|cost| cost.fresh).count();
        let worst = costs.iter().max_by(|a, b| a.seconds.total_cmp(&b.seconds));
        let worst = worst.map_or(String::new(), |cost| format!("; longest {} {:.1} s", cost.file, cost.seconds));
        output.human(&format!(
            "{} files, {} compiled now, {:.1} s in all{worst}",
            costs.len(),
            fresh,
            costs.iter().map(|cost| cost.seconds).sum::<f64>()
        ));
    }

    fn assumptions(&self, theorem: &str) -> impl Iterator<Item = &str> {
        self.answers.get(theorem).into_iter().flat_map(|answer| answer.assumptions.iter().map(String::as_str))
    }

    /// The form that stays.
    fn to_json(&self) -> Value {
        let axioms: BTreeSet<&String> = self.answers.values().flat_map(|answer| &answer.assumptions).collect();
        let left_out = ["Admitted", "admit", "give_up"];
        let admitted = self.findings.iter().filter(|finding| {
            finding.kind == "forbidden-word" && left_out.iter().any(|word| finding.message.starts_with(word))
        });
        let theorem = |(name, answer): (&String, &Answer)| {
            let file = super::coq::module(name).trim_start_matches("Ashlar.").replace('.', "/");
            json!({ "name": name, "statement_file": format!("proof/{file}.v"), "assumptions": answer.assumptions })
        };
        let layer = |layer: &Layer| json!({ "name": layer.name, "functions": layer.functions.len(), "certified": layer.certified() });
        let files = self.costs.iter().map(|cost| json!({ "file": cost.file, "seconds": cost.seconds }));
        let run = |run: &Run| json!({ "layer": run.layer, "operations": run.operations, "seed": run.seed });
        let none = Campaign::default();
        let campaign = self.campaign.as_ref().unwrap_or(&none);
        let benign = campaign.benign();
        let trials = |trials: &Option<Trials>| {
            let none = Trials::default();
            let trials = trials.as_ref().unwrap_or(&none);
            (trials.killed().len(), trials.survived(), trials.discarded())
        };
        let specifications = {
            let (killed, survived, discarded) = trials(&self.specifications);
            let shown::Shown { run, wrong, same } = self.shown_specifications;
            json!({
                "killed": killed, "survived": survived, "discarded": discarded, "run": run, "wrong": wrong, "same": same,
            })
        };
        let assumptions = {
            let (killed, survived, discarded) = trials(&self.assumptions);
            json!({ "killed": killed, "survived": survived, "discarded": discarded })
        };
        json!({
            "seconds": self.seconds,
            "axioms": axioms,
            "admitted": admitted.count(),
            "theorems": self.answers.iter().map(theorem).collect::<Vec<_>>(),
            "layers": self.layers.iter().map(layer).collect::<Vec<_>>(),
            "benign": { "survived": benign.survived, "same_terms": benign.same_terms, "broken": benign.broken },
            "mutants": {
                "killed": campaign.killed(), "survived": campaign.survived(),
                "uncertified": campaign.uncertified,
                "run": self.shown.run, "wrong": self.shown.wrong,
            },
            "specification_mutants": specifications,
            "assumption_mutants": assumptions,
            "conformance": self.conformance.iter().map(run).collect::<Vec<_>>(),
            "files": files.collect::<Vec<_>>(),
            "findings": self.findings.iter().map(Finding::to_json).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Report;
    use crate::verbs::prove::certified::{Function, Layer};
    use crate::verbs::prove::coq::Answer;
    use crate::verbs::prove::finding::Finding;
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
            layers: vec![Layer { name: "queue".into(), functions }],
            answers: BTreeMap::from([(theorem.clone(), answer)]),
            asked: true,
            ..Report::default()
        };
        let value = report.to_json();
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
