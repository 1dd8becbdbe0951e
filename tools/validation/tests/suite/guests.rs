//! Entries into guests against their contracts: what goes wrong in them is refused.

use crate::arch::check;

/// Objects with the sizes that their fields need.
const GUESTS: &str = ".macro object name, size
.type \\name, @object
.size \\name, \\size
.balign 64
\\name: .skip \\size
.endm
object guest_block, 32768
object host_block, 65536
object svm_guest, 1792
object vmx_guest, 1088
object vmx_guest_msr, 640
object vmx_virtual_apic, 32768
.section .rodata
.weak exit_point
.balign 8
vmx_exit_point: .quad exit_point
";

const OBJECTS: &str = "struct block {
    uint64_t word[512];
};

struct svm_guest {
    uint64_t gpr[16];
    uint64_t other[12];
};

struct vmx_guest {
    uint64_t gpr[16];
    uint64_t other;
};

struct msr {
    uint64_t index;
    uint64_t value;
};

static struct block guest_block[8];
static struct block host_block[16];
static struct svm_guest svm_guest[8];
static struct vmx_guest vmx_guest[8];
static struct msr vmx_guest_msr[40];
static struct block vmx_virtual_apic[8];
";

/// The general registers by their numbers.
const NAMES: [&str; 16] =
    ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];

fn with(numbers: &[usize], line: impl Fn(usize) -> String) -> String {
    numbers.iter().map(|number| line(*number)).collect::<Vec<_>>().join("\n")
}

/// Takes each line of the body away in turn; of the many that move a register, every eighth.
fn without_each_line(body: &str) -> Vec<String> {
    let lines: Vec<&str> = body.lines().collect();
    let without = |gone: usize| {
        let kept = lines.iter().enumerate().filter(|(at, _)| *at != gone).map(|(_, line)| *line);
        kept.collect::<Vec<_>>().join("\n")
    };
    let is_tried = |at: &usize| at % 8 == 0 || !lines[*at].contains("[rdi+");
    (0..lines.len()).filter(is_tried).map(without).collect()
}

fn changed(right: &str, changes: &[(&str, &str)]) -> Vec<String> {
    let change = |(from, to): &(&str, &str)| {
        assert_eq!(right.matches(from).count(), 1, "{from}");
        right.replace(from, to)
    };
    changes.iter().map(change).collect()
}

const SAVED: [&str; 6] = ["rbx", "rbp", "r12", "r13", "r14", "r15"];

fn pushes() -> String {
    SAVED.map(|name| format!("push {name}\n")).concat()
}

fn pops() -> String {
    let mut names = SAVED;
    names.reverse();
    names.map(|name| format!("pop {name}\n")).concat()
}

#[test]
fn a_run_on_svm_exchanges_what_its_contract_says() {
    // Neither RAX nor RSP; RDI last in, since it holds the address.
    let numbers: Vec<usize> = (0..16).filter(|number| ![0, 4].contains(number)).collect();
    let others: Vec<usize> = numbers.iter().copied().filter(|number| *number != 7).collect();
    let values: Vec<String> = numbers.iter().map(|number| format!("svm_guest[vm].gpr[{number}]")).collect();
    let contract = format!(
        "{OBJECTS}
void svm_enter(uint64_t block, uint32_t vm, uint64_t host)
{{
    machine_global_interrupts_off();
    machine_interrupts_on();
    machine_load_guest(block);
    machine_run_guest(block, {});
{}
    machine_save_guest(block);
{}
    machine_load_host(host);
    machine_interrupts_off();
    machine_global_interrupts_on();
}}
",
        values.join(", "),
        with(&numbers, |number| format!("    uint64_t r{number} = machine_guest_register({number}u);")),
        with(&numbers, |number| format!("    svm_guest[vm].gpr[{number}] = r{number};")),
    );
    let right = format!(
        "{}push rdx\npush rsi\nclgi\nsti\nmov rax, rdi\nmov rdi, rsi\n{}\nmov rdi, [rdi+56]
vmload rax\nvmrun rax\nvmsave rax\npush rdi\nmov rdi, [rsp+8]\n{}\npop rcx\nmov [rdi+56], rcx
add rsp, 8\npop rax\nvmload rax\ncli\nstgi\n{}ret",
        pushes(),
        with(&others, |number| format!("mov {}, [rdi+{}]", NAMES[number], 8 * number)),
        with(&others, |number| format!("mov [rdi+{}], {}", 8 * number, NAMES[number])),
        pops(),
    );
    let mut wrong = without_each_line(&right);
    wrong.extend(changed(
        &right,
        &[
            // Another word, another register, another guest's registers, another block, the state of the guest for the host's.
            ("mov [rdi+16], rdx", "mov [rdi+24], rdx"),
            ("mov [rdi+64], r8", "mov [rdi+64], r9"),
            ("mov rdx, [rdi+16]", "mov rdx, [rdi+240]"),
            ("mov rax, rdi", "mov rax, rdx"),
            ("vmload rax\nvmrun rax\nvmsave rax", "vmload rax\nvmrun rax\nadd rax, 8\nvmsave rax"),
            ("vmload rax\nvmrun rax\nvmsave rax", "vmload rax\nadd rax, 0x1000\nvmrun rax\nvmsave rax"),
            ("vmload rax\nvmrun rax\nvmsave rax", "vmload rax\nvmrun rax\nvmload rax\nvmsave rax"),
            ("vmload rax\ncli", "mov rax, rdi\nvmload rax\ncli"),
            // Open to interrupts, a direction flag, a register of the caller's, one more run.
            ("cli\nstgi", "stgi\ncli"),
            ("clgi\nsti", "sti\nclgi"),
            ("cli\nstgi", "cli\nstgi\nstd"),
            ("pop r15\npop r14", "pop r14\npop r15"),
            ("vmrun rax", "vmrun rax\nvmrun rax"),
            // Over the host's stack, and a word that the contract does not name.
            ("pop rcx", "mov [rsp+24], rcx\npop rcx"),
            ("pop rcx", "mov [rdi], rcx\npop rcx"),
        ],
    ));
    let wrong: Vec<&str> = wrong.iter().map(String::as_str).collect();
    check("svm", "svm_enter", &contract, GUESTS, &right, &wrong);
}

