//! Functions of `arch` and routines of assembly against their contracts: right code is validated, wrong code is refused.

use std::path::{Path, PathBuf};
use std::process::Command;

use validation::{validate, Build, FunctionResult, Options, Validation};

const MACHINE: &str = include_str!("../../../../proof/arch/machine.h");

/// Objects of `arch` with the sizes that the terms know.
const RECORDS: &str = ".globl arch_threads\n.type arch_threads, @object\n.size arch_threads, 36864\n.balign 256
arch_threads: .skip 36864\n";

/// A kernel whose layer does nothing, with `contract` for `function`, of which `code` is the machine code.
pub fn run(test: &str, function: &str, contract: &str, code: &str, data: &str) -> Validation {
    run_build(&Build::BOOTED, test, function, contract, code, data)
}

fn run_build(build: &Build, test: &str, function: &str, contract: &str, code: &str, data: &str) -> Validation {
    let folder: PathBuf = std::env::temp_dir().join(format!("validation-arch-{test}-{}", std::process::id()));
    let (layer, arch) = (folder.join("kernel/layers/small"), folder.join("proof/arch"));
    std::fs::create_dir_all(&layer).unwrap();
    std::fs::create_dir_all(&arch).unwrap();
    std::fs::write(folder.join("kernel/layers.order"), "small\n").unwrap();
    std::fs::write(layer.join("small.h"), "#ifndef SMALL_H\n#define SMALL_H\n#include <stdint.h>\n#endif\n").unwrap();
    std::fs::write(layer.join("small.c"), "#include \"small.h\"\n\nstatic uint32_t turn[1];\n").unwrap();
    std::fs::write(arch.join("machine.h"), MACHINE).unwrap();
    // Each function is declared in a header; those that end in a semicolon are no contract's.
    let starts = |line: &&str| line.starts_with("void") || line.starts_with("uint");
    let declared: String =
        contract.lines().filter(starts).map(|line| format!("{};\n", line.trim_end_matches(';'))).collect();
    let defined: Vec<&str> = contract.lines().filter(|line| !(starts(line) && line.ends_with(';'))).collect();
    std::fs::write(arch.join("own.h"), format!("#include <stdint.h>\n{declared}")).unwrap();
    let contract = format!("#include \"machine.h\"\n#include \"own.h\"\n\n{}\n", defined.join("\n"));
    std::fs::write(arch.join("contract.c"), contract).unwrap();
    std::fs::write(folder.join("code.s"), format!(".intel_syntax noprefix\n.text\n{code}\n.bss\n{data}")).unwrap();
    assemble(&folder, function);
    let image = std::fs::read(folder.join("image")).unwrap();
    let options = Options {
        kernel: folder.join("kernel"),
        build: *build,
        second: None,
        kept: None,
        functions: vec![function.to_string()],
        limit: 500,
        threads: 1,
    };
    let found = validate(&image, &options, &|_, _, _| {}).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    found
}

fn assemble(folder: &Path, function: &str) {
    let run = |program: &str, arguments: &[&str]| {
        let status = Command::new(program).args(arguments).current_dir(folder).status().unwrap();
        assert!(status.success(), "{program} {arguments:?}");
    };
    run("as", &["--64", "-o", "code.o", "code.s"]);
    run("ld", &["-static", "-Ttext=0xffffffff80400000", "-e", function, "-o", "image", "code.o"]);
}

fn result(found: Validation) -> FunctionResult {
    found.functions.into_iter().next().unwrap()
}

/// The right body is validated, and none of the wrong ones.
pub fn check(test: &str, function: &str, contract: &str, data: &str, right: &str, wrong: &[&str]) {
    let code = |body: &str| crate::small::symbol(function, body);
    let good = result(run(test, function, contract, &code(right), data));
    assert!(good.validated, "{test}: {:?}", good.reasons);
    for (number, body) in wrong.iter().enumerate() {
        let bad = result(run(&format!("{test}-{number}"), function, contract, &code(body), data));
        assert!(!bad.validated, "{test}: validated: {body}");
    }
}

#[test]
fn ports_by_number_width_and_order() {
    let contract = "uint32_t exchange(uint32_t port, uint32_t value)
{
    machine_out8(port, value);
    machine_out16(0x70u, 0x303u);
    uint32_t given = machine_in8(port);
    return given;
}
";
    let right =
        "mov edx, edi\n mov eax, esi\n out dx, al\n mov eax, 0x303\n out 0x70, ax\n in al, dx\n movzx eax, al\n ret";
    let wrong = [
        right.replace("out dx, al", "out dx, ax"),
        right.replace("0x70", "0x71"),
        right.replace("0x303", "0x302"),
        right.replace("mov edx, edi", "mov edx, esi"),
        right.replace("movzx eax, al", ""),
        right.replace("in al, dx", "in eax, dx"),
        right.replace(" out 0x70, ax\n", ""),
        // Both writes, in the other order.
        "mov edx, edi\n mov eax, 0x303\n out 0x70, ax\n mov eax, esi\n out dx, al\n in al, dx\n movzx eax, al\n ret"
            .to_string(),
        // Read once more.
        right.replace("in al, dx", "in al, dx\n in al, dx"),
    ];
    let wrong: Vec<&str> = wrong.iter().map(String::as_str).collect();
    check("ports", "exchange", contract, "", right, &wrong);
}

