//! A kernel of one layer with one function, and its machine code by hand: right code is validated, wrong code is refused.

use std::path::PathBuf;
use std::process::Command;

use validation::{validate, Build, FunctionResult, Options, SecondSolver};

/// What the layer declares beside the function.
const OBJECT: &str = "struct small {\n    uint32_t turn;\n};\n\nstatic struct small small[1];\n";
const DATA: &str = ".bss\n.balign 4\n.type small, @object\n.size small, 4\nsmall: .skip 4\n";

/// Validates `function`, of which `c` is the C and `code` the machine code. `test`: a name for the folder.
pub fn validated(test: &str, function: &str, header: &str, c: &str, code: &str) -> FunctionResult {
    validated_with(test, function, header, c, code, &[])
}

/// The same where there are theorems of these functions.
pub fn validated_with(
    test: &str,
    function: &str,
    header: &str,
    c: &str,
    code: &str,
    certified: &[&str],
) -> FunctionResult {
    validated_by((test, function), header, c, code, certified, None)
}

/// The same with a shell script as the second solver.
pub fn validated_by(
    (test, function): (&str, &str),
    header: &str,
    c: &str,
    code: &str,
    certified: &[&str],
    script: Option<&str>,
) -> FunctionResult {
    let folder: PathBuf = std::env::temp_dir().join(format!("validation-{test}-{}", std::process::id()));
    let layer = folder.join("kernel/layers/small");
    std::fs::create_dir_all(&layer).unwrap();
    std::fs::write(folder.join("kernel/layers.order"), "small\n").unwrap();
    std::fs::create_dir_all(folder.join("proof")).unwrap();
    let theorems: String = certified.iter().map(|name| format!("{name} = \"theorem\"\n")).collect();
    std::fs::write(folder.join("proof/certified.toml"), format!("[small]\n{theorems}")).unwrap();
    let guarded = format!("#ifndef SMALL_H\n#define SMALL_H\n#include <stdint.h>\n{header}\n#endif\n");
    std::fs::write(layer.join("small.h"), guarded).unwrap();
    std::fs::write(layer.join("small.c"), format!("#include \"small.h\"\n\n{OBJECT}\n{c}")).unwrap();
    std::fs::write(folder.join("code.s"), format!(".intel_syntax noprefix\n.text\n{code}\n{DATA}")).unwrap();
    let second = script.map(|script| {
        std::fs::write(folder.join("second.sh"), script).unwrap();
        SecondSolver { program: "/bin/sh".into(), script: folder.join("second.sh"), kept: None }
    });
    let run = |program: &str, arguments: &[&str]| {
        let status = Command::new(program).args(arguments).current_dir(&folder).status().unwrap();
        assert!(status.success(), "{program} {arguments:?}");
    };
    run("as", &["--64", "-o", "code.o", "code.s"]);
    run("ld", &["-static", "-Ttext=0x400000", "-e", function, "-o", "image", "code.o"]);
    let image = std::fs::read(folder.join("image")).unwrap();
    let options = Options {
        kernel: folder.join("kernel"),
        build: Build::BOOTED,
        kept: None,
        functions: vec![function.to_string()],
        limit: 500,
        threads: 1,
        second,
    };
    let found = validate(&image, &options, &|_, _, _| {}).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    found.functions.into_iter().next().unwrap()
}

pub fn symbol(name: &str, body: &str) -> String {
    format!(".globl {name}\n.type {name}, @function\n{name}:\n{body}\n.size {name}, .-{name}\n")
}

