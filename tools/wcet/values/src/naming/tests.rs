//! Names of sums, against what the sums are on random numbers.

use wcet_binary::lift::evaluate::{binary, unary};
use wcet_binary::lift::il::Register;
use wcet_binary::load::{Architecture, Program};

use super::*;
use crate::set::Set;
use crate::term::Symbols;
use crate::Shared;

const BASE: Register = Register(0);
const INDEX: Register = Register(1);

fn with_world(architecture: Architecture, test: impl FnOnce(&World<'_>)) {
    let program = Program::from_code(architecture, 0x1000, &[0; 16]);
    let (symbols, pointer) = (Symbols::default(), architecture.pointer_size());
    test(&World { program: &program, symbols, pointer, shared: &Shared::default(), own: None, leads: None });
}

fn known(base: Option<Register>, index: Option<(Register, u8)>, displacement: i64) -> AddressForm {
    AddressForm::Known { base, index, displacement, segment: None }
}

fn state(registers: Vec<Term>) -> State {
    State { registers, memory: Default::default(), known: Rc::default(), crowd: 0, escaped: false }
}

/// The name of `[base + displacement]`.
fn at(naming: &mut Naming, world: &World<'_>, base: &Term, displacement: i64) -> Option<Name> {
    naming.name(&known(Some(BASE), None, displacement), &state(vec![base.clone()]), world)
}

/// The name of `[base + index << shift]`.
fn indexed(naming: &mut Naming, world: &World<'_>, base: &Term, index: &Term, shift: u8) -> Option<Name> {
    let registers = state(vec![base.clone(), index.clone()]);
    naming.name(&known(Some(BASE), Some((INDEX, shift)), 0), &registers, world)
}

/// A new symbol each time, as where the same is computed at two places.
fn computed(world: &World<'_>, operation: Binary, a: &Term, b: &Term) -> Term {
    world.symbols.make(Root::Zero, Set::full(a.size), Origin::Binary(operation, a.clone(), b.clone()))
}

fn number(number: u64) -> Term {
    Term::constant(number.into(), 8)
}

#[test]
fn a_sum_has_one_name_however_it_is_computed() {
    with_world(Architecture::X86_64, |world| {
        let mut naming = Naming::default();
        let [a, b, c] = [(); 3].map(|()| world.symbols.unknown(8));
        let there = indexed(&mut naming, world, &a, &b, 2).unwrap();
        let shifted = computed(world, Binary::ShiftLeft, &b, &number(2));
        let times = computed(world, Binary::Multiply, &number(4), &b);
        for scaled in [shifted, times] {
            let sum = computed(world, Binary::Add, &scaled, &a);
            assert_eq!(at(&mut naming, world, &sum, 0), Some(there));
            // What is added and taken away again does not matter.
            let more = computed(world, Binary::Add, &c, &sum.plus(24));
            let less = computed(world, Binary::Subtract, &more, &c);
            assert_eq!(at(&mut naming, world, &less, -24), Some(there));
            assert_eq!(at(&mut naming, world, &less, 0), Some(Name { offset: 24, ..there }));
        }
        for other in [indexed(&mut naming, world, &a, &b, 3), indexed(&mut naming, world, &a, &c, 2)] {
            assert_ne!(other.unwrap().sum, there.sum);
        }
    });
}

#[test]
fn what_has_no_name() {
    with_world(Architecture::X86_64, |world| {
        let mut naming = Naming::default();
        let a = world.symbols.unknown(8);
        assert_eq!(naming.name(&AddressForm::Any, &state(vec![a.clone()]), world), None);
        // A number that is known, also where that takes a difference.
        assert_eq!(at(&mut naming, world, &number(0x1000), 8), None);
        let nothing = computed(world, Binary::Subtract, &a, &a);
        assert_eq!(at(&mut naming, world, &nothing, 8), None);
        let stack = world.symbols.make(Root::Stack, Set::single(0, 8), Origin::Opaque);
        assert_eq!(at(&mut naming, world, &stack, 8), None);
        assert_eq!(indexed(&mut naming, world, &a, &stack, 0), None);
        // Half a pointer: whether its sums wrap around is not known here.
        assert_eq!(at(&mut naming, world, &world.symbols.unknown(4), 0), None);
    });
}

#[test]
fn a_sum_is_as_new_as_its_newest_symbol() {
    with_world(Architecture::X86_64, |world| {
        let mut naming = Naming::default();
        let [a, b] = [(); 2].map(|()| world.symbols.unknown(8));
        let born = world.symbols.count();
        // Made in the loop of what was there before: the same in each iteration.
        let sum = computed(world, Binary::Add, &a, &b);
        assert!(at(&mut naming, world, &sum, 0).unwrap().newest < born);
        let bits = computed(world, Binary::Xor, &a, &b);
        assert!(at(&mut naming, world, &bits, 0).unwrap().newest < born);
        // An own symbol of the loop, and what is made of it.
        let counter = world.symbols.unknown(8);
        assert!(indexed(&mut naming, world, &a, &counter, 3).unwrap().newest >= born);
        let bits = computed(world, Binary::Xor, &a, &counter);
        assert!(at(&mut naming, world, &bits, 0).unwrap().newest >= born);
        // In whichever order they are met.
        let mut naming = Naming::default();
        assert!(at(&mut naming, world, &counter, 0).unwrap().newest >= born);
        assert!(indexed(&mut naming, world, &a, &counter, 3).unwrap().newest >= born);
    });
}

#[test]
fn halves_wrap_around_by_themselves() {
    with_world(Architecture::X86_64, |world| {
        let mut naming = Naming::default();
        let [a, b] = [(); 2].map(|()| world.symbols.unknown(4));
        let extended = |operation, half: &Term| {
            world.symbols.make(Root::Zero, Set::full(8), Origin::Unary(operation, half.clone()))
        };
        let mut name = |term: &Term| at(&mut naming, world, term, 0).unwrap();
        let half = computed(world, Binary::Add, &a, &b);
        let (sum, again) = (extended(Unary::ZeroExtend, &half), extended(Unary::ZeroExtend, &half));
        assert_eq!(name(&sum), name(&again));
        let apart = [&a, &b].map(|half| extended(Unary::ZeroExtend, half));
        assert_ne!(name(&sum).sum, name(&computed(world, Binary::Add, &apart[0], &apart[1])).sum);
        assert_ne!(name(&sum).sum, name(&extended(Unary::SignExtend, &half)).sum);
        assert_ne!(name(&sum).sum, name(&extended(Unary::ZeroExtend, &half.plus(1))).sum);
    });
}

/// Numbers that look random and are the same each time.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d)
}

