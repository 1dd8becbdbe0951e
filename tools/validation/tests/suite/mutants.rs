//! Which changes of an instruction count as mutants: those that change what the code does.

use std::process::Command;

use validation::mutants::do_the_same;

/// Where the linker puts the code.
const START: u64 = 0x40_0000;

/// The image of a function `code`, whose first instruction is the one that is compared. `test`: a name for the folder.
fn image(test: &str, code: &str) -> Vec<u8> {
    let folder = std::env::temp_dir().join(format!("mutants-{test}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let text = format!(".intel_syntax noprefix\n.text\n{}", crate::small::symbol("code", code));
    std::fs::write(folder.join("code.s"), text).unwrap();
    let run = |program: &str, arguments: &[&str]| {
        let status = Command::new(program).args(arguments).current_dir(&folder).status().unwrap();
        assert!(status.success(), "{program} {arguments:?}");
    };
    run("as", &["--64", "-o", "code.o", "code.s"]);
    run("ld", &["-static", "-Ttext=0x400000", "-e", "code", "-o", "image", "code.o"]);
    let image = std::fs::read(folder.join("image")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    image
}

/// Whether `rest` behind either instruction makes the same of them.
fn same(test: &str, before: &str, now: &str, rest: &str) -> bool {
    let build = |name: &str, first: &str| image(&format!("{test}-{name}"), &format!("{first}\n{rest}\nret\n"));
    do_the_same(&build("before", before), &build("now", now), START).unwrap()
}

#[test]
fn a_change_that_nothing_looks_at_is_no_mutant() {
    let cases = [
        ("port", "mov edx, 0x3f8", "mov edx, 0x103f8", "out dx, al\nmov edx, 1"),
        ("input", "mov edx, 0x3f8", "mov edx, 0x103f8", "in al, dx\nmov edx, 1"),
        ("shift", "mov ecx, 3", "mov ecx, 0x43", "shl rax, cl\nmov ecx, 0"),
        ("mask", "and eax, 0x7f", "and eax, 0x3f", "and eax, 0x0f"),
        ("order", "lea rax, [rdi+rsi]", "lea rax, [rsi+rdi]", ""),
        ("dead", "mov ecx, 5", "mov ecx, 6", "mov ecx, 7\nmov [rdi], ecx"),
        ("test", "test eax, ecx", "test ecx, eax", "sete al"),
        ("register", "mov ecx, 5", "mov edx, 5", "mov ecx, 0\nmov edx, 0"),
    ];
    for (test, before, now, rest) in cases {
        assert!(same(test, before, now, rest), "{before} and {now}, before {rest}");
    }
}

#[test]
fn a_change_that_something_may_look_at_is_one() {
    let cases = [
        ("stored", "mov ecx, 5", "mov ecx, 6", "mov [rdi], ecx"),
        ("result", "mov eax, 5", "mov eax, 6", ""),
        ("far", "mov ecx, 3", "mov ecx, 0x23", "shl rax, cl\nmov ecx, 0"),
        ("low-port", "mov edx, 0x3f8", "mov edx, 0x3f9", "out dx, al\nmov edx, 1"),
        ("called", "mov edi, 5", "mov edi, 6", "call code"),
        ("order", "mov [rdi], eax", "mov [rsi], eax", "mov [rdi], ecx"),
        ("loaded", "mov eax, [rdi]", "mov eax, [rsi]", "mov eax, 0"),
        ("removed", "mov [rdi], al", "xchg ax, ax", "mov [rdi], al"),
        ("flags", "cmp eax, 5", "cmp eax, 6", "jne code"),
        ("system", "cli", "sti", ""),
        ("branch", "jmp code", "jmp code+2", ""),
        // A caller may keep a value in a register that the function leaves alone.
        ("kept", "mov ecx, 5", "mov esi, 5", "mov ecx, 0"),
        ("aligned", "lea rcx, [rdi+8]", "lea rcx, [rdi+9]", "and rcx, -16\nmov [rdi], ecx"),
    ];
    for (test, before, now, rest) in cases {
        assert!(!same(test, before, now, rest), "{before} and {now}, before {rest}");
    }
}
