//! Random small protocols, as text. Many are refused by the protocol's own checks: then another one is made.

use protocol::{check_text, Checked};
use std::fmt::Write;
use std::path::Path;
use testing::Random;

/// A protocol with a name and a number of its own.
pub fn protocol(random: &mut Random, name: &str, number: u32) -> Checked {
    loop {
        let text = text(random, name, number);
        if let Ok(checked) = check_text(Path::new(&format!("{name}.proto")), text) {
            return checked;
        }
    }
}

/// What a state allows: lines of edges.
struct States {
    edges: Vec<Vec<String>>,
}

impl States {
    fn edge(&mut self, state: usize, label: &str, target: Option<usize>) {
        let taken = |line: &String| line.split_whitespace().next() == Some(label);
        if !self.edges[state].iter().any(taken) {
            let target = target.filter(|target| *target != state).map(|target| format!(" -> S{target}"));
            self.edges[state].push(format!("{label}{}", target.unwrap_or_default()));
        }
    }
}

fn text(random: &mut Random, name: &str, number: u32) -> String {
    let num_state = 2 + random.below(3);
    let (num_in, num_out) = (1 + random.below(3), 1 + random.below(3));
    let limit = if random.one_in(3) { 1 + random.below(3) } else { 0 };
    let mut out = format!("# A protocol made by chance.\nprotocol {name} {number}\n\n");
    if limit > 0 {
        let _ = writeln!(out, "request job {limit}\n");
    }
    let field = |random: &mut Random, most: usize| {
        let least = random.below(3);
        let form = if random.one_in(4) { "u16" } else { "u8" };
        format!("  f {form} {least}..{}\n", least + random.below(most))
    };
    for index in 0..num_in {
        let _ = writeln!(out, "in a{index}");
        if random.one_in(3) {
            out.push_str(&field(random, 4));
        }
        if random.one_in(3) {
            out.push_str("  owed\n");
        }
    }
    for index in 0..num_out {
        let _ = writeln!(out, "out b{index}");
        if random.one_in(3) {
            out.push_str(&field(random, 9));
        }
        if limit > 0 && random.one_in(2) {
            out.push_str("  drained job\n");
        }
    }
    if limit > 0 {
        out.push_str("in order\n  opens job\nout done\n  closes job\n");
    }
    let mut states = States { edges: vec![Vec::new(); num_state] };
    let mut heads: Vec<String> = Vec::new();
    for state in 0..num_state {
        let is_timed = state > 0 && !random.one_in(3);
        let mut head = format!("state S{state}");
        if is_timed {
            head.push_str(" timed");
            for _ in 0..1 + random.below(2) {
                states.edge(state, &format!("!b{}", random.below(num_out)), Some(random.below(num_state)));
            }
            if random.one_in(4) {
                states.edge(state, &format!("?a{}", random.below(num_in)), Some(random.below(num_state)));
            }
        } else {
            head.push_str(if state == 0 { " initial fair" } else { " fair" });
            if state == 0 || random.one_in(4) {
                head.push_str(" final");
            }
            for _ in 0..1 + random.below(num_in) {
                states.edge(state, &format!("?a{}", random.below(num_in)), Some(random.below(num_state)));
            }
            if random.one_in(3) {
                states.edge(state, &format!("!b{}", random.below(num_out)), Some(random.below(num_state)));
            }
        }
        if limit > 0 {
            if state == 0 || random.one_in(2) {
                states.edge(state, "?order", random.one_in(5).then(|| random.below(num_state)));
            }
            if !random.one_in(4) {
                states.edge(state, "!done", random.one_in(8).then(|| random.below(num_state)));
            }
        }
        heads.push(head);
    }
    for (head, edges) in std::iter::zip(heads, &states.edges) {
        let _ = writeln!(out, "\n{head}");
        for edge in edges {
            let _ = writeln!(out, "  {edge}");
        }
    }
    out
}