/// A term with what it is in some executions.
#[derive(Clone)]
struct Sample {
    term: Term,
    numbers: [u128; 4],
}

/// Terms that are computed from one another and from a few symbols, with what they are.
fn samples(world: &World<'_>, seed: &mut u64) -> Vec<Sample> {
    let size = world.pointer;
    let mut found = Vec::new();
    for stride in [1u128, 8, 64, 24] {
        let low = u128::from(random(seed) % 64);
        let set = Set::new(low, low + 1000 * stride, stride, size);
        let numbers = [(); 4].map(|()| low + u128::from(random(seed) % 1000) * stride);
        found.push(Sample { term: world.symbols.make(Root::Zero, set, Origin::Opaque), numbers });
    }
    for _ in 0..40 {
        let mut pick = || found[random(seed) as usize % found.len()].clone();
        let (a, mut b) = (pick(), pick());
        let few = random(seed);
        let operation = match few % 6 {
            0 | 1 => Binary::Add,
            2 => Binary::Subtract,
            3 => Binary::Multiply,
            4 => Binary::ShiftLeft,
            _ => Binary::And,
        };
        if matches!(operation, Binary::Multiply | Binary::ShiftLeft | Binary::And) {
            let constant = match operation {
                Binary::And => mask(size) & !u128::from(few >> 8 & 63),
                _ => u128::from(few >> 8 & 7),
            };
            b = Sample { term: Term::constant(constant, size), numbers: [constant; 4] };
        }
        let offset = u128::from(few >> 32 & 15);
        let sample = if few >> 40 & 7 == 0 && a.term.number().is_some() {
            // Two bytes of it, multiplied, shifted, masked or added to, and extended.
            let mut half = world.symbols.make(Root::Zero, Set::full(2), Origin::Extract(a.term.clone(), 0));
            let mut numbers = a.numbers.map(|number| number & mask(2));
            for round in 0..few >> 48 & 3 {
                let operations = [Binary::Multiply, Binary::ShiftLeft, Binary::And, Binary::Add, Binary::Subtract];
                let operation = operations[(few >> 50) as usize % 5];
                let constant = u128::from(few >> (8 + round) & 31);
                half = computed(world, operation, &half, &Term::constant(constant, 2)).plus(constant / 8);
                let compute = |number| binary(operation, number, constant, 2).unwrap();
                numbers = numbers.map(|number| compute(number).wrapping_add(constant / 8) & mask(2));
            }
            let kind = if few >> 60 & 1 == 0 { Unary::ZeroExtend } else { Unary::SignExtend };
            let term = world.symbols.make(Root::Zero, Set::full(size), Origin::Unary(kind, half));
            let numbers = numbers.map(|number| unary(kind, number, 2, size).unwrap());
            Sample { term, numbers }
        } else {
            let term = computed(world, operation, &a.term, &b.term);
            let both = |at: usize| binary(operation, a.numbers[at], b.numbers[at], size).unwrap();
            Sample { term, numbers: [0, 1, 2, 3].map(both) }
        };
        let numbers = sample.numbers.map(|number| number.wrapping_add(offset) & mask(size));
        found.push(Sample { term: sample.term.plus(offset), numbers });
    }
    found
}

#[test]
fn equal_names_are_equal_numbers() {
    let (mut met, mut aligned) = (0, 0);
    let mut seed = 0x1234_5678_9abc_def1;
    for round in 0..500 {
        let architecture = [Architecture::X86_64, Architecture::Arm][round % 2];
        with_world(architecture, |world| {
            let mut naming = Naming::default();
            // What the sums without what is added to them are.
            let mut sums: HashMap<u32, [u128; 4]> = HashMap::new();
            for sample in samples(world, &mut seed) {
                let displacement = (random(&mut seed) % 32) as i64 - 16;
                let Some(name) = at(&mut naming, world, &sample.term, displacement) else { continue };
                let number = |number: u128| {
                    let address = number.wrapping_add(displacement as u128);
                    address.wrapping_sub(name.offset.into()) & mask(world.pointer)
                };
                let numbers = sample.numbers.map(number);
                if let Some(before) = sums.insert(name.sum, numbers) {
                    assert_eq!(before, numbers, "{name:?} {:?}", sample.term);
                    met += 1;
                }
                for number in numbers {
                    let modulus = u128::from(name.modulus) & mask(world.pointer);
                    let rest = u128::from(name.rest) & mask(world.pointer);
                    let fits = if modulus == 0 { number == rest } else { number % modulus == rest % modulus };
                    assert!(fits, "{number:#x} {name:x?} {:?}", sample.term);
                }
                aligned += usize::from(name.modulus > 1);
            }
        });
    }
    assert!(met > 1000 && aligned > 1000, "{met} {aligned}");
}
