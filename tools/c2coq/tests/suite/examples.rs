//! The examples of the rules page: the refused one breaks its rule, the accepted one breaks none.

use std::path::{Path, PathBuf};

use c2coq::rule::Rule;
use c2coq::source::Sources;
use c2coq::{check_with, Options};

/// Names that the examples use without declaring them.
const PRELUDE: &str = "
#include <stdint.h>
#define NONE 0xffffffffu
#define NUM_CPU 4u
#define NUM_THREAD 8u
#define CELL_FLAG 1u
#define CODE_NO_FRAME 2u
#define TIMER 3u
struct node { uint32_t next; uint32_t state; };
struct state { uint32_t a; };
static struct node nodes[8];
static struct node threads[8];
static uint8_t bytes[8];
static uint32_t ring[8];
static uint32_t f(void) { return 1; }
static uint32_t g(uint32_t n) { return n; }
static void clear(uint32_t n) { ring[0] = n; }
static void visit(uint32_t n) { ring[0] = n; }
static void panic(uint32_t n) { ring[0] = n; }
static void timer_interrupt(void) { ring[0] = 0; }
static uint32_t queue_peek(uint32_t q) { return q; }
static uint64_t arch_atomic_load(uint32_t cell) { return (uint64_t)cell; }
static uint32_t arch_interrupt_poll(void) { return 32; }
static void arch_power_off(uint32_t code) { ring[0] = code; }
";

const PARAMETERS: &str = "uint32_t x, uint32_t i, uint32_t t, uint32_t u, uint32_t p, uint32_t q, uint32_t y, \
    uint32_t a, uint32_t b, uint32_t n, uint32_t bit, uint32_t x32, uint32_t z32, uint32_t low, uint32_t kind, \
    uint32_t full, uint32_t count, uint32_t skip, uint32_t head, uint32_t byte, uint32_t status, uint64_t x64, \
    uint64_t y64, uint64_t all, uint64_t mask";

/// Constants that some examples define themselves.
const CONSTANTS: &str = "#define SIZE 8u\n#define TABLE_SIZE 8u\n#define FIRST 1u\n";

/// The rules a text breaks.
fn broken(text: &str) -> Vec<Rule> {
    let mut sources = Sources::default();
    let path = PathBuf::from("/nowhere/example.c");
    sources.add(&path, text);
    let checked = check_with(sources, &[path], &Options::default()).unwrap();
    checked.faults.iter().map(|fault| fault.rule).collect()
}

/// The example among declarations, in a function, and alone.
fn contexts(example: &str) -> Vec<String> {
    // A parameter that the example declares itself is left to it.
    let free = |parameter: &&str| !example.contains(&format!("{} =", parameter.trim()));
    let parameters: Vec<&str> = PARAMETERS.split(',').filter(free).collect();
    let parameters = parameters.join(",");
    vec![
        format!("{PRELUDE}{CONSTANTS}{example}\n"),
        format!("{PRELUDE}{CONSTANTS}static uint32_t body({parameters})\n{{\n    {example}\n    return 1; }}\n"),
        format!("#include <stdint.h>\n{CONSTANTS}{example}\n"),
        format!("#include <stdint.h>\n#define NUM_CPU 4u\n#define NUM_THREAD 4u\nstruct state {{ uint32_t a; }};\n{example}\n"),
        format!("#define SIZE 1u\n{example}\n#endif\n"),
    ]
}

#[test]
fn refused_examples_break_their_rule() {
    for rule in Rule::ALL {
        let wrong = rule.info().wrong;
        let found = contexts(wrong).iter().any(|text| broken(text).contains(rule));
        assert!(found || header(wrong).contains(rule) || twice(wrong).contains(rule), "{}: {}", rule.name(), wrong);
    }
}

#[test]
fn accepted_examples_break_no_rule() {
    // A prototype and a header guard are right in a header only.
    for rule in Rule::ALL {
        let right = rule.info().right;
        let clean = contexts(right).iter().any(|text| broken(text).is_empty());
        assert!(clean || header(right).is_empty(), "{}: {right}: {:?}", rule.name(), header(right));
    }
}

/// The rules a text breaks as a header.
fn header(text: &str) -> Vec<Rule> {
    let mut sources = Sources::default();
    sources.add(Path::new("/nowhere/example.h"), &format!("#include <stdint.h>\n{text}\n"));
    let path = PathBuf::from("/nowhere/example.c");
    sources.add(&path, "#include \"example.h\"\n");
    let checked = check_with(sources, &[path], &Options::default()).unwrap();
    checked.faults.iter().map(|fault| fault.rule).collect()
}

/// The rules that two files with this text break.
fn twice(text: &str) -> Vec<Rule> {
    let mut sources = Sources::default();
    let paths = ["/nowhere/first.c", "/nowhere/second.c"].map(PathBuf::from);
    for path in &paths {
        sources.add(path, &format!("#include <stdint.h>\n{text}\n"));
    }
    let checked = check_with(sources, &paths, &Options::default()).unwrap();
    checked.faults.iter().map(|fault| fault.rule).collect()
}
