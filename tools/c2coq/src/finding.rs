//! Findings of the checks that compare the kernel's parts: layers, generated files.

use diagnostics::{Diagnostic, Report, Source};
use std::path::{Path, PathBuf};
use std::sync::Arc;

diagnostics::codes! {
    /// The kinds of findings.
    pub enum Code;
    LayerWithoutObject "layers::layer-without-object" "a layer without an object file"
        "Every layer of `kernel/layers.order` has object files, so that its calls can be checked. Compile the \
         layer, or take it out of the order."
    LayerWithoutDirectory "layers::layer-without-directory" "a layer without a directory"
        "Every layer of `kernel/layers.order` is a directory of `kernel/layers`. Write the layer, or take it \
         out of the order."
    LayerNotInOrder "layers::layer-not-in-order" "a directory that is no layer"
        "Every directory of `kernel/layers` has its place in `kernel/layers.order`: above all layers that it \
         calls."
    SlimObject "layers::slim-object" "an object file without machine code"
        "The check follows the references of machine code. An object with the compiler's intermediate code only \
         has none: compile with -ffat-lto-objects."
    ExportedData "layers::exported-data" "a layer exports an object"
        "A layer's data is private, so that other layers reach it through its functions only. Make the object \
         static, and export functions that use it."
    ExportedTwice "layers::exported-twice" "two layers export one name"
        "Begin the name of a function with the name of its layer."
    UpwardCall "layers::upward-call" "a call to a layer above"
        "A layer calls only layers below it in `kernel/layers.order`. Let the upper layer call this one, or \
         move the function down."
    ForeignSymbol "layers::foreign-symbol" "a symbol of no layer"
        "Certified code calls layers below and primitives of `arch`, nothing else. Position independent code \
         needs a table of the linker: compile with -fno-pic."
    CompilerCall "layers::compiler-call" "a call that the compiler added"
        "The compiler turned a loop or an operation into a call such as memcpy, which no layer has. Write the \
         loop so that the compiler keeps it, or use a primitive of `arch`."
    NoCoqTerm "coq::no-coq-term" "C without a Coq term"
        "The construct is in the subset, but its translation to Coq is not defined. Write it as the remedy \
         says."
    StaleCode "coq::stale-code" "Coq terms that are not those of the C"
        "The committed Code.v differs from what `c2coq coq` makes of the C. Run it, and mend the proofs."
    OtherText "text::other-text" "the compiler reads other text than was checked"
        "The object is compiled from tokens that are not those of the checked and translated file: a macro, a header \
         or an option of the build that the checker does not know changes them. Take it away."
    NoText "text::no-text" "no preprocessed text of a file"
        "The kernel's Makefile preprocesses each layer's file to FILE.i and compiles that. Build the kernel first."
    OtherTree "coq::other-tree" "a certified file whose meaning depends on the build"
        "The proofs speak of one tree. Only the files of the layer spinlock depend on the choice of locks, and debug \
         builds only add functions. Take the condition away."
    StalePage "book::stale-page" "a page that is not what its sources give"
        "The committed page differs from a fresh generation. Run `c2coq docs`."
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub code: Code,
    pub file: PathBuf,
    pub line: Option<u32>,
    pub message: String,
    pub remedy: String,
}

/// The findings as a report, each with its line if the file is a text.
pub fn report(findings: &[Finding]) -> Report {
    let mut report = Report::default();
    for finding in findings {
        let Finding { code, file, line, message, remedy } = finding;
        let source = Arc::new(Source::new(file, line.map_or_else(String::new, |_| text(file))));
        let span = line.map_or(0..0, |line| source.line_span(line as usize));
        report.push(Diagnostic::new(*code, message, remedy).at(&source, &span, ""));
    }
    report
}

/// What can be shown of a file; nothing if it cannot be read.
fn text(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_default()
}
