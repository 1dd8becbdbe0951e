//! Every operation of the language as terms, against its meaning on numbers, on random numbers of all sizes.

use testing::Random;
use wcet_binary::lift::evaluate::{binary, mask, unary};
use wcet_binary::lift::il::{
    Binary, Encoding, Expression, Flow, Instruction, Kind, Op, Operand, Register, Unary, Value,
};
use wcet_binary::load::{Architecture, Program};
use wcet_symbolic::{Answer, Executor, Pointers, Sharing, Solver, Term, Terms};

/// Small and extreme numbers are more frequent than chance has them.
fn any(random: &mut Random, size: u8) -> u128 {
    let number = u128::from(random.next()) << 64 | u128::from(random.next());
    mask(size)
        & match random.below(6) {
            0 => number & 7,
            1 => (number & 7).wrapping_neg(),
            2 => 1 << (number & 127),
            3 => mask(size) >> 1,
            _ => number,
        }
}

fn instruction(ops: Vec<Op>) -> Instruction {
    Instruction {
        address: 0,
        bytes: vec![0; 4],
        mnemonic: String::new(),
        encoding: Encoding::Main,
        kind: Kind::Ordinary,
        ops,
        flow: Flow::Next,
        arrival: None,
        accesses: Vec::new(),
    }
}

fn temporary(number: u16, size: u8) -> Value {
    Value { operand: Operand::Temporary(number), size }
}

/// Inputs of any size through memory: temporaries t0, t1, t2 loaded from the addresses 0, 64 and 128, the result of
/// `size` bytes stored to 192 and loaded from there.
fn run(inputs: &[(u128, u8)], expression: Expression, size: u8) -> (Executor<'static>, Term, Vec<(Term, u128)>) {
    let program: &'static Program = Box::leak(Box::new(Program::from_code(Architecture::X86_64, 1 << 40, &[0x90])));
    let mut executor = Executor::new(program, Sharing::Exclusive, Pointers::default());
    let mut ops = Vec::new();
    for (index, (_, size)) in inputs.iter().enumerate() {
        let address = Value::constant(64 * index as u64, 8);
        let to = temporary(index as u16, *size);
        ops.push(Op::Set { to, from: Expression::Load { address, when: None } });
    }
    ops.push(Op::Set { to: temporary(9, size), from: expression });
    ops.push(Op::Store { address: Value::constant(192, 8), from: temporary(9, size), when: None });
    let mut state = executor.state();
    let start = state.memory;
    executor.execute(&mut state, &instruction(ops), None, Terms::TRUE);
    let mut load = |version, at, bytes| {
        let address = executor.terms.number(at, 64);
        executor.memory.load(&mut executor.terms, version, address, bytes, Terms::TRUE)
    };
    let result = load(state.memory, 192, size);
    let leaves =
        inputs.iter().enumerate().map(|(index, (number, size))| (load(start, 64 * index as u128, *size), *number));
    let leaves = leaves.collect();
    (executor, result, leaves)
}

/// The term's value is the expected one, by our own reading and by the solver's.
fn expect(executor: &mut Executor<'_>, result: Term, leaves: &[(Term, u128)], expected: u128, what: &str) {
    let known: Vec<(Term, u128)> = leaves.to_vec();
    let leaf = |number: u32| {
        let found = known
            .iter()
            .find(|(term, _)| matches!(executor.terms.shape(*term), wcet_symbolic::Shape::Leaf(n) if n == number));
        found.map_or(0, |(_, number)| *number)
    };
    assert_eq!(executor.terms.value(result, &leaf), Some(expected), "{what}");
    let mut solver = Solver::start().unwrap();
    for (term, number) in leaves {
        let number = executor.terms.number(*number, executor.terms.width(*term));
        let equal = executor.terms.equal(*term, number);
        solver.assert(&executor.terms, equal).unwrap();
    }
    let expected = executor.terms.number(expected, executor.terms.width(result));
    let equal = executor.terms.equal(result, expected);
    let differs = executor.terms.not(equal);
    assert_eq!(solver.check(&executor.terms, &[]).unwrap(), Answer::Satisfiable, "{what}");
    let answer = solver.check(&executor.terms, &[differs]).unwrap();
    assert!(matches!(answer, Answer::Unsatisfiable(_)), "{what}: {answer:?}");
}