/// The outer loop is executed twice, the inner one is cut: what holds of it in the first turn need not hold in the second.
#[test]
fn a_loop_that_is_entered_again_is_not_taken_for_its_next_iteration() {
    let c = "uint32_t total(uint32_t n)
{
    uint32_t sum = 0u;
    for (uint32_t i = 0u; i < 2u; i = i + 1u) {
        small[0].turn = i;
        for (uint32_t j = 0u; j < n; j = j + 1u) {
            sum = sum + small[0].turn;
        }
    }
    return sum;
}
";
    let code = |adds: &str| {
        let body = format!(
            "xor eax, eax\n mov dword ptr [small], 0\n test edi, edi\n je 3f\n xor ecx, ecx
1:\n {adds}\n add ecx, 1\n cmp ecx, edi\n jb 1b
 mov edx, dword ptr [small]\n add edx, 1\n cmp edx, 2\n jae 2f\n mov dword ptr [small], edx\n xor ecx, ecx\n jmp 1b
3:\n mov dword ptr [small], 1\n2:\n ret"
        );
        symbol("total", &body)
    };
    let check = |test: &str, adds: &str| validated(test, "total", "uint32_t total(uint32_t n);", c, &code(adds));
    let right = check("again-right", "add eax, dword ptr [small]");
    assert!(right.validated, "{:?}", right.reasons);
    // Right as long as the turn is 0.
    assert!(!check("again-wrong", "").validated);
}

/// The inner loop's bound is the outer one's counter, which is a number in each turn: both are executed, so that machine code
/// without any loop is validated.
#[test]
fn a_loop_whose_bound_is_a_known_local_is_executed() {
    let c = "uint32_t steps(uint32_t n)
{
    uint32_t sum = n;
    for (uint32_t i = 0u; i < 3u; i = i + 1u) {
        for (uint32_t j = 0u; j < i; j = j + 1u) {
            sum = sum + sum;
        }
    }
    return sum;
}
";
    let check = |test: &str, doublings: u32| {
        let code = symbol("steps", &format!("mov eax, edi\n shl eax, {doublings}\n ret"));
        validated(test, "steps", "uint32_t steps(uint32_t n);", c, &code)
    };
    let right = check("known-right", 3);
    assert!(right.validated, "{:?}", right.reasons);
    assert!(!check("known-wrong", 2).validated);
}

const FRAME: &str = "uint32_t pagemap_frame(uint32_t p, uint32_t vaddr, uint32_t prot);
uint32_t caller(uint32_t p, uint32_t prot);";

/// A check that all callers make true is missing.
#[test]
fn a_function_is_validated_for_what_it_requires() {
    let c = "uint32_t pagemap_frame(uint32_t p, uint32_t vaddr, uint32_t prot)
{
    if (prot > 3u) {
        return 7u;
    }
    return p + prot;
}
";
    let check = |test: &str, body: &str| validated(test, "pagemap_frame", FRAME, c, &symbol("pagemap_frame", body));
    let right = check("requires-right", "lea eax, [rdi+rdx]\n ret");
    assert!(right.validated, "{:?}", right.reasons);
    assert_eq!(right.requires, ["argument 3 from 0 to 3"]);
    assert!(!check("requires-wrong", "mov eax, edi\n ret").validated);
    // What is dropped is wrong for an argument that is allowed.
    let tighter = c.replace("prot > 3u", "prot > 2u");
    let code = symbol("pagemap_frame", "lea eax, [rdi+rdx]\n ret");
    assert!(!validated("requires-tighter", "pagemap_frame", FRAME, &tighter, &code).validated);
}

#[test]
fn a_caller_must_keep_what_a_function_requires() {
    let check = |test: &str, mask: &str| {
        let c = format!(
            "uint32_t pagemap_frame(uint32_t p, uint32_t vaddr, uint32_t prot)
{{
    if (prot > 3u) {{
        return 7u;
    }}
    return p + prot;
}}

uint32_t caller(uint32_t p, uint32_t prot)
{{
    uint32_t frame = pagemap_frame(p, 0u, prot & {mask}u);
    return frame;
}}
"
        );
        let callee = symbol("pagemap_frame", "lea eax, [rdi+rdx]\n ret");
        let caller = symbol("caller", &format!("mov edx, esi\n and edx, {mask}\n xor esi, esi\n jmp pagemap_frame"));
        validated(test, "caller", FRAME, &c, &format!("{callee}{caller}"))
    };
    let kept = check("caller-keeps", "3");
    assert!(kept.validated, "{:?}", kept.reasons);
    let broken = check("caller-breaks", "7");
    assert!(!broken.validated);
    assert!(broken.reasons[0].contains("pagemap_frame requires argument 3 from 0 to 3"), "{:?}", broken.reasons);
}

