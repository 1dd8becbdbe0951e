//! What was seen: registers at each node, where accesses go, and which edges were taken.

use wcet_binary::lift::evaluate::mask;
use wcet_binary::lift::il::{Access, AddressForm, Binary, Register};
use wcet_binary::lift::Registers;
use wcet_flow::context::{EdgeId, Expanded, NodeId};
use wcet_hardware::cache::Target;

use crate::naming::{Name, Naming};
use crate::seen::{signed, Seen, STACK, STACK_ALIGNMENT};
use crate::set::Set;
use crate::state::{State, World};
use crate::term::Root;
use crate::transfer;
use crate::values::{Base, Range};

#[derive(Debug)]
pub(crate) struct Record {
    sizes: Vec<u8>,
    flags: Vec<bool>,
    registers: Vec<Option<Vec<(Root, Set)>>>,
    accesses: Vec<Vec<Seen>>,
    /// Whether every address was a multiple of the largest power of two in the access's size.
    aligned: Vec<Vec<bool>>,
    pub taken: Vec<bool>,
    naming: Naming,
    names: Vec<Vec<Named>>,
    /// Names in the present execution of a block, and whether nothing is learned from them any more.
    now: Vec<Option<Name>>,
    settled: bool,
    alike: Vec<Vec<Alike>>,
}

/// Which access before it in its block has its address in the same line, in every execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Alike {
    Never,
    Always(usize),
    Differently,
}

/// What every execution of an access calls its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Named {
    Never,
    Always(Name),
    Differently,
}

/// Bytes that stand at a multiple of so many are alike if they are in one of these.
pub const LINE: u64 = 64;

/// The addresses of an access.
enum Place {
    Numbers(Set),
    /// Added to the stack pointer at the entry.
    Stack(Set),
}

impl Record {
    pub fn new(expanded: &Expanded<'_>, table: Registers) -> Record {
        let accesses = |node| expanded.block(node).instructions.iter().map(|one| one.accesses.len()).sum();
        let aligned = expanded.order().map(|node| vec![true; accesses(node)]).collect();
        Record {
            sizes: table.all().map(|one| table.value(one).size).collect(),
            flags: table.all().map(|one| table.is_flag(one)).collect(),
            registers: vec![None; expanded.nodes.len()],
            accesses: expanded.order().map(|node| vec![Seen::Never; accesses(node)]).collect(),
            aligned,
            taken: vec![false; expanded.edges.len()],
            naming: Naming::default(),
            names: expanded.order().map(|node| vec![Named::Never; accesses(node)]).collect(),
            now: Vec::new(),
            settled: false,
            alike: expanded.order().map(|node| vec![Alike::Never; accesses(node)]).collect(),
        }
    }

    /// Names found so far in some nodes.
    pub fn names_in(&self, nodes: &[NodeId]) -> Vec<Vec<Named>> {
        nodes.iter().map(|node| self.names[*node].clone()).collect()
    }

    /// Back to names found earlier: what was seen since is seen again in another way.
    pub fn restore(&mut self, nodes: &[NodeId], names: Vec<Vec<Named>>) {
        nodes.iter().zip(names).for_each(|(node, names)| self.names[*node] = names);
    }

    /// By name, the addresses of accesses that have one.
    pub fn names(&self, node: NodeId) -> Vec<Option<Name>> {
        let of = |named: &Named| match named {
            Named::Always(name) => Some(*name),
            Named::Never | Named::Differently => None,
        };
        self.names[node].iter().map(of).collect()
    }

    /// Of each access, the number of an access before it in its block that goes to the same [`LINE`] in every execution.
    pub fn alike(&self, node: NodeId) -> Vec<Option<usize>> {
        let of = |alike: &Alike| match alike {
            Alike::Always(number) => Some(*number),
            Alike::Never | Alike::Differently => None,
        };
        self.alike[node].iter().map(of).collect()
    }

    fn name(&mut self, node: NodeId, number: usize, access: &Access, state: &State, world: &World<'_>) {
        let (known, alike) = (self.names[node][number], self.alike[node][number]);
        if number == 0 {
            let settled = |number: usize| {
                self.names[node][number] == Named::Differently && self.alike[node][number] == Alike::Differently
            };
            self.settled = (0..self.names[node].len()).all(settled);
        }
        if self.settled {
            return;
        }
        let name = self.naming.name(&access.address, state, world);
        let now = name.map_or(Named::Differently, Named::Always);
        self.names[node][number] = if known == Named::Never || known == now { now } else { Named::Differently };
        // Where a block is executed in several ways, what they have in common was seen just before.
        self.now.truncate(number);
        self.now.resize(number, None);
        let place = |name: &Name| name.part(LINE);
        let before =
            name.and_then(|name| self.now.iter().rposition(|one| one.as_ref().map(place) == Some(place(&name))));
        let now = before.map_or(Alike::Differently, Alike::Always);
        self.alike[node][number] = if alike == Alike::Never || alike == now { now } else { Alike::Differently };
        self.now.push(name);
    }

