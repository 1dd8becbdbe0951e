//! Programs in C, compiled for both instruction sets and executed operation by operation on random registers and
//! memory: no execution may leave what the analysis found of registers, accesses, edges and loops.

#[path = "../../flow/tests/common/mod.rs"]
mod common;

use std::collections::BTreeMap;

use common::{compile, Target, TARGETS};
use timing_cache::Target as Bytes;
use timing_context::{EdgeKind, Expanded, NodeId};
use timing_lift::evaluate::{binary, mask, unary};
use timing_lift::il::{AddressForm, Expression, Flow, Instruction, Op, Operand, Target as Goal, Value};
use timing_lift::{Lifter, Registers};
use timing_load::Program;
use timing_values::{Base, Values};

/// Each has a function `start` with two arguments.
const PROGRAMS: [&str; 12] = [
    "unsigned start(unsigned a, unsigned b) { unsigned s = 0; for (unsigned i = 0; i < (a & 63); i++) s += b ^ i; return s; }",
    "unsigned start(unsigned a, unsigned b) { unsigned n = 0; while (a) { a &= a - 1; n++; } while (b) { b >>= 1; n += b; } return n; }",
    "static unsigned char t[40]; unsigned start(unsigned a, unsigned b) { unsigned s = 0;
     for (unsigned i = 0; i < 40; i++) { if (t[i] == (a & 255)) break; for (unsigned j = i; j < 40; j += 1 + (b & 3)) s += t[j]; } return s; }",
    "static int t[12]; int start(unsigned a, unsigned b) { for (int i = 1; i < 12; i++) { int k = t[i], j = i - 1;
     while (j >= 0 && t[j] > k) { t[j + 1] = t[j]; j--; } t[j + 1] = k; } return t[a & 7] + b; }",
    "static const unsigned char t[] = {3, 9, 4, 0, 7, 2, 0}; volatile unsigned out; unsigned start(unsigned a, unsigned b) {
     for (const unsigned char *p = t; *p; p++) for (unsigned i = *p; i; i--) out += i; return b; }",
    "static short t[31]; int start(int a, int b) { int l = 0, h = 30; while (l <= h) { int m = (l + h) >> 1; if (t[m] == (short)a) return m;
     if (t[m] < (short)a) l = m + 1; else h = m - 1; } return b; }",
    "volatile unsigned count, limit; unsigned start(unsigned a, unsigned b) { count = 0; limit = 5 + (a & 7); while (count < limit) count += 1 + (b & 1); return limit; }",
    "static unsigned char s[64], d[64]; unsigned start(unsigned a, unsigned b) { unsigned n = a & 31, o = b & 31; unsigned char *p = s + o, *e = p + n, *q = d;
     while (p != e) *q++ = *p++; return q - d; }",
    "__attribute__((noinline)) static unsigned sum(const unsigned *p, unsigned n) { unsigned s = 0; for (unsigned i = 0; i < n; i++) s += p[i]; return s; }
     unsigned start(unsigned a, unsigned b) { unsigned t[9]; for (int i = 0; i < 9; i++) t[i] = a * i; return sum(t, 9) + sum(t + 2, b & 3) + sum(t, (a >> 5) & 7); }",
    "unsigned start(unsigned a, unsigned b) { unsigned r = 0; for (unsigned i = 1; i < 1000; i *= 3) r += i ^ a; for (int i = 100; i > 0; i -= 7) r += b; for (long long i = -5; i <= 5; i += 2) r ^= i; return r; }",
    "unsigned start(unsigned a, unsigned b) { unsigned q = 0, n = a; b = (b & 255) | 1; for (int i = 31; i >= 0; i--) { q <<= 1; if (n >> i >= b) { n -= b << i; q |= 1; } } return q; }",
    "int start(int a, int b) { int x = a < 0 ? 0 : a > 50 ? 50 : a, y = b < -9 ? -9 : b > 9 ? 9 : b, s = 0; for (int i = y; i < x; i += 3) { s += i; if (s > 90) break; } return s; }",
];

/// Numbers that look random and are the same each time.
fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d)
}

/// The stack pointer at the entry.
const STACK: u64 = 0x7000_0000;

struct Machine<'a> {
    program: &'a Program,
    registers: Vec<u128>,
    temporaries: BTreeMap<u16, u128>,
    memory: BTreeMap<u64, u8>,
    seed: u64,
}