const WINDOW: &str = ".balign 8\n.type window, @object\n.size window, 8\nwindow: .skip 8\n";

#[test]
fn registers_of_devices_by_address_width_and_value() {
    let contract = "static uint64_t window;

uint32_t ask(uint32_t reg)
{
    machine_write32(window, reg);
    uint32_t value = machine_read32(window + 0x10ul);
    return value;
}
";
    let right = "mov rax, [window]\n mov dword ptr [rax], edi\n mov eax, [rax+0x10]\n ret";
    let wrong = [
        right.replace("+0x10", "+0x14"),
        right.replace("dword ptr [rax], edi", "qword ptr [rax], rdi"),
        right.replace("dword ptr [rax], edi", "word ptr [rax], di"),
        right.replace(" mov dword ptr [rax], edi\n", ""),
        right.replace("edi\n", "edi\n mov dword ptr [rax], edi\n"),
        right.replace("mov eax, [rax+0x10]", "mov rax, [rax+0x10]"),
        right.replace("mov eax, [rax+0x10]", "or dword ptr [rax+0x10], 1"),
        // The value is read before the register is chosen.
        "mov rax, [window]\n mov ecx, [rax+0x10]\n mov dword ptr [rax], edi\n mov eax, ecx\n ret".to_string(),
    ];
    let wrong: Vec<&str> = wrong.iter().map(String::as_str).collect();
    check("device", "ask", contract, WINDOW, right, &wrong);
}

#[test]
fn registers_of_the_processor_and_the_fence_before() {
    let contract = "void send(uint32_t to, uint32_t value)
{
    machine_fence();
    machine_write_msr(0x830u, (uint64_t)to << 32 | (uint64_t)value);
    uint64_t map = machine_read_cr3();
    machine_write_cr3(map);
}
";
    let right = "mfence\n mov eax, esi\n mov edx, edi\n mov ecx, 0x830\n wrmsr\n mov rax, cr3\n mov cr3, rax\n ret";
    let wrong = [
        right.replace("mfence\n", ""),
        right.replace("mfence\n", "sfence\n"),
        right.replace("0x830", "0x831"),
        right.replace("mov edx, edi", "xor edx, edx"),
        right.replace("mov eax, esi", "mov eax, edi"),
        right.replace("mov cr3, rax", "mov cr3, rcx"),
        right.replace(" mov cr3, rax\n", ""),
        "mov eax, esi\n mov edx, edi\n mov ecx, 0x830\n wrmsr\n mfence\n mov rax, cr3\n mov cr3, rax\n ret".to_string(),
    ];
    let wrong: Vec<&str> = wrong.iter().map(String::as_str).collect();
    check("processor", "send", contract, "", right, &wrong);
}

/// A write of the base of GS would move the CPU's record.
#[test]
fn a_segments_base_is_not_written() {
    let contract = |msr: &str| format!("void set(uint64_t base)\n{{\n    machine_write_msr({msr}, base);\n}}\n");
    let code = |msr: &str| {
        let body = format!("mov rax, rdi\n mov rdx, rdi\n shr rdx, 32\n mov ecx, {msr}\n wrmsr\n ret");
        crate::small::symbol("set", &body)
    };
    let with = |test: &str, msr: &str| result(run(test, "set", &contract(&format!("{msr}u")), &code(msr), ""));
    assert!(with("base-other", "0xc0000084").validated);
    assert!(!with("base-gs", "0xc0000101").validated);
}

#[test]
fn a_store_is_not_moved_over_an_action() {
    let contract = "static uint64_t window;

void note(uint32_t port)
{
    window = 1ul;
    machine_out8(port, 0u);
    window = 2ul;
}
";
    let right =
        "mov qword ptr [window], 1\n mov edx, edi\n xor eax, eax\n out dx, al\n mov qword ptr [window], 2\n ret";
    let wrong = [
        "mov edx, edi\n xor eax, eax\n out dx, al\n mov qword ptr [window], 2\n ret",
        "mov edx, edi\n xor eax, eax\n mov qword ptr [window], 2\n out dx, al\n ret",
        "mov qword ptr [window], 1\n mov edx, edi\n xor eax, eax\n out dx, al\n ret",
    ];
    check("moved", "note", contract, WINDOW, right, &wrong);
}

