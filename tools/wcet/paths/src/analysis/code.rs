//! The codes, which `ashlar explain` knows too.

pub use wcet_report::codes::analysis::Code;