    pub fn enter(&mut self, node: NodeId, state: &State) {
        let now = |index: usize| {
            if self.flags[index] {
                (Root::Zero, Set::full(1))
            } else {
                state.range(&state.registers[index])
            }
        };
        match &mut self.registers[node] {
            None => self.registers[node] = Some((0..state.registers.len()).map(now).collect()),
            Some(known) => {
                for (index, old) in known.iter_mut().enumerate() {
                    if old.0 == Root::Zero && old.1.is_full() {
                        continue;
                    }
                    let (root, set) = if self.flags[index] { continue } else { state.range(&state.registers[index]) };
                    *old = if root == old.0 {
                        (root, old.1.join(&set))
                    } else {
                        (Root::Zero, Set::full(self.sizes[index]))
                    };
                }
            }
        }
    }

    pub fn taken(&mut self, edge: EdgeId) {
        self.taken[edge] = true;
    }

    pub fn access(
        &mut self,
        node: NodeId,
        number: usize,
        access: &Access,
        state: &State,
        world: &World<'_>,
        stack: Option<(u64, u64)>,
    ) {
        self.name(node, number, access, state, world);
        let seen = self.accesses[node][number];
        if seen == Seen::Anywhere {
            return;
        }
        let place = place(&access.address, state, world, stack);
        let size = u128::from(access.size.max(1));
        let step = size & size.wrapping_neg();
        let multiples = |set: &Set| set.low & (step - 1) == 0 && set.stride & (step - 1) == 0;
        self.aligned[node][number] &= match &place {
            Some(Place::Numbers(set)) => multiples(set),
            Some(Place::Stack(set)) => step <= STACK_ALIGNMENT.into() && multiples(set),
            None => false,
        };
        let bytes = match place {
            Some(Place::Numbers(set)) => {
                Seen::Within(set.low as u64, (set.high as u64).saturating_add(size as u64 - 1))
            }
            Some(Place::Stack(set)) => {
                Seen::Stack(signed(set.low, set.size), signed(set.high, set.size).saturating_add(size as i64 - 1))
            }
            None => Seen::Anywhere,
        };
        self.accesses[node][number] = seen.or(bytes);
    }

    pub fn targets(&self, node: NodeId) -> Vec<Target> {
        self.accesses[node].iter().map(|seen| seen.target()).collect()
    }

    /// Whether the addresses of each access are known to be aligned.
    pub fn aligned(&self, node: NodeId) -> Vec<bool> {
        self.accesses[node].iter().zip(&self.aligned[node]).map(|(seen, aligned)| *aligned && seen.is_known()).collect()
    }

    pub fn reached(&self, node: NodeId) -> bool {
        self.registers[node].is_some()
    }

    pub fn registers(&self, node: NodeId) -> Vec<Range> {
        let Some(known) = &self.registers[node] else { return Vec::new() };
        known.iter().map(|(root, set)| range(*root, set)).collect()
    }
}

pub(crate) fn range(root: Root, set: &Set) -> Range {
    let base = match root {
        Root::Zero => Base::Zero,
        Root::Stack => Base::Stack,
        Root::Symbol(number) => Base::Unknown(number as u32),
    };
    Range { base, low: set.low as u64, high: set.high as u64, stride: set.stride as u64, size: set.size }
}

/// The addresses; None if they are not known.
fn place(form: &AddressForm, state: &State, world: &World<'_>, stack: Option<(u64, u64)>) -> Option<Place> {
    let AddressForm::Known { base, index, displacement, segment } = form else { return None };
    let size = world.pointer;
    let of = |register: &Register| state.address(&state.registers[usize::from(register.0)], size);
    let mut sum = (Root::Zero, Set::single(*displacement as u128, size));
    let scaled = |(register, shift): &(Register, u8)| {
        let set = state.numbers(&state.registers[usize::from(register.0)]);
        (Root::Zero, transfer::binary(Binary::Multiply, &set, &Set::single(1 << shift, size), size))
    };
    let index = index.as_ref().map(|index| if index.1 == 0 { of(&index.0) } else { scaled(index) });
    for (root, set) in [base.as_ref().map(of), index, segment.as_ref().map(of)].into_iter().flatten() {
        let (root, set) = match (sum.0, root) {
            (Root::Zero, root) => (root, set),
            // Two bases: only their numbers, of which nothing is known.
            (_, Root::Zero) => (sum.0, set),
            _ => return None,
        };
        sum = (root, transfer::binary(Binary::Add, &sum.1, &set, size));
    }
    let set = match sum.0 {
        Root::Zero => sum.1,
        Root::Stack => {
            let Some((low, high)) = stack else {
                let near = |number: u128| signed(number, size).unsigned_abs() < STACK;
                let known = near(sum.1.low) && near(sum.1.high) && signed(sum.1.low, size) <= signed(sum.1.high, size);
                return known.then_some(Place::Stack(sum.1));
            };
            transfer::binary(Binary::Add, &sum.1, &Set::range(low.into(), high.into(), size), size)
        }
        Root::Symbol(number) => {
            let known = *state.known(number).filter(|set| set.size == size)?;
            transfer::binary(Binary::Add, &sum.1, &known, size)
        }
    };
    is_known(&set).then_some(Place::Numbers(set))
}

/// Whether something is known of an address: almost anywhere is anywhere.
pub fn is_known(numbers: &Set) -> bool {
    numbers.is_straight() && numbers.span() < mask(numbers.size) >> 1
}
