//! Where many paths come to one place their states are joined. Wrong code is refused behind a join as before it.

use crate::small::{symbol, validated};

const HEADER: &str = "void note(uint32_t x);\nuint32_t many(uint32_t n);";
const NOTE: &str = "void note(uint32_t x)\n{\n    small[0].turn = x;\n}\n\n";

/// Branches one after the other, each with a call behind it: the paths double at each.
const BRANCHES: u32 = 10;

fn note() -> String {
    symbol("note", "mov dword ptr [small], edi\n ret")
}

/// Adds up what the bits of the argument stand for. `of`: what the machine adds at a bit.
fn sums(test: &str, of: impl Fn(u32) -> u32, end: &str) -> validation::FunctionResult {
    let (mut c, mut code) = (String::new(), String::new());
    for bit in 0..BRANCHES {
        let (mask, number) = (1u32 << bit, 3 * bit + 5);
        c += &format!("    if ((n & {mask}u) != 0u) {{\n        sum = sum + {number}u;\n    }}\n    note({bit}u);\n");
        code += &format!("test esi, {mask}\n je 1f\n add ecx, {}\n1: mov edi, {bit}\n call note\n", of(bit));
    }
    let c = format!("{NOTE}uint32_t many(uint32_t n)\n{{\n    uint32_t sum = 0u;\n{c}    return sum;\n}}\n");
    let code = format!("mov esi, edi\n xor ecx, ecx\n{code} mov eax, ecx\n{end} ret");
    validated(test, "many", HEADER, &c, &format!("{}{}", note(), symbol("many", &code)))
}

#[test]
fn paths_that_meet_again_are_joined() {
    // Without joins these are 4096 paths, and more questions than there are.
    let right = sums("sums-right", |bit| 3 * bit + 5, "");
    assert!(right.validated, "{:?}", right.reasons);
    assert!(right.queries < 1000, "{} questions", right.queries);
}

#[test]
fn wrong_code_is_refused_before_and_behind_a_join() {
    for wrong in [0, 5, BRANCHES - 1] {
        let one = sums("sums-branch", |bit| 3 * bit + 5 + u32::from(bit == wrong), "");
        assert!(!one.validated, "bit {wrong}");
    }
    assert!(!sums("sums-end", |bit| 3 * bit + 5, "add eax, 1\n").validated);
    // Right but for one of the sums that the joined state stands for.
    assert!(!sums("sums-value", |bit| 3 * bit + 5, "cmp eax, 38\n jne 1f\n xor eax, eax\n1:\n").validated);
}

/// Cases that come to one call. What the machine does behind it is wrong for the last of them alone: those that are joined last.
fn cases(test: &str, end: &str) -> validation::FunctionResult {
    let (mut c, mut code) = (String::new(), String::new());
    for case in 1..=12 {
        c += &format!("    if (n == {case}u) {{\n        x = {}u;\n    }}\n", 10 * case);
        code += &format!("cmp edi, {case}\n jne 1f\n mov ecx, {}\n1:\n", 10 * case);
    }
    let c = format!(
        "{NOTE}uint32_t many(uint32_t n)\n{{\n    uint32_t x = 0u;\n{c}    note(1u);\n    note(2u);\n    return x;\n}}\n"
    );
    let code =
        format!("xor ecx, ecx\n{code} mov edi, 1\n call note\n mov edi, 2\n call note\n mov eax, ecx\n{end} ret");
    validated(test, "many", HEADER, &c, &format!("{}{}", note(), symbol("many", &code)))
}

/// A join that says no more than the state it takes the place of is not covered by that state: one of them is explored.
#[test]
fn what_is_joined_last_is_explored_too() {
    let right = cases("cases-right", "");
    assert!(right.validated, "{:?}", right.reasons);
    for value in (0..=12).map(|case| 10 * case) {
        let end = format!("cmp eax, {value}\n jne 1f\n add eax, 1\n1:\n");
        assert!(!cases("cases-wrong", &end).validated, "{value}");
    }
}

/// Results of which none is 0: that is not asked again. `zero`: the bit at which it is 0.
fn results(test: &str, zero: Option<u32>) -> validation::FunctionResult {
    let (mut c, mut code) = (String::new(), String::new());
    for bit in 0..BRANCHES {
        let (mask, number) = (1u32 << bit, if zero == Some(bit) { 0 } else { 3 * bit + 5 });
        c += &format!("    if ((n & {mask}u) != 0u) {{\n        some = {number}u;\n    }}\n    note({bit}u);\n");
        code += &format!("test esi, {mask}\n je 1f\n mov ecx, {number}\n1: mov edi, {bit}\n call note\n");
    }
    c += "    if (some == 0u) {\n        note(77u);\n    }\n";
    let c = format!("{NOTE}uint32_t many(uint32_t n)\n{{\n    uint32_t some = 3u;\n{c}    return some;\n}}\n");
    let code = format!("mov esi, edi\n mov ecx, 3\n{code} mov eax, ecx\n ret");
    validated(test, "many", HEADER, &c, &format!("{}{}", note(), symbol("many", &code)))
}

#[test]
fn that_a_result_is_not_0_outlives_a_join() {
    let right = results("not-0-right", None);
    assert!(right.validated, "{:?}", right.reasons);
    for wrong in [0, 6, BRANCHES - 1] {
        assert!(!results("not-0-wrong", Some(wrong)).validated, "bit {wrong}");
    }
}

const MARK: &str = ".bss\n.balign 4\n.type mark, @object\n.size mark, 48\nmark: .skip 48\n.text\n";

/// In each branch a store that the next call does not touch, of a value that the machine computes in another way than the term.
/// `of`: what the machine takes for the branch's number.
fn marks(test: &str, of: impl Fn(u32) -> u32) -> validation::FunctionResult {
    let (mut c, mut code) = (String::new(), String::new());
    for bit in 0..BRANCHES {
        let (mask, set, clear) = (1u32 << bit, 2 * bit + 3, 2 * bit + 4);
        c += &format!("    if ((n & {mask}u) != 0u) {{\n        mark[{bit}] = n ^ {set}u;\n    }} else {{\n");
        c += &format!("        mark[{bit}] = n ^ {clear}u;\n    }}\n    note({bit}u);\n");
        let store =
            |number| format!("mov eax, esi\n or eax, {number}\n mov edx, esi\n and edx, {number}\n sub eax, edx\n");
        let store = |number| format!("{} mov dword ptr [mark+{}], eax\n", store(number), 4 * bit);
        code += &format!("test esi, {mask}\n je 1f\n {} jmp 2f\n1: {}", store(of(set)), store(of(clear)));
        code += &format!("2: mov edi, {bit}\n call note\n");
    }
    let mark = "static uint32_t mark[12];\n\n";
    let c = format!("{mark}{NOTE}uint32_t many(uint32_t n)\n{{\n{c}    return n;\n}}\n");
    let code = format!("mov esi, edi\n{code} mov eax, esi\n ret");
    validated(test, "many", HEADER, &c, &format!("{MARK}{}{}", note(), symbol("many", &code)))
}

/// A join forgets what the two sides have stored: that it was the same is seen before.
#[test]
fn stores_are_compared_before_a_join() {
    let right = marks("marks-right", |number| number);
    assert!(right.validated, "{:?}", right.reasons);
    for wrong in [3, 4, 2 * BRANCHES + 1, 2 * BRANCHES + 2] {
        let found = marks("marks-wrong", |number| number + 8 * u32::from(number == wrong));
        assert!(!found.validated, "{wrong}");
    }
}
