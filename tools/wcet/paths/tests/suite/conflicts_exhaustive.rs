//! Random programs, executed on all their inputs: no conflict excludes a path that some input takes. `TIMING_CASES` sets the number
//! of programs of each test.

use crate::refined::{inputs, refined, with_cases};
use testing::{cases, Random};
use wcet_symbolic::Sharing;

struct Writer {
    random: Random,
    text: String,
    /// Loops around the place that is written.
    depth: u32,
    counters: u32,
}

impl Writer {
    fn variable(&mut self) -> &'static str {
        self.random.pick(&["a", "b", "c", "x", "y"])
    }

    /// An expression with a small value.
    fn value(&mut self) -> String {
        let (v, w, n) = (self.variable(), self.variable(), self.random.below(4));
        match self.random.below(7) {
            0 => format!("{n}"),
            1 => v.to_string(),
            2 => format!("(({v} + {w}) & 3)"),
            3 => format!("({v} ^ {w})"),
            4 => format!("t[{v} & 3]"),
            5 => format!("(({v} * {n}) & 3)"),
            _ => format!("(({v} >> 1) | {n})"),
        }
    }

    fn condition(&mut self) -> String {
        let (v, w) = (self.value(), self.value());
        let comparison = self.random.pick(&["==", "!=", "<", ">=", "=="]);
        match self.random.below(4) {
            0 => format!("(int){v} {comparison} (int){w} - 1"),
            _ => format!("{v} {comparison} {w}"),
        }
    }

    fn statements(&mut self, count: usize, nesting: u32) {
        for _ in 0..count {
            self.statement(nesting);
        }
    }

    fn statement(&mut self, nesting: u32) {
        let value = self.value();
        match self.random.below(if nesting == 0 { 4 } else { 10 }) {
            0 => {
                let to = self.variable();
                self.text += &format!("{to} = {value}; HIDE({to});\n");
            }
            1 => {
                let at = self.variable();
                self.text += &format!("t[{at} & 3] = {value};\n");
            }
            2 => {
                let hidden = self.variable();
                self.text += &format!("HIDE({hidden}); WORK();\n");
            }
            3 => {
                let to = self.variable();
                self.text += &format!("{to} = step({value});\n");
            }
            4 if self.depth < 2 => {
                let (counter, limit) = (self.counters, self.random.below(3));
                self.counters += 1;
                let bound = if self.random.below(2) == 0 { format!("{}", limit + 1) } else { format!("({value} & 3)") };
                self.text += &format!("for (unsigned i{counter} = 0; i{counter} < {bound}; i{counter}++) {{\n");
                self.depth += 1;
                let count = 1 + self.random.below(3);
                self.statements(count, nesting - 1);
                self.depth -= 1;
                // So that the bound does not change in the loop, and the compiler keeps it.
                self.text += &format!("HIDE(i{counter}); if (i{counter} > 5) break; }}\n");
            }
            _ => {
                let condition = self.condition();
                self.text += &format!("if ({condition}) {{\n");
                let count = 1 + self.random.below(2);
                self.statements(count, nesting - 1);
                if self.random.below(2) == 0 {
                    self.text += "} else {\n";
                    self.statement(nesting - 1);
                }
                self.text += "}\n";
            }
        }
    }
}

/// A program with a function that is called, an array on the stack, loops and branches.
fn program(seed: u64) -> String {
    let mut writer = Writer { random: Random(seed), text: String::new(), depth: 0, counters: 0 };
    writer.statements(9, 3);
    format!(
        "volatile unsigned sink;
        #define HIDE(x) __asm__ volatile(\"\" : \"+r\"(x))
        #define WORK() do {{ sink = 1; sink = 2; sink = 3; sink = 4; }} while (0)
        __attribute__((noinline)) unsigned step(unsigned v) {{ if (v & 1) {{ WORK(); return 2; }} return v + 1 & 3; }}
        void start(unsigned a, unsigned b, unsigned c) {{
            unsigned x = 0, y = 1, t[4] = {{ 0, 1, 2, 3 }};
            {}
            sink = x + y + a + b + c + t[0] + t[3];
        }}",
        writer.text
    )
}

/// Analyses programs, and checks what is said of each against all of its runs; how many conflicts were found.
fn conflicts(seeds: std::ops::RangeInclusive<u64>, sharing: &Sharing) -> usize {
    let all = inputs(&[0, 1, 2, 3], 3);
    let conflicts = std::cell::Cell::new(0);
    for seed in seeds {
        with_cases(&program(seed), 9, sharing.clone(), &|case| {
            let found = refined(case, &all);
            conflicts.set(conflicts.get() + found.conflicts.len());
        });
    }
    conflicts.get()
}

#[test]
fn no_possible_path_is_excluded() {
    let found = conflicts(1..=cases(2), &Sharing::Exclusive);
    assert!(found > 4, "only {found} conflicts: the programs show nothing");
}

#[test]
fn no_possible_path_of_other_programs_is_excluded() {
    let found = conflicts(4..=3 + cases(1), &Sharing::Exclusive);
    assert!(found > 0, "only {found} conflicts: the programs show nothing");
}

/// Analysed as if others wrote their memory, which a run alone is an example of.
#[test]
fn no_possible_path_is_excluded_where_others_write() {
    let found = conflicts(6..=5 + cases(1), &Sharing::StackIsPrivate);
    assert!(found > 0, "no conflicts: the programs show nothing");
}
