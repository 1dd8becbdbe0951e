//! The kernel itself: every certified file is in the subset, in every configuration of the build.

use std::path::{Path, PathBuf};

use c2coq::{check, layers, read_order, Options};

fn kernel() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel").canonicalize().unwrap()
}

/// The certified sources: every `.c` of every layer but the hosted tests.
fn certified() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for layer in std::fs::read_dir(kernel().join("layers")).unwrap() {
        for entry in std::fs::read_dir(layer.unwrap().path()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if name.ends_with(".c") && !name.ends_with("_test.c") && !name.ends_with("_check.c") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The lock, and whether it is a debug build and a trace build.
fn configurations() -> impl Iterator<Item = (&'static str, bool, bool)> {
    let flags = [(false, false), (false, true), (true, false), (true, true)];
    ["ticket", "mcs", "big"].into_iter().flat_map(move |lock| flags.map(|(debug, trace)| (lock, debug, trace)))
}

#[test]
fn certified_files_keep_to_the_subset_in_every_configuration() {
    let files = certified();
    for (lock, debug, trace) in configurations() {
        let defines = c2coq::defines(lock, debug, trace);
        let checked = check(&files, &Options { defines, ..Options::default() }).unwrap();
        let shown = c2coq::report::for_people(&checked.sources, &checked.faults);
        assert!(checked.faults.is_empty(), "{lock} debug {debug} trace {trace}:\n{shown}");
        assert_eq!(checked.program.units.len(), files.len());
    }
}

/// The same for what the compiler reads, with the flags that the Makefile gives it.
#[test]
fn the_compiler_reads_what_is_checked_in_every_configuration() {
    let folder = testing::Folder::new("texts");
    for (lock, debug, trace) in configurations() {
        let (debug, trace) = (u8::from(debug), u8::from(trace));
        let output = std::process::Command::new("make")
            .args(["--no-print-directory", "-C"])
            .arg(kernel())
            .args(["texts", &format!("LOCK={lock}"), &format!("DEBUG={debug}"), &format!("TRACE={trace}")])
            .arg(format!("OUT={}", folder.join(format!("{lock}-{debug}-{trace}")).display()))
            .arg(format!("C2COQ={}", env!("CARGO_BIN_EXE_c2coq")))
            .env_remove("MAKEFLAGS")
            .output()
            .unwrap();
        assert!(output.status.success(), "{lock} {debug} {trace}:\n{}", String::from_utf8_lossy(&output.stdout));
    }
}

/// What the checker accepted is what stands in the files: a function that opens in the first column is in the tree.
#[test]
fn no_function_of_the_kernel_is_overlooked() {
    for path in certified() {
        let defines = vec![("LOCK_TICKET".to_string(), "1".to_string()), ("DEBUG".to_string(), "1".to_string())];
        let checked = check(std::slice::from_ref(&path), &Options { defines, ..Options::default() }).unwrap();
        let unit = &checked.program.units[0];
        let text = std::fs::read_to_string(&path).unwrap();
        let opened: Vec<&str> = text
            .lines()
            .zip(text.lines().skip(1))
            .filter(|(head, next)| *next == "{" && head.ends_with(')') && !head.starts_with(' '))
            .filter_map(|(head, _)| head.split('(').next()?.rsplit([' ', '*']).next())
            .collect();
        for name in opened {
            let found = unit.functions.iter().any(|function| function.name == name && function.body.is_some());
            // The other lock implementations are not in this configuration.
            let elsewhere = text.contains("#if");
            assert!(found || elsewhere, "{}: {name}", path.display());
        }
    }
}

/// Also those of layers and files that are not translated.
#[test]
fn every_layer_has_its_functions_listed() {
    let layers = c2coq::certified::functions(&kernel()).unwrap();
    let order = read_order(&kernel().join("layers.order")).unwrap();
    assert!(layers.iter().map(|(name, _)| name).eq(order.names()));
    let of = |layer: &str| &layers.iter().find(|(name, _)| name == layer).unwrap().1;
    for (layer, function) in [("thread", "thread_switch"), ("sched", "sched_pick"), ("sched", "sched_drain_pending")] {
        assert!(of(layer).iter().any(|name| name == function), "{layer} {function}: {:?}", of(layer));
    }
    assert!(!of("thread").iter().any(|name| name.contains("check")), "{:?}", of("thread"));
}

#[test]
fn the_layer_order_names_the_directories() {
    let order_file = kernel().join("layers.order");
    let order = read_order(&order_file).unwrap();
    let findings = layers::check_directories(&order, &order_file, &kernel().join("layers")).unwrap();
    assert_eq!(findings, []);
}
