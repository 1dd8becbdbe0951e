//! What the tools report: codes, places in source texts, messages with remedies, and their forms for people, editors and
//! programs. Every tool declares its codes with [`codes!`] and builds [`Diagnostic`]s; the rest is the same for all.

mod code;
mod diagnostic;
mod explain;
mod faults;
pub mod input_file;
mod json;
mod render;
pub mod sarif;
mod source;
mod style;
pub mod suggest;
pub mod toml_text;
pub mod units;

pub use code::{CodeInfo, Example, Table};
pub use diagnostic::{Diagnostic, Label, Report};
pub use explain::{explanation, find, page};
pub use faults::Faults;
pub use json::{DiagnosticJson, LabelJson, ReportJson};
pub use source::{Place, Source, Span, Spanned};
pub use style::Style;
