//! What cannot be analysed soundly is an error that names address, symbol and remedy; never a number.

use std::path::PathBuf;

use crate::analysed::{assemble, build, report, request, Target, ARM, RISC_V, X86};
use wcet_paths::analysis::{analyse, loops, status};
use wcet_report::{Error, Report, Verdict};

/// Checks that the report has no number, and returns its errors.
fn refused(report: &Report) -> Vec<Error> {
    assert_eq!(report.wcet_cycles, None, "{report:?}");
    assert_eq!(report.seconds, None);
    assert!(report.path.is_empty() && report.waterfall.is_empty() && report.functions.is_empty());
    assert!(matches!(report.verdict, Verdict::Refused | Verdict::Unbounded), "{:?}", report.verdict);
    assert!(!report.errors.is_empty());
    for error in &report.errors {
        assert!(!error.message.is_empty() && !error.remedy.is_empty(), "{error:?}");
    }
    assert_eq!(status(report), 1, "{:?}", report.errors);
    report.errors.clone()
}

/// The one error of a program, with what it must name.
fn the_error(target: Target, source: &str, code: &str, symbol: &str, remedy: &str) {
    let data = assemble(target, source);
    let errors = refused(&report(target, data.clone()));
    let [error] = &errors[..] else { panic!("{target:?}: {errors:#?}") };
    assert_eq!(error.code, code, "{target:?}: {error:?}");
    assert!(error.address.as_deref().is_some_and(|address| address.starts_with("0x")), "{error:?}");
    assert_eq!(error.symbol.as_deref(), Some(symbol), "{target:?}: {error:?}");
    assert!(error.remedy.contains(remedy), "{error:?}");
    // Loops alone need as much.
    let mut request = request(target, data);
    request.machine = None;
    assert_eq!(refused(&loops(&request, &mut |_, _, _| {})).len(), 1);
}

#[test]
fn irreducible_loop() {
    the_error(
        X86,
        "_start: test %edi, %edi\njz 2f\n1: dec %esi\n2: dec %edi\njnz 1b\nret",
        "ASH-T008",
        "_start+0x6",
        "-fno-thread-jumps",
    );
    the_error(
        ARM,
        "_start: cmp r0, #0\nbeq 2f\n1: sub r1, r1, #1\n2: subs r0, r0, #1\nbne 1b\nbx lr",
        "ASH-T008",
        "_start+0xc",
        "-fno-thread-jumps",
    );
}

#[test]
fn unresolved_jump() {
    the_error(X86, "_start: nop\njmp *%rdi", "ASH-T005", "_start+0x1", "--targets 0x");
    the_error(ARM, "_start: nop\nbx r0", "ASH-T005", "_start+0x4", "--targets 0x");
    the_error(RISC_V, "_start: nop\njr a0", "ASH-T005", "_start+0x2", "--targets 0x");
    the_error(X86, "_start: call *(%rdi)\nret", "ASH-T005", "_start", "--targets 0x");
    the_error(ARM, "_start: push {r4, lr}\nblx r0\npop {r4, pc}", "ASH-T005", "_start+0x4", "--targets 0x");
}

#[test]
fn recursion_without_depth() {
    let x86 = "_start: call f\nret\n.globl f\nf: dec %edi\njz 1f\ncall f\n1: ret";
    let arm =
        "_start: push {r4, lr}\nbl f\npop {r4, pc}\n.globl f\nf: push {r4, lr}\nsubs r0, r0, #1\nblne f\npop {r4, pc}";
    the_error(X86, x86, "ASH-T007", "f", "--recursion f=DEPTH");
    the_error(ARM, arm, "ASH-T007", "f", "--recursion f=DEPTH");
}

#[test]
fn unknown_instruction() {
    // An opcode that 64-bit mode does not have; an encoding that ARM leaves undefined.
    the_error(X86, "_start: nop\n.byte 0x06\nret", "ASH-T004", "_start+0x1", "compile without");
    the_error(ARM, "_start: nop\n.word 0xf7000010\nbx lr", "ASH-T004", "_start+0x4", "compile without");
    // A vector instruction; one of a custom extension; a reserved compressed one.
    for word in [".word 0x02008057", ".word 0x0000000b", ".half 0x8002"] {
        the_error(RISC_V, &format!("_start: nop\n{word}\nret"), "ASH-T004", "_start+0x2", "compile without");
    }
}

/// Floating point is read, but has no price.
#[test]
fn floating_point_on_riscv() {
    let data = assemble(RISC_V, "_start: nop\nfadd.d fa0, fa0, fa1\nret");
    let errors = refused(&report(RISC_V, data));
    let [error] = &errors[..] else { panic!("{errors:#?}") };
    assert_eq!((error.code.as_str(), error.symbol.as_deref()), ("ASH-T011", Some("_start+0x2")), "{error:?}");
    assert!(error.message.contains("fadd.d"), "{error:?}");
}

