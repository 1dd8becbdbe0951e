//! Paths of the term that meet before the machine has moved are one state. Wrong code is refused for each of the paths by itself.

use validation::FunctionResult;

use crate::small::{symbol, validated};

const HEADER: &str = "void note(uint32_t x);\nuint32_t many(uint32_t n);";
const NOTE: &str = "void note(uint32_t x)\n{\n    small[0].turn = x;\n}\n\n";

fn check(test: &str, body: &str, code: &str) -> FunctionResult {
    let c = format!("{NOTE}uint32_t many(uint32_t n)\n{{\n{body}}}\n");
    let note = symbol("note", "mov dword ptr [small], edi\n ret");
    validated(test, "many", HEADER, &c, &format!("{note}{}", symbol("many", code)))
}

/// Branches without an event between them: the machine computes the same without a branch.
fn sum(test: &str, of: impl Fn(u32) -> u32) -> FunctionResult {
    let (mut body, mut code) = ("    uint32_t sum = 0u;\n".to_string(), "xor eax, eax\n".to_string());
    for bit in 0..5 {
        let mask = 1u32 << bit;
        body += &format!("    if ((n & {mask}u) != 0u) {{\n        sum = sum + {}u;\n    }}\n", 3 * bit + 5);
        code += &format!("lea ecx, [rax+{}]\n test edi, {mask}\n cmovne eax, ecx\n", of(bit));
    }
    check(test, &format!("{body}    return sum;\n"), &format!("{code} ret"))
}

#[test]
fn each_of_the_paths_counts() {
    let right = sum("fused-right", |bit| 3 * bit + 5);
    assert!(right.validated, "{:?}", right.reasons);
    for wrong in 0..5 {
        let one = sum("fused-wrong", |bit| 3 * bit + 5 + u32::from(bit == wrong));
        assert!(!one.validated, "bit {wrong}");
    }
}

/// On the other path the term does not write: a store there, even of what is held, may undo what another CPU writes.
#[test]
fn a_store_on_one_path_alone_is_none_on_the_other() {
    let body = "    if (n != 0u) {\n        small[0].turn = 7u;\n    } else {\n        n = 2u;\n    }\n    return n;\n";
    let right = "mov eax, 2\n test edi, edi\n je 1f\n mov eax, edi\n mov dword ptr [small], 7\n1: ret";
    let found = check("fused-store", body, right);
    assert!(found.validated, "{:?}", found.reasons);
    let always = "mov eax, 2\n mov ecx, 7\n test edi, edi\n cmovne eax, edi\n cmove ecx, dword ptr [small]\n \
                  mov dword ptr [small], ecx\n ret";
    assert!(!check("fused-store-always", body, always).validated);
    let other = "mov eax, edi\n mov dword ptr [small], 7\n test edi, edi\n jne 1f\n mov eax, 2\n1: ret";
    assert!(!check("fused-store-early", body, other).validated);
}

/// On the other path the term does not read: what the machine reads there may change between two reads.
#[test]
fn a_read_on_one_path_alone_is_none_on_the_other() {
    let body = "    uint32_t x = 5u;\n    if (n != 0u) {\n        x = small[0].turn;\n    }\n    return x;\n";
    let code = |zero: &str| {
        format!("test edi, edi\n je 1f\n mov eax, dword ptr [small]\n ret\n1: {zero}\n jne 2f\n mov eax, 5\n ret\n2: xor eax, eax\n ret")
    };
    let twice = code("mov ecx, dword ptr [small]\n cmp ecx, dword ptr [small]");
    assert!(!check("fused-read-twice", body, &twice).validated);
    // A read of which nothing comes is allowed: gcc may read early.
    let early = "mov eax, dword ptr [small]\n mov ecx, 5\n test edi, edi\n cmove eax, ecx\n ret";
    let found = check("fused-read-early", body, early);
    assert!(found.validated, "{:?}", found.reasons);
    let wrong = early.replace("cmove", "cmovne");
    assert!(!check("fused-read-wrong", body, &wrong).validated);
}

/// The machine calls in one case and has inlined the call in others. Wrong for one of these is wrong.
#[test]
fn a_call_that_is_inlined_in_some_cases_is_executed_in_all_of_them() {
    let body = "    uint32_t x = n & 3u;\n    note(x);\n    return x;\n";
    let code = |value: &str, after: &str| {
        format!(
            "and edi, 3\n mov eax, edi\n cmp edi, 1\n je 1f\n cmp edi, 2\n je 2f\n mov dword ptr [small], edi\n ret
2: mov dword ptr [small], {value}\n ret\n1: push rax\n call note\n pop rax\n {after}\n ret"
        )
    };
    let right = check("fused-call", body, &code("2", ""));
    assert!(right.validated, "{:?}", right.reasons);
    assert!(!check("fused-call-value", body, &code("1", "")).validated);
    assert!(!check("fused-call-behind", body, &code("2", "add eax, 1")).validated);
}

/// Values that differ between the paths meet in an index and in what is stored there.
#[test]
fn what_is_chosen_may_be_stored_later() {
    let body = "    uint32_t x = 4u;\n    if (n > 9u) {\n        x = 6u;\n    }\n    if (n > 20u) {\n        x = x + n;\n    }\n\
                \x20   small[0].turn = x;\n    return n;\n";
    let code = |limit: u32, six: u32| {
        format!(
            "mov ecx, 4\n cmp edi, 9\n jbe 1f\n mov ecx, {six}\n1: cmp edi, {limit}\n jbe 2f\n add ecx, edi\n2: mov eax, edi\n \
             mov dword ptr [small], ecx\n ret"
        )
    };
    let right = check("fused-later", body, &code(20, 6));
    assert!(right.validated, "{:?}", right.reasons);
    assert!(!check("fused-later-limit", body, &code(21, 6)).validated);
    assert!(!check("fused-later-value", body, &code(20, 7)).validated);
}

/// Branches in a function that the machine has inlined everywhere: the term runs ahead through all of them.
const CALLS: u32 = 12;

fn ahead(test: &str, of: impl Fn(u32) -> u32) -> FunctionResult {
    let header = "uint32_t pick(uint32_t n, uint32_t x);\nuint32_t many(uint32_t n);";
    let pick = "uint32_t pick(uint32_t n, uint32_t x)\n{\n    if ((n & x) != 0u) {\n        return x;\n    }\n    return 1u;\n}\n";
    let (mut body, mut code) = ("    uint32_t sum = 0u;\n".to_string(), "xor eax, eax\n mov edx, 1\n".to_string());
    for bit in 0..CALLS {
        let mask = 1u32 << bit;
        body += &format!("    uint32_t y{bit} = pick(n, {mask}u);\n    sum = sum + y{bit};\n");
        code += &format!("mov ecx, {}\n test edi, {mask}\n cmove ecx, edx\n add eax, ecx\n", of(bit));
    }
    let c = format!("{pick}\nuint32_t many(uint32_t n)\n{{\n{body}    return sum;\n}}\n");
    let own = symbol("pick", "mov eax, 1\n test edi, esi\n cmovne eax, esi\n ret");
    validated(test, "many", header, &c, &format!("{own}{}", symbol("many", &format!("{code} ret"))))
}

#[test]
fn the_term_runs_ahead_in_one_state() {
    // Without it these are 4096 paths, and more questions than there are.
    let right = ahead("ahead-right", |bit| 1 << bit);
    assert!(right.validated, "{:?}", right.reasons);
    assert!(!ahead("ahead-wrong", |bit| if bit == CALLS - 1 { 5 } else { 1 << bit }).validated);
}
