//! Loop bounds of compiled programs of the set, beside what was measured: `checked FILE...`.

use std::path::Path;

use timing_analysis::{loops, Request, Stated};
use timing_measure::subject::{measure, COPIES, ENTRY};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for file in std::env::args().skip(1) {
        let measured = measure(Path::new(&file), None)?;
        let copies = if measured.split.is_some() { COPIES } else { 0 };
        let request = Request {
            file: file.clone(),
            data: std::fs::read(&file)?,
            entry: Some(ENTRY.to_string()),
            stated: Stated { copies, ..Stated::default() },
            ..Request::default()
        };
        let report = loops(&request, &mut |_, _, _| {});
        println!("== {}", file.rsplit('/').next().unwrap_or_default());
        for found in &report.loops {
            let of = |one: &&timing_measure::subject::MeasuredLoop| {
                format!("{:#x}", one.header) == found.address && one.function == found.function
            };
            let most = measured.loops.iter().filter(of).map(|one| one.most).max().unwrap_or(0);
            let verdict = match found.bound {
                None => "UNBOUNDED",
                Some(bound) if bound < most => "BELOW",
                Some(bound) if bound == most => "exact",
                Some(_) => "above",
            };
            let source = found.source.as_deref().and_then(|source| source.rsplit('/').next()).unwrap_or_default();
            let reason = found.reason.as_deref().unwrap_or_default();
            println!("   {source} measured {most} bound {:?} {:?} {verdict} {reason}", found.bound, found.evidence);
        }
        let phases = report.analysis.phases.iter().filter(|phase| phase.seconds > 0.05);
        println!(
            "   {}",
            phases.map(|phase| format!("{} {:.1} s", phase.name, phase.seconds)).collect::<Vec<_>>().join(", ")
        );
    }
    Ok(())
}
