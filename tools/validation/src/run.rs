//! A run over functions of an image: side by side, with what earlier runs found of the same image.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use c2coq::certified::Build;
use smt::{Second, SmtError};
use wcet_binary::load::Program as Loaded;

use crate::contracts::ARCH;
use crate::engine::{Engine, LoopMode};
use crate::image::Image;
use crate::kept::Kept;
use crate::layout::Layout;
use crate::program::{Function, Program, ProgramError};
use crate::report::{family, ArchShare, FunctionResult, Share, Validation};
use crate::syntax::Stmt;

/// What is validated, and how long it may take.
#[derive(Debug, Clone)]
pub struct Options {
    /// The kernel's sources, and which build of them the image is.
    pub kernel: PathBuf,
    pub build: Build,
    /// Where results are kept; none: they are not.
    pub kept: Option<PathBuf>,
    /// These functions; empty for all.
    pub functions: Vec<String>,
    /// How many questions to the solver a function may take, in all ways to treat its loops together, beside those that it may
    /// take for each of its instructions.
    pub limit: u64,
    pub threads: usize,
    /// The second solver; without it the verdicts rest on z3 alone.
    pub second: Option<SecondSolver>,
}

/// The program of the second solver, its script, and the file in which its answers are kept.
#[derive(Debug, Clone)]
pub struct SecondSolver {
    pub program: PathBuf,
    pub script: PathBuf,
    pub kept: Option<PathBuf>,
}

