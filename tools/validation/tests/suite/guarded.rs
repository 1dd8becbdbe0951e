//! What stands behind `&&` and `||` is read where C evaluates it, and only there.

use crate::small::{symbol, validated};

/// `condition`: of the term, on `n`, with a read of `small`; `code`: what the machine does to decide it, 1 is where it holds.
fn check(test: &str, condition: &str, code: &str) -> validation::FunctionResult {
    let c = format!(
        "uint32_t check(uint32_t n)\n{{\n    uint32_t x = 3u;\n    if ({condition}) {{\n        x = 4u;\n    }}\n    return x;\n}}\n"
    );
    let code = format!("{code}\n mov eax, 3\n ret\n1: mov eax, 4\n ret");
    validated(test, "check", "uint32_t check(uint32_t n);", &c, &symbol("check", &code))
}

/// Another CPU may write between the two reads, where the scalar is not the term's.
const TWICE: &str = "mov ecx, dword ptr [small]\n cmp ecx, dword ptr [small]\n jne 2f\n";

#[test]
fn a_read_behind_and_is_none_where_the_first_part_does_not_hold() {
    let right = "test edi, edi\n je 2f\n cmp dword ptr [small], 5\n je 1f\n2:";
    let found = check("guarded-and", "n != 0u && small[0].turn == 5u", right);
    assert!(found.validated, "{:?}", found.reasons);
    // The value may be read early, and is not used.
    let early = "mov ecx, dword ptr [small]\n test edi, edi\n je 2f\n cmp ecx, 5\n je 1f\n2:";
    let found = check("guarded-and-early", "n != 0u && small[0].turn == 5u", early);
    assert!(found.validated, "{:?}", found.reasons);
    // Where n is 0, it goes to 1 if the two reads differ.
    let twice =
        format!("test edi, edi\n jne 3f\n {}\n jmp 4f\n2: jmp 1f\n3: cmp dword ptr [small], 5\n je 1f\n4:", TWICE);
    assert!(!check("guarded-and-twice", "n != 0u && small[0].turn == 5u", &twice).validated);
}

#[test]
fn a_read_behind_or_is_none_where_the_first_part_holds() {
    let right = "test edi, edi\n jne 1f\n cmp dword ptr [small], 5\n je 1f";
    let found = check("guarded-or", "n != 0u || small[0].turn == 5u", right);
    assert!(found.validated, "{:?}", found.reasons);
    // Where n is not 0, it goes on with 3 if the two reads differ.
    let twice = format!("test edi, edi\n je 3f\n {}\n jmp 1f\n3: cmp dword ptr [small], 5\n je 1f\n2:", TWICE);
    assert!(!check("guarded-or-twice", "n != 0u || small[0].turn == 5u", &twice).validated);
}

/// Both reads are the term's: it has read the scalar before, in every case.
#[test]
fn what_was_read_before_stays_read() {
    let twice = format!("{}\n test edi, edi\n je 3f\n cmp dword ptr [small], 5\n je 1f\n jmp 3f\n2: jmp 1f\n3:", TWICE);
    let found = check("guarded-before", "small[0].turn != 6u && n != 0u && small[0].turn == 5u", &twice);
    assert!(found.validated, "{:?}", found.reasons);
}
