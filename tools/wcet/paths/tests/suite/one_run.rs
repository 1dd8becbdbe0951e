//! Programs without input: the one run is executed, and tells how often each loop runs.

use crate::analysed::{build, report, Target, ARM, RISC_V, X86};
use wcet_binary::lift::Lifter;
use wcet_binary::load::Program;
use wcet_hardware::cache::Target as Place;
use wcet_values::{one_run, Left, OneRun, Options};

const INSTRUCTIONS: u64 = 1_000_000;

fn compiled(target: Target, body: &str) -> Vec<u8> {
    let source = format!(
        "volatile int out; int input = 7; double start = 2.0, least = 1e-9; float small = 1e-44f;
         void _start(void) {{ {body} }}"
    );
    build(target, "c", &source, &["-O1", "-fno-builtin", "-lgcc"])
}

/// The run of a program that begins with memory as the file has it, of which `volatile` variables are no more than others.
fn run(target: Target, body: &str) -> Result<OneRun, Left> {
    let program = Program::parse(&compiled(target, body)).unwrap();
    let entry = program.symbol("_start").unwrap().address;
    let lifter = Lifter::new(&program).unwrap();
    let graph = wcet_flow::analyse(&lifter, &[entry], &wcet_flow::Options::default()).unwrap();
    let expanded = wcet_flow::context::expand(&graph, entry, &wcet_flow::context::Options::default()).unwrap();
    let options = Options { memory_as_loaded: true, ..Options::default() };
    one_run(&program, &expanded, &options, INSTRUCTIONS)
}

/// A loop that tests before each iteration executes its header once more than its body, or is turned round by the compiler.
#[track_caller]
fn runs(found: Result<OneRun, Left>, times: u64) {
    let found = found.unwrap();
    assert_eq!(found.most.len(), 1);
    assert!((times..=times + 1).contains(&found.most[0]), "{found:?} {times}");
}

#[test]
fn a_generator_of_numbers_runs_as_often_as_it_does() {
    let (mut state, mut times) = (7u32, 0);
    while state % 1000 != 3 {
        (state, times) = (state.wrapping_mul(1_103_515_245).wrapping_add(12345), times + 1);
    }
    let body = "unsigned state = input; while (state % 1000u != 3) state = state * 1103515245u + 12345; out = state;";
    [X86, ARM, RISC_V].into_iter().for_each(|target| runs(run(target, body), times));
}

/// Newton's square root.
const NEWTON: &str = "double x = start; int times = 0;
    while (x * x - 2.0 > least) { x = (x + 2.0 / x) / 2.0; times++; } out = times;";

#[test]
fn floating_point_numbers_are_computed_as_the_processor_does() {
    let (mut x, mut times) = (2.0f64, 0);
    while x * x - 2.0 > 1e-9 {
        (x, times) = ((x + 2.0 / x) / 2.0, times + 1);
    }
    runs(run(X86, NEWTON), times);
    let report = report(X86, compiled(X86, NEWTON));
    assert_eq!(report.loops[0].bound, Some(run(X86, NEWTON).unwrap().most[0]));
    assert!(report.assumptions.iter().any(|one| one.text.contains("MXCSR")), "{:?}", report.assumptions);
    // Arithmetic on whole numbers takes nothing for granted of it.
    let whole = run(X86, "unsigned n = input; while (n % 1000u != 3) n = n * 5 + 1; out = n;").unwrap();
    assert_eq!(whole.assumptions, [] as [&str; 0]);
}

#[test]
fn small_numbers_are_not_flushed_to_zero() {
    let (mut x, mut times) = (1e-44f32, 0);
    while x > 0.0 {
        (x, times) = (x / 2.0, times + 1);
    }
    runs(run(X86, "float x = small; while (x > 0.f) x /= 2.f; out = input;"), times);
}

/// What rounds otherwise has another run: nothing is said where the control word becomes what is not known.
#[test]
fn a_control_word_that_is_loaded_gives_no_run() {
    let load = "unsigned word = 0x9f80; __asm__ volatile(\"ldmxcsr %0\" :: \"m\"(word));";
    assert!(run(X86, &format!("{load} {NEWTON}")).is_err());
}

