//! Calls: function pointers, recursion, functions that do not return, code that is not reached.

use std::collections::{BTreeMap, BTreeSet};

use crate::compiled::{callees, compile, errors, flow, function, graph, list, TARGETS};
use wcet_flow::{Options, Problem};

#[test]
fn a_constant_table_of_functions() {
    // Position-independent code keeps such tables in memory that the loader writes.
    for target in TARGETS.into_iter().filter(|target| !target.options.contains(&"-fPIE")) {
        let (program, graph) = graph(
            target,
            "
            volatile int a;
            void f(void) { a = 1; } void g(void) { a = 2; } void h(void) { a = 3; } void i(void) { a = 4; }
            static void (*const table[4])(void) = { f, g, h, i };
            __attribute__((noinline)) void call(unsigned x) { table[x & 3](); a = 0; }
            __attribute__((noinline)) void checked(unsigned x) { if (x < 3) { table[x](); a = 0; } }
            void start(void) { call(a); checked(a); for (;;); }",
        );
        let mut all = callees(&program, &graph, "call");
        all.sort();
        assert_eq!(all, ["f", "g", "h", "i"], "{target:?}");
        assert_eq!(callees(&program, &graph, "checked").len(), 3, "{target:?}");
    }
}

/// In a position-independent executable that the loader need not touch further.
#[test]
fn a_table_that_relocations_fill() {
    let source = "
        volatile int a;
        void f(void) { a = 1; } void g(void) { a = 2; } void h(void) { a = 3; } void i(void) { a = 4; }
        static void (*const table[4])(void) = { f, g, h, i };
        __attribute__((noinline)) void call(unsigned x) { table[x & 3](); a = 0; }
        void start(void) { call(a); for (;;); }";
    let fixed = ["-O2", "-ffreestanding", "-nostdlib", "-fno-stack-protector", "-fPIE", "-static-pie", "-Wl,-e,start"];
    let arm = ["-marm", "-march=armv6", "-Wl,--no-dynamic-linker"];
    for (compiler, options) in [("gcc", &[][..]), ("arm-linux-gnueabi-gcc", &arm[..])] {
        let data = testing::compile(compiler, &[&fixed, options].concat(), "c", source);
        let program = wcet_binary::load::Program::parse(&data).unwrap();
        let graph = flow(&program, &Options::default()).unwrap_or_else(|errors| panic!("{}", list(&errors)));
        let mut all = callees(&program, &graph, "call");
        all.sort();
        assert_eq!(all, ["f", "g", "h", "i"], "{compiler}");
        assert!(graph.assumptions.iter().any(|text| text.contains("PT_GNU_RELRO")), "{:?}", graph.assumptions);
    }
}

#[test]
fn a_function_as_argument() {
    for target in TARGETS {
        let (program, graph) = graph(
            target,
            "
            volatile int a;
            void f(void) { a = 1; } void g(void) { a = 2; }
            __attribute__((noinline, noclone)) void apply(void (*function)(void), int x) { function(); a = x; }
            void start(void) { apply(f, a); apply(g, a); for (;;); }",
        );
        assert_eq!(callees(&program, &graph, "apply").len(), 2, "{target:?}");
    }
}

const VARIABLE: &str = "
    volatile int a;
    void f(void) { a = 1; }
    void (*volatile pointer)(void) = f;
    void start(void) { pointer(); for (;;); }";

#[test]
fn a_function_in_a_variable_needs_a_statement() {
    for target in TARGETS {
        let (program, errors) = errors(target, VARIABLE);
        let [error] = &errors[..] else { panic!("{}", list(&errors)) };
        assert!(matches!(error.problem, Problem::Unresolved { what: "call", .. }), "{error}");
        assert!(error.to_string().contains("start") && error.to_string().contains("--targets"), "{error}");
        let f = program.symbol("f").unwrap().address;
        let options = Options { targets: BTreeMap::from([(error.address, [f].into())]), ..Options::default() };
        let graph = flow(&program, &options).unwrap();
        assert_eq!(callees(&program, &graph, "start"), ["f"]);
        assert!(graph.assumptions.iter().any(|assumption| assumption.contains("goes to f, as stated")));
    }
}