/// The machine compares all bits of a number of which the term takes 32: right as long as the loop keeps it small.
#[test]
fn a_loop_keeps_a_local_below_what_it_compares_it_with() {
    let check = |test: &str, bound: &str, jump: &str| {
        let c = format!(
            "uint32_t next(uint32_t x)
{{
    return small[0].turn + x;
}}

uint32_t count(uint32_t n)
{{
    uint64_t i = 0ul;
    uint32_t x = n;
    while (x != 0u) {{
        uint32_t word = (uint32_t)(i / 8ul);
        uint32_t first = 0u;
        if (word == 0u) {{
            first = 1u;
        }}
        i = i + 1ul;
        x = 0u;
        if ({bound}) {{
            x = next(first);
        }}
    }}
    return (uint32_t)i;
}}
"
        );
        let next = symbol("next", "mov eax, dword ptr [small]\n add eax, edi\n ret");
        let body = format!(
            "xor ecx, ecx\n mov eax, edi\n1: test eax, eax\n je 3f\n mov rdx, rcx\n shr rdx, 3\n mov edi, 0\n sete dil
 add rcx, 1\n xor eax, eax\n {jump}\n call next\n jmp 1b\n3: mov eax, ecx\n ret"
        );
        let header = "uint32_t next(uint32_t x);\nuint32_t count(uint32_t n);";
        validated(test, "count", header, &c, &format!("{next}{}", symbol("count", &body)))
    };
    let right = check("below-right", "i < 64ul", "cmp rcx, 64\n jae 1b");
    assert!(right.validated, "{:?}", right.reasons);
    assert!(!check("below-wrong", "i > 0ul", "").validated);
}

/// Behind a call that does not come back stands other code.
#[test]
fn what_stands_behind_a_call_that_does_not_return_is_not_executed() {
    let c = "void stop(uint32_t n)
{
    small[0].turn = n;
}

uint32_t stops(uint32_t n)
{
    if (n == 1u) {
        stop(n);
    }
    if (n == 2u) {
        return 7u;
    }
    return n;
}
";
    let check = |test: &str, stop: &str| {
        let body = "mov eax, edi\n cmp edi, 1\n je 2f\n cmp edi, 2\n je 3f\n ret\n2: call stop\n3: mov eax, 7\n ret";
        let code = format!("{}{}", symbol("stop", stop), symbol("stops", body));
        validated(test, "stops", "void stop(uint32_t n);\nuint32_t stops(uint32_t n);", c, &code)
    };
    let right = check("stop-right", "mov dword ptr [small], edi\n1: hlt\n jmp 1b");
    assert!(right.validated, "{:?}", right.reasons);
    assert!(!check("stop-wrong", "mov dword ptr [small], edi\n ret").validated);
    assert!(!check("stop-maybe", "mov dword ptr [small], edi\n1: cmp edi, 1\n je 2f\n jmp 1b\n2: ret").validated);
}

/// Where the loop is not entered the machine has left it, and has stored, before the term has tried its first turn.
#[test]
fn a_loop_that_the_machine_has_left_already_is_executed() {
    let c = "void rise(void)
{
    uint32_t x = small[0].turn;
    for (uint32_t i = 0u; i < 4u; i = i + 1u) {
        if (x > 8u) {
            break;
        }
        x = x + 1u;
    }
    small[0].turn = x;
}
";
    let check = |test: &str, high: &str, turns: u32| {
        let body = format!(
            "mov eax, dword ptr [small]\n xor ecx, ecx\n cmp eax, 8\n ja 2f\n1: add eax, 1\n add ecx, 1\n cmp ecx, {turns}\n je 3f
 cmp eax, 8\n jbe 1b\n jmp 3f\n2: {high}\n3: mov dword ptr [small], eax\n ret"
        );
        validated(test, "rise", "void rise(void);", c, &symbol("rise", &body))
    };
    let right = check("left-right", "", 4);
    assert!(right.validated, "{:?}", right.reasons);
    assert!(!check("left-wrong", "add eax, 1", 4).validated);
    assert!(!check("left-turns", "", 3).validated);
}
