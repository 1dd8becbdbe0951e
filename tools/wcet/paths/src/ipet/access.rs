//! Data accesses as the caches see them, each within one line.

use std::cell::Cell;
use std::rc::Rc;

use wcet_binary::lift::evaluate;
use wcet_binary::lift::il::{self, AddressForm, Encoding, Expression, Op, Operand, Value};
use wcet_binary::lift::Instruction;
use wcet_binary::load::Architecture;
use wcet_flow::context::NodeId;
use wcet_hardware::cache::{Access, Kind, Target};
use wcet_hardware::machine::Machine;

use crate::ipet::class::{self, Sort};
use crate::ipet::stride::Strides;

/// Says where accesses go; the analysis of values does. Without one, any access goes anywhere.
pub trait Targets {
    /// The bytes that access number `access` of instruction number `instruction` of the node touches: all of them if it
    /// is [`Target::Within`], the first one if it is [`Target::At`] or [`Target::OnPage`].
    fn target(&self, node: NodeId, instruction: usize, access: usize) -> Target;

    /// Names of lines ([`Target::Line`]) that may stand for others behind the node. Asked for when all targets have been.
    fn renewed(&self, _node: NodeId) -> Vec<u64> {
        Vec::new()
    }

    /// The instructions from some point on up to the entry of the graph, with their data accesses, each of one line, by the names
    /// that the graph has; none if nothing is known of what was before. Asked for when all targets have been.
    fn before(&self) -> Vec<(Rc<Instruction>, Vec<Access>)> {
        Vec::new()
    }

    /// Whether its address is a multiple of the largest power of two in its size, so that it does not cross a line.
    fn aligned(&self, _node: NodeId, _instruction: usize, _access: usize) -> bool {
        false
    }
}

/// Knows nothing.
pub struct Anywhere;

impl Targets for Anywhere {
    fn target(&self, _: NodeId, _: usize, _: usize) -> Target {
        Target::Anywhere
    }
}

impl<F: Fn(NodeId, usize, usize) -> Target> Targets for F {
    fn target(&self, node: NodeId, instruction: usize, access: usize) -> Target {
        self(node, instruction, access)
    }
}

/// More lines than this are any lines.
const MANY: u64 = 64;

/// What is known about all accesses.
pub struct Accesses<'a> {
    pub machine: &'a Machine,
    pub architecture: Architecture,
    pub targets: &'a dyn Targets,
    /// Walks that have a name.
    pub walks: Cell<u64>,
}

impl Accesses<'_> {
    /// The data accesses of instruction number `number` of `node`.
    /// `steps` says of accesses by how much their address changes from one execution of the node to the next, and how
    /// often the node is executed one time after the other, at most.
    pub fn of(
        &self,
        node: NodeId,
        number: usize,
        instruction: &Instruction,
        sort: Sort,
        steps: Option<&Strides>,
    ) -> Vec<Access> {
        let mut data = Vec::new();
        for (index, access) in instruction.accesses.iter().enumerate() {
            let unknown = self.targets.target(node, number, index);
            let target = match unknown {
                Target::Anywhere | Target::Memory => constant(instruction, access).map_or(unknown, Target::At),
                known => known,
            };
            let aligned = is_always_aligned(self.architecture, self.machine.line(), instruction, access)
                || access.size.is_power_of_two() && self.targets.aligned(node, number, index);
            let step = steps.and_then(|steps| Some((steps.of(number, index)?, steps.executions)));
            let target = match step {
                Some((step, executions)) if aligned && self.is_unknown(target) => {
                    self.walk(step, executions, access).unwrap_or(target)
                }
                _ => target,
            };
            let before = data.len();
            if access.read {
                lines(self.machine, Kind::Read, target, access, aligned, &mut data);
            }
            let again = (data.len() - before) as u64;
            if access.write {
                let read = access.read && !matches!(target, Target::At(_)) && is_memory(self.machine, target);
                let target = if read { Target::Again(again) } else { target };
                let written = data.len();
                lines(self.machine, Kind::Write, target, access, aligned, &mut data);
                debug_assert!(!read || (data.len() - written) as u64 == again);
            }
        }
        if sort.prefetches {
            data.push(Access { kind: Kind::Read, target: Target::Memory, certain: false });
        }
        if sort.forgets {
            data.push(Access { kind: Kind::Forget, target: Target::Anywhere, certain: true });
        }
        data
    }
}