/// The time waited has no bound; a region that ends there has one.
#[test]
fn waiting_for_an_event() {
    let wait = [
        (X86, "_start: nop\nhlt\nret", "_start+0x1"),
        (ARM, "_start: nop\nmcr p15, 0, r0, c7, c0, 4\nbx lr", "_start+0x4"),
        (RISC_V, "_start: nop\nwfi\nret", "_start+0x2"),
    ];
    for (target, source, place) in wait {
        let mut request = request(target, assemble(target, source));
        let errors = refused(&analyse(&request, &mut |_, _, _| {}));
        let [error] = &errors[..] else { panic!("{errors:#?}") };
        assert_eq!((error.code.as_str(), error.symbol.as_deref()), ("ASH-T017", Some(place)), "{error:?}");
        assert!(error.remedy.contains("--stop 0x"), "{error:?}");
        request.stated.stops = vec![place.into()];
        let report = analyse(&request, &mut |_, _, _| {});
        assert!(report.wcet_cycles.is_some(), "{:?}", report.errors);
    }
}

/// One segment that is writable and executable, though its section of code is not writable.
const WRITABLE: &str = "PHDRS { all PT_LOAD FLAGS(7); }
SECTIONS { . = 0x10000; .text : { *(.text) } :all .data : { *(.data) } :all /DISCARD/ : { *(*) } }";

/// A program whose one segment is writable and executable, and which writes its own next instruction.
const WRITES_X86: &str = ".text\n.globl _start\n_start: movb $0x90, 1f(%rip)\n1: nop\nret\n";
const WRITES_ARM: &str = ".text\n.globl _start\n_start: ldr r0, =1f\nstr r1, [r0]\n1: nop\nbx lr\n";

#[test]
fn self_modifying_code() {
    for (target, source, place) in [(X86, WRITES_X86, "_start"), (ARM, WRITES_ARM, "_start+0x4")] {
        let script = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("writable.ld");
        std::fs::write(&script, WRITABLE).unwrap();
        let options = ["-Wl,--no-warn-rwx-segments", "-T", script.to_str().unwrap()];
        let data = build(target, "s", source, &options);
        let errors = refused(&report(target, data.clone()));
        let [error] = &errors[..] else { panic!("{errors:#?}") };
        assert_eq!((error.code.as_str(), error.symbol.as_deref()), ("ASH-T009", Some(place)), "{error:?}");
        assert!(error.remedy.contains("-z separate-code"));
        // Sections that are writable and executable hold no code at all.
        let options = ["-Wl,--omagic", "-Wl,--no-warn-rwx-segments"];
        let errors = refused(&report(target, build(target, "s", source, &options)));
        assert!(errors.iter().any(|error| error.code == "ASH-T009" && error.address.is_some()), "{errors:?}");
    }
}

/// Where memory protection keeps the code as it is, a store to it traps.
#[test]
fn stores_to_protected_code() {
    for (target, source) in [(X86, WRITES_X86), (ARM, WRITES_ARM)] {
        let errors = refused(&report(target, build(target, "s", source, &[])));
        assert_eq!(errors.iter().map(|error| error.code.as_str()).collect::<Vec<_>>(), ["ASH-T009"]);
        assert!(errors[0].message.contains("traps"), "{errors:?}");
    }
}

#[test]
fn all_faults_come_at_once() {
    let data = assemble(
        X86,
        "_start: dec %edi\njz unknown\ndec %edi\njz open\ncall deep\nret\n.globl unknown\nunknown: nop\n.byte 0x06\n\
         .globl open\nopen: nop\njmp *%rdi\n.globl deep\ndeep: dec %edi\njz 1f\ncall deep\n1: ret",
    );
    let errors = refused(&report(X86, data));
    let codes: Vec<&str> = errors.iter().map(|error| error.code.as_str()).collect();
    assert_eq!(codes, ["ASH-T004", "ASH-T005", "ASH-T007"], "{errors:#?}");
}

#[test]
fn what_cannot_be_carried_out() {
    let data = assemble(X86, "_start: ret");
    let asked = |change: &dyn Fn(&mut wcet_paths::analysis::Request)| {
        let mut request = request(X86, data.clone());
        change(&mut request);
        let report = analyse(&request, &mut |_, _, _| {});
        assert_eq!(report.wcet_cycles, None);
        (status(&report), report.errors.iter().map(|error| error.code.clone()).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(asked(&|request| request.entry = Some("nothing".into())), (2, "ASH-T003".into()));
    assert_eq!(asked(&|request| request.budget = Some("soon".into())), (2, "ASH-T012".into()));
    assert_eq!(
        asked(&|request| request.stated.targets = vec!["a".into(), "b=c".into()]),
        (2, "ASH-T003 ASH-T003 ASH-T012".into())
    );
    assert_eq!(asked(&|request| request.data = b"\x7fELF".to_vec()), (1, "ASH-T002".into()));
}