#[test]
fn an_entry_on_vt_x_comes_back_to_one_place_in_two_ways() {
    let numbers: Vec<usize> = (0..16).filter(|number| *number != 4).collect();
    let others: Vec<usize> = numbers.iter().copied().filter(|number| *number != 7).collect();
    let values: Vec<String> = numbers.iter().map(|number| format!("vmx_guest[vm].gpr[{number}]")).collect();
    let contract = format!(
        "{OBJECTS}
uint32_t vmx_enter(uint32_t vm, uint32_t launched)
{{
    machine_write_host_stack();
    uint32_t refused = 0u;
    if (launched != 0u) {{
        refused = machine_resume_guest({0});
    }} else {{
        refused = machine_launch_guest({0});
    }}
{1}
{2}
    return refused;
}}
",
        values.join(", "),
        with(&numbers, |number| format!("    uint64_t r{number} = machine_guest_register({number}u);")),
        with(&numbers, |number| format!("    vmx_guest[vm].gpr[{number}] = r{number};")),
    );
    let stored: Vec<usize> = others.iter().copied().filter(|number| *number != 0).collect();
    let right = format!(
        "{}push rdi\nmov eax, 0x6c14\nvmwrite rax, rsp\ntest esi, esi\n{}\nmov rdi, [rdi+56]
jne 2f\nvmlaunch\njmp exit_point\n2: vmresume\nexit_point: push rdi\nmov rdi, [rsp+8]\nmov [rdi], rax\nsetbe al\n{}
pop rcx\nmov [rdi+56], rcx\nmovzx eax, al\nadd rsp, 8\n{}ret",
        pushes(),
        with(&others, |number| format!("mov {}, [rdi+{}]", NAMES[number], 8 * number)),
        with(&stored, |number| format!("mov [rdi+{}], {}", 8 * number, NAMES[number])),
        pops(),
    );
    let labelled = |line: &String| line.contains("exit_point:") && line.contains("2:");
    let mut wrong: Vec<String> = without_each_line(&right).into_iter().filter(labelled).collect();
    wrong.extend(changed(
        &right,
        &[
            ("0x6c14", "0x6c16"),
            ("vmwrite rax, rsp", "vmwrite rax, rbp"),
            ("vmwrite rax, rsp", "vmwrite rax, rsp\npush rax"),
            ("jne 2f", "je 2f"),
            ("vmresume", "vmlaunch"),
            ("test esi, esi", "test rsi, rsi"),
            ("setbe al", "setb al"),
            ("setbe al", "sete al"),
            ("mov [rdi], rax\nsetbe al", "setbe al\nmov [rdi], rax"),
            ("jmp exit_point", "xor eax, eax\njmp exit_point"),
            ("exit_point: push rdi", "nop\nexit_point: push rdi"),
            ("2: vmresume\nexit_point: push rdi", "2: vmresume\npush rdi\nexit_point: nop"),
            ("pop rcx\nmov [rdi+56]", "pop rcx\nmov [rdi+32]"),
            ("movzx eax, al", "mov eax, 1"),
        ],
    ));
    let wrong: Vec<&str> = wrong.iter().map(String::as_str).collect();
    check("vmx", "vmx_enter", &contract, GUESTS, &right, &wrong);
}

