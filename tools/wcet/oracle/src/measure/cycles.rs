//! Cycles that cases take on the concrete simulator of a machine file.

use std::path::Path;
use std::rc::Rc;

use crate::simulate::{Control, DataAccess, Pointer, Simulator, Step, Use};
use wcet_binary::lift::Instruction;
use wcet_binary::load::Program;
use wcet_flow::context::Expanded;
use wcet_hardware::machine::{Machine, Transfer};
use wcet_paths::ipet::class;

use crate::measure::emulate::{address, lines, Cases};
use crate::measure::state::State;
use crate::measure::walk::{self, Walk};
use crate::measure::Error;

/// An instruction that ran, and the registers before it.
struct Executed {
    instruction: Rc<Instruction>,
    state: State,
}

/// The cycles of case number `case`: the most over caches that are empty or full of written lines at its start.
pub fn cycles(
    file: &Path,
    program: &Program,
    expanded: &Expanded<'_>,
    machine: &Machine,
    case: u32,
) -> Result<u64, Error> {
    let executed = execute(file, program, expanded, case)?;
    let trace = trace(&executed, program, machine)?;
    let setup = |error: crate::simulate::SimulateError| Error::Setup(error.to_string());
    let mut most = 0;
    for dirty in [false, true] {
        let mut simulator = Simulator::new(machine, Pointer::OfEachSet, 1);
        if dirty {
            fill(&mut simulator, machine);
        }
        most = most.max(simulator.run(&trace).map_err(setup)?);
    }
    Ok(most)
}

/// Writes lines that the program does not have, as many as all caches hold.
fn fill(simulator: &mut Simulator, machine: &Machine) {
    const ELSEWHERE: u64 = 0x7000_0000;
    let line = machine.line();
    let bytes = machine.caches.iter().map(|cache| cache.sets * cache.ways * line).max().unwrap_or(0);
    for number in 0..2 * bytes / line {
        simulator.hierarchy.access(Use::Write, ELSEWHERE + number * line);
    }
}

/// The instructions of one case inside the region.
fn execute(file: &Path, program: &Program, expanded: &Expanded<'_>, case: u32) -> Result<Vec<Executed>, Error> {
    let mut walk = Walk::new(expanded, program);
    let mut executed: Vec<Executed> = Vec::new();
    let mut inside = false;
    lines(file, program.architecture, Cases::One(case), "exec,nochain,cpu", |line| {
        if let Some(address) = address(line) {
            inside = !matches!(walk.step(address)?, walk::Step::Outside | walk::Step::Left);
            if let Some(instruction) = walk.instruction() {
                executed.push(Executed { instruction, state: State::default() });
            }
        } else if inside {
            let text = String::from_utf8_lossy(line);
            if let Some(last) = executed.last_mut() {
                last.state.read(&text, program.architecture);
            }
        }
        Ok(())
    })?;
    Ok(executed)
}

fn trace(executed: &[Executed], program: &Program, machine: &Machine) -> Result<Vec<Step>, Error> {
    let mut steps = Vec::with_capacity(executed.len());
    for (index, Executed { instruction, state }) in executed.iter().enumerate() {
        let sort = class::sort(program.architecture, instruction).map_err(Error::Setup)?;
        let used = wcet_paths::ipet::used(program.architecture, instruction);
        let goes = executed.get(index + 1).is_none_or(|next| next.instruction.address != instruction.next());
        let transfer = class::transfer(instruction, sort.class);
        let control = match transfer {
            Transfer::None => Control::None,
            _ if goes => Control::Taken,
            _ => Control::NotTaken,
        };
        let writes = if state.happens(instruction) { used.writes } else { used.surely_writes };
        steps.push(Step {
            address: instruction.address,
            length: instruction.bytes.len() as u64,
            class: sort.class,
            reads: used.reads,
            writes,
            transfer,
            control,
            memory: memory(instruction, state, program, machine),
            forgets: sort.forgets,
        });
    }
    Ok(steps)
}

/// The data accesses, each within a line.
fn memory(instruction: &Instruction, state: &State, program: &Program, machine: &Machine) -> Vec<DataAccess> {
    let line = machine.line();
    let mut found = Vec::new();
    for (access, first) in state.accesses(instruction, program.architecture) {
        let last = first + u64::from(access.size.max(1)) - 1;
        for write in [false, true] {
            if if write { access.write } else { access.read } {
                let lines = first / line..=last / line;
                found.extend(lines.map(|number| DataAccess { address: number * line, write }));
            }
        }
    }
    found
}
