//! Analyses a program, executes it on random registers and memory, and compares every step.

use std::collections::BTreeMap;

use wcet_binary::lift::evaluate::mask;
use wcet_binary::lift::il::{AddressForm, Instruction};
use wcet_binary::lift::{Lifter, Registers};
use wcet_binary::load::Program;
use wcet_flow::context::Expanded;
use wcet_hardware::cache::Target as Bytes;
use wcet_values::{Base, Values};

use super::machine::{random, Machine, STACK};
use crate::compiled::{compile, Target};

fn check_accesses(machine: &Machine<'_>, instruction: &Instruction, targets: &[Bytes], pointer: u8) {
    for (access, target) in instruction.accesses.iter().zip(targets) {
        let (AddressForm::Known { base, index, displacement, segment }, false) = (&access.address, access.conditional)
        else {
            continue;
        };
        let get = |register: &wcet_binary::lift::il::Register| machine.registers[usize::from(register.0)];
        let at = base.as_ref().map_or(0, get)
            + index.as_ref().map_or(0, |(register, shift)| get(register) << shift)
            + segment.as_ref().map_or(0, get);
        let at = at.wrapping_add(*displacement as u128) & mask(pointer);
        let inside = match *target {
            Bytes::At(first) => u128::from(first) == at,
            Bytes::Within(first, last) => u128::from(first) <= at && at <= u128::from(last),
            Bytes::Stack(first, last) => {
                let distance = (at as u64).wrapping_sub(STACK) as i64;
                first <= distance && distance <= last
            }
            _ => true,
        };
        assert!(inside, "{:#x} accesses {at:#x}, not {target:?}", instruction.address);
    }
}

/// Executes from the entry until the region ends, and compares every step.
fn run(
    program: &Program,
    expanded: &Expanded<'_>,
    values: &Values,
    bounds: &[Option<u64>],
    totals: &[Option<u64>],
    seed: u64,
) {
    let table = Registers::of(program.architecture);
    let pointer = program.architecture.pointer_size();
    let mut machine =
        Machine { program, registers: Vec::new(), temporaries: BTreeMap::new(), memory: BTreeMap::new(), seed };
    for register in table.all() {
        let shift = random(&mut machine.seed) % 60;
        let number = u128::from(random(&mut machine.seed) >> shift) & mask(table.value(register).size);
        machine.registers.push(if table.is_flag(register) { number & 1 } else { number });
    }
    let stack = u128::from(STACK);
    machine.registers[usize::from(table.stack_pointer().0)] = stack;
    let mut counts = vec![0u64; expanded.loops.len()];
    let mut since = vec![0u64; expanded.loops.len()];
    let mut node = expanded.entry;
    for _ in 0..100_000 {
        assert!(values.reached(node), "{} is said not to be reached", expanded.place(node));
        for register in table.all().filter(|one| !table.is_flag(*one)) {
            let Some(range) = values.register(node, register) else { continue };
            let base = match range.base {
                Base::Zero => 0,
                Base::Stack => stack,
                Base::Unknown(_) => continue,
            };
            let top = mask(range.size);
            let number =
                machine.registers[usize::from(register.0)].wrapping_sub(base).wrapping_sub(range.low.into()) & top;
            let span = u128::from(range.high.wrapping_sub(range.low)) & top;
            let fits = number <= span && (number == 0 || range.stride != 0 && number % u128::from(range.stride) == 0);
            assert!(fits, "{} at {}: {range:x?}", table.name(register), expanded.place(node));
        }
        let mut number = 0;
        for instruction in &expanded.block(node).instructions {
            let targets = &values.targets(node)[number..];
            check_accesses(&machine, instruction, targets, pointer);
            number += instruction.accesses.len();
            machine.execute(instruction);
        }
        let Some(edge) = machine.next(expanded, node) else { return };
        assert!(!values.dead().contains(&edge), "an edge out of {} is said to be dead", expanded.place(node));
        let to = expanded.edges[edge].to;
        for one in 0..expanded.loops.len() {
            if expanded.loops[one].header != to {
                continue;
            }
            if expanded.loops[one].back.contains(&edge) {
                counts[one] += 1;
            } else {
                counts[one] = 1;
            }
            since[one] += 1;
            let place = expanded.place(to);
            assert!(bounds[one].is_none_or(|bound| counts[one] <= bound), "{place} beyond {:?}", bounds[one]);
            // An entry of the loop around it begins anew.
            let entered = !expanded.loops[one].back.contains(&edge);
            for (inner, since) in since.iter_mut().enumerate() {
                if entered && expanded.loops[inner].parent == Some(one) {
                    *since = 0;
                }
            }
            if expanded.loops[one].parent.is_some() {
                assert!(totals[one].is_none_or(|total| since[one] <= total), "{place} in all beyond {:?}", totals[one]);
            }
        }
        node = to;
    }
}

/// Analyses `start` and executes it on random states; gives the number of loops, and of those with bounds.
pub fn compare(target: Target, source: &str) -> (usize, usize) {
    let program = compile(target, source);
    let lifter = Lifter::new(&program).unwrap();
    let start = program.symbol("start").unwrap().address;
    let graph = wcet_flow::analyse(&lifter, &[start], &wcet_flow::Options { copies: 64, ..Default::default() })
        .unwrap_or_else(|errors| panic!("{target:?} {}", crate::compiled::list(&errors)));
    let expanded = wcet_flow::context::expand(&graph, start, &wcet_flow::context::Options::default()).unwrap();
    let (mut all, mut bounded) = (0, 0);
    // Executed iteration by iteration, and by invariants alone.
    for steps in [300_000, 0] {
        let options = wcet_values::Options { steps, ..wcet_values::Options::default() };
        let values = wcet_values::analyse(&program, &expanded, &options);
        let found = wcet_paths::loop_bounds::infer(&program, &expanded, &values);
        let bounds: Vec<Option<u64>> = found.iter().map(|one| one.bound).collect();
        let totals: Vec<Option<u64>> = found.iter().map(|one| one.total.map(|(_, total)| total)).collect();
        for one in &found {
            assert_eq!(one.bound.is_some(), one.reason.is_none(), "{one:?}");
            assert_eq!(one.bound.is_some(), !one.evidence.is_empty(), "{one:?}");
        }
        if steps > 0 {
            all += found.len();
            bounded += bounds.iter().flatten().count();
        }
        for seed in 1..16 {
            run(&program, &expanded, &values, &bounds, &totals, seed * 0x9e37_79b9);
        }
    }
    (all, bounded)
}
