//! `prove --binary`: the work is done by `validate`, which is built on demand.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use builder::on_demand::VALIDATOR;
use builder::{build_kernel, packages, KernelOptions, Lock};
use output::{Failure, Output};
use project::Project;
use prove::Sample;

use crate::cli::ProveOptions;

pub fn prove_binary(options: &ProveOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    let tool = VALIDATOR.ready(project, output)?;
    let second = match second_solver(project, output) {
        Ok(python) => Some(python),
        // The report says how many answers two solvers have given.
        Err(Failure::Unable { message, remedy }) => {
            output.note(&format!("z3 is believed alone: {message}; {remedy}"));
            None
        }
        Err(failure) => return Err(failure),
    };
    let tools = Tools { validator: &tool, second: second.as_deref() };
    if let Some(image) = &options.image {
        return validate(&tools, std::slice::from_ref(image), options, project, output);
    }
    let mut kernels = vec![KernelOptions::default()];
    if options.all_images {
        let locks = [Lock::Ticket, Lock::Mcs].into_iter();
        let all = locks.flat_map(|lock| [false, true].map(|debug| KernelOptions { lock, debug, trace: false }));
        kernels = all.collect();
    }
    let mut images = Vec::new();
    for kernel in &kernels {
        build_kernel(kernel, project, output)?;
        images.push(project.root().join("build/kernel").join(kernel.configuration()).join("ashlar.elf"));
    }
    validate(&tools, &images, options, project, output)
}

/// The program that validates, and a python with the second solver, if there is one.
struct Tools<'t> {
    validator: &'t Path,
    second: Option<&'t Path>,
}

/// Validates images, one after the other; what each is a build of says the folder in which it stands.
fn validate(
    tools: &Tools<'_>,
    images: &[PathBuf],
    options: &ProveOptions,
    project: &Project,
    output: &Output,
) -> Result<(), Failure> {
    let mut command = Command::new(tools.validator);
    command.args(tools.second.iter().flat_map(|python| [Path::new("--second"), python]));
    command.arg("--root").arg(project.root()).args(["--limit", &options.limit.to_string()]);
    command.args(images.iter().flat_map(|image| [Path::new("--image"), image]));
    match options.mutants {
        Some(Sample::Some(count)) => {
            command.args(["--mutants", &count.to_string(), "--seed", &options.seed.to_string()]);
        }
        Some(Sample::All) => return Err(Failure::unable("--binary takes a number of mutants", "give a number")),
        None => {}
    }
    if options.write {
        command.arg("--write");
    }
    if output.is_json() {
        command.args(["--format", "json"]);
    }
    command.args(&options.functions);
    output.detail(&format!("+ {command:?}"));
    let status = command.status().map_err(|error| {
        Failure::unable(format!("{} cannot be started: {error}", tools.validator.display()), "run ./ashlar")
    })?;
    match status.code() {
        Some(0) => Ok(()),
        // The findings stand on standard error already.
        Some(1) => Err(Failure::Passed(1)),
        _ => Err(Failure::unable("the validator could not run; it says why above", "ashlar doctor")),
    }
}

/// A python in an environment of its own that has the solver bitwuzla, which is installed there if it is missing.
fn second_solver(project: &Project, output: &Output) -> Result<PathBuf, Failure> {
    let folder = project.build().join("bitwuzla");
    let python = folder.join("bin/python3");
    let list = project.root().join("tools/validation/solver/requirements.txt");
    let run = |command: &mut Command| match command.stdin(Stdio::null()).stdout(Stdio::null()).output() {
        Ok(ran) if ran.status.success() => Ok(()),
        Ok(ran) => Err(String::from_utf8_lossy(&ran.stderr).trim().lines().last().unwrap_or_default().to_string()),
        Err(error) => Err(error.to_string()),
    };
    let pip = ["-m", "pip", "install", "--quiet", "--require-hashes", "-r"];
    packages::need(&["python3-venv", "cvc5"].map(String::from), output)?;
    if run(Command::new(&python).args(["-c", "import bitwuzla"])).is_ok() {
        return Ok(python);
    }
    output.note("installing the solver bitwuzla, once");
    let made = run(Command::new("/usr/bin/python3").args(["-m", "venv"]).arg(&folder));
    made.and_then(|()| run(Command::new(&python).args(pip).arg(&list))).map_err(|said| {
        let remedy = format!("try by hand: {} -m pip install --require-hashes -r {}", python.display(), list.display());
        Failure::unable(format!("the second solver, bitwuzla, could not be installed: {said}"), remedy)
    })?;
    Ok(python)
}
