//! What `ashlar timing` is asked and what it answers: its command line ([`arguments`]), the codes of its errors ([`codes`]),
//! and what an analysis found.
//!
//! `ashlar` links this crate to show help, usage errors and explanations, and to build the analyser only when it is needed.
//! So nothing here may depend on the analysis.
//!
//! # The report
//! **Takes** a [`Report`]: plain data, filled by the analysis (`wcet-paths`). **Returns** it as text for
//! people ([`human`]), as JSON ([`json`], whose [`schema`] is generated from the same types), as one HTML page without
//! any outer resource ([`html`]), as a picture of the worst path ([`picture()`]), as tables ([`csv`]) and as findings for code viewers ([`sarif`]). [`summarise`]
//! derives from the worst path what can be derived: the waterfall, and what each function costs.
//!
//! Everything in the JSON form is a field of a type in `model`, with its meaning beside it. All other forms show
//! what is in there and compute nothing of their own, so a saved JSON report is the whole report.
//! A number is shown as it is given, neither scaled nor rounded, and a report without a bound has no number in any form.

pub mod arguments;
pub mod codes;

mod csv;
mod explain;
mod html;
mod human;
mod model;
mod picture;
mod sarif;
mod schema;
mod summary;
mod words;

pub use csv::csv;
pub use explain::explain;
pub use html::html;
pub use human::{human, human_loops};
pub use model::*;
pub use picture::picture;
pub use sarif::sarif;
pub use schema::schema;
pub use summary::summarise;
pub use words::{duration, first_word, grouped, responses};

/// The report for programs.
pub fn json(report: &Report) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(report).map(|text| text + "\n")
}

/// A report that [`json`] wrote.
pub fn from_json(text: &str) -> Result<Report, serde_json::Error> {
    serde_json::from_str(text)
}