impl Accesses<'_> {
    /// Whether it is memory of which so little is known that any line may be meant.
    fn is_unknown(&self, target: Target) -> bool {
        let many = match target {
            Target::Within(first, last) => last / self.machine.line() - first / self.machine.line() >= MANY,
            Target::Line(..) | Target::Memory => true,
            _ => false,
        };
        many && is_memory(self.machine, target)
    }

    /// An access that moves on by `step` each time, wherever it begins.
    fn walk(&self, step: i64, executions: u64, access: &il::Access) -> Option<Target> {
        let (line, size) = (self.machine.line(), u64::from(access.size.max(1)));
        let step = step.unsigned_abs();
        if step > line || size > line || access.read && access.write {
            return None;
        }
        let bytes = step.checked_mul(executions.checked_sub(1)?)?.checked_add(size)?;
        // The first byte of them is the last one of its line, or of a multiple of the size, where all are.
        let before = if step % size == 0 && line % size == 0 { line - size } else { line - 1 };
        let lines = (before.checked_add(bytes)? - 1) / line + 1;
        let name = self.walks.get();
        self.walks.set(name + 1);
        (lines <= wcet_hardware::cache::FARTHEST && name < wcet_hardware::cache::FARTHEST)
            .then_some(Target::Walk { name, lines })
    }
}

/// Whether the processor itself refuses addresses that are not aligned: ARM's loads and stores of several registers; x86's saving
/// and restoring of vector state, other than at a multiple of 64; RISC-V's atomic accesses.
fn is_always_aligned(architecture: Architecture, line: u64, instruction: &Instruction, access: &il::Access) -> bool {
    let state = |name: &str| ["xsave", "xsave64", "xrstor", "xrstor64"].contains(&name);
    if architecture == Architecture::X86_64 {
        return state(&instruction.mnemonic) && line > 0 && 64 % line == 0;
    }
    if architecture.is_riscv() {
        // Atomic ones.
        let word = wcet_binary::lift::riscv::word(&instruction.bytes, architecture.pointer_size() == 8);
        return word.is_some_and(|word| word & 0x7f == 0x2f) && line > 0 && line % u64::from(access.size.max(1)) == 0;
    }
    let several = match instruction.encoding {
        // Bits 27 to 25 are 4.
        Encoding::Main => instruction.bytes.get(3).is_some_and(|top| top & 0xe == 8),
        Encoding::Thumb { .. } => class::moves_several(&instruction.bytes),
    };
    architecture == Architecture::Arm && several && access.size == 4
}

/// Whether no device is there.
fn is_memory(machine: &Machine, target: Target) -> bool {
    match target {
        Target::Stack(..) | Target::Memory | Target::Line(..) | Target::Walk { .. } => true,
        Target::Within(first, last) => {
            machine.regions.iter().all(|region| last < region.range.0 || region.range.1 < first)
        }
        _ => false,
    }
}

/// One access for each line. `aligned`: its address is a multiple of its size, or it begins a line.
fn lines(machine: &Machine, kind: Kind, target: Target, access: &il::Access, aligned: bool, data: &mut Vec<Access>) {
    let line = machine.line();
    let size = u64::from(access.size.max(1));
    let certain = !access.conditional;
    if let Target::At(address) = target {
        let (first, last) = (address / line, address.saturating_add(size - 1) / line);
        if last - first < MANY {
            let starts = (first..=last).map(|number| Target::At(number * line));
            data.extend(starts.map(|target| Access { kind, target, certain }));
            return;
        }
    }
    if let Target::OnPage { address, page } = target {
        let (first, last) = (address / line, address.saturating_add(size - 1) / line);
        if last - first < MANY && page > 0 && (address % page).saturating_add(size) <= page {
            let starts = (first..=last).map(|number| Target::OnPage { address: number * line, page });
            data.extend(starts.map(|target| Access { kind, target, certain }));
            return;
        }
        // Across the end of the page: any lines.
        let most = (size + line - 2) / line + 1;
        data.extend((0..most).map(|number| Access { kind, target: Target::Anywhere, certain: certain && number == 0 }));
        return;
    }
    let within_one = match target {
        Target::Within(first, last) => first / line == last / line,
        _ => false,
    };
    // As many lines as its bytes can touch. All but the first may be missing.
    let most = if within_one {
        1
    } else if aligned {
        size.div_ceil(line)
    } else {
        (size + line - 2) / line + 1
    };
    // A name is that of one line.
    let target = if most > 1 && matches!(target, Target::Line(..)) { Target::Memory } else { target };
    data.extend((0..most).map(|number| Access { kind, target, certain: certain && number == 0 }));
}