#[test]
fn unary_operations() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for operation in Unary::ALL.iter().copied() {
        for round in 0..24 {
            let from = [1, 2, 4, 8, 16][round % 5];
            let size = match operation {
                Unary::ZeroExtend | Unary::SignExtend => [1, 2, 4, 8, 16][(round % 5 + round / 5).min(4)],
                Unary::BoolNot => 1,
                _ => from,
            };
            let a = any(&mut random, from);
            let expected = unary(operation, a, from, size).unwrap();
            let (mut executor, result, leaves) =
                run(&[(a, from)], Expression::Unary(operation, temporary(0, from)), size);
            expect(&mut executor, result, &leaves, expected, &format!("{operation:?} of {a:#x}:{from} to {size}"));
        }
    }
}

#[test]
fn binary_operations() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for operation in Binary::ALL.iter().copied() {
        let shift = matches!(operation, Binary::ShiftLeft | Binary::ShiftRight | Binary::ShiftRightSigned);
        let truth = operation >= Binary::Equal;
        for round in 0..20 {
            let size = [1, 2, 4, 8][round % 4];
            let amount = if shift { [1, 4, 8, 2][round / 4 % 4] } else { size };
            let (a, mut b) = (any(&mut random, size), any(&mut random, amount));
            if shift && round % 3 > 0 {
                b %= 70;
            }
            let Some(expected) = binary(operation, a, b, size) else {
                continue;
            };
            let expression = Expression::Binary(operation, temporary(0, size), temporary(1, amount));
            let width = if truth { 1 } else { size };
            let (mut executor, result, leaves) = run(&[(a, size), (b, amount)], expression, width);
            let what = format!("{operation:?} of {a:#x} and {b:#x}:{amount}, size {size}");
            expect(&mut executor, result, &leaves, expected, &what);
        }
    }
}

#[test]
fn division_by_zero_gives_any_value() {
    for operation in [Binary::Divide, Binary::DivideSigned, Binary::Remainder, Binary::RemainderSigned] {
        let expression = Expression::Binary(operation, temporary(0, 4), temporary(1, 4));
        let (mut executor, result, leaves) = run(&[(7, 4), (0, 4)], expression, 4);
        let mut solver = Solver::start().unwrap();
        let zero = executor.terms.number(0, 32);
        let by_zero = executor.terms.equal(leaves[1].0, zero);
        for number in [0, 5, 0xffff_ffff] {
            let number = executor.terms.number(number, 32);
            let equal = executor.terms.equal(result, number);
            assert_eq!(solver.check(&executor.terms, &[by_zero, equal]).unwrap(), Answer::Satisfiable);
        }
    }
}

#[test]
fn parts_of_numbers() {
    let mut random = Random(0x1234_5678_9abc_def1);
    for _ in 0..30 {
        let (a, b, c) = (any(&mut random, 8), any(&mut random, 2), any(&mut random, 1) & 1);
        let at = (random.next() % 7) as u8;
        let (t0, t1) = (temporary(0, 8), temporary(1, 2));
        let inputs = [(a, 8), (b, 2), (c, 1)];
        let extract = a >> (8 * at) & mask(2);
        let insert = a & !(mask(2) << (8 * at)) | b << (8 * at);
        for (expression, size, expected) in [
            (Expression::Extract { from: t0, at }, 2, extract),
            (Expression::Insert { into: t0, from: t1, at }, 8, insert),
            (Expression::Concat { high: t1, low: t0 }, 10, b << 64 | a),
            (Expression::Copy(t0), 8, a),
            (
                Expression::Select { when: temporary(2, 1), then: t0, otherwise: Value::constant(5, 8) },
                8,
                if c == 1 { a } else { 5 },
            ),
        ] {
            let (mut executor, result, leaves) = run(&inputs, expression, size);
            let used: Vec<(Term, u128)> = leaves;
            expect(&mut executor, result, &used, expected, &format!("{expression:?} of {inputs:?}"));
        }
    }
}