/// The records as the contract of entries has them.
const THREADS: &str = "struct percpu {
    uint32_t cpu;
    uint32_t apic_id;
    uint64_t thread;
    uint64_t scratch;
    uint32_t vector;
    uint32_t fpu_left;
    uint32_t fpu_owner;
    uint32_t current;
    uint32_t need_resched;
    uint32_t root;
    uint32_t floor;
    uint32_t space;
    uint32_t spare;
    uint32_t tss_reserved;
    uint64_t tss_stack;
};

static struct percpu percpu[1];

struct arch_threads {
    uint64_t word[24];
    uint64_t kernel_rsp;
    uint64_t stack_top;
    uint32_t fpu_fresh;
    uint32_t at_exit;
    uint32_t spare[10];
};

static struct arch_threads arch_threads[144];
";

pub fn check_routine(test: &str, function: &str, contract: &str, right: &str, wrong: &[String]) {
    let contract = format!("{THREADS}\n{contract}");
    // Of routines the symbols tell no size.
    let other = crate::small::symbol("trap", "ret");
    let code = |body: &str| format!(".globl {function}\n{function}:\n{body}\n{other}");
    let good = result(run(test, function, &contract, &code(right), RECORDS));
    assert!(good.validated, "{test}: {:?}", good.reasons);
    for (number, body) in wrong.iter().enumerate() {
        let bad = result(run(&format!("{test}-{number}"), function, &contract, &code(body), RECORDS));
        assert!(!bad.validated, "{test}: validated: {body}");
    }
}

/// Takes each line of a routine away in turn.
fn without_each_line(body: &str) -> Vec<String> {
    let lines: Vec<&str> = body.lines().collect();
    (0..lines.len())
        .map(|gone| {
            let kept = lines.iter().enumerate().filter(|(at, _)| *at != gone).map(|(_, line)| *line);
            kept.collect::<Vec<_>>().join("\n")
        })
        .collect()
}

#[test]
fn an_entry_saves_what_its_contract_says_on_the_right_stack() {
    let contract = "void trap(uint64_t first);

void arch_syscall_entry(void)
{
    machine_swap_gs();
    uint32_t t = percpu[0].current;
    uint64_t rsp = machine_register(RSP);
    percpu[0].scratch = rsp;
    uint64_t rdi = machine_register(RDI);
    arch_threads[t].word[20] = rsp;
    arch_threads[t].word[5] = rdi;
    uint64_t rcx = machine_register(RCX);
    arch_threads[t].word[17] = rcx;
    trap(rdi);
    machine_swap_gs();
    machine_sysret(arch_threads[t].word[0], arch_threads[t].word[1], arch_threads[t].word[17],
                   arch_threads[t].word[3], arch_threads[t].word[4], arch_threads[t].word[5],
                   arch_threads[t].word[6], arch_threads[t].word[7], arch_threads[t].word[8],
                   arch_threads[t].word[9], arch_threads[t].word[19], arch_threads[t].word[11],
                   arch_threads[t].word[12], arch_threads[t].word[13], arch_threads[t].word[14],
                   arch_threads[t].word[20]);
}
";
    let right = "swapgs
mov gs:[16], rsp
mov rsp, gs:[8]
mov [rsp+136], rcx
mov rcx, gs:[16]
mov [rsp+160], rcx
mov [rsp+40], rdi
mov rsp, [rsp+200]
call trap
mov rsp, gs:[8]
mov rax, [rsp]
mov rbx, [rsp+8]
mov rcx, [rsp+136]
mov rdx, [rsp+24]
mov rsi, [rsp+32]
mov rdi, [rsp+40]
mov rbp, [rsp+48]
mov r8, [rsp+56]
mov r9, [rsp+64]
mov r10, [rsp+72]
mov r11, [rsp+152]
mov r12, [rsp+88]
mov r13, [rsp+96]
mov r14, [rsp+104]
mov r15, [rsp+112]
mov rsp, [rsp+160]
swapgs
sysretq";
    let mut wrong = without_each_line(right);
    // Another word, the caller's stack, a register that is saved twice, interrupts' return.
    wrong.push(right.replace("[rsp+136], rcx", "[rsp+144], rcx"));
    wrong.push(right.replace("mov rsp, [rsp+200]", "mov rsp, gs:[16]"));
    wrong.push(right.replace("mov rsp, [rsp+200]", "mov rsp, [rsp+192]"));
    wrong.push(right.replace("mov [rsp+40], rdi", "mov [rsp+40], rdi\nmov [rsp+48], rdi"));
    wrong.push(right.replace("call trap", "std\ncall trap"));
    wrong.push(right.replace("call trap", "mov rdi, rsi\ncall trap"));
    wrong.push(right.replace("sysretq", "iretq"));
    wrong.push(right.replace("call trap", "push rax\ncall trap\npop rax\nmov gs:[24], eax"));
    check_routine("entry", "arch_syscall_entry", contract, right, &wrong);
}

