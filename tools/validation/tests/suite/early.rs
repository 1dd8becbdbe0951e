//! The machine reads a scalar before a loop in which the term reads it.

use crate::small::{symbol, validated};

const HEADER: &str = "void other(void);\nuint32_t total(uint32_t n);";

/// `before`: what the term does in each turn before it adds what it reads; `calls`: what the machine does there.
fn check(test: &str, before: &str, condition: &str, calls: &str) -> validation::FunctionResult {
    let c = format!(
        "uint32_t total(uint32_t n)
{{
    uint32_t sum = 0u;
    for (uint32_t i = 0u; i < n; i = i + 1u) {{
        {before}
        if ({condition}) {{
            sum = sum + small[0].turn;
        }}
    }}
    return sum;
}}
"
    );
    let body = format!(
        "xor eax, eax\n test edi, edi\n je 2f\n mov edx, dword ptr [small]\n xor ecx, ecx\n
1: {calls} add eax, edx\n add ecx, 1\n cmp ecx, edi\n jb 1b\n2: ret"
    );
    validated(test, "total", HEADER, &c, &format!("{}{}", symbol("other", "ret"), symbol("total", &body)))
}

#[test]
fn what_the_term_reads_in_the_loop_may_be_read_before_it() {
    let right = check("early-right", "", "n != 0u", "");
    assert!(right.validated, "{:?}", right.reasons);
}

/// Others may have changed it meanwhile.
#[test]
fn what_is_read_before_an_event_is_not_what_the_term_reads_behind_it() {
    assert!(!check("early-event", "other();", "n != 0u", "call other\n").validated);
    let again = check("early-again", "other();", "n != 0u", "call other\n mov edx, dword ptr [small]\n");
    assert!(again.validated, "{:?}", again.reasons);
}

/// It may be another CPU's.
#[test]
fn what_the_term_does_not_read_is_not_known() {
    // Right if it is 0 where the term does not read it.
    assert!(!check("early-unread", "", "n != 1u", "").validated);
    assert!(!check("early-turn", "", "i != 0u", "").validated);
}
