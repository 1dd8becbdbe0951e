//! `timing --kernel --program`: the system calls of programs, and the kernel's responses where nothing else is called.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use diagnostics::input_file::{self, MOST_DATA};
use wcet_kernel::{program_calls, Calls, Kernel, Whole};
use wcet_report::{Closed, ClosedProgram};

use crate::response_report::response;

/// What `--program` asks for, if it is given; or why a file cannot be used.
pub(crate) fn closed(kernel: &Kernel<'_>, found: &Whole, files: &[PathBuf]) -> Result<Option<Closed>, String> {
    if files.is_empty() {
        return Ok(None);
    }
    let calls = kernel.description.calls.as_ref();
    let calls = calls.ok_or("--program needs a description of the kernel with a table [calls]: add it")?;
    let mut all = BTreeSet::new();
    let mut programs = Vec::new();
    for file in files {
        let (program, numbers) = program(file, calls)?;
        all.extend(numbers);
        programs.push(program);
    }
    let known = programs.iter().all(|program| program.calls.is_some());
    let responses = known.then(|| wcet_kernel::closed(kernel, &found.regions, &all)).flatten();
    let responses = responses.map(|all| all.iter().map(|one| response(kernel, one)).collect());
    Ok(Some(Closed { programs, responses }))
}

fn program(file: &Path, calls: &Calls) -> Result<(ClosedProgram, BTreeSet<u64>), String> {
    let name = file.display().to_string();
    let data = input_file::bytes(file, MOST_DATA)
        .map_err(|cause| format!("{name}: {cause}; give the executable of a program that `ashlar build` made"))?;
    let sha256 = wcet_paths::analysis::hash(&data);
    Ok(match program_calls(&data, calls) {
        Ok(numbers) => {
            let names = numbers.iter().map(|number| calls.name(*number)).collect();
            (ClosedProgram { file: name, sha256, calls: Some(names), reason: None }, numbers)
        }
        Err(reason) => (ClosedProgram { file: name, sha256, calls: None, reason: Some(reason) }, BTreeSet::new()),
    })
}
