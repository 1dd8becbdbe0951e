//! Mutants: every function has enough of them, each changes its function and no other, and the layers' tests detect them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use c2coq::certified::{files, mutants, mutated, stale, ARCH};
use c2coq::mutate::{Kind, Mutant};
use testing::Folder;

fn kernel() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel").canonicalize().unwrap()
}

fn all() -> &'static [Mutant] {
    static ALL: OnceLock<Vec<Mutant>> = OnceLock::new();
    ALL.get_or_init(|| mutants(&kernel()).unwrap())
}

#[test]
fn every_function_has_three_mutants() {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for mutant in all().iter().filter(|mutant| !mutant.benign) {
        *counts.entry((&mutant.code, &mutant.function)).or_default() += 1;
    }
    // Contracts are compared with machine code, and no proof is to notice their mutants.
    for file in files(&kernel(), &[]).unwrap().into_iter().filter(|file| file.layer != ARCH) {
        let code = file.path.to_str().unwrap();
        let lines: Vec<&str> = file.text.lines().collect();
        for pair in lines.windows(2) {
            let Some((name, _)) = pair[0].strip_prefix("Definition ").and_then(|rest| rest.split_once("_code : "))
            else {
                continue;
            };
            // Nothing can be changed where nothing is done: the kernel lock of other builds.
            if pair[1].trim() != "Skip." {
                let count = counts.get(&(code, name)).copied().unwrap_or(0);
                assert!(count >= 3, "{code} {name}: {count}");
            }
        }
    }
}

#[test]
fn numbers_are_places_in_the_list() {
    for (at, mutant) in all().iter().enumerate() {
        assert_eq!(mutant.number, at);
        assert!(!mutant.before.is_empty() && mutant.before != mutant.after, "{mutant:?}");
    }
    assert_eq!(mutants(&kernel()).unwrap(), all());
}

#[test]
fn every_kind_of_change_is_made() {
    let kinds: BTreeSet<Kind> = all().iter().map(|mutant| mutant.kind).collect();
    assert_eq!(kinds.len(), Kind::ALL.len(), "{kinds:?}");
}

#[test]
fn a_mutant_changes_its_function_and_no_other() {
    let fresh = files(&kernel(), &[]).unwrap();
    for mutant in all().iter().step_by(29) {
        let (changed, _) = mutated(&kernel(), mutant).unwrap();
        let original = fresh.iter().find(|file| file.path == Path::new(&mutant.code)).unwrap();
        let definitions = |text: &str| -> Vec<String> { text.split("\nDefinition ").map(str::to_string).collect() };
        let (old, new) = (definitions(&original.text), definitions(&changed.text));
        assert_eq!(old.len(), new.len(), "{mutant:?}");
        // A new local shows in the comment above the function, which ends the definition before it.
        let body = |text: &String| text.split("\n(*").next().unwrap().to_string();
        let different: Vec<_> = old.iter().zip(&new).filter(|(old, new)| body(old) != body(new)).collect();
        if mutant.kind.keeps_terms() {
            assert!(different.is_empty(), "{mutant:?}");
            continue;
        }
        assert_eq!(different.len(), 1, "{mutant:?}");
        assert!(different[0].0.starts_with(&format!("{}_code", mutant.function)), "{mutant:?}");
        assert!(stale(&changed, Path::new("Code.v"), &original.text).is_some());
    }
}

#[test]
fn statements_that_need_each_other_are_no_benign_exchange() {
    let dir = Folder::new("exchange");
    let header = "#ifndef A_H\n#define A_H\n#include <stdint.h>\nvoid a_step(uint32_t i);\n#endif\n";
    let source = "#include \"a.h\"\nstatic struct { uint32_t x; uint32_t y; } a[4];\n\
        void a_step(uint32_t i) {\n    uint32_t n = 0u;\n    a[i].x = n;\n    a[i].y = n;\n    n = a[i].x;\n    a[i].x = 2u;\n}\n";
    std::fs::write(dir.join("a.h"), header).unwrap();
    std::fs::write(dir.join("a.c"), source).unwrap();
    let checked = c2coq::check(&[dir.join("a.c")], &c2coq::Options::default()).unwrap();
    assert!(checked.faults.is_empty(), "{:?}", checked.faults);
    let unit = &checked.program.units[0];
    let function = unit.functions.iter().find(|function| function.body.is_some()).unwrap();
    let of = |kind: Kind| -> Vec<String> {
        let mutants = c2coq::mutate::function_mutants(unit, function, &checked.sources);
        mutants.into_iter().filter(|mutant| mutant.kind == kind).map(|mutant| mutant.after).collect()
    };
    assert_eq!(of(Kind::IndependentExchanged), ["a[i].y = n; a[i].x = n"]);
    // The local's declaration stays before its use.
    assert_eq!(of(Kind::StatementsExchanged), ["n = a[i].x; a[i].y = n", "a[i].x = 2u; n = a[i].x"]);
}

