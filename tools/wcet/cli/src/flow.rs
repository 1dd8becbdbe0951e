//! `timing flow`: the control-flow graph of what entry points reach.

use diagnostics::input_file::{self, MOST_DATA};
use wcet_binary::lift::Lifter;
use wcet_binary::load::{Lines, Program};
use wcet_paths::analysis::{flow_options, Code, Stated};

use std::time::Instant;

use crate::bound::timeout;
use crate::graph;
use wcet_report::arguments::{FlowOptions, StatedOptions};

/// What a person states, as the analysis takes it.
pub fn stated(options: &StatedOptions) -> Stated {
    Stated {
        targets: options.targets.clone(),
        recursion: options.recursion.clone(),
        stops: options.stop.clone(),
        switches: options.switch.clone(),
        copies: options.copies,
        ..Stated::default()
    }
}

/// Prints the graph, or what is wrong. Returns the exit status.
pub fn flow(options: &FlowOptions) -> u8 {
    match run(options) {
        Ok(()) => 0,
        Err((status, messages)) => {
            messages.iter().for_each(|message| eprintln!("{message}"));
            if status == 1 {
                eprintln!("{} errors", messages.len());
            }
            status
        }
    }
}

fn run(options: &FlowOptions) -> Result<(), (u8, Vec<String>)> {
    let began = Instant::now();
    let mut wrong = Vec::new();
    let timeout = timeout(options.timeout, &mut wrong);
    if !wrong.is_empty() {
        return Err((2, wrong.iter().map(|error| format!("timing: {}; {}", error.message, error.remedy)).collect()));
    }
    let deadline = timeout.and_then(|timeout| began.checked_add(timeout));
    let data = input_file::bytes(&options.file, MOST_DATA)
        .map_err(|cause| (2, vec![format!("timing: {} cannot be read: {cause}", options.file.display())]))?;
    let program = Program::parse(&data)
        .map_err(|errors| (1, errors.iter().map(|error| format!("{}: {error}", options.file.display())).collect()))?;
    let asked = |errors: Vec<wcet_report::Error>| {
        let status = errors.iter().filter_map(|error| Code::parse(&error.code)).map(Code::status).max().unwrap_or(2);
        (status, errors.iter().map(|error| format!("timing: {}; {}", error.message, error.remedy)).collect())
    };
    let mut entries = wcet_paths::analysis::addresses(&program, &options.entry).map_err(asked)?;
    if entries.is_empty() {
        entries.push(program.entry);
    }
    let mut flow_options = flow_options(&program, &stated(&options.stated)).map_err(asked)?;
    flow_options.deadline = deadline;
    let lifter = Lifter::new(&program).map_err(|cause| (2, vec![format!("timing: {cause}")]))?;
    let graph = wcet_flow::analyse(&lifter, &entries, &flow_options)
        .map_err(|errors| (1, errors.iter().map(ToString::to_string).collect()))?;
    graph::print(&graph, &lifter, &Lines::parse(&data), options.blocks);
    Ok(())
}
