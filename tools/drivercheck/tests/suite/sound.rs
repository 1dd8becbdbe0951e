//! Wrong drivers that an unsound checker would pass, one for each assumption that a step of the checker makes.

use crate::common::{check_text, driver, driver_of, root, scratch};
use drivercheck::check::{run, Options};
use drivercheck::counterexample::monitor::replays;
use std::collections::BTreeSet;

/// What must be found, and what may not be named.
#[test]
fn finds_what_hides() {
    let all: [(&str, &[u8]); 10] = [
        ("nested_polling", &[4]),
        ("narrow_counter", &[4]),
        ("never_answers_bell", &[2]),
        ("counts_turns", &[4]),
        ("traps", &[5]),
        ("changes_by_itself", &[1]),
        ("touched_on_one_way", &[1]),
        ("touched_next_time", &[1]),
        ("rests_on_the_bell", &[3, 4]),
        ("hears_the_bell_alone", &[2, 3]),
    ];
    for (name, rules) in all {
        let driver = driver(name).unwrap();
        let report = run(&driver, &Options::default(), &|_| {}).unwrap();
        let mut found = BTreeSet::new();
        for row in report.rows.iter().filter(|row| row.verdict != "PROVED") {
            assert_eq!(row.verdict, "VIOLATED", "{name}: {} {:?}", row.subprotocol, row.reason);
            let trace = row.trace.as_ref().unwrap();
            assert!(
                replays(&root(), &scratch(name), &driver, row.rule, trace).unwrap(),
                "{name}: no replay of\n{trace}"
            );
            found.insert(row.rule);
        }
        for rule in rules {
            assert!(found.contains(rule), "{name}: rule {rule} was not found, but {found:?}");
        }
    }
}

/// Whether a cycle ends that is no natural loop is not decided: the verdict is UNKNOWN, not PROVED.
#[test]
fn says_nothing_of_a_cycle_with_two_entries() {
    let report = run(&driver("two_entries").unwrap(), &Options::default(), &|_| {}).unwrap();
    assert!(report.rows.iter().any(|row| row.rule == 4 && row.verdict != "PROVED"));
}

