//! Faults of C files as a report.

use crate::fault::Fault;
use crate::source::{FileId, Sources};
use diagnostics::{Diagnostic, Report, Source};
use std::collections::HashMap;
use std::sync::Arc;

/// All faults, each with its place; `remedy` says what stands in each one's remedy.
fn report(sources: &Sources, faults: &[Fault], remedy: impl Fn(&Fault) -> String) -> Report {
    let mut files: HashMap<FileId, Arc<Source>> = HashMap::new();
    let mut report = Report::default();
    for fault in faults {
        let source = files.entry(fault.span.file).or_insert_with(|| {
            let file = sources.get(fault.span.file);
            Arc::new(Source::new(&file.path, &*file.text))
        });
        let start = fault.span.start as usize;
        // Of a construct over several lines the first is shown.
        let line = source.text[start..].find('\n').map_or(source.text.len(), |length| start + length);
        let end = (fault.span.end as usize).min(line).max(start);
        report.push(Diagnostic::new(fault.rule.code(), &fault.message, remedy(fault)).at(source, &(start..end), ""));
    }
    report
}

/// For people: each fault says what its rule asks.
pub fn for_people(sources: &Sources, faults: &[Fault]) -> Report {
    report(sources, faults, |fault| format!("{}\nremedy: {}", fault.rule.info().says, fault.remedy()))
}

/// For programs.
pub fn for_programs(sources: &Sources, faults: &[Fault]) -> Report {
    report(sources, faults, |fault| fault.remedy().to_string())
}