/// The host's block must be that of this CPU, and the registers those of a guest that there is.
#[test]
fn a_caller_passes_what_an_entry_requires() {
    let contract = format!(
        "{OBJECTS}
void svm_enter(uint64_t block, uint32_t vm, uint64_t host);

struct percpu {{
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
}};

static struct percpu percpu[1];

void run(uint64_t block, uint32_t vm, uint64_t start)
{{
    if (vm < 8u) {{
        svm_enter(block, vm, start + ((uint64_t)percpu[0].cpu << 12));
    }}
}}
"
    );
    let right = "cmp esi, 8\njae 1f\nmov esi, esi\nimul rsi, rsi, 224\nadd rsi, offset svm_guest
mov eax, gs:[0]\nshl rax, 12\nadd rdx, rax\nsub rsp, 8\ncall svm_enter\nadd rsp, 8\n1: ret";
    let code = format!("{right}\n{}", crate::small::symbol("svm_enter", "ret"));
    let found = crate::arch::run("host", "run", &contract, &crate::small::symbol("run", &code), GUESTS);
    let reasons = &found.functions[0].reasons;
    assert!(reasons.iter().any(|reason| reason.contains("argument 3 of svm_enter may be another")), "{reasons:?}");
}

#[test]
fn an_exception_that_is_not_survived_is_reported_whole() {
    const ORDER: [&str; 15] =
        ["rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];
    let numbers: Vec<usize> = ORDER.iter().filter_map(|name| NAMES.iter().position(|known| known == name)).collect();
    let contract = format!(
        "void arch_fatal_entry(uint32_t vector)
{{
{}
    machine_report(vector, {});
    uint32_t on = 1u;
    while (on != 0u) {{
        machine_halt();
    }}
}}
",
        with(&numbers, |number| format!("    uint64_t r{number} = machine_register({number}u);")),
        numbers.iter().map(|number| format!("r{number}")).collect::<Vec<_>>().join(", "),
    );
    let pushes = ORDER.iter().rev().map(|name| format!("push {name}\n")).collect::<String>();
    let functions = ["fatal_exception", "other"].map(|name| crate::small::symbol(name, "ret")).concat();
    let body = "cld\nmov rdi, rsp\nand rsp, -16\ncall fatal_exception\n1: hlt\njmp 1b";
    let right = format!("{pushes}{body}\n{functions}");
    let mut wrong = changed(
        &right,
        &[
            ("push r9\npush r8", "push r8\npush r9"),
            ("push rax", "push rbx"),
            ("push r15\n", ""),
            ("cld\n", ""),
            ("mov rdi, rsp", "lea rdi, [rsp+8]"),
            ("and rsp, -16", "and rsp, -32"),
            ("and rsp, -16", "add rsp, 16"),
            ("and rsp, -16", "sub rsp, 8"),
            ("mov rdi, rsp", "mov rdi, rsp\nmov qword ptr [rsp+120], 3"),
            ("call fatal_exception", "call other"),
        ],
    );
    wrong.push(format!("push rax\n{right}"));
    crate::arch::check_routine("fatal", "arch_fatal_entry", &contract, &right, &wrong);
}

#[test]
fn a_function_is_called_on_another_stack() {
    let contract = "void arch_run_on_stack(uint64_t stack, uint64_t function)
{
    machine_call_on(stack, function);
    uint32_t on = 1u;
    while (on != 0u) {
        machine_halt();
    }
}
";
    let right = "mov rsp, rdi\nxor ebp, ebp\ncall rsi\n1: hlt\njmp 1b";
    let mut wrong = without_each_line(right);
    wrong.retain(|body| body.contains("1:"));
    wrong.push(right.replace("rsp, rdi", "rsp, rsi"));
    wrong.push(right.replace("call rsi", "call rdi"));
    wrong.push(right.replace("call rsi", "std\ncall rsi"));
    wrong.push(right.replace("call rsi", "push rax\ncall rsi"));
    let wrong: Vec<&str> = wrong.iter().map(String::as_str).collect();
    check("stack", "arch_run_on_stack", contract, "", right, &wrong);
}