/// C that the model would misread, or that lets a driver go round the rules: each is refused. Name, declarations, body of
/// `driver`, what the message says.
const REFUSED: &[(&str, &str, &str, &str)] = &[
    ("braces", "struct s { uint32_t a[2]; uint32_t b; };", "struct s s = {1, 2, 3}; (void)s;", "braces are missing"),
    (
        "designators",
        "struct i { uint32_t a, b; };\nstruct s { struct i i; uint32_t c; };",
        "struct s s = {.i.a = 1, 2}; (void)s;",
        "with several",
    ),
    ("callback", "void print(void (*f)(void));\nstatic void f(void) { }", "print(f);", "the address of `f`"),
    // The text of the compiler.
    ("line", "#line 7 \"include/ashlar/driver.h\"", "", "`#line"),
    ("marker", "# 7 \"include/ashlar/driver.h\" 1", "", "`#7"),
    ("pragma", "#pragma pack(1)", "", "`#pragma"),
    ("pragma operator", "_Pragma(\"pack(1)\")", "", "`#pragma"),
    ("debug images", "", "#ifdef ASHLAR_MONITOR\nEMIT(DOOR_ANSWER);\n#endif\n", "debug images"),
    // Words.
    ("cleanup", "static void f(int *a) { (void)a; }", "int a __attribute__((cleanup(f))) = 0;", "attribute `cleanup`"),
    ("mode", "static int a __attribute__((mode(QI)));", "a = 1;", "attribute `mode`"),
    ("alias", "static int f(void) { return 1; }\nint g(void) __attribute__((alias(\"f\")));", "", "attribute `alias`"),
    ("weak", "__attribute__((weak)) int f(void) { return 1; }", "f();", "attribute `weak`"),
    ("const", "static int f(void) __attribute__((const));", "", "attribute `const`"),
    ("packed", "struct s { uint8_t a; } __attribute__((packed));", "", "attribute `packed`"),
    ("name for the assembler", "extern int a __asm__(\"b\");", "", "`__asm__`"),
    ("assembly", "", "__asm__ volatile(\"int3\");", "`__asm__`"),
    ("asm", "static void asm(const char *a) { (void)a; }", "asm(\"\");", "`asm`"),
    ("typeof", "static int typeof(int a) { return a; }", "typeof(1);", "`typeof`"),
    ("noreturn", "static _Noreturn void f(void) { }", "f();", "`_Noreturn`"),
    ("unreachable", "", "if (COOKIE()) { __builtin_unreachable(); }", "`__builtin_unreachable`"),
    ("compiler's knowledge", "", "if (__builtin_constant_p(COOKIE())) { }", "`__builtin_constant_p`"),
    ("atomic", "static _Atomic int a;", "a = 1;", "`_Atomic`"),
    ("alignment", "struct s { _Alignas(8) uint8_t a; };", "", "`_Alignas`"),
    ("wide integer", "static __int128 a;", "a = 1;", "`__int128`"),
    ("generic selection", "", "uint32_t a = _Generic(1, int : 1, default : 2); (void)a;", "`_Generic`"),
    // Forms.
    ("volatile typedef", "typedef volatile uint32_t reg;", "", "a typedef of a volatile type"),
    ("volatile pointer", "static uint32_t *volatile p;", "", "a pointer that is volatile itself"),
    ("bit-field", "struct s { uint32_t a : 3; };", "", "a bit-field"),
    ("wide bit-field", "struct s { uint64_t a : 40; };", "", "a bit-field"),
    ("tag inside", "struct s { uint32_t a; };", "struct s { uint8_t a; } s = {1}; (void)s;", "a tag inside a function"),
    ("tag of the caller", "", "enum e { A = 1 } a = A; (void)a;", "a tag inside a function"),
    ("extern inside", "static uint32_t a;", "extern uint32_t a; a = 1;", "`extern` inside a function"),
    ("long enumeration", "enum e { A = 0x100000000 };", "", "no `int`"),
    ("unsigned enumeration", "enum e { A = 0x80000000, B = -1 };", "", "no `int`"),
    ("two values", "", "uint32_t a[2] = {[0] = 1, [0] = 2}; (void)a;", "two values"),
    ("two values in turn", "struct s { uint32_t a, b; };", "struct s s = {1, .a = 2}; (void)s;", "two values"),
    ("range of elements", "", "uint32_t a[4] = {[0 ... 3] = 1}; (void)a;", "a range of elements"),
    ("old parameters", "static int f(a) int a; { return a; }", "f(1);", "behind the brackets"),
    ("imaginary", "", "uint32_t a = sizeof(1i); (void)a;", "an imaginary number"),
    // Pointers.
    ("raw register", "", "*(volatile uint32_t *)(REGISTERS_ADDRESS + 4u) = 1;", "a pointer made of a number"),
    (
        "struct over the registers",
        "struct r { uint32_t a, b; };",
        "volatile struct r *r = (volatile struct r *)REGISTERS_ADDRESS; r->b = 1;",
        "a pointer made of a number",
    ),
    ("number in a variable", "", "uint64_t n = COOKIE(); uint32_t *p = (uint32_t *)n; *p = 1;", "a pointer made of a number"),
    ("pointer in a union", "union u { uint64_t n; uint32_t *p; };", "", "a union with a pointer"),
    (
        "pointer in a union's struct",
        "struct s { uint32_t *p; };\nunion u { uint64_t n; struct s s; };",
        "",
        "a union with a pointer",
    ),
    ("bytes as pointers", "", "uint64_t n = 8; uint32_t **p = (uint32_t **)&n; **p = 1;", "bytes read as pointers"),
    ("pointers from the device", "", "uint32_t **p = dma_memory(9, 0); **p = 1;", "bytes read as pointers"),
    (
        "bytes over pointers",
        "",
        "uint32_t *p = 0; uint64_t n = 8; __builtin_memcpy(&p, &n, 8); *p = 1;",
        "an object that holds pointers",
    ),
    // The framework.
    ("inside of the framework", "", "domain_emit_begin(DOOR_ANSWER, 0);", "defined elsewhere"),
    ("system call", "void sys_yield(void);", "sys_yield();", "defined elsewhere"),
    ("object elsewhere", "", "domain_current = 0;", "defined elsewhere"),
    ("unknown function", "uint32_t abort(void);", "abort();", "defined elsewhere"),
    ("own memset", "void *memset(void *to, int value, unsigned long size) { (void)value; (void)size; return to; }", "", "a name of the framework"),
    ("set that changes", "", "static struct mail_set s = {{1}}; s.mask[0] = 2; driver_await(&s);", "must be constants"),
    // Order of evaluation.
    (
        "order of messages",
        "static uint32_t f(void) { EMIT(DOOR_ANSWER); return 1; }\nstatic uint32_t g(void) { EMIT(DOOR_LEFT); return 1; }",
        "uint32_t a = f() + g(); (void)a;",
        "the order in which operands",
    ),
    (
        "order of arguments",
        "static uint32_t n;\nstatic uint32_t f(void) { n++; return n; }\nstatic void g(uint32_t a, uint32_t b) { if (a < b) { EMIT(DOOR_ANSWER); } }",
        "g(f(), f());",
        "the order in which operands",
    ),
    ("order in an index", "", "uint32_t a[2] = {0, 0}; uint32_t i = 0; a[i++] = i;", "the order in which operands"),
    (
        "order of a compound assignment",
        "static uint32_t n;\nstatic uint32_t f(void) { n = 2; return 1; }",
        "n += f();",
        "the order in which operands",
    ),
    (
        "order in an initialiser",
        "static uint32_t n;\nstatic uint32_t f(void) { n++; return n; }\nstruct s { uint32_t a, b; };",
        "struct s s = {f(), f()}; (void)s;",
        "the order in which operands",
    ),
];

