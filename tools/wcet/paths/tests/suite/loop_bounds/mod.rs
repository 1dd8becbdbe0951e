//! Programs in C, compiled for both instruction sets and executed operation by operation on random registers and
//! memory: no execution may leave what the analysis found of registers, accesses, edges and loops.

mod awkward;
mod compare;
mod machine;
mod recurrences;

use crate::compiled::{compile, TARGETS};
use compare::compare;
use wcet_binary::lift::Lifter;
use wcet_paths::loop_bounds::LoopBound;
use wcet_values::Options;

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

fn assembly(code: &str) -> String {
    format!("asm(\".globl start\\n.type start, @function\\nstart: {}\");", code.replace('\n', ";"))
}

/// What is inferred of an assembly program's loops.
fn inferred(code: &str, options: &Options) -> Vec<LoopBound> {
    let program = compile(TARGETS[0], &assembly(code));
    let lifter = Lifter::new(&program).unwrap();
    let start = program.symbol("start").unwrap().address;
    let graph = wcet_flow::analyse(&lifter, &[start], &wcet_flow::Options::default())
        .unwrap_or_else(|errors| panic!("{}", crate::compiled::list(&errors)));
    let expanded = wcet_flow::context::expand(&graph, start, &wcet_flow::context::Options::default()).unwrap();
    let values = wcet_values::analyse(&program, &expanded, options);
    wcet_paths::loop_bounds::infer(&program, &expanded, &values)
}

/// How far the inner loop goes follows only from how often the outer one went round before it, as its counter changes places. An iteration
/// is dear; but half of the way to the number that the outer one compares with is done when what is spent on a loop for a start is used up.
#[test]
fn a_loop_whose_end_is_in_sight_is_executed_on() {
    let code = |limit: u32| {
        format!(
            "xor %ecx, %ecx\nxor %edi, %edi\n1: .rept 1500\nlea 1(%rsi), %rsi\n.endr\ntest %edi, %edi\nje 3f
            lea -1(%rdi), %eax\n2: mov %edi, %r9d\nmov %eax, %edi\ncmpl $0, (%rdx,%rax)\nje 4f\ntest %eax, %eax\nje 3f
            sub $1, %eax\njmp 2b\n3: xor %r9d, %r9d\n4: lea 1(%r9), %edi\nadd $1, %ecx\ncmp ${limit}, %ecx\nje 5f
            cmpl $7, (%rdx,%rsi)\njne 1b\n5: ret"
        )
    };
    let bounds = |limit: u32| -> Vec<Option<u64>> {
        inferred(&code(limit), &Options::default()).iter().map(|found| found.bound).collect()
    };
    assert_eq!(bounds(40), [Some(40), Some(39)]);
    // It is not: the inner loop has no bound but by what it cannot know.
    assert_eq!(bounds(4000), [Some(4000), None]);
}
