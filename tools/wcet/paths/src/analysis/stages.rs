//! The stages, one after the other.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::ipet::{Bound, Constraints, Prepared};
use crate::loop_bounds::LoopBound;
use wcet_binary::lift::Lifter;
use wcet_binary::load::{Architecture, Lines, Program};
use wcet_flow::context::{Expanded, LoopId};
use wcet_flow::Graph;
use wcet_report::{Assumption, Evidence, Phase, Refinement, Report, Verdict, VERSION};
use wcet_symbolic::{Frames, Setting, Sharing, SolverError};
use wcet_values::{Left, OneRun, Shared, Values};

use crate::analysis::code::Code;
use crate::analysis::entry_registers::registers;
use crate::analysis::faults::{self, fault, hex, Found};
use crate::analysis::refining::{Clock, Refined};
use crate::analysis::request::{self, Request};
use crate::analysis::{
    budget, checking, contexts, explain, fixed_code, loops as loop_report, machine, paths, refining, rereads, solving,
    stated,
};

/// Called when a stage begins: its number from 1, how many there are, what it does.
pub type Progress<'a> = &'a mut dyn FnMut(usize, usize, &str);

/// What the analysis says of all runs, besides the bound.
pub struct Claims<'c, 'g> {
    pub program: &'c Program,
    pub expanded: &'c Expanded<'g>,
    /// Of loops that have one: the most executions of the header for each entry.
    pub bounds: BTreeMap<LoopId, u64>,
    pub constraints: &'c Constraints,
}

/// The bound of a request, or why there is none.
pub fn analyse(request: &Request, progress: Progress<'_>) -> Report {
    run(request, true, progress, &mut |_| {})
}

/// The same, and `look` is shown what it rests on, once loops are bounded.
pub fn analyse_and_show(request: &Request, progress: Progress<'_>, look: &mut dyn FnMut(Claims<'_, '_>)) -> Report {
    run(request, true, progress, look)
}

/// The loops of a request alone; needs no machine.
pub fn loops(request: &Request, progress: Progress<'_>) -> Report {
    run(request, false, progress, &mut |_| {})
}

/// The exit status for a report: 0 good, 1 a finding, 2 the request could not be carried out.
pub fn status(report: &Report) -> u8 {
    let codes = report.errors.iter().map(|error| Code::parse(&error.code).map_or(2, Code::status));
    match (codes.max(), report.verdict) {
        (Some(status), _) => status,
        (None, Verdict::Bounded) => 0,
        (None, _) => 1,
    }
}

fn run(request: &Request, whole: bool, progress: Progress<'_>, look: &mut dyn FnMut(Claims<'_, '_>)) -> Report {
    let started = Instant::now();
    let mut report = begin(request);
    let mut stages = Stages { request, whole, report: &mut report, progress, started, done: 0, volatile: Vec::new() };
    let found = stages.all(look);
    if let Err(mut errors) = found {
        errors.sort();
        errors.dedup();
        report.errors = errors;
        report.wcet_cycles = None;
        report.verdict = Verdict::Refused;
    }
    judge(request, &mut report);
    report.analysis.seconds = started.elapsed().as_secs_f64();
    wcet_report::summarise(&mut report);
    report
}

/// A report that says what was asked for, and nothing else.
fn begin(request: &Request) -> Report {
    let mut report = Report { version: VERSION, ..Report::default() };
    report.program.file = request.file.clone();
    report.program.sha256 = machine::hash(&request.data);
    report.program.bytes = request.data.len() as u64;
    report.program.entry = request.entry.clone().unwrap_or_else(|| "the entry point".to_string());
    report.analysis.version = env!("CARGO_PKG_VERSION").to_string();
    report.analysis.command = request.command.clone();
    if let Some(loaded) = &request.machine {
        report.machine = crate::analysis::describe::machine(loaded);
        report.assumptions.extend(loaded.machine.assumes.iter().map(|text| assumption("machine", text)));
    }
    report
}