#[test]
fn a_switch_changes_both_records_and_the_stack() {
    let contract = "void arch_switch(uint32_t to)
{
    uint32_t from = percpu[0].current;
    percpu[0].current = to;
    uint64_t rsp = machine_register(RSP);
    arch_threads[from].kernel_rsp = rsp;
    uint64_t record = machine_record(to);
    percpu[0].thread = record;
    percpu[0].tss_stack = record + 176ul;
    machine_continue(arch_threads[to].kernel_rsp);
}
";
    let right = "mov rcx, gs:[8]
mov gs:[36], edi
shl edi, 8
mov [rcx+192], rsp
lea rax, [rdi+arch_threads]
mov gs:[8], rax
lea rcx, [rax+176]
mov gs:[64], rcx
mov rsp, [rax+192]
ret";
    let mut wrong = without_each_line(right);
    wrong.push(right.replace("[rax+192]", "[rax+200]"));
    wrong.push(right.replace("shl edi, 8", "shl edi, 7"));
    // The upper half of an argument's register is anything.
    wrong.push(right.replace("shl edi, 8", "shl rdi, 8"));
    wrong.push(right.replace("[rax+176]", "[rax+168]"));
    wrong.push(right.replace("[rcx+192], rsp", "[rcx+192], rbp"));
    wrong.push(right.replace("\nret", "\nxor ebp, ebp\nret"));
    check_routine("switch", "arch_switch", contract, right, &wrong);
}

/// What debug builds check is in the contract: there alone `ud2` is executed where the check fails, and nowhere else.
#[test]
fn a_check_of_debug_builds_stops_where_the_contract_says() {
    let contract = "static uint32_t left;

void unused(void)
{
#if DEBUG
    if (left != 1u) {
        machine_undefined();
    }
#endif
    left = 1u;
}
";
    let left = ".balign 4\n.type left, @object\n.size left, 4\nleft: .skip 4\n";
    let debug = Build::named("ticket-debug").unwrap();
    let validated = |test: &str, build: &Build, body: &str| {
        let code = crate::small::symbol("unused", body);
        let found = result(run_build(build, &format!("check-{test}"), "unused", contract, &code, left));
        (found.validated, found.reasons)
    };
    let plain = "mov dword ptr [left], 1\n ret";
    let right = "cmp dword ptr [left], 1\n jne 1f\n mov dword ptr [left], 1\n ret\n1: ud2";
    assert_eq!(validated("right", &debug, right), (true, vec![]));
    assert_eq!(validated("plain", &Build::BOOTED, plain), (true, vec![]));
    // In a build that has no check, and in one whose check is gone.
    assert!(!validated("release", &Build::BOOTED, right).0);
    assert!(!validated("gone", &debug, plain).0);
    let wrong = [
        right.replace("jne", "je"),
        right.replace("jne", "jb"),
        right.replace("[left], 1\n jne", "[left], 2\n jne"),
        right.replace("jne 1f", "jmp 1f"),
        right.replace("ud2", "ret"),
        // It goes on with what the contract does behind the check.
        right.replace("ud2", "mov dword ptr [left], 1\n ret"),
        // What it has done before it stops, the contract has not.
        "mov eax, [left]\n mov dword ptr [left], 1\n cmp eax, 1\n jne 1f\n ret\n1: ud2".to_string(),
    ];
    for (number, body) in wrong.iter().enumerate() {
        assert!(!validated(&number.to_string(), &debug, body).0, "validated: {body}");
    }
}

/// What a function of no layer and without a contract does is trusted, by its name.
#[test]
fn what_has_no_contract_is_named() {
    let contract = "uint32_t five(void)\n{\n    return 5u;\n}\n";
    let five = crate::small::symbol("five", "mov eax, 5\n ret");
    let code = format!("{five}{}\n.globl routine\nroutine: hlt\n", crate::small::symbol("other", "ret"));
    let found = run("named", "five", contract, &code, "");
    assert_eq!(found.arch.trusted, ["other", "routine"]);
    assert_eq!((found.arch.functions, found.arch.validated), (3, 1));
}

/// Two contracts cannot disagree with the layers on what an object holds.
#[test]
#[should_panic(expected = "percpu has other fields")]
fn a_contract_knows_the_objects_as_the_layers_do() {
    let fields = THREADS.replace("    uint32_t apic_id;\n", "");
    let contract = format!("{fields}\nuint32_t five(void)\n{{\n    return 5u;\n}}\n");
    run("fields", "five", &contract, &crate::small::symbol("five", "mov eax, 5\n ret"), RECORDS);
}