impl Machine<'_> {
    fn byte(&mut self, at: u64) -> u8 {
        if let Some(byte) = self.memory.get(&at) {
            return *byte;
        }
        let byte = match self.program.constant(at, 1) {
            Some(byte) => byte as u8,
            None => random(&mut self.seed) as u8 >> (random(&mut self.seed) % 8),
        };
        self.memory.insert(at, byte);
        byte
    }

    fn load(&mut self, at: u64, size: u8) -> u128 {
        (0..u64::from(size)).rev().fold(0, |number, index| number << 8 | u128::from(self.byte(at.wrapping_add(index))))
    }

    fn value(&self, value: Value) -> u128 {
        mask(value.size)
            & match value.operand {
                Operand::Register(register) => self.registers[usize::from(register.0)],
                Operand::Temporary(number) => self.temporaries.get(&number).copied().unwrap_or(0),
                Operand::Constant(number) => number.into(),
            }
    }

    fn expression(&mut self, expression: &Expression, size: u8) -> u128 {
        let anything = u128::from(random(&mut self.seed));
        let number = match *expression {
            Expression::Copy(a) => self.value(a),
            Expression::Unary(operation, a) => unary(operation, self.value(a), a.size, size).unwrap_or(anything),
            Expression::Binary(operation, a, b) => {
                binary(operation, self.value(a), self.value(b), a.size).unwrap_or(anything)
            }
            Expression::Extract { from, at } => self.value(from) >> (8 * u32::from(at)),
            Expression::Insert { into, from, at } => {
                let hole = mask(from.size) << (8 * u32::from(at));
                self.value(into) & !hole | self.value(from) << (8 * u32::from(at))
            }
            Expression::Concat { high, low } => self.value(high) << (8 * u32::from(low.size)) | self.value(low),
            Expression::Select { when, then, otherwise } => {
                self.value(if self.value(when) != 0 { then } else { otherwise })
            }
            Expression::Load { address, when } => match when {
                Some(when) if self.value(when) == 0 => anything,
                _ => self.load(self.value(address) as u64, size),
            },
            Expression::Unknown => anything,
        };
        if size >= 16 {
            number
        } else {
            number & mask(size)
        }
    }

    fn execute(&mut self, instruction: &Instruction) {
        self.temporaries.clear();
        for op in &instruction.ops {
            match op {
                Op::Set { to, from } => {
                    let number = self.expression(from, to.size);
                    match to.operand {
                        Operand::Register(register) => self.registers[usize::from(register.0)] = number,
                        Operand::Temporary(index) => {
                            self.temporaries.insert(index, number);
                        }
                        Operand::Constant(_) => {}
                    }
                }
                Op::Store { address, from, when } => {
                    if when.is_none_or(|when| self.value(when) != 0) {
                        let (at, number) = (self.value(*address) as u64, self.value(*from));
                        for index in 0..u64::from(from.size) {
                            self.memory.insert(at.wrapping_add(index), (number >> (8 * index)) as u8);
                        }
                    }
                }
                Op::ClobberMemory => self.memory.clear(),
            }
        }
    }

    /// The edge by which control goes on.
    fn next(&self, expanded: &Expanded<'_>, node: NodeId) -> Option<usize> {
        let last = expanded.block(node).last();
        let holds = last.flow.condition().is_none_or(|when| self.value(when) != 0);
        let goal = match last.flow {
            Flow::Jump { to: Goal::Indirect(to), .. } | Flow::Call { to: Goal::Indirect(to), .. } => Some(to),
            Flow::Return { to, .. } => Some(to),
            _ => None,
        };
        let goal = goal.map(|to| self.value(to) as u64);
        expanded.successors(node).iter().copied().find(|edge| {
            let one = expanded.edges[*edge];
            let start = expanded.block(one.to).start();
            let way = last.flow.condition().is_none() || (one.kind == EdgeKind::Next) != holds;
            way && (one.kind == EdgeKind::Next || goal.is_none_or(|goal| goal == start))
        })
    }
}

