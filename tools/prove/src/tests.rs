//! The steps of a run with the real Coq, on a small tree with planted faults.

use super::certified_layer;
use crate::budget::over_budget;
use crate::coq::compile::{Copy, Cost, Refused};
use crate::coq::overlay::Links;
use crate::coq::query::ask;
use crate::mutants::trials::{trials, Fate, Wrong};
use crate::progress::Silent;
use crate::sources::certified::{Function, Layer};
use crate::sources::tree::Tree;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;
use testing::Folder;

const CODE: &str = "Definition size := 4.\n";
const PROOF: &str = "From Ashlar Require Import Code.\nFrom Coq Require Import FunctionalExtensionality.\n\
    Lemma size_positive : 0 < size.\nProof. apply le_n_S, le_0_n. Qed.\n\
    Lemma extensional (f : nat -> nat) : (fun x => f x) = f.\nProof. now apply functional_extensionality. Qed.\n";
const MAIN: &str = "From Ashlar Require Import Proof.\nLemma main : True.\nProof. exact I. Qed.\n";
const LIMIT: Duration = Duration::from_secs(60);

/// A tree of three files in a folder of its own.
struct Small {
    root: Folder,
    tree: Tree,
}

impl Small {
    fn make(name: &str) -> Small {
        let root = Folder::new(name);
        let files = ["Code.v", "Proof.v", "Main.v"].map(String::from).to_vec();
        let small = Small { tree: Tree { folder: root.join("proof"), options: vec![], files }, root };
        small.write("Code.v", CODE);
        small.write("Proof.v", PROOF);
        small.write("Main.v", MAIN);
        small
    }

    fn write(&self, file: &str, text: &str) {
        self.root.write(Path::new("proof").join(file), text);
    }

    /// Builds; the files compiled now, and those refused.
    fn build(&self) -> (Copy, Vec<String>, Vec<Refused>) {
        let copy = Copy::make(&self.tree, &self.root.join("build")).unwrap();
        let (costs, refused) = copy.build(LIMIT, &Silent).unwrap();
        let fresh = costs.into_iter().filter(|cost| cost.fresh).map(|cost| cost.file).collect();
        (copy, fresh, refused)
    }
}

#[test]
fn only_what_changed_is_compiled_and_a_broken_proof_has_its_line() {
    let small = Small::make("build");
    let (copy, fresh, refused) = small.build();
    assert_eq!((fresh, refused), (vec!["Code.v".to_string(), "Proof.v".into(), "Main.v".into()], vec![]));
    assert!(!Path::new(&small.tree.folder).join("Code.vo").exists(), "the sources stay clean");
    assert!(copy.folder.join("Main.vo").exists());
    assert_eq!(small.build().1, Vec::<String>::new());
    small.write("Main.v", &MAIN.replace("main", "other"));
    assert_eq!(small.build().1, ["Main.v"]);
    small.write("Code.v", &CODE.replace('4', "0"));
    let (_, fresh, refused) = small.build();
    assert_eq!(fresh, ["Code.v"]);
    assert_eq!((refused.len(), refused[0].file.as_str(), refused[0].line), (1, "Proof.v", Some(4)));
    // Broken stays broken, also when nothing has changed since.
    assert_eq!(small.build().2, refused);
}

#[test]
fn coq_says_what_a_theorem_rests_on() {
    let small = Small::make("ask");
    let (copy, _, _) = small.build();
    let names = ["Proof.size_positive", "Proof.extensional", "Proof.no_such", "Main.main", "Main.neither"];
    let names: BTreeSet<String> = names.iter().map(|name| format!("Ashlar.{name}")).collect();
    let answers = ask(&copy, &names).unwrap();
    assert_eq!(answers.len(), 3);
    assert_eq!(answers["Ashlar.Proof.size_positive"].statement, "(0 < Code.size)%nat");
    assert!(answers["Ashlar.Proof.size_positive"].assumptions.is_empty());
    assert_eq!(
        answers["Ashlar.Proof.extensional"].assumptions,
        ["FunctionalExtensionality.functional_extensionality_dep"]
    );
    assert!(answers["Ashlar.Main.main"].assumptions.is_empty());
}

