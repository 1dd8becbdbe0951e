//! The chain of machines in the proofs, from the real one to the one on which a CPU is looked at alone.

use crate::{has_word, read, Error, Finding};
use picture::canvas::{Canvas, Picture, Rect};
use picture::LINE;
use std::path::{Path, PathBuf};

struct Machine {
    name: &'static str,
    /// What moves, and what is seen.
    says: &'static str,
    /// Its definition: name and file below `proof/machine`.
    definition: (&'static str, &'static str),
    /// Why a safe program may be moved to the next machine.
    step: &'static str,
}

const CHAIN: [Machine; 5] = [
    Machine {
        name: "multicore",
        says: "one memory; any CPU moves at any step",
        definition: ("x86mc", "Shared.v"),
        step: "Lemma 1: a function of the past says who moves",
    },
    Machine {
        name: "hardware scheduler",
        says: "the same, and the log tells who moved",
        definition: ("hs", "Scheduler.v"),
        step: "Lemma 2: each CPU has the cells of the locks it holds, and touches no others",
    },
    Machine {
        name: "local copies",
        says: "a CPU that touches another's cell is stuck",
        definition: ("local_copy", "LocalCopies.v"),
        step: "Lemmas 3 and 4: some CPUs run, the others are an environment that keeps its promises",
    },
    Machine {
        name: "partial",
        says: "chosen CPUs and their environment",
        definition: ("pt", "Partial.v"),
        step: "Lemma 5: the environment moves only before operations that the log records",
    },
    Machine {
        name: "CPU-local",
        says: "one CPU, alone between two operations: sequential programming",
        definition: ("loc", "CpuLocal.v"),
        step: "",
    },
];

const MARGIN: f64 = 12.0;
const BOX: Rect = Rect { x: MARGIN, y: 0.0, width: 560.0, height: 2.0 * LINE + 8.0 };
const GAP: f64 = 46.0;

pub fn picture() -> Result<Picture, Error> {
    let mut canvas = Canvas::default();
    let mut y = MARGIN;
    for (index, machine) in CHAIN.iter().enumerate() {
        canvas.rect(if index == 0 { "grey" } else { "paper" }, Rect { y, ..BOX }, 6.0);
        let (name, file) = machine.definition;
        let place = format!("   {name} in proof/machine/{file}");
        canvas.text(MARGIN + 10.0, y + LINE, &[("bold", machine.name), ("dim", &place)]);
        canvas.text(MARGIN + 10.0, y + 2.0 * LINE, &[("", machine.says)]);
        y += BOX.height;
        if !machine.step.is_empty() {
            canvas.curve("", &[(MARGIN + 30.0, y), (MARGIN + 30.0, y + GAP)], true);
            canvas.text(MARGIN + 44.0, y + GAP / 2.0 + 4.0, &[("blue", machine.step)]);
            y += GAP;
        }
    }
    let title = "The chain of machines: safe on the stricter machine below, safe on the one above";
    Ok(canvas.finish(title, 2.0 * MARGIN + BOX.width + 90.0, y + MARGIN))
}

/// Every machine is defined where the picture says.
pub fn check(root: &Path) -> Result<Vec<Finding>, Error> {
    let mut findings = Vec::new();
    for machine in &CHAIN {
        let (name, file) = machine.definition;
        let text = read(&root.join("proof/machine").join(file))?;
        if !text.lines().any(|line| line.trim_start().starts_with("Definition ") && has_word(line, name)) {
            let message =
                format!("the picture of the machines names {name} of proof/machine/{file}, which is not there");
            findings.push(Finding { file: PathBuf::from("docs/src/pictures/machines.svg"), line: 1, message });
        }
    }
    Ok(findings)
}