#[test]
fn recursion_needs_a_depth() {
    for target in TARGETS {
        let (program, errors) = errors(
            target,
            "
            volatile int a;
            int odd(int n);
            __attribute__((noinline)) int even(int n) { a++; return n ? odd(n - 1) + a : 1; }
            __attribute__((noinline)) int odd(int n) { a--; return n ? even(n - 1) + a : 0; }
            void start(void) { even(a); for (;;); }",
        );
        let [error] = &errors[..] else { panic!("{}", list(&errors)) };
        assert!(matches!(error.problem, Problem::Recursion { .. }), "{error}");
        let options = Options { recursion: BTreeMap::from([(error.address, 8)]), ..Options::default() };
        assert!(flow(&program, &options).is_ok());
    }
}

#[test]
fn each_cycle_of_calls_needs_a_depth() {
    for target in TARGETS {
        let (program, errors) = errors(
            target,
            "
            volatile int a;
            void second(int n), third(int n);
            __attribute__((noipa)) void first(int n) { a++; if (n) second(n - 1); a--; }
            __attribute__((noipa)) void second(int n) { a++; if (n > 3) first(n - 1); else if (n) third(n); a--; }
            __attribute__((noipa)) void third(int n) { a++; if (n) second(n - 1); a--; }
            void start(void) { first(a); for (;;); }",
        );
        let [error] = &errors[..] else { panic!("{}", list(&errors)) };
        assert!(error.to_string().contains("--recursion second=DEPTH"), "it is on both cycles: {error}");
        let address = |name: &str| program.symbol(name).expect("it is there").address;
        let options = Options { recursion: BTreeMap::from([(address("first"), 8)]), ..Options::default() };
        let errors = flow(&program, &options).expect_err("the other cycle has no depth");
        let said = errors[0].to_string();
        assert!(said.contains("second, third;") || said.contains("third, second;"), "{said}");
        let options = Options { recursion: BTreeMap::from([(address("second"), 8)]), ..Options::default() };
        assert!(flow(&program, &options).is_ok());
    }
}

#[test]
fn nothing_is_looked_at_behind_a_stop() {
    for target in TARGETS {
        // The compiler leaves out what follows a call that is said not to come back: there is no code.
        let (program, errors) = errors(
            target,
            "
            volatile int a;
            __attribute__((noipa)) void work(void) { a++; }
            void start(void) { extern void last(void); if (a) last(); for (;;); }
            __attribute__((noipa, section(\".text.z\"))) void last(void) { work(); __builtin_unreachable(); }",
        );
        assert!(errors.iter().any(|error| error.to_string().contains("no code is here")), "{}", list(&errors));
        let last = program.symbol("last").expect("it is there").address;
        let options = Options { stops: BTreeSet::from([last]), ..Options::default() };
        let graph = flow(&program, &options).unwrap_or_else(|errors| panic!("{}", list(&errors)));
        assert_eq!(graph.functions[&last].blocks.len(), 1);
    }
}

#[test]
fn what_never_returns_has_nothing_behind_it() {
    for target in TARGETS {
        let (program, graph) = graph(
            target,
            "
            volatile int a;
            __attribute__((noinline)) void stop(void) { for (;;) a++; }
            void unused(void) { a = 9; }
            __attribute__((noinline)) int work(int x) { if (x == 3) { stop(); unused(); } return a + x; }
            void start(void) { a = work(a); for (;;); }",
        );
        assert!(!function(&program, &graph, "stop").returns, "{target:?}");
        assert!(function(&program, &graph, "work").returns, "{target:?}");
        assert!(!graph.functions.contains_key(&program.symbol("unused").unwrap().address), "{target:?}");
    }
}

#[test]
fn tail_calls() {
    for target in TARGETS {
        let (program, graph) = graph(
            target,
            "
            volatile int a;
            __attribute__((noinline)) int last(int x) { a = x; return a; }
            __attribute__((noinline)) int first(int x) { a = 1; return last(x + 1); }
            void start(void) { a = first(a) + 1; for (;;); }",
        );
        let first = function(&program, &graph, "first");
        assert!(first.returns);
        assert!(first.blocks.iter().any(|block| !block.tail_calls.is_empty()), "{target:?}");
    }
}

#[test]
fn a_return_to_elsewhere_is_refused() {
    let program = compile(
        TARGETS[0],
        "
        volatile unsigned long a;
        __attribute__((noinline)) void strange(void) { __asm__ volatile(\"mov %0, (%%rsp)\\n ret\" :: \"r\"(a)); }
        void start(void) { strange(); for (;;); }",
    );
    let errors = flow(&program, &Options::default()).map(|_| ()).expect_err("errors");
    assert!(
        matches!(errors[..], [wcet_flow::Error { problem: Problem::StrangeReturn { .. }, .. }]),
        "{}",
        list(&errors)
    );
}
