//! What a condition decides outlives it, although the condition speaks of something that a call changes.

use crate::small::{symbol, validated};

const HEADER: &str = "void note(uint32_t x);\nuint32_t some(uint32_t n);";
const C: &str = "void note(uint32_t x)\n{\n    small[0].turn = x;\n}\n\n\
    uint32_t some(uint32_t n)\n{\n    uint32_t low = n & 255u;\n\
    \x20   if ((n & 256u) != 0u && (low == 0u || small[0].turn == 0u)) {\n        return 0u;\n    }\n\
    \x20   note(1u);\n    if (low == 0u) {\n        note(2u);\n    }\n    return 1u;\n}\n";

/// On the way on which `small` was looked at, `low` is not looked at again.
fn code(looks: &str) -> String {
    let note = symbol("note", "mov dword ptr [small], edi\n ret");
    let some = format!(
        "push rbx\n movzx ebx, dil\n test edi, 256\n je 1f\n {looks} cmp dword ptr [small], 0\n je 3f\n \
         mov edi, 1\n call note\n jmp 2f\n1: mov edi, 1\n call note\n test ebx, ebx\n jne 2f\n mov edi, 2\n call note\n\
         2: mov eax, 1\n pop rbx\n ret\n3: xor eax, eax\n pop rbx\n ret"
    );
    format!("{note}{}", symbol("some", &some))
}

#[test]
fn a_part_of_a_dropped_condition_is_known() {
    let found = validated("outlive", "some", HEADER, C, &code("test ebx, ebx\n je 3f\n"));
    assert!(found.validated, "{:?}", found.reasons);
}

#[test]
fn what_was_not_decided_is_not_known() {
    let found = validated("outlive-not", "some", HEADER, C, &code(""));
    assert!(!found.validated);
    let found = validated("outlive-other", "some", HEADER, C, &code("test ebx, ebx\n jne 3f\n"));
    assert!(!found.validated);
}
