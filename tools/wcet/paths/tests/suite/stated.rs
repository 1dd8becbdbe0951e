//! Constraints that people state: proven ones are used, refuted ones come with a run, others are refused.

use std::collections::BTreeMap;

use crate::refined::{compile, flow, inputs, run::run, with_cases, Case};
use wcet_binary::load::Lines;
use wcet_paths::infeasible::{apply, parse, validate, Claim, Effort, Stated, Verdict};
use wcet_paths::ipet::{Constraints, Options};
use wcet_symbolic::Sharing;

const PRELUDE: &str = "
    volatile unsigned sink;
    #define HIDE(x) __asm__ volatile(\"\" : \"+r\"(x))
    #define WORK(name) do { __asm__ volatile(#name \":\"); \
        sink = 1; sink = 2; sink = 3; sink = 4; sink = 5; sink = 6; } while (0)
";

fn stated(case: &Case<'_, '_>, text: &str) -> Stated {
    let found = parse(text, case.setting.program, case.setting.graph.graph, &Lines::default());
    let found = found.unwrap_or_else(|errors| panic!("{:?}: {errors:?}", case.target));
    assert_eq!(found.len(), 1);
    found[0].clone()
}

fn verdict(case: &Case<'_, '_>, text: &str) -> (Claim, Verdict) {
    let stated = stated(case, text);
    let verdict = validate(case.setting, &stated, case.bounds, Effort { steps: 20_000_000, deadline: None }).unwrap();
    (stated.claim, verdict)
}

fn bound(case: &Case<'_, '_>, claims: &[Claim]) -> u64 {
    let mut constraints = Constraints::default();
    claims.iter().for_each(|claim| apply(case.setting, claim, &mut constraints));
    case.prepared.bound(&constraints, &Options::default()).unwrap().wcet_cycles
}

#[test]
fn conflicts() {
    let source = format!(
        "{PRELUDE} void start(unsigned a, unsigned b) {{
            if (a < 5) WORK(first);
            HIDE(a);
            if (a > 10) WORK(second);
            HIDE(b);
            if (b > 3) WORK(third);
        }}"
    );
    with_cases(&source, 1, Sharing::StackIsPrivate, &|case| {
        let (claim, found) = verdict(case, "[[conflicts]]\nin = \"start\"\nplaces = [\"first\", \"second\"]\n");
        assert_eq!(found, Verdict::Proven, "{:?}", case.target);
        assert!(bound(case, &[claim]) < bound(case, &[]));
        let (claim, found) = verdict(case, "[[conflicts]]\nin = \"start\"\nplaces = [\"first\", \"third\"]\n");
        let Verdict::Refuted(counterexample) = found else { panic!("{:?}: {found:?}", case.target) };
        // The run that is shown is one: with its registers the program takes its path.
        let names = ["RDI", "RSI", "RDX", "RCX", "r0", "r1", "r2", "r3"];
        let mut arguments = vec![0; 4];
        for (name, value) in &counterexample.registers {
            if let Some(position) = names.iter().position(|other| other == name) {
                arguments[position % 4] = *value as u64;
            }
        }
        let taken = run(case.setting.program, case.setting.graph, &arguments, &[]);
        assert_eq!(taken, counterexample.path, "{:?}: {counterexample:?}", case.target);
        let Claim::Conflicts { a, b, .. } = claim else { panic!() };
        for place in [a, b] {
            let graph = case.setting.graph;
            let there = |edge: &usize| graph.instructions(graph.edges[*edge].to).iter().any(|one| one.address == place);
            assert!(taken.iter().any(there));
        }
    });
}

#[test]
fn consistent() {
    let source = format!(
        "{PRELUDE} void start(unsigned a, unsigned n) {{
            for (unsigned i = 0; i < (n & 3); i++) {{
                unsigned x = a + i; HIDE(x);
                if (x & 1) WORK(first);
                HIDE(x);
                if (x & 1) WORK(second);
                HIDE(x);
                if (x & 2) WORK(third);
            }}
        }}"
    );
    with_cases(&source, 4, Sharing::StackIsPrivate, &|case| {
        let text = |other| format!("[[consistent]]\nin = \"start\"\nplaces = [\"first\", \"{other}\"]\n");
        let (claim, found) = verdict(case, &text("second"));
        assert_eq!(found, Verdict::Proven, "{:?}", case.target);
        assert!(bound(case, &[claim]) <= bound(case, &[]));
        let (_, found) = verdict(case, &text("third"));
        assert!(matches!(found, Verdict::Refuted(_)), "{:?}: {found:?}", case.target);
    });
}