#[test]
fn refuses_what_it_would_misread() {
    let mut missed = Vec::new();
    for (name, declarations, body, part) in REFUSED {
        let text = format!(
            "#include \"ashlar/driver.h\"\n#include \"door_protocol.h\"\n{declarations}\n\
             void driver(void)\n{{\n{body}\n    AWAIT(DOOR_KNOCK, DOOR_LEAVE);\n}}\n"
        );
        match check_text(name, &text, &Options::default()) {
            Ok(_) => missed.push(format!("{name}: accepted")),
            Err(error) if error.to_string().contains(part) => {}
            Err(error) => missed.push(format!("{name}: `{part}` is not in\n{error}")),
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// The framework's own functions are known by their text, not by their names.
#[test]
fn a_driver_may_not_put_its_own_in_the_place_of_the_framework() {
    let text = "#include <stdint.h>\n#include \"door_protocol.h\"\n\
                static inline void driver_emit(uint32_t mailbox, uint64_t cookie) { (void)mailbox; (void)cookie; }\n\
                void driver(void) { driver_emit(DOOR_ANSWER, 0); }\n";
    let Err(error) = check_text("own_emit", text, &Options::default()) else { panic!("accepted") };
    assert!(error.to_string().contains("`driver_emit` is the framework's"), "{error}");
}

#[test]
fn names_of_two_files_are_told_apart() {
    let directory = scratch("files");
    std::fs::create_dir_all(&directory).unwrap();
    let write = |name: &str, text: &str| {
        let path = directory.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    // One header, two meanings.
    write("same.h", "static inline uint32_t same(void) { return SAME; }\n");
    let one = "#include \"ashlar/driver.h\"\n#include \"door_protocol.h\"\n#define SAME 0\n\
               #include \"same.h\"\nstatic uint32_t count;\n\
               static uint32_t f(void) { return count; }\nuint32_t g(void);\n\
               void driver(void) { AWAIT(DOOR_KNOCK, DOOR_LEAVE); f(); g(); }\n";
    let two = "#include \"ashlar/driver.h\"\n#define SAME 1\n#include \"same.h\"\nstatic uint32_t count;\nstatic uint32_t f(void) { return 1; }\n\
               struct s { uint32_t a; };\nuint32_t g(void) { return f() + count; }\n";
    let files = vec![write("one.c", one), write("two.c", two)];
    let Err(error) = driver_of("files", files).unwrap().model() else { panic!("accepted") };
    for part in ["`count` is defined at", "`f` is defined at", "`same` is defined at"] {
        assert!(error.to_string().contains(part), "`{part}` is not in\n{error}");
    }
}
