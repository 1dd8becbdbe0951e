//! What C means, the model must allow: pieces of C that come out true when they are compiled and run here. A driver that
//! breaks rule 1 if its piece is true must not be PROVED.

use crate::common::{check_text, scratch};
use drivercheck::check::Options;
use std::fmt::Write;
use std::process::Command;

/// Name, declarations, statements that set `wrong`. `input()` is defined elsewhere, and is 1.
const PIECES: &[(&str, &str, &str)] = &[
    ("negative enumerator", "enum mood { BAD = -1, GOOD = 1 };", "enum mood m = BAD; wrong = m < GOOD;"),
    ("signed char", "", "int8_t c = (int8_t)0xff; wrong = c < 0;"),
    ("small integers are promoted", "", "uint8_t a = 200, b = 100; wrong = a + b > 255;"),
    ("small integers wrap", "", "uint8_t a = 255; a++; wrong = a == 0;"),
    ("mixed signs compare unsigned", "", "int32_t a = -1; uint32_t b = 1; wrong = a > b;"),
    ("signed shift", "", "int32_t a = -8; wrong = a >> 1 == -4;"),
    ("filled past a field", "struct s { uint32_t a, b; };", "struct s s = {1, 1}; __builtin_memset(&s.a, 0, sizeof s); wrong = s.b == 0u;"),
    ("choice of pointers", "", "uint32_t a = 0, b = 0; uint32_t *p = input() ? &a : &b; *p = 1; wrong = a;"),
    ("pointer to a pointer", "", "uint32_t a = 0; uint32_t *p = &a; uint32_t **q = &p; **q = 1; wrong = a;"),
    ("pointer moved", "", "uint32_t t[2] = {0, 1}; uint32_t *p = t; p++; wrong = *p;"),
    ("element by a variable", "", "uint32_t t[4] = {0}; t[input()] = 1; wrong = t[1];"),
    ("constant table", "static const uint32_t t[3] = {0, 1, 0};", "wrong = t[input()];"),
    ("copy of a struct", "struct s { uint32_t a; };", "struct s s = {1}; struct s c = s; s.a = 0; wrong = c.a;"),
    ("struct by value", "struct s { uint32_t a; };\nstatic void f(struct s s) { s.a = 0; }", "struct s s = {1}; f(s); wrong = s.a;"),
    ("struct from a function", "struct s { uint32_t a; };\nstatic struct s f(void) { struct s s = {1}; return s; }", "wrong = f().a;"),
    ("union", "union u { uint32_t a; uint8_t b[4]; };", "union u u; u.a = 0; u.b[0] = 1; wrong = u.a == 1u;"),
    ("first value kept, declared again", "uint32_t declared_again = 1;\nextern uint32_t declared_again;", "wrong = declared_again;"),
    ("static local", "static uint32_t f(void) { static uint32_t n; n++; return n; }", "f(); f(); wrong = f() == 3u;"),
    ("parameter changed", "static uint32_t f(uint32_t *p) { uint32_t b = 1; p = &b; return *p; }", "uint32_t a = 0; wrong = f(&a);"),
    ("effect behind &&", "", "uint32_t a = 0; if (input() && (a = 1)) { } wrong = a;"),
    ("effect behind ||", "", "uint32_t a = 0; if (!input() || (a = 1)) { } wrong = a;"),
    ("effect in a choice", "", "uint32_t a = 0; (void)(input() ? (a = 1) : 0u); wrong = a;"),
    ("old value kept", "", "uint32_t a = 1; uint32_t b = a++; wrong = b == 1u && a == 2u;"),
    ("fall through", "", "switch (input()) { case 1: wrong = 0; /* fall through */ default: wrong = 1; }"),
    ("default in front", "", "switch (input()) { default: wrong = 0; break; case 1: wrong = 1; }"),
    ("case of a range", "", "switch (input()) { case 0 ... 3: wrong = 1; }"),
    ("loop to its end", "", "uint32_t i; for (i = 0; i < 1000u; i++) { if (!input()) { break; } } wrong = i == 1000u;"),
    ("loop left early", "", "uint32_t i = 0; while (1) { i++; if (i == 700u) { break; } } wrong = i == 700u;"),
    ("continue", "", "for (uint32_t i = 0; i < 3u; i++) { if (i != 1u) { continue; } wrong = 1; }"),
    ("inner loop counts", "", "uint32_t n = 0; for (uint32_t i = 0; i < 3u; i++) { for (uint32_t j = 0; j < 3u; j++) { n++; } } wrong = n == 9u;"),
    ("do runs once", "", "do { wrong = 1; } while (0);"),
    ("jump back", "", "uint32_t n = 0; again: n++; if (n < 3u) { goto again; } wrong = n == 3u;"),
    ("bool of a big number", "", "_Bool b = 256; wrong = b;"),
    ("comma", "", "uint32_t a = (wrong = 1, 0u); (void)a;"),
    ("statement expression", "", "wrong = ({ uint32_t a = 2; a - 1u; });"),
    ("designators", "struct s { uint32_t a, b; };", "struct s s = {.b = 1}; wrong = s.b == 1u && s.a == 0u;"),
    ("literal", "struct s { uint32_t a; };", "struct s *p = &(struct s){1}; wrong = p->a;"),
    ("memory copied", "", "uint32_t a = 1, b = 0; __builtin_memcpy(&b, &a, sizeof b); wrong = b;"),
    ("struct behind a pointer", "struct s { uint32_t a; };\nstatic void f(struct s *s) { s->a = 1; }", "struct s s = {0}; f(&s); wrong = s.a;"),
    ("cast of a pointer", "", "uint32_t a = 0; *(uint8_t *)&a = 1; wrong = a;"),
    ("value of a compound assignment", "", "uint32_t a = 1; uint32_t b = (a += 1u); wrong = b == 2u;"),
    ("value of an increment", "", "uint32_t a = 1; uint32_t b = ++a; wrong = b == 2u;"),
    ("tentative definition behind the value", "static uint32_t n = 1;\nstatic uint32_t n;", "wrong = n;"),
    ("tentative definition before the value", "static uint32_t n;\nstatic uint32_t *const p = &n;\nstatic uint32_t n = 1;", "wrong = n == 1u && *p == 1u;"),
    ("size of a string", "", "wrong = sizeof(\"abc\") == 4;"),
    ("size of an array of characters", "", "static char s[] = \"abc\"; wrong = sizeof(s) == 4;"),
    ("size of an array with designators", "", "static uint8_t s[] = {[2] = 1}; wrong = sizeof(s) == 3;"),
    ("own function with a library's name", "static void abort(void) { }", "abort(); wrong = 1;"),
    ("text of the optimising compiler", "", "\n#ifdef __OPTIMIZE__\nwrong = 1;\n#endif\n"),
    ("text of the strict compiler", "", "\n#ifdef __STRICT_ANSI__\nwrong = 1;\n#endif\n"),
    ("text without the checker", "", "\n#ifndef DRIVERCHECK\nwrong = 1;\n#endif\n"),
    ("text without position-independent code", "", "\n#ifndef __PIC__\nwrong = 1;\n#endif\n"),
    ("last of two operands", "static uint32_t n;\nstatic uint32_t f(uint32_t a) { n++; return a; }", "wrong = f(1) == 1u && n == 1u;"),
    ("octal and hex", "", "wrong = 010 == 8 && 0x10 == 16;"),
    ("characters", "", "wrong = '\\x41' == 65 && '\\012' == 10 && '\\'' == 39 && '\\xff' == -1;"),
    ("long decimal is signed", "", "wrong = -1 < 4294967295;"),
    ("switch of a small integer", "", "uint8_t a = 0xff; switch (a) { case 255: wrong = 1; }"),
    ("switch of a truth value", "", "_Bool a = 1; switch (a) { case 1: wrong = 1; }"),
    ("shift by a truth value", "", "_Bool a = 1; wrong = 1u << a == 2u;"),
    ("type of a choice that is known", "", "int32_t a = 5; wrong = (1 ? -1 : 0u) > a;"),
    ("size of a choice", "", "uint8_t a = 0; wrong = sizeof(1 ? a : a) == 4;"),
    ("division rounds to zero", "", "int32_t a = -7; wrong = a / 2 == -3 && a % 2 == -1;"),
];