#[test]
fn coq_is_asked_again_when_a_file_or_a_question_has_changed() {
    let small = Small::make("ask-again");
    let questions = small.root.join("build/.ask");
    // The answers, and whether Coq gave them now.
    let ask = |names: &[&str]| {
        let (copy, ..) = small.build();
        let names: BTreeSet<String> = names.iter().map(|name| format!("Ashlar.{name}")).collect();
        let answers = ask(&copy, &names).unwrap();
        (answers, std::fs::remove_dir_all(&questions).is_ok())
    };
    let (first, asked) = ask(&["Main.main", "Main.other"]);
    assert!(asked && first.len() == 1);
    assert_eq!(ask(&["Main.main", "Main.other"]), (first.clone(), false));
    assert_eq!(ask(&["Main.main"]), (first, true));
    small.write("Main.v", &MAIN.replace("True", "0 < Code.size").replace("exact I", "exact size_positive"));
    let (changed, asked) = ask(&["Main.main"]);
    assert!(asked);
    assert_eq!(changed["Ashlar.Main.main"].statement, "(0 < Code.size)%nat");
}

#[test]
fn a_changed_file_breaks_its_dependents_in_a_folder_of_links() {
    let small = Small::make("links");
    let (copy, _, _) = small.build();
    let links = Links::make(&copy, &small.root.join("links")).unwrap();
    let compile = |file: &str| links.copy.compile(file, LIMIT).unwrap();
    for (text, killed) in [(CODE.replace('4', "0"), true), (CODE.replace('4', "5"), false)] {
        let changed = links.replace("Code.v", &text).unwrap();
        assert_eq!(changed, ["Code.v", "Proof.v", "Main.v"]);
        assert!(compile("Code.v").is_ok());
        assert_eq!(compile("Proof.v").is_err(), killed);
        links.restore(&changed).unwrap();
    }
    assert_eq!(std::fs::read_to_string(copy.folder.join("Code.v")).unwrap(), CODE);
    let changed = links.replace("Main.v", MAIN).unwrap();
    assert!(compile(&changed[0]).is_ok(), "the links are whole again");
}

#[test]
fn only_a_proof_that_breaks_kills_what_is_wrong() {
    let small = Small::make("wrong");
    let (copy, _, _) = small.build();
    let wrong = |text: &str| Wrong { file: "Code.v".into(), line: 1, text: text.into(), description: text.into() };
    // No Coq; no longer of the type that a statement needs; a proof breaks; none does; not reached any more.
    let texts = ["Definition size := .", "Definition size := true.", "Definition size := 0.", "Definition size := 5."];
    let all: Vec<Wrong> = texts.into_iter().chain(["Definition size := 6."]).map(wrong).collect();
    let found = trials(&small.root.join("trials"), &copy, &all, 2, &Silent).unwrap();
    let fates: Vec<&Fate> = found.tried.iter().map(|(_, fate)| fate).collect();
    assert!(
        matches!(fates[..], [Fate::Discarded(_), Fate::Discarded(_), Fate::Killed(_), Fate::Survived]),
        "{fates:?}"
    );
    let Fate::Killed(refused) = fates[2] else { unreachable!() };
    assert_eq!((refused.file.as_str(), refused.line), ("Proof.v", Some(4)));
}

#[test]
fn a_proof_without_end_is_given_up() {
    let small = Small::make("limit");
    small.write("Code.v", "Goal True. repeat (assert (1 = 1) by reflexivity; pose 1). exact I. Qed.\n");
    let copy = Copy::make(&small.tree, &small.root.join("build")).unwrap();
    let refused = copy.compile("Code.v", Duration::from_secs(1)).unwrap().unwrap_err();
    assert_eq!(refused.message, "not done after 1 s");
}

#[test]
fn time_is_bounded() {
    let cost = |seconds, longest_qed| Cost { file: "a.v".into(), seconds, longest_qed, fresh: true };
    assert!(over_budget(&[cost(59.0, Some((3, 4.9)))]).is_empty());
    assert_eq!(over_budget(&[cost(61.0, None)]).len(), 1);
    assert_eq!(over_budget(&[cost(1.0, Some((3, 5.5)))])[0].line, Some(3));
    assert_eq!(over_budget(&vec![cost(59.0, None); 62]).len(), 1);
}

#[test]
fn only_a_certified_layer_can_be_chosen() {
    let function = |theorem: Option<&str>| Function { name: "f".into(), theorem: theorem.map(String::from) };
    let layers = [("a", Some("Ashlar.A.f")), ("b", None)].map(|(name, theorem)| Layer {
        name: name.into(),
        functions: vec![function(theorem)],
        translated: 1,
    });
    assert!(certified_layer("a", &layers).is_ok());
    assert!(certified_layer("b", &layers).is_err());
    assert!(certified_layer("c", &layers).is_err());
}