/// The address of an access, if the instruction alone tells it.
fn constant(instruction: &Instruction, access: &il::Access) -> Option<u64> {
    match access.address {
        AddressForm::Known { base: None, index: None, displacement, segment: None } => Some(displacement as u64),
        AddressForm::Any if instruction.accesses.len() == 1 && access.read && !access.write => pool(instruction),
        _ => None,
    }
}

/// The address of the only load, computed from constants: ARM reads literals relative to the program counter.
fn pool(instruction: &Instruction) -> Option<u64> {
    let mut loads = instruction.ops.iter().filter_map(|op| match op {
        Op::Set { from: Expression::Load { address, .. }, .. } => Some(*address),
        _ => None,
    });
    let address = loads.next()?;
    if loads.next().is_some() {
        return None;
    }
    number(instruction, address, 8)
}

/// The value of an operand, if only constants make it.
fn number(instruction: &Instruction, value: Value, depth: u32) -> Option<u64> {
    match value.operand {
        Operand::Constant(number) => Some(number),
        Operand::Register(_) => None,
        Operand::Temporary(_) if depth == 0 => None,
        Operand::Temporary(_) => {
            let made = instruction.ops.iter().find_map(|op| match op {
                Op::Set { to, from } if *to == value => Some(*from),
                _ => None,
            })?;
            let of = |operand: Value| number(instruction, operand, depth - 1);
            match made {
                Expression::Copy(from) => of(from),
                Expression::Unary(operation, a) => {
                    evaluate::unary(operation, u128::from(of(a)?), a.size, value.size).map(|number| number as u64)
                }
                Expression::Binary(operation, a, b) if a.size == b.size => {
                    evaluate::binary(operation, u128::from(of(a)?), u128::from(of(b)?), a.size)
                        .map(|number| number as u64)
                }
                _ => None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use wcet_binary::lift::Lifter;
    use wcet_binary::load::Program;
    use wcet_hardware::machine::Class;

    use super::*;
    use crate::analysis::load_machine;

    fn kinds(code: &[u8], line: &str) -> Vec<Kind> {
        let machines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../machines/timing");
        let set: Vec<String> = ["l1i", "l1d", "l2"].iter().map(|cache| format!("cache.{cache}.line={line}")).collect();
        let set = if line == "64B" { Vec::new() } else { set };
        let machine = load_machine(Some(&machines), "x86-inorder", &set).unwrap().machine;
        let program = Program::from_code(Architecture::X86_64, 0x1000, code);
        let instruction = Lifter::new(&program).unwrap().lift(0x1000).unwrap();
        let targets = Anywhere;
        let accesses =
            Accesses { machine: &machine, architecture: Architecture::X86_64, targets: &targets, walks: Cell::new(0) };
        let sort = Sort { class: Class::ExtendedState, forgets: false, prefetches: false, waits: false };
        accesses.of(0, 0, &instruction, sort, None).iter().map(|access| access.kind).collect()
    }

    /// Vector state stands at a multiple of 64, so that 832 bytes are 13 lines of 64; saving reads one word of it.
    #[test]
    fn vector_state_begins_a_line() {
        let saved = kinds(&[0x48, 0x0f, 0xae, 0x27], "64B");
        assert_eq!((saved[0], saved.len()), (Kind::Read, 14));
        assert!(saved[1..].iter().all(|kind| *kind == Kind::Write));
        assert_eq!(kinds(&[0x48, 0x0f, 0xae, 0x2f], "64B"), [Kind::Read; 13]);
        // The older form wants a multiple of 16 alone.
        assert_eq!(kinds(&[0x48, 0x0f, 0xae, 0x07], "64B").len(), 512 / 64 + 1);
        assert_eq!(kinds(&[0x48, 0x0f, 0xae, 0x2f], "128B").len(), 832 / 128 + 2);
    }
}