#[test]
fn no_piece_that_is_true_is_taken_for_false() {
    let directory = scratch("pieces");
    std::fs::create_dir_all(&directory).unwrap();
    // What they are, says the compiler. Declarations of one piece do not meet those of another: each is a file.
    let mut command = Command::new("gcc");
    command
        .args(["-std=c11", "-O2", "-fno-pic", "-no-pie", "-ffreestanding", "-w", "-o"])
        .arg(directory.join("pieces"));
    let (mut main, mut calls) = (String::new(), String::new());
    main.push_str("#include <stdint.h>\n#include <stdio.h>\nuint32_t input(void) { return 1; }\n");
    for (index, (_, declarations, body)) in PIECES.iter().enumerate() {
        let path = directory.join(format!("piece_{index}.c"));
        let text = unit(declarations, body, &format!("piece_{index}"));
        std::fs::write(&path, format!("#include <stdint.h>\nuint32_t input(void);\n{text}")).unwrap();
        let _ = writeln!(main, "uint32_t piece_{index}(void);");
        let _ = writeln!(calls, "    printf(\"%u\\n\", piece_{index}());");
        command.arg(path);
    }
    let _ = writeln!(main, "int main(void)\n{{\n{calls}    return 0;\n}}");
    std::fs::write(directory.join("main.c"), main).unwrap();
    assert!(command.arg(directory.join("main.c")).status().unwrap().success());
    let output = Command::new(directory.join("pieces")).output().unwrap();
    let truth = String::from_utf8(output.stdout).unwrap();
    let mut missed = Vec::new();
    for (index, (value, (name, declarations, body))) in std::iter::zip(truth.lines(), PIECES).enumerate() {
        assert_eq!(value, "1", "{name}: the compiler says that it is false");
        let text = format!(
            "#include \"ashlar/driver.h\"\n#include \"door_protocol.h\"\n{INPUT}\n{}\n{DRIVER}",
            unit(declarations, body, "piece").replace("uint32_t piece", "static uint32_t piece")
        );
        let options = Options { rules: vec![1], threads: 1, ..Options::default() };
        let report = check_text(&format!("piece_{index}"), &text, &options).unwrap();
        if report.rows.iter().all(|row| row.verdict == "PROVED") {
            missed.push(*name);
        }
    }
    assert!(missed.is_empty(), "taken for false: {}", missed.join(", "));
}

fn unit(declarations: &str, body: &str, name: &str) -> String {
    format!("{declarations}\nuint32_t {name}(void)\n{{\n    uint32_t wrong = 0;\n    {body}\n    return wrong;\n}}\n")
}

/// Outside of the checker it is 1; in it, any value.
const INPUT: &str = "static uint32_t input(void) { return (uint32_t)dma_size(0); }";

const DRIVER: &str = "
void driver(void)
{
    if (AWAIT(DOOR_KNOCK, DOOR_LEAVE) == DOOR_KNOCK) {
        if (piece()) {
            EMIT(DOOR_LEFT);
        }
        EMIT(DOOR_ANSWER);
    } else {
        EMIT(DOOR_LEFT);
    }
}
";