#[test]
fn what_a_reader_alone_sees_changes_no_term() {
    let dir = Folder::new("spelling");
    let layers = dir.join("layers/queue");
    std::fs::create_dir_all(&layers).unwrap();
    let queue = kernel().join("layers/queue");
    for header in std::fs::read_dir(kernel()).unwrap().chain(std::fs::read_dir(&queue).unwrap()) {
        let path = header.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "h") {
            let to = if path.starts_with(&queue) { layers.as_path() } else { &dir };
            std::fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
    }
    let text = std::fs::read_to_string(queue.join("queue.c")).unwrap();
    let terms = |text: &str| {
        let file = layers.join("queue.c");
        std::fs::write(&file, text).unwrap();
        let include = vec![kernel(), kernel().join("layers"), kernel().join("arch")];
        let options = c2coq::Options { include_dirs: include, ..c2coq::Options::default() };
        let checked = c2coq::check(&[file], &options).unwrap();
        assert!(checked.faults.is_empty(), "{}", c2coq::report::for_people(&checked.sources, &checked.faults));
        c2coq::coq::layer("queue", &checked.program.units, &checked.sources).unwrap()
    };
    let original = terms(&text);
    let rewritten = [
        text.replace(";\n", "; /* a remark; if (x) { return; } */\n"),
        text.replace("    ", "\t").replace(" = ", "  =\n"),
        text.replace("queue[q].first", "queue[(q)].first"),
    ];
    for (at, other) in rewritten.iter().enumerate() {
        assert_ne!(*other, text);
        assert_eq!(terms(other), original, "{at}");
    }
}

#[test]
fn the_command_lists_and_writes() {
    let run = |arguments: &[&str]| {
        let kernel = kernel();
        let output = Command::new(env!("CARGO_BIN_EXE_c2coq"))
            .args(["--format", "json", "mutate", "--kernel"])
            .arg(kernel)
            .args(arguments)
            .output()
            .unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let (status, list) = run(&["--list", "--layer", "queue", "--function", "queue_peek"]);
    assert_eq!(status, Some(0));
    let list: Vec<serde_json::Value> = serde_json::from_str(&list).unwrap();
    assert!(list.iter().all(|mutant| mutant["function"] == "queue_peek") && list.len() >= 3);
    let dir = Folder::new("mutate");
    let wrong = list.iter().find(|mutant| mutant["benign"] == false).unwrap();
    let number = wrong["number"].to_string();
    let (status, line) = run(&["--number", &number, "--out", dir.to_str().unwrap()]);
    assert_eq!(status, Some(0));
    assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap(), *wrong);
    let terms = std::fs::read_to_string(dir.join("Code.v")).unwrap();
    assert!(terms.contains("Definition queue_peek_code"));
    assert!(std::fs::read_to_string(dir.join("queue.c")).unwrap().contains("queue_peek(uint32_t q)"));
    assert_eq!(run(&["--number", "1000000"]).0, Some(2));
}

/// True if the layer's tests pass with the mutant in place of the layer's file.
fn survives(mutant: &Mutant, dir: &Path) -> bool {
    let (_, c) = mutated(&kernel(), mutant).unwrap();
    let source = dir.join(Path::new(&mutant.file).file_name().unwrap());
    std::fs::write(&source, c).unwrap();
    let output = Command::new("make")
        .args(["-s", "-C"])
        .arg(kernel())
        .arg("mutant")
        .arg(format!("MUTANT={}", source.display()))
        .arg(format!("ONLY={}", mutant.layer))
        .env("TEST_OPERATIONS", "30000")
        .env_remove("MAKEFLAGS")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("passes") || text.contains("fails"),
        "{mutant:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.status.success()
}

#[test]
fn running_tells_mutants_from_benign_rewrites() {
    let dir = Folder::new("mutants");
    let of = |layer: &str, wanted: &dyn Fn(&Mutant) -> bool| -> Vec<&Mutant> {
        all().iter().filter(|mutant| mutant.layer == layer && wanted(mutant)).collect()
    };
    for layer in ["container", "queue"] {
        for mutant in of(layer, &|mutant| mutant.benign).into_iter().step_by(5) {
            assert!(survives(mutant, &dir), "{mutant:?}");
        }
        let wrong = of(layer, &|mutant| matches!(mutant.kind, Kind::WrongField | Kind::ConditionDropped));
        for mutant in wrong.into_iter().step_by(9) {
            assert!(!survives(mutant, &dir), "{mutant:?}");
        }
    }
}