/// Stores of all sizes to addresses that are partly unknown, then loads: as a memory of bytes has it.
#[test]
fn loads_see_the_stores_before_them() {
    let mut random = Random(0xfeed_beef_1234_5677);
    let program = Program::from_code(Architecture::X86_64, 1 << 40, &[0x90]);
    for round in 0..120 {
        let mut executor = Executor::new(&program, Sharing::Exclusive, Pointers::default());
        // Every other time, each place that the index may lead to is taken for itself.
        executor.memory.choices = if round % 2 == 0 { 0 } else { 40 };
        let mut state = executor.state();
        let mut memory = [0_u8; 32];
        let mut chosen: Vec<(Term, u128)> = Vec::new();
        // The base is unknown, an index register is known: its value is given below.
        let (base, index) = (Register(0), Register(1));
        let value = |register| executor.table.value(register);
        let (base, index) = (value(base), value(index));
        let shift = u128::from(random.next() % 8);
        chosen.push((state.registers[1], shift));
        chosen.push((state.registers[0], 0x1000));
        let mut covered = [false; 32];
        for _ in 0..6 {
            let size = [1, 2, 4, 8][random.next() as usize % 4];
            let offset = random.next() % 16;
            let number = any(&mut random, size);
            let indexed = random.next() % 3 == 0;
            let guard = random.next() % 3;
            let address = temporary(0, 8);
            let mut ops =
                vec![Op::Set { to: address, from: Expression::Binary(Binary::Add, base, Value::constant(offset, 8)) }];
            if indexed {
                let few = temporary(3, 8);
                ops.push(Op::Set { to: few, from: Expression::Binary(Binary::And, index, Value::constant(7, 8)) });
                ops.push(Op::Set { to: temporary(1, 8), from: Expression::Binary(Binary::Add, address, few) });
            }
            let to = if indexed { temporary(1, 8) } else { address };
            ops.push(Op::Set {
                to: temporary(2, 1),
                from: Expression::Binary(Binary::Less, index, Value::constant(guard * 4, 8)),
            });
            let happens = guard == 0 || shift < u128::from(guard * 4);
            let when = (guard > 0).then_some(temporary(2, 1));
            ops.push(Op::Store { address: to, from: Value::constant(number as u64, size), when });
            executor.execute(&mut state, &instruction(ops), None, Terms::TRUE);
            if happens {
                let at = offset as usize + if indexed { shift as usize } else { 0 };
                for byte in 0..usize::from(size) {
                    memory[at + byte] = (number >> (8 * byte)) as u8;
                    covered[at + byte] = true;
                }
            }
        }
        let mut solver = Solver::start().unwrap();
        for (term, number) in &chosen {
            let number = executor.terms.number(*number, 64);
            let equal = executor.terms.equal(*term, number);
            solver.assert(&executor.terms, equal).unwrap();
        }
        for _ in 0..6 {
            let size = [1, 2, 4][random.next() as usize % 3];
            let at = random.next() as usize % 20;
            if !covered[at..at + usize::from(size)].iter().all(|byte| *byte) {
                continue;
            }
            let offset = executor.terms.number(at as u128, 64);
            let address = executor.terms.binary(wcet_symbolic::Operation::Add, state.registers[0], offset);
            let found = executor.memory.load(&mut executor.terms, state.memory, address, size, Terms::TRUE);
            let expected = (0..usize::from(size)).rev().fold(0, |all, byte| all << 8 | u128::from(memory[at + byte]));
            let expected = executor.terms.number(expected, 8 * u16::from(size));
            let equal = executor.terms.equal(found, expected);
            // The real value is always possible; it is the only one where no overlap was left open.
            assert_eq!(solver.check(&executor.terms, &[equal]).unwrap(), Answer::Satisfiable);
            let differs = executor.terms.not(equal);
            let coarse = executor.terms.cone(&[found]).into_iter().any(|term| {
                matches!(executor.terms.shape(term), wcet_symbolic::Shape::Leaf(leaf)
                    if executor.terms.origin(leaf) == wcet_symbolic::Origin::Coarse)
            });
            assert!(round % 2 == 0 || !coarse, "all places are known");
            if !coarse {
                assert!(matches!(solver.check(&executor.terms, &[differs]).unwrap(), Answer::Unsatisfiable(_)));
            }
        }
    }
}