fn check_accesses(machine: &Machine<'_>, instruction: &Instruction, targets: &[Bytes], pointer: u8) {
    for (access, target) in instruction.accesses.iter().zip(targets) {
        let (AddressForm::Known { base, index, displacement, segment }, false) = (&access.address, access.conditional)
        else {
            continue;
        };
        let get = |register: &timing_lift::il::Register| machine.registers[usize::from(register.0)];
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
            // Whoever enters the loop around it begins anew.
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
fn compare(target: Target, source: &str) -> (usize, usize) {
    let program = compile(target, source);
    let lifter = Lifter::new(&program).unwrap();
    let start = program.symbol("start").unwrap().address;
    let graph = timing_flow::analyse(&lifter, &[start], &timing_flow::Options { copies: 64, ..Default::default() })
        .unwrap_or_else(|errors| panic!("{target:?} {}", common::list(&errors)));
    let expanded = timing_context::expand(&graph, start, &timing_context::Options::default()).unwrap();
    let (mut all, mut bounded) = (0, 0);
    // Executed iteration by iteration, and by invariants alone.
    for steps in [300_000, 0] {
        let options = timing_values::Options { steps, ..timing_values::Options::default() };
        let values = timing_values::analyse(&program, &expanded, &options);
        let found = timing_bounds::infer(&program, &expanded, &values);
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

#[test]
fn no_execution_leaves_what_was_found() {
    let mut bounded = 0;
    let mut all = 0;
    for source in PROGRAMS {
        for target in TARGETS {
            let (more, with_bounds) = compare(target, source);
            all += more;
            bounded += with_bounds;
        }
    }
    // Where a counter is in memory that a pointer may reach, or two variables move, some are left to the model checker.
    assert!(10 * bounded >= 9 * all, "{bounded} of {all} loops have bounds");
}

/// Loops that no compiler writes this way, in the assembly language of x86-64; arguments in `edi` and `esi`.
const AWKWARD: [(&str, &str); 5] = [
    (
        "of two ways back only one compares the counter",
        "xor %eax, %eax; 1: inc %eax; cmp $10, %eax; jb 1b; dec %esi; cmp $0, %esi; jne 1b; ret",
    ),
    (
        "bits are cleared until the rest is another number than 0",
        "and $4095, %esi; 1: cmp $1, %edi; je 2f; lea -1(%rdi), %eax; and %eax, %edi; dec %esi; jns 1b; 2: ret",
    ),
    (
        "an unsigned half, compared as a signed whole",
        "movzwl %di, %edi; 1: inc %edi; movzwl %di, %edi; cmp $60000, %edi; jl 1b; ret",
    ),
    (
        "numbers of two sizes that differ alike on two paths",
        "test $1, %edi; je 1f; movl $100, -4(%rsp); mov $1, %eax; movl $1, -8(%rsp); jmp 2f
         1: movl $100, -4(%rsp); mov $0, %eax; movl $0, -8(%rsp); 2: mov -4(%rsp), %ecx; 3: dec %ecx; jnz 3b; ret",
    ),
    (
        "an address of the stack kept in the caller's part",
        "mov %rsp, %rax; sub $32, %rax; movl $3, -32(%rsp); mov %rax, 16(%rsp); movl $0, (%rdi); mov 16(%rsp), %rdx
         movl $50, (%rdx); mov -32(%rsp), %ecx; 3: dec %ecx; jnz 3b; ret",
    ),
];

#[test]
fn no_execution_leaves_what_was_found_of_awkward_loops() {
    for (name, code) in AWKWARD {
        println!("{name}");
        let source = assembly(code);
        compare(TARGETS[0], &source);
    }
}

/// Addresses of the stack that go through vector registers, which are not followed. Each loop runs 50 times.
const CARRIED: [&str; 2] = [
    "lea -16(%rsp), %rax; movl $3, -16(%rsp); movq %rax, %xmm0; movups %xmm0, -64(%rsp); mov -64(%rsp), %rdx
     movl $50, (%rdx); mov -16(%rsp), %ecx; 1: dec %ecx; jnz 1b; ret",
    "lea -16(%rsp), %rax; movl $3, -16(%rsp); mov %rax, -64(%rsp); movups -64(%rsp), %xmm0; movups %xmm0, -96(%rsp)
     mov -96(%rsp), %rdx; movl $50, (%rdx); mov -16(%rsp), %ecx; 1: dec %ecx; jnz 1b; ret",
];

#[test]
fn addresses_of_the_stack_in_vector_registers_are_not_forgotten() {
    for code in CARRIED {
        let source = assembly(code);
        let program = compile(TARGETS[0], &source);
        let lifter = Lifter::new(&program).unwrap();
        let start = program.symbol("start").unwrap().address;
        let graph = timing_flow::analyse(&lifter, &[start], &timing_flow::Options::default())
            .unwrap_or_else(|errors| panic!("{}", common::list(&errors)));
        let expanded = timing_context::expand(&graph, start, &timing_context::Options::default()).unwrap();
        let values = timing_values::analyse(&program, &expanded, &timing_values::Options::default());
        let found = timing_bounds::infer(&program, &expanded, &values);
        assert!(found.iter().all(|one| one.bound.is_none_or(|bound| bound >= 50)), "{found:?}");
    }
}

/// Loops in the assembly language of x86-64 that recurrences alone bound, and what they give; each with a neighbour that looks
/// alike and has no such bound.
const RECURRENCES: [(&str, &str, Option<u64>); 26] = [
    (
        "a string instruction repeats as often as a register says",
        "mov %edi, %ecx; and $63, %ecx; lea -128(%rsp), %rdi; rep stosb; ret",
        Some(64),
    ),
    ("and that may be anything", "mov %rdi, %rcx; lea -128(%rsp), %rdi; rep stosb; ret", None),
    (
        "a string instruction that also ends where bytes are equal",
        "mov %edi, %ecx; and $31, %ecx; lea -128(%rsp), %rdi; repne scasb; ret",
        Some(32),
    ),
    (
        "a number that counts down behind what looks like one",
        "and $63, %edi; 1: inc %edi; dec %edi; jne 1b; ret",
        None,
    ),
    ("halved until it is 1", "or $1, %edi; 1: cmp $1, %edi; je 2f; shr %edi; jmp 1b; 2: ret", Some(32)),
    ("which a number that may be 0 never is", "1: cmp $1, %edi; je 2f; shr %edi; jmp 1b; 2: ret", None),
    (
        "divided by ten until it is 0",
        "1: mov %edi, %eax; mov $0xcccccccd, %ecx; imul %rcx, %rax; shr $35, %rax; mov %eax, %edi; test %edi, %edi; jne 1b; ret",
        Some(10),
    ),
    (
        "which it never is where one is added",
        "1: mov %edi, %eax; mov $0xcccccccd, %ecx; imul %rcx, %rax; shr $35, %rax; lea 1(%rax), %edi; test %edi, %edi; jne 1b
         ret",
        None,
    ),
    (
        "two that come closer",
        "xor %eax, %eax; and $63, %edi; 1: cmp %edi, %eax; jae 2f; inc %eax; dec %edi; jmp 1b; 2: ret",
        Some(33),
    ),
    (
        "and pass each other",
        "xor %eax, %eax; and $63, %edi; 1: cmp %edi, %eax; je 2f; inc %eax; dec %edi; jmp 1b; 2: ret",
        None,
    ),
    (
        "a pointer to an end that is a known distance off",
        "and $15, %edi; shl $8, %rdi; lea 0x1000(%rdi), %rax; lea 0x1040(%rdi), %rdx; 1: add $8, %rax; cmp %rax, %rdx; jne 1b
         ret",
        Some(8),
    ),
    (
        "which its steps miss",
        "and $15, %edi; shl $8, %rdi; lea 0x1000(%rdi), %rax; lea 0x1044(%rdi), %rdx; 1: add $8, %rax; cmp %rax, %rdx; jne 1b
         ret",
        None,
    ),
    (
        "a counter that a callee keeps",
        "xor %ebx, %ebx; 1: call 3f; inc %ebx; cmp $20, %ebx; jb 1b; ret; 3: push %rbx; mov %edi, %ebx; add %ebx, %esi; pop %rbx; ret",
        Some(20),
    ),
    (
        "and that a callee changes where it was kept",
        "xor %ebx, %ebx; 1: call 3f; inc %ebx; cmp $20, %ebx; jb 1b; ret; 3: push %rbx; andl $7, (%rsp); pop %rbx; ret",
        None,
    ),
    (
        "two conditions at once",
        "xor %eax, %eax; 1: inc %eax; cmp $10, %eax; setb %cl; test %esi, %esi; setne %dl; and %dl, %cl; jne 1b; ret",
        Some(10),
    ),
    (
        "one of two exits in each iteration",
        "xor %eax, %eax; 1: inc %eax; ror %esi; jc 3f; cmp $10, %eax; jae 2f; jmp 1b; 3: cmp $12, %eax; jb 1b; 2: ret",
        Some(12),
    ),
    (
        "of which one is met in one iteration alone",
        "xor %eax, %eax; 1: inc %eax; ror %esi; jc 3f; cmp $10, %eax; je 2f; jmp 1b; 3: cmp $12, %eax; jb 1b; 2: ret",
        None,
    ),
    (
        "a half in memory, compared with another",
        "movw $0, -8(%rsp); andw $63, %di; 1: movw -8(%rsp), %ax; cmp %di, %ax; jae 2f; inc %eax; movw %ax, -8(%rsp); jmp 1b
         2: ret",
        Some(64),
    ),
    (
        "bits cleared until 0, in the low half of a register",
        "1: test %edi, %edi; je 2f; lea -1(%rdi), %ecx; and %ecx, %edi; jmp 1b; 2: ret",
        Some(33),
    ),
    (
        "a counter that one path keeps in memory",
        "mov $16, %ecx; 1: test %esi, %esi; je 2f; mov %ecx, -8(%rsp); ror %esi; mov -8(%rsp), %ecx; 2: dec %ecx; jne 1b; ret",
        Some(16),
    ),
    (
        "of which that path loses the upper half",
        "movabs $0x100000010, %rcx; 1: test %esi, %esi; je 2f; mov %ecx, -8(%rsp); ror %esi; mov -8(%rsp), %ecx
         2: dec %rcx; jne 1b; ret",
        None,
    ),
    (
        "from a number in memory to one that is a known distance off",
        "mov 8(%rsp), %edx; lea 4(%rdx), %eax; 1: test %esi, %esi; je 2f; mov %edx, -8(%rsp); ror %esi; mov -8(%rsp), %edx
         2: inc %edx; cmp %edx, %eax; jne 1b; ret",
        Some(4),
    ),
    (
        "from memory that a vector register cleared",
        "pxor %xmm3, %xmm3; test %edi, %edi; je 3f; xorps %xmm3, %xmm3; 3: movups %xmm3, -24(%rsp); mov -16(%rsp), %eax
         1: inc %eax; cmp $10, %eax; jb 1b; ret",
        Some(10),
    ),
    (
        "which may have got something else on one path",
        "pxor %xmm3, %xmm3; test %edi, %edi; je 3f; movd %esi, %xmm3; 3: movups %xmm3, -24(%rsp); mov -24(%rsp), %eax
         1: inc %eax; cmp $10, %eax; jne 1b; ret",
        None,
    ),
    (
        "or in a callee",
        "pxor %xmm3, %xmm3; call 3f; movups %xmm3, -24(%rsp); mov -24(%rsp), %eax; 1: inc %eax; cmp $10, %eax; jne 1b; ret
         3: movd %esi, %xmm3; ret",
        None,
    ),
    (
        "either of two conditions",
        "xor %eax, %eax; 1: inc %eax; cmp $10, %eax; setb %cl; test %esi, %esi; setne %dl; or %dl, %cl; jne 1b; ret",
        None,
    ),
];

/// The bounds of an assembly program's loops, where no loop is followed iteration by iteration.
fn recurrences(code: &str, shared: Vec<(u64, u64)>) -> Vec<Option<u64>> {
    let source = assembly(code);
    let program = compile(TARGETS[0], &source);
    let lifter = Lifter::new(&program).unwrap();
    let start = program.symbol("start").unwrap().address;
    let graph = timing_flow::analyse(&lifter, &[start], &timing_flow::Options::default())
        .unwrap_or_else(|errors| panic!("{}", common::list(&errors)));
    let expanded = timing_context::expand(&graph, start, &timing_context::Options::default()).unwrap();
    let options = timing_values::Options { steps: 0, shared, ..timing_values::Options::default() };
    let values = timing_values::analyse(&program, &expanded, &options);
    timing_bounds::infer(&program, &expanded, &values).into_iter().map(|one| one.bound).collect()
}

fn assembly(code: &str) -> String {
    format!("asm(\".globl start\\n.type start, @function\\nstart: {}\");", code.replace('\n', ";"))
}

#[test]
fn recurrences_bound_what_they_should_and_nothing_else() {
    for (name, code, bound) in RECURRENCES {
        println!("{name}");
        assert_eq!(recurrences(code, Vec::new()), [bound], "{name}");
        // What has no bound may not end.
        if bound.is_some() {
            compare(TARGETS[0], &assembly(code));
        }
    }
}

#[test]
fn what_others_may_change_is_not_the_same_when_it_is_read_again() {
    let code = "mov (%rdi), %eax; cmp $10, %eax; ja 2f; mov (%rdi), %ecx; 1: dec %ecx; jns 1b; 2: ret";
    assert_eq!(recurrences(code, Vec::new()), [Some(11)]);
    assert_eq!(recurrences(code, vec![(0x1000, 0x2000)]), [None]);
}