impl SecondSolver {
    fn start(&self) -> Result<Second, SmtError> {
        Second::start(&self.program, &[&self.script], self.kept.as_deref())
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the kernel's C cannot be translated: {0}")]
    Program(#[from] ProgramError),
    #[error("the image cannot be read: {0}")]
    Image(String),
    #[error("the layers have no function {0}")]
    Unknown(String),
    #[error(transparent)]
    Solver(#[from] SmtError),
}

/// Whether a validation was stopped for lack of questions or of answers, not by what it found.
fn is_undecided(reason: &str) -> bool {
    reason.contains(&crate::solver::Trouble::Spent.to_string())
        || reason.contains(&crate::solver::Trouble::Unknown.to_string())
}

/// An image, or what is wrong with it.
pub fn parsed(image: &[u8]) -> Result<Loaded, Error> {
    Loaded::parse(image)
        .map_err(|errors| Error::Image(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")))
}

/// Validates the functions of an image; `done` is called after each, with their number.
pub fn validate(
    image: &[u8],
    options: &Options,
    done: &(dyn Fn(&FunctionResult, usize, usize) + Sync),
) -> Result<Validation, Error> {
    let begin = Instant::now();
    let program = Program::read(&options.kernel, &options.build)?;
    let loaded = parsed(image)?;
    let layout = Layout::new(&loaded, &program);
    if let Some(unknown) = options.functions.iter().find(|name| !program.functions.contains_key(*name)) {
        return Err(Error::Unknown(unknown.clone()));
    }
    let listing = Image::new(&loaded).map_err(Error::Image)?;
    let second = options.second.as_ref().map(SecondSolver::start).transpose()?;
    let second = second.map(|one| one.version().to_string());
    let chosen: Vec<&Arc<Function>> = program
        .functions
        .values()
        .filter(|function| options.functions.is_empty() || options.functions.contains(&function.name))
        .collect();
    let (mut present, absent): (Vec<_>, Vec<_>) =
        chosen.into_iter().partition(|function| listing.code(&function.name).is_some());
    // The longest first, so that no thread is left with one of them alone.
    let size = |function: &Function| listing.code(&function.name).map_or(0, |range| range.end - range.start);
    present.sort_by_key(|function| Reverse(size(function)));
    let kept = Mutex::new(Kept::open(options.kept.as_deref(), image, &program));
    let next = AtomicUsize::new(0);
    let results: Mutex<Vec<FunctionResult>> = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..options.threads.clamp(1, present.len().max(1)) {
            let work = || {
                let Ok(image) = Image::new(&loaded) else { return };
                let mut second = options.second.as_ref().and_then(|one| one.start().ok());
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some(function) = present.get(at) else { return };
                    let known = kept.lock().ok().and_then(|kept| kept.get(&function.name, options.limit));
                    let known = known.filter(|one| one.confirmed || !one.validated || options.second.is_none());
                    let one = known.unwrap_or_else(|| {
                        let mut one = validate_one(&program, &image, &layout, function, options.limit, second.as_mut());
                        if one.validated && options.second.is_some() && !one.confirmed {
                            one.validated = false;
                            one.reasons.push("the second solver has ended".to_string());
                        }
                        if let Ok(mut kept) = kept.lock() {
                            kept.put(&one, one.reasons.iter().any(|why| is_undecided(why)).then_some(options.limit));
                        }
                        one
                    });
                    done(&one, at, present.len());
                    if let Ok(mut results) = results.lock() {
                        results.push(one);
                    }
                }
            };
            // Terms nest deep.
            let builder = std::thread::Builder::new().stack_size(64 << 20);
            if builder.spawn_scoped(scope, work).is_err() {
                break;
            }
        }
    });
    let mut functions = results.into_inner().unwrap_or_default();
    functions.sort_by(|a, b| a.name.cmp(&b.name));
    let (share, arch) = (share(&listing, &program, &functions), arch_share(&listing, &program, &functions));
    let inlined = absent.iter().map(|function| function.name.clone()).collect();
    let objects = layout.problems;
    let seconds = (begin.elapsed().as_secs_f64() * 10.0).round() / 10.0;
    Ok(Validation { functions, inlined, objects, share, arch, second, seconds })
}

/// Instructions of the image that come from the layers' C, and how many of them were validated.
fn share(image: &Image<'_>, program: &Program, results: &[FunctionResult]) -> Share {
    let mut share = Share::default();
    let covered = covered(results);
    for range in image.functions().iter().filter(|range| is_of_layer(program, &range.name)) {
        for instruction in image.instructions(range).unwrap_or_default() {
            if instruction.mnemonic != "nop" {
                share.instructions += 1;
                share.validated += usize::from(covered.contains(&instruction.address));
            }
        }
    }
    share
}

/// Code that comes from no layer.
fn arch_share(image: &Image<'_>, program: &Program, results: &[FunctionResult]) -> ArchShare {
    let mut share = ArchShare::default();
    let covered = covered(results);
    for range in image.all_code().iter().filter(|range| !is_of_layer(program, &range.name)) {
        let all = image.instructions(range).unwrap_or_default();
        let all: Vec<u64> = all.iter().filter(|one| one.mnemonic != "nop").map(|one| one.address).collect();
        let validated = all.iter().filter(|at| covered.contains(at)).count();
        share.functions += 1;
        share.instructions += all.len();
        share.validated_instructions += validated;
        if validated == all.len() && !all.is_empty() {
            share.validated += 1;
        } else {
            share.trusted.push(range.name.clone());
        }
    }
    share.trusted.sort();
    share
}

fn covered(results: &[FunctionResult]) -> BTreeSet<u64> {
    results.iter().filter(|one| one.validated).flat_map(|one| one.covered_addresses.iter().copied()).collect()
}

/// Whether a layer has the function, or the one that it was made of.
fn is_of_layer(program: &Program, name: &str) -> bool {
    program.functions.get(family(name)).is_some_and(|function| function.layer != ARCH)
}

fn has_loop(stmt: &Stmt, program: &Program, depth: u32) -> bool {
    match stmt {
        Stmt::While(..) => true,
        Stmt::Seq(a, b) | Stmt::If(_, a, b) => has_loop(a, program, depth) || has_loop(b, program, depth),
        Stmt::Call(_, name, _) if depth < 40 => {
            program.functions.get(name).is_some_and(|function| has_loop(&function.body, program, depth + 1))
        }
        _ => false,
    }
}

/// Questions that a function may take more for each of its instructions.
const PER_INSTRUCTION: u64 = 16;

/// Instructions from which on a function's paths are fused at once.
const LARGE: usize = 800;

/// How a function is tried: how its loops are treated, and whether paths of the term are fused.
fn modes(has_loop: bool, is_large: bool) -> Vec<(LoopMode, bool)> {
    let ways = match has_loop {
        true => vec![LoopMode::Cut, LoopMode::Mixed, LoopMode::Unroll(10)],
        false => vec![LoopMode::Cut],
    };
    let fused = [(LoopMode::Cut, true)];
    let plain = ways.into_iter().map(|mode| (mode, false));
    match is_large {
        true => fused.into_iter().chain(plain).collect(),
        false => plain.chain(fused).collect(),
    }
}

/// One function, with its loops treated in one way after the other until one succeeds. The second solver, if there is one,
/// must then give the answers on which that rests too.
pub fn validate_one(
    program: &Program,
    image: &Image<'_>,
    layout: &Layout,
    function: &Arc<Function>,
    limit: u64,
    second: Option<&mut Second>,
) -> FunctionResult {
    let begin = Instant::now();
    let mut engine = Engine::new(program, image, layout, Arc::clone(function));
    let mut result = FunctionResult::of(&function.name, &function.layer);
    result.certified = program.certified.contains(&function.name);
    let Some(range) = image.code(&function.name) else {
        result.reasons.push("the image has no function of this name, or several".to_string());
        return result;
    };
    if program.ambiguous.contains(&function.name) {
        result.reasons.push("several functions of the C have this name".to_string());
        return result;
    }
    let size = image.instructions(&range).map_or(0, |all| all.len());
    let limit = limit + PER_INSTRUCTION * size as u64;
    let mut covered = BTreeSet::new();
    for variant in 0..crate::routines::variants(&function.name) {
        engine.variant = variant;
        for (mode, fuses) in modes(has_loop(&function.body, program, 0), size > LARGE) {
            engine.validate(range.start, mode, fuses, limit);
            result.queries += engine.solver.queries;
            if engine.refusals.is_empty() {
                result.reasons.clear();
                break;
            }
            if result.reasons.is_empty() {
                result.reasons = engine.refusals.iter().map(|refusal| refusal.text(image)).collect();
                result.reasons.dedup();
                result.reasons.truncate(5);
            }
        }
        covered.append(&mut engine.covered);
        if !result.reasons.is_empty() {
            break;
        }
    }
    engine.covered = covered;
    let all = match image.instructions(&range) {
        Ok(all) => all,
        Err(why) => {
            result.reasons.push(why);
            Vec::new()
        }
    };
    let dead = engine.unreachable(&range, &all);
    for instruction in all.iter().filter(|instruction| instruction.mnemonic != "nop") {
        result.instructions += 1;
        if engine.covered.contains(&instruction.address) {
            result.covered += 1;
        } else if dead.contains(&instruction.address) {
            result.unreachable += 1;
        } else if result.reasons.is_empty() {
            let place = image.describe(instruction.address);
            result.reasons.push(format!("no execution of the term reaches {place}"));
        }
    }
    if let Some(second) = second.filter(|_| result.reasons.is_empty()) {
        match engine.solver.confirm(second) {
            Ok(()) => result.confirmed = true,
            Err(trouble) => result.reasons.push(trouble.to_string()),
        }
    }
    result.answers = engine.solver.answers();
    result.validated = result.reasons.is_empty();
    result.requires = crate::requirements::texts(&function.name);
    result.calls = engine.called.iter().cloned().collect();
    result.covered_addresses = engine.covered.iter().copied().collect();
    result.seconds = (begin.elapsed().as_secs_f64() * 100.0).round() / 100.0;
    result
}