fn assumption(of: &str, text: &str) -> Assumption {
    Assumption { of: of.to_string(), text: text.trim_end_matches('.').to_string() }
}

/// Time and budget of a bound, once there is one.
fn judge(request: &Request, report: &mut Report) {
    let clock = request.machine.as_ref().map_or(0, |loaded| loaded.machine.clock);
    report.seconds = report.wcet_cycles.filter(|_| clock > 0).map(|cycles| cycles as f64 / clock as f64);
    if let Some(budget) = &mut report.budget {
        budget::judge(budget, report.wcet_cycles);
        if report.wcet_cycles.is_some() && !budget.met {
            report.verdict = Verdict::Late;
        }
    }
}

struct Stages<'r, 'p> {
    request: &'r Request,
    whole: bool,
    report: &'p mut Report,
    progress: Progress<'p>,
    started: Instant,
    done: usize,
    /// What is stated to be written by others.
    volatile: Vec<(u64, u64)>,
}

impl Stages<'_, '_> {
    fn all(&mut self, look: &mut dyn FnMut(Claims<'_, '_>)) -> Found<()> {
        let request = self.request;
        if let (Some(text), Some(loaded)) = (&request.budget, &request.machine) {
            self.report.budget = Some(budget::parse(text, loaded.machine.clock)?);
        }
        let mut program = self.stage(
            "load",
            |_| load(request),
            |program: &Program| format!("{} segments, {} symbols", program.segments().len(), program.symbols().len()),
        )?;
        program.changing = self.registers_of_devices();
        let lines = Lines::parse(&request.data);
        self.program(&program);
        let entry = match &request.entry {
            Some(name) => request::address(&program, name)?,
            None => program.entry,
        };
        self.report.program.entry = program.describe(entry);
        self.report.program.entry_address = Some(hex(entry));
        let lifter = Lifter::new(&program)
            .map_err(|cause| vec![fault(Code::Tool, cause.to_string(), "build the analyser anew")])?;
        let mut options = request::flow_options(&program, &request.stated)?;
        self.volatile = request::volatile(&program, &request.stated.volatile)?;
        options.shared = self.shared();
        let graph = self.stage("control flow", |_| flow(&program, &lifter, &lines, entry, &options), flow_result)?;
        self.graph(&graph);
        for stop in &options.stops {
            self.report
                .assumptions
                .push(assumption("stated", &format!("the region ends at {}", program.describe(*stop))));
        }
        let bounded_by = wcet_flow::context::Options {
            stops: options.stops.clone(),
            recursion: options.recursion.clone(),
            ..wcet_flow::context::Options::default()
        };
        let stack = request.stated.stack.as_ref().map(|name| request::address(&program, name)).transpose()?;
        let mut known = wcet_values::Options {
            stack_pointer: stack.map(|at| (at, at)),
            registers: registers(lifter.registers(), &request.stated.registers)?,
            memory_as_loaded: request.stated.as_loaded || entry == program.entry,
            shared: self.shared(),
            switches: options.switches.keys().copied().collect(),
            steps: steps(request.timeout),
            ..wcet_values::Options::default()
        };
        let expand = |stages: &mut Self| {
            let expanded = contexts::expand(&program, &graph, entry, bounded_by.clone(), &known, stages.deadline());
            expanded.map_err(|found| found.iter().map(|error| faults::context(error, &program, &lines)).collect())
        };
        let expanded = self.stage("calling contexts", expand, |expanded: &Expanded<'_>| {
            let (contexts, nodes) = (expanded.contexts.len(), expanded.nodes.len());
            format!("{contexts} contexts, {nodes} blocks, {} loops", expanded.loops.len())
        })?;
        self.report.program.nodes = expanded.nodes.len();
        for (text, (first, last)) in request.stated.volatile.iter().zip(&self.volatile) {
            let text = format!("others write the memory from {} to {} ({text})", hex(*first), hex(*last));
            self.report.assumptions.push(assumption("stated", &text));
        }
        for text in &request.stated.registers {
            self.report.assumptions.push(assumption("stated", &format!("at the entry a register holds {text}")));
        }
        if !self.volatile.is_empty() {
            self.report
                .assumptions
                .push(assumption("stated", "the stack of the region is no memory that others write"));
        }
        if known.memory_as_loaded {
            self.report.assumptions.push(assumption("stated", "at the entry, memory is as the executable has it"));
        }
        let mut one_run: Option<Result<Rc<OneRun>, Left>> = None;
        let values = self.stage(
            "values",
            |_| {
                let run = wcet_values::one_run(&program, &expanded, &known, INSTRUCTIONS * known.steps).map(Rc::new);
                known.run = run.as_ref().ok().map(Rc::clone);
                one_run = known.memory_as_loaded.then_some(run);
                if contexts::is_large(&expanded) && known.run.is_none() {
                    return Err(contexts::too_large(&graph, entry, &bounded_by, &program, &lines));
                }
                Ok(wcet_values::analyse(&program, &expanded, &known))
            },
            |values: &Values| format!("{} edges that are never taken", values.dead().len()),
        )?;
        let besides = one_run.iter().flatten().flat_map(|run| &run.assumptions);
        self.report.assumptions.extend(besides.map(|text| assumption("program", text)));
        self.report.assumptions.extend(values.assumptions().iter().map(|text| assumption("program", text)));
        self.fixed_code(&program, &lifter, &lines, &expanded, &values)?;
        let changed = rereads::check(&program, &lines, &graph, &expanded, &values, &known.shared);
        if !changed.is_empty() {
            return Err(changed);
        }
        let (bounds, evidence) = self.loops(&program, &expanded, &values, &known, one_run.as_ref())?;
        // Of loops alone; where there is a bound, refinement says the rest.
        self.report.analysis.complete = !self.whole && self.deadline().is_none_or(|deadline| Instant::now() < deadline);
        self.report.loops = loop_report::describe(&expanded, &bounds, &evidence, &lines);
        self.report.errors = loop_report::errors(&self.report.loops);
        let mut constraints = solving::constraints(&values, &bounds);
        let executions = request::executions(&program, &request.stated.executes)?;
        for text in stated::of_instructions(&executions, &program, &expanded, &mut constraints)? {
            self.report.assumptions.push(assumption("stated", &text));
        }
        let mut show = |constraints: &Constraints| {
            let bounds = bounds.iter().filter_map(|found| Some((found.loop_id, found.bound?))).collect();
            look(Claims { program: &program, expanded: &expanded, bounds, constraints });
        };
        if !self.report.errors.is_empty() {
            show(&constraints);
            self.report.verdict = Verdict::Unbounded;
            return Ok(());
        }
        let Some(machine) = request.machine.as_ref().map(|loaded| &loaded.machine).filter(|_| self.whole) else {
            self.report.verdict = Verdict::Bounded;
            return Ok(());
        };
        let explained = request.explain.as_ref().map(|name| request::address(&program, name)).transpose()?;
        let devices = request.stated.devices;
        if !machine.regions.is_empty() && !devices {
            self.report.assumptions.push(assumption("program", solving::NO_DEVICES));
        }
        if let (true, Some(run)) = (contexts::is_large(&expanded), &known.run) {
            if request.stated.constraints.is_some() || explained.is_some() {
                return Err(contexts::too_large(&graph, entry, &bounded_by, &program, &lines));
            }
            show(&constraints);
            let walk = |_: &mut Self| solving::walk(&program, &lines, &expanded, machine, &known, run, devices);
            let (merged, walked) = self.stage("costs of the one run", walk, |(merged, walked)| {
                let blocks = merged.graph.nodes.len();
                format!("{} cycles, {blocks} blocks in one copy of each function", wcet_report::grouped(walked.cycles))
            })?;
            self.report.analysis.complete = true;
            self.report.analysis.path_cycles = Some(walked.cycles);
            self.report.wcet_cycles = Some(walked.cycles);
            self.report.verdict = Verdict::Bounded;
            let first_misses = BTreeMap::from([(None, walked.first_misses)]);
            paths::describe(self.report, &merged.graph, &walked.visits, &first_misses, &lifter, &lines);
            return Ok(());
        }
        let prepare = |_: &mut Self| solving::prepare(&program, &lines, &expanded, machine, &values, &bounds, devices);
        let prepared = self.stage("costs", prepare, |prepared: &Prepared<'_, '_>| {
            format!("{} blocks, {} edges", prepared.model.nodes.len(), prepared.model.edges.len())
        })?;
        let frames = Frames::of(&program, &expanded, &known.switches);
        let setting = Setting {
            program: &program,
            graph: &expanded,
            frames: &frames,
            values: Some(&values),
            sharing: self.sharing(),
            switches: &known.switches,
        };
        self.stated(&setting, &bounds, &lines, &mut constraints)?;
        let found = self.stage(
            "worst path",
            |stages| stages.solve(&program, &lines, &prepared, &constraints),
            |found| format!("{} cycles", wcet_report::grouped(found.wcet_cycles)),
        )?;
        let refine = |stages: &mut Self| {
            let clock = Clock { began: stages.started, deadline: stages.deadline() };
            refining::refine(&setting, &prepared, &lines, constraints, &bounds, &found, clock)
                .map_err(|cause| vec![faults::solver(&cause)])
        };
        let refined =
            self.stage("infeasible paths", refine, |refined: &Refined| format!("{} sets", refined.found.len()))?;
        if !refined.found.is_empty() {
            self.smt_assumptions();
        }
        show(&refined.constraints);
        self.report.infeasible = refined.found;
        self.report.analysis.complete = refined.possible;
        self.report.analysis.refinement.extend(refined.steps);
        let found = refined.bound.unwrap_or(found);
        self.report.analysis.path_cycles = Some(found.path_cycles);
        self.report.wcet_cycles = Some(found.wcet_cycles);
        self.report.verdict = Verdict::Bounded;
        paths::describe(self.report, &expanded, &found.path, &found.first_misses, &lifter, &lines);
        if let Some(address) = explained {
            let explain = explain::explain(address, &expanded, &prepared, &found, machine, &lifter, &lines);
            self.report.explanation = Some(explain);
        }
        Ok(())
    }

    /// Bounds of loops: by inference or as stated, then by model checking for what that leaves; and how those are known that
    /// are not inferred.
    fn loops(
        &mut self,
        program: &Program,
        expanded: &Expanded<'_>,
        values: &Values,
        known: &wcet_values::Options,
        one_run: Option<&Result<Rc<OneRun>, Left>>,
    ) -> Found<(Vec<LoopBound>, BTreeMap<LoopId, Evidence>)> {
        let stated = request::loops(program, &self.request.stated.loops)?;
        let mut evidence = BTreeMap::new();
        let infer = |_: &mut Self| {
            let mut bounds = crate::loop_bounds::infer(program, expanded, values);
            match one_run {
                Some(Ok(run)) => crate::loop_bounds::of_one_run(expanded, run, &mut bounds),
                Some(Err(left)) => checking::no_one_run(program, left, &mut bounds),
                None => {}
            }
            let used = stated::of_loops(&stated, program, expanded, &mut bounds)?;
            evidence.extend(used.into_iter().map(|one| (one, Evidence::Stated)));
            Ok(bounds)
        };
        let mut bounds = self.stage("loop bounds", infer, |bounds: &Vec<LoopBound>| {
            let bounded = bounds.iter().filter(|found| found.bound.is_some()).count();
            format!("{bounded} of {} in their contexts", bounds.len())
        })?;
        let check = |stages: &mut Self| {
            // What the one run does is exact.
            if matches!(one_run, Some(Ok(_))) {
                return Ok(BTreeSet::new());
            }
            let (switches, deadline, sharing) = (&known.switches, stages.deadline(), stages.sharing());
            let checked = checking::check(program, expanded, values, sharing, switches, deadline, &mut bounds);
            match checked {
                // What is bounded by then stays so, by inference or by proofs that were complete.
                Err(lost) if !matches!(lost, SolverError::Start(_)) => {
                    checking::lost(&mut bounds, &lost);
                    stages.smt_assumptions();
                    Ok(BTreeSet::new())
                }
                checked => checked.map_err(|cause| vec![faults::solver(&cause)]),
            }
        };
        let checked =
            self.stage("model checking", check, |checked: &BTreeSet<LoopId>| format!("{} more loops", checked.len()))?;
        if !checked.is_empty() {
            self.smt_assumptions();
        }
        evidence.extend(checked.into_iter().map(|one| (one, Evidence::ModelChecked)));
        for (header, bound) in &stated {
            let place = program.describe(*header);
            let text = format!("the loop at {place} executes its header at most {bound} times for each entry of it");
            self.report.assumptions.push(assumption("stated", &text));
        }
        Ok((bounds, evidence))
    }

    /// Constraints that a person states: all of them must hold.
    fn stated(
        &mut self,
        setting: &Setting<'_, '_>,
        bounds: &[LoopBound],
        lines: &Lines,
        constraints: &mut Constraints,
    ) -> Found<()> {
        let Some(file) = &self.request.stated.constraints else { return Ok(()) };
        let claims = stated::read(file, setting.program, setting.graph, lines)?;
        let of_loops = bounds.iter().filter_map(|found| Some((found.loop_id, found.bound?))).collect();
        let deadline = self.deadline();
        let check = |_: &mut Self| stated::check(&claims, setting, &of_loops, lines, &file.0, deadline, constraints);
        let (shown, errors) = self.stage("stated constraints", check, |(shown, errors)| {
            format!("{} of {} hold", shown.len() - errors.len(), shown.len())
        })?;
        self.report.constraints = shown;
        self.smt_assumptions();
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors)
        }
    }

    /// One more bound, better than those before.
    fn solve(
        &mut self,
        program: &Program,
        lines: &Lines,
        prepared: &Prepared<'_, '_>,
        constraints: &Constraints,
    ) -> Found<Bound> {
        let deadline = self.deadline();
        let found = prepared.bound(constraints, &crate::ipet::Options { deadline });
        let found = found
            .map_err(|errors| errors.iter().map(|error| solving::error(error, program, lines)).collect::<Vec<_>>())?;
        self.report.analysis.refinement.push(Refinement {
            seconds: self.started.elapsed().as_secs_f64(),
            wcet_cycles: found.wcet_cycles,
            infeasible: constraints.conflicts.len(),
        });
        Ok(found)
    }

    /// Runs a stage, with its time and what it found in the report.
    fn stage<T>(
        &mut self,
        name: &str,
        work: impl FnOnce(&mut Self) -> Found<T>,
        result: impl FnOnce(&T) -> String,
    ) -> Found<T> {
        self.done += 1;
        let stated = usize::from(self.request.stated.constraints.is_some());
        let total = if self.whole { STAGES + stated } else { STAGES_FOR_LOOPS };
        (self.progress)(self.done, total, name);
        let began = Instant::now();
        let found = work(self);
        let result = match &found {
            Ok(found) => result(found),
            Err(errors) => format!("{} errors", errors.len()),
        };
        let seconds = began.elapsed().as_secs_f64();
        self.report.analysis.phases.push(Phase { name: name.to_string(), seconds, result });
        found
    }

    /// What formulas take for granted, once.
    fn smt_assumptions(&mut self) {
        for text in wcet_symbolic::ASSUMPTIONS {
            let new = assumption("program", text);
            if !self.report.assumptions.contains(&new) {
                self.report.assumptions.push(new);
            }
        }
    }

    fn sharing(&self) -> Sharing {
        match self.shared() {
            shared if shared.places == [(0, u64::MAX)] => Sharing::StackIsPrivate,
            shared if shared.places.is_empty() => Sharing::Exclusive,
            shared => Sharing::Places(shared),
        }
    }

    /// Memory that others may change: the registers of devices always.
    fn shared(&self) -> Shared {
        let registers = self.registers_of_devices();
        // Of loops alone, or where the machine file has no device, it is not known where devices are.
        if self.request.stated.shared || self.request.stated.devices && registers.is_empty() {
            return Shared::of(vec![(0, u64::MAX)]);
        }
        let places = registers.into_iter().chain(self.volatile.iter().copied()).collect();
        // A pointer may lead to a buffer that others write, of which that is stated, as to any other memory.
        Shared { places, unknown: self.request.stated.devices || !self.volatile.is_empty() }
    }

    fn registers_of_devices(&self) -> Vec<(u64, u64)> {
        let machine = self.request.machine.iter().map(|loaded| &loaded.machine);
        machine.flat_map(|machine| &machine.regions).map(|region| region.range).collect()
    }

    /// When refinement ends.
    fn deadline(&self) -> Option<Instant> {
        self.request.timeout.and_then(|timeout| self.started.checked_add(timeout))
    }

    fn program(&mut self, program: &Program) {
        self.report.program.architecture = match program.architecture {
            Architecture::X86_64 => "x86-64",
            Architecture::Arm => "ARM",
            Architecture::RiscV64 => "RV64",
            Architecture::RiscV32 => "RV32",
        }
        .to_string();
    }

    fn graph(&mut self, graph: &Graph) {
        let blocks = || graph.functions.values().flat_map(|function| &function.blocks);
        self.report.program.reached_functions = graph.functions.len();
        self.report.program.reached_instructions = blocks().map(|block| block.instructions.len()).sum();
        self.report.assumptions.extend(graph.assumptions.iter().map(|text| assumption("program", text)));
    }

    fn fixed_code(
        &mut self,
        program: &Program,
        lifter: &Lifter<'_>,
        lines: &Lines,
        expanded: &Expanded<'_>,
        values: &Values,
    ) -> Found<()> {
        let stated = self.request.stated.fixed_code;
        let stack_pointer = Some(lifter.registers().stack_pointer());
        let data = &self.request.data;
        let errors = fixed_code::check(data, program, lines, expanded, values, stack_pointer, stated);
        if stated {
            self.report.assumptions.push(assumption("stated", "nothing writes code"));
        }
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors)
        }
    }
}