#[test]
fn executes_at_most() {
    let source = format!(
        "{PRELUDE} void start(unsigned a, unsigned n) {{
            for (unsigned i = 0; i < (n & 7); i++) {{
                unsigned x = i; HIDE(x);
                if (x == 2 || x == 5) WORK(rare);
            }}
        }}"
    );
    with_cases(&source, 9, Sharing::StackIsPrivate, &|case| {
        let text = |count| format!("[[executes]]\nplace = \"rare\"\nat_most = {count}\n");
        let (claim, found) = verdict(case, &text(2));
        assert_eq!(found, Verdict::Proven, "{:?}", case.target);
        let with = bound(case, std::slice::from_ref(&claim));
        assert!(with < bound(case, &[]), "{:?}", case.target);
        let (_, found) = verdict(case, &text(1));
        assert!(matches!(found, Verdict::Refuted(_)), "{:?}: {found:?}", case.target);
        // No run is excluded.
        let mut constraints = Constraints::default();
        apply(case.setting, &claim, &mut constraints);
        for input in inputs(&[0, 3, 6, 7], 2) {
            let taken = run(case.setting.program, case.setting.graph, &input, &[]);
            for limit in &constraints.limits {
                let count: BTreeMap<usize, i64> = taken.iter().fold(BTreeMap::new(), |mut counts, edge| {
                    *counts.entry(*edge).or_default() += 1;
                    counts
                });
                let sum: i64 = limit.terms.iter().map(|(edge, factor)| factor * count.get(edge).unwrap_or(&0)).sum();
                assert!(sum <= limit.at_most);
            }
        }
    });
}

#[test]
fn what_memory_decides_is_not_proven() {
    // Another processor may set the flag between the two tests.
    let source = format!(
        "{PRELUDE} unsigned flag; void start(void) {{
            if (*(volatile unsigned *)&flag == 1) WORK(first);
            if (*(volatile unsigned *)&flag != 1) WORK(second);
        }}"
    );
    let text = "[[conflicts]]\nin = \"start\"\nplaces = [\"first\", \"second\"]\n";
    with_cases(&source, 1, Sharing::StackIsPrivate, &|case| {
        let found = verdict(case, text).1;
        assert!(matches!(found, Verdict::Open(_)), "{:?}: {found:?}", case.target);
    });
    with_cases(&source, 1, Sharing::Exclusive, &|case| assert_eq!(verdict(case, text).1, Verdict::Proven));
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_line() {
    let program =
        compile(crate::refined::TARGETS[0], &format!("{PRELUDE} void start(unsigned a) {{ if (a) WORK(first); }}"));
    let graph = flow(&program);
    let errors = |text: &str| -> Vec<String> {
        let found = parse(text, &program, &graph, &Lines::default());
        found.err().unwrap_or_default().iter().map(ToString::to_string).collect()
    };
    assert_eq!(errors("\n[[executes]]\nplace = \"nowhere\"\nat_most = 1\n").len(), 1);
    assert!(errors("\n[[executes]]\nplace = \"nowhere\"\nat_most = 1\n")[0].starts_with("line 2: nowhere"));
    assert!(errors("[[conflicts]]\nin = \"stop\"\nplaces = [\"first\", \"first\"]\n")[0].contains("no function stop"));
    assert!(errors("[[executes]]\nplace = \"first\"\nat_most = 1\nsure = true\n")[0].contains("sure"));
    assert!(errors("[[executes]]\nplace = \"none.c:7\"\nat_most = 1\n")[0].contains("none.c:7"));
    assert!(errors("[[executes]]\nplace = \"first\"\nat_most = 1\n").is_empty());
}
