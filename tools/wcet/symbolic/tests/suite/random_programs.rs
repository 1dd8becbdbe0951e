//! Random programs over a table in memory, followed as a whole and executed on every input.

use crate::compiled::{inputs, most, run::run, with_setting};
use testing::Random;
use wcet_symbolic::{follow, walk, Checked, Following, Setting, Sharing, Walking};

/// C statements; loops end after a few iterations at the latest, most of them earlier.
struct Writer {
    random: Random,
    loops: u32,
}

impl Writer {
    fn expression(&mut self) -> String {
        let variable = self.random.pick(&["x", "y", "z"]);
        let number = self.random.below_u64(9);
        match self.random.below_u64(8) {
            0 => format!("{number}"),
            1 => format!("{variable} + {number}"),
            2 => format!("{variable} - {number}"),
            3 => format!("(x ^ {variable})"),
            4 => format!("({variable} >> 1)"),
            5 => format!("{variable} * 3"),
            6 => format!("t[({variable} + {number}) & 7]"),
            _ => variable.to_string(),
        }
    }

    fn condition(&mut self) -> String {
        let (a, b) = (self.expression(), self.expression());
        let operator = self.random.pick(&["<", ">", "==", "!=", "<="]);
        format!("(({a}) & 15) {operator} (({b}) & 15)")
    }

    fn statements(&mut self, depth: u32) -> String {
        let count = 1 + self.random.below_u64(3);
        (0..count).map(|_| self.statement(depth)).collect()
    }

    fn statement(&mut self, depth: u32) -> String {
        let variable = self.random.pick(&["x", "y", "z"]);
        match self.random.below_u64(if depth > 0 { 8 } else { 4 }) {
            0 | 1 => format!("{variable} = {};\n", self.expression()),
            2 => format!("t[({}) & 7] = {};\n", self.expression(), self.expression()),
            3 => format!("sink = {variable};\n"),
            4 => {
                let (when, then) = (self.condition(), self.statements(depth - 1));
                format!("if ({when}) {{\n{then}}} else {{\n{}}}\n", self.statements(depth - 1))
            }
            5 if self.loops < 3 => {
                self.loops += 1;
                let (number, most, when) = (self.loops, 2 + self.random.below_u64(3), self.condition());
                let body = self.statements(depth - 1);
                format!(
                    "for (unsigned char i{number} = 0; i{number} < {most}; i{number}++) {{\nsink = i{number};\n\
                     if ({when}) break;\n{body}}}\n"
                )
            }
            _ if self.loops < 3 => {
                self.loops += 1;
                let (number, most, when) = (self.loops, 2 + self.random.below_u64(4), self.condition());
                let body = self.statements(depth - 1);
                format!(
                    "unsigned char left{number} = {most};\nwhile ({when}) {{\nsink = left{number};\n\
                     if (left{number}-- == 0) break;\n{body}}}\n"
                )
            }
            _ => format!("{variable} = {};\n", self.expression()),
        }
    }
}

fn program(seed: u64) -> String {
    let mut writer = Writer { random: Random(seed), loops: 0 };
    let mut body = String::new();
    while writer.loops < 2 {
        body += &writer.statements(3);
    }
    let table: String = (0..8).map(|index| format!("t[{index}] = {};\n", writer.random.below_u64(16))).collect();
    format!(
        "unsigned char t[8]; volatile unsigned sink;
        void start(unsigned a, unsigned b) {{
            unsigned char x = a & 7, y = b & 3, z = 1;
            {table}
            {body}
        }}"
    )
}

/// Loops, those with a bound, and those whose bound is what happens: with the bounds that are found so.
fn held_against_runs(find: &dyn Fn(&Setting<'_, '_>) -> Vec<Result<Checked, String>>) -> (u32, u32, u32) {
    let all: Vec<Vec<u64>> = inputs(&(0..8).collect::<Vec<_>>(), 2).into_iter().filter(|input| input[1] < 4).collect();
    let counted = std::cell::Cell::new((0, 0, 0));
    for seed in 1..=12 {
        let source = program(seed);
        with_setting(&source, Sharing::Exclusive, &|target, setting| {
            let mut real = vec![0; setting.graph.loops.len()];
            for input in &all {
                let run = run(setting.program, setting.graph, input, &[]);
                for (real, most) in real.iter_mut().zip(most(setting.graph, &run)) {
                    *real = most.max(*real);
                }
            }
            for (found, real) in find(setting).into_iter().zip(real) {
                let (mut loops, mut bounded, mut exact) = counted.get();
                loops += 1;
                if let Ok(found) = found {
                    assert!(found.bound >= real, "{target:?}: {real}, {found:?}\n{source}");
                    // Where everything is followed, what the solver finds is an execution.
                    assert!(!found.reached || found.bound == real, "{target:?}: {real}, {found:?}\n{source}");
                    bounded += 1;
                    exact += u32::from(found.bound == real);
                }
                counted.set((loops, bounded, exact));
            }
        });
    }
    counted.get()
}

#[test]
fn bounds_are_what_some_input_reaches() {
    let effort = Following { iterations: 300, all_steps: 6_000_000, ..Following::default() };
    let (loops, bounded, exact) = held_against_runs(&|setting| follow(setting, &|_| None, &effort).unwrap());
    println!("{loops} loops, {bounded} bounded, {exact} exact");
    assert!(loops > 40 && 10 * exact >= 9 * loops, "{loops} loops, {bounded} bounded, {exact} exact");
}

#[test]
fn so_are_those_by_each_path() {
    let effort = Walking { nodes: 20_000, all_steps: 6_000_000, ..Walking::default() };
    let (loops, bounded, exact) = held_against_runs(&|setting| {
        let count = setting.graph.loops.len();
        match walk(setting, &effort).unwrap() {
            Ok(found) => found.into_iter().map(Ok).collect(),
            Err(why) => vec![Err(why); count],
        }
    });
    println!("{loops} loops, {bounded} bounded, {exact} exact");
    assert!(loops > 40 && 2 * exact >= loops && exact == bounded, "{loops} loops, {bounded} bounded, {exact} exact");
}