#[test]
fn a_register_that_nothing_has_written_gives_no_run() {
    let rest = "while (x * x - 2.0 > least) x = (x + 2.0 / x) / 2.0; out = input;";
    assert!(run(X86, &format!("double x; __asm__ volatile(\"\" : \"=x\"(x)); {rest}")).is_err());
    // Half of it is known.
    let half = "__asm__ volatile(\"movsd %1, %%xmm0; movhlps %%xmm0, %%xmm1; movapd %%xmm1, %0\" : \"=x\"(x) : \"m\"(start) : \"xmm0\", \"xmm1\");";
    assert!(run(X86, &format!("double x; __asm__ volatile(\"xorpd %%xmm1, %%xmm1; \" ::: \"xmm1\"); {half} {rest}"))
        .is_ok());
    assert!(run(
        X86,
        &format!("double x; {} {rest}", half.replace("movsd %1, %%xmm0; movhlps", "movlpd %1, %%xmm0; movhlps"))
    )
    .is_err());
}

/// A comparison with what is no number goes the other way; its sign, which processors choose, is not known.
#[test]
fn what_is_no_number_compares_with_nothing() {
    let none = "double x = start, y = x - x; __asm__(\"divsd %0, %0\" : \"+x\"(y));";
    let body = format!("{none} int n = 0; while (n < input && y != y) n++; out = n;");
    assert!(run(X86, &body).is_err());
    let known = "long bits = 0x7ff8000000000000 + input; double y; __builtin_memcpy(&y, &bits, 8); double x = start;";
    runs(run(X86, &format!("{known} int n = 0; while (n < input && !(y < x) && !(y >= x)) n++; out = n;")), 7);
}

/// A list in the stack ends where a pointer is 0. That no address of the stack is 0 is said.
#[test]
fn a_list_in_the_stack_is_followed_to_its_end() {
    let body = "struct link { struct link *next; int value; } links[9];
        struct link *volatile first = links;
        for (int i = 0; i < 9; i++) { links[i].value = i; links[i].next = i < 8 ? &links[i + 1] : 0; }
        int sum = 0; for (struct link *one = first; one; one = one->next) sum += one->value; out = sum;";
    for target in [X86, ARM, RISC_V] {
        let found = run(target, body).unwrap();
        assert!(found.most.iter().all(|most| (8..=10).contains(most)), "{found:?}");
        assert!(found.assumptions.iter().any(|text| text.contains("address 0")), "{:?}", found.assumptions);
    }
}

/// Two loops, each of whose iterations may go two ways: what they make of the numbers is too much to follow for all of them at once.
#[test]
fn accesses_of_the_one_run_stand_in_for_what_is_too_much_to_follow() {
    let source = "static unsigned char table[4096]; volatile int out; int input = 7;
         void _start(void) { unsigned state = input; int kept[16]; for (int i = 0; i < 16; i++) kept[i] = i;
             for (int round = 0; round < 300; round++)
                 for (int i = 0; i < 1000; i++) {
                     state = state * 1103515245u + 12345;
                     if (state & 1u << 20) table[state >> 22] = i; else kept[state >> 28] += i;
                 }
             out = table[state >> 22] + kept[3]; }";
    // ARM's shift of an index to the right is no form of an address.
    for target in [X86, RISC_V] {
        let program = build(target, "c", source, &["-O1", "-fno-builtin", "-lgcc"]);
        let program = Program::parse(&program).unwrap();
        let table = program.symbol("table").unwrap().clone();
        let lifter = Lifter::new(&program).unwrap();
        let entry = program.symbol("_start").unwrap().address;
        let graph = wcet_flow::analyse(&lifter, &[entry], &wcet_flow::Options::default()).unwrap();
        let expanded = wcet_flow::context::expand(&graph, entry, &wcet_flow::context::Options::default()).unwrap();
        let options = Options { memory_as_loaded: true, steps: 320, ..Options::default() };
        let run = one_run(&program, &expanded, &options, 10 * INSTRUCTIONS).unwrap();
        let options = Options { run: Some(run.into()), ..options };
        let values = wcet_values::analyse(&program, &expanded, &options);
        let all = expanded.order().flat_map(|node| values.targets(node));
        let within: Vec<(u64, u64)> = all
            .filter_map(|target| match *target {
                Place::Within(first, last) if first >= table.address && last < table.address + 4096 => {
                    Some((first, last))
                }
                _ => None,
            })
            .collect();
        // A generator of 32 bits comes to each of 1024 places in 150,000 steps.
        assert!(within.contains(&(table.address, table.address + 1023)), "{within:x?}");
        let mut reached = expanded.order().filter(|node| values.reached(*node));
        assert!(reached.all(|node| !values.targets(node).contains(&Place::Anywhere)), "{target:?}");
    }
}