/// Stages of a bound, and of loops alone.
const STAGES: usize = 9;
const STAGES_FOR_LOOPS: usize = 6;

/// Instructions of a region's one run, for each that may be executed with values that stand for many: those take longer.
const INSTRUCTIONS: u64 = 64;

/// Instructions that may be executed one by one: counted, not timed, so that the same command gives the same bound.
fn steps(timeout: Option<Duration>) -> u64 {
    const A_SECOND: u64 = 200_000;
    let most = wcet_values::Options::default().steps;
    timeout.map_or(most, |timeout| timeout.as_secs().saturating_mul(A_SECOND).clamp(A_SECOND, most))
}

fn load(request: &Request) -> Found<Program> {
    Program::parse(&request.data).map_err(|errors| {
        let open = if errors.iter().any(|error| error.problem == wcet_binary::load::Problem::NoCode) {
            fixed_code::unloaded(&request.data)
        } else {
            Vec::new()
        };
        errors.iter().map(faults::loading).chain(open).collect()
    })
}

fn flow(
    program: &Program,
    lifter: &Lifter<'_>,
    lines: &Lines,
    entry: u64,
    options: &wcet_flow::Options,
) -> Found<Graph> {
    let graph = wcet_flow::analyse(lifter, &[entry], options);
    graph.map_err(|errors| errors.iter().map(|error| faults::flow(error, program, lines)).collect())
}

fn flow_result(graph: &Graph) -> String {
    let loops: usize = graph.functions.values().map(|function| function.loops.len()).sum();
    format!("{} functions, {loops} loops", graph.functions.len())
}
