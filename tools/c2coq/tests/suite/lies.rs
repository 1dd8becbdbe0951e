//! Ways to build a kernel from other text than the proofs speak of: `tests/lies.toml` lists them. Each is planted in a copy of
//! the kernel, and refused.

use std::path::Path;
use std::process::{Command, Output};

use crate::refusals::copy_dir;
use serde::Deserialize;
use testing::Folder;

#[derive(Deserialize)]
struct List {
    lie: Vec<Lie>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lie {
    name: String,
    /// Below `kernel`; made if it is not there.
    file: String,
    /// Without it, the text is appended.
    replace: Option<String>,
    by: String,
    /// Compares what the compiler reads in this build; without it, the terms are compared.
    build: Option<Vec<String>>,
    says: Vec<String>,
}

/// Layers enough to see what the compiler reads.
const KEPT: [&str; 6] = ["spinlock", "trace", "container", "frame", "pagemap", "thread"];

struct Copy(Folder);

impl Copy {
    fn new() -> Copy {
        let root = Folder::new("lies");
        let kernel = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel").canonicalize().unwrap();
        copy_dir(&kernel, &root.join("kernel"));
        Copy(root)
    }

    /// A kernel of few layers.
    fn small() -> Copy {
        let copy = Copy::new();
        let kernel = copy.0.join("kernel");
        for layer in std::fs::read_dir(kernel.join("layers")).unwrap().map(|entry| entry.unwrap()) {
            if !KEPT.contains(&layer.file_name().to_str().unwrap()) {
                std::fs::remove_dir_all(layer.path()).unwrap();
            }
        }
        std::fs::remove_file(kernel.join("layers/trace/trace.c")).unwrap();
        std::fs::write(kernel.join("layers.order"), KEPT.join("\n")).unwrap();
        copy
    }

    /// Plants, compares, and puts the file back.
    fn with(&self, lie: &Lie) -> (bool, String) {
        let path = self.0.join("kernel").join(&lie.file);
        let old = std::fs::read_to_string(&path).ok();
        let text = old.clone().unwrap_or_default();
        let changed = match &lie.replace {
            Some(replace) => text.replacen(replace, &lie.by, 1),
            None => format!("{text}{}", lie.by),
        };
        assert_ne!(changed, text, "{}: its text is not in {}", lie.name, lie.file);
        std::fs::write(&path, changed).unwrap();
        let result = match &lie.build {
            Some(build) => self.texts(build),
            None => self.terms(),
        };
        match old {
            Some(old) => std::fs::write(&path, old).unwrap(),
            None => std::fs::remove_file(&path).unwrap(),
        }
        result
    }

    /// What `ashlar prove` asks before it builds anything.
    fn terms(&self) -> (bool, String) {
        let proof = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../proof");
        let mut command = Command::new(env!("CARGO_BIN_EXE_c2coq"));
        command.args(["coq", "--check", "--kernel", "kernel", "--proof"]).arg(proof).current_dir(&*self.0);
        said(&command.output().unwrap())
    }

    /// What each build of the kernel compares.
    fn texts(&self, build: &[String]) -> (bool, String) {
        let mut command = Command::new("make");
        command.args(["--no-print-directory", "--always-make", "texts"]).args(build);
        command.arg(format!("C2COQ={}", env!("CARGO_BIN_EXE_c2coq")));
        command.current_dir(self.0.join("kernel")).env_remove("MAKEFLAGS");
        said(&command.output().unwrap())
    }
}

/// Whether it succeeded, and all it said; a report breaks long lines.
fn said(output: &Output) -> (bool, String) {
    let said = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    (output.status.success(), said.replace("\n  │", "").replace('\n', " "))
}

/// Plants those that are compared in this way, in a copy that is accepted as it is.
fn all_refused(copy: &Copy, wanted: impl Fn(&Lie) -> bool) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lies.toml");
    let List { lie } = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let mut wrong = Vec::new();
    for lie in lie.iter().filter(|lie| wanted(lie)) {
        let (accepted, said) = copy.with(lie);
        if accepted {
            wrong.push(format!("{}: accepted", lie.name));
        }
        let missing = lie.says.iter().filter(|words| !said.contains(words.as_str()));
        wrong.extend(missing.map(|words| format!("{}: `{words}` is not in: {said}", lie.name)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_other_tree_is_translated() {
    let copy = Copy::new();
    let (accepted, said) = copy.terms();
    assert!(accepted, "{said}");
    all_refused(&copy, |lie| lie.build.is_none());
}

#[test]
fn no_other_text_is_compiled() {
    let copy = Copy::small();
    for build in [&["LOCK=ticket"][..], &["LOCK=mcs", "DEBUG=1"], &["LOCK=big", "TRACE=1"]] {
        let (accepted, said) = copy.texts(&build.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert!(accepted, "{said}");
    }
    all_refused(&copy, |lie| lie.build.is_some());
}
