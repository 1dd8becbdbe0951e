/* A monitor for a guest of a few dozen instructions, which together cause every kind of exit. Checks each exit, and that
 * what belongs to the guest (vector registers, unmapped pages) stays apart. Prints a line per step and
 * `TINY-GUEST-DONE`; anything unexpected ends the program with exit code 125.
 *
 * Another process, ringer, signals the notification `bell` again and again. */
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "real_mode_guest.h"

#define SPARE_GPA 0x9000ul     /* mapped late */
#define FAR_GPA 0x1000000000ul /* no table of the guest's leads there */
#define UNMAPPED_ADDRESS 0x70000000ul
#define VECTOR_EXTERNAL 0x20u
#define VECTOR_UNDEFINED 6u
#define MILLISECOND 1000000ul
#define TIMED_EXITS 20000u
#define RINGS 10u

/* The guest, in real mode. Port numbers tell where it is. */
extern const uint8_t tiny_begin[], tiny_after_spin[], tiny_after_second_spin[], tiny_after_xsetbv[], tiny_loop[],
    tiny_handler[], tiny_undefined_handler[], tiny_hypercall[], tiny_end[];
__asm__(".pushsection .rodata\n"
        ".code16\n"
        ".globl tiny_begin\n"
        "tiny_begin:\n"
        "    mov $0x5a, %al\n    out %al, $0x80\n"
        "    in $0x81, %ax\n     out %ax, $0x82\n"
        "    mov $0x12345678, %eax\n    cpuid\n    mov %ebx, %eax\n    out %eax, $0x83\n"
        "    mov $0xc0011234, %ecx\n    rdmsr\n    out %eax, $0x84\n    wrmsr\n"
        "    hlt\n"
        "    movw $0x1234, 0x9000\n    out %al, $0x85\n"  /* page mapped meanwhile */
        "    movw $0x4321, 0x9000\n    out %al, $0x86\n"  /* unmapped, then mapped read-only, then writable */
        "    sti\n    nop\n    nop\n    out %al, $0x87\n" /* an interrupt gets in after the window exit */
        "    out %al, $0x88\n"                            /* the monitor injects an exception here */
        "    mov %cr4, %eax\n    or $0x200, %eax\n    mov %eax, %cr4\n"
        "    mov $0x11223344, %eax\n    movd %eax, %xmm3\n    out %al, $0x89\n"
        "    movd %xmm3, %eax\n    out %eax, $0x8a\n"
        "1:  jmp 1b\n"
        ".globl tiny_after_spin\n"
        "tiny_after_spin:\n"
        "2:  jmp 2b\n"
        ".globl tiny_after_second_spin\n"
        "tiny_after_second_spin:\n"
        "    mov $0x13572468, %eax\n    mov $7, %ecx\n    cpuid\n    out %eax, $0x92\n"
        "    mov %edx, %eax\n    out %eax, $0x93\n"
        "    mov $0x13572468, %eax\n    mov $8, %ecx\n    cpuid\n"
        ".globl tiny_hypercall\n"
        "tiny_hypercall:\n"
        "    vmmcall\n"
        "    wbinvd\n"
        "    rdpmc\n"
        "    mov %cr4, %eax\n    or $0x40000, %eax\n    mov %eax, %cr4\n"
        "    xor %ecx, %ecx\n    xor %edx, %edx\n    mov $1, %eax\n    .byte 0x0f, 0x01, 0xd1\n" /* xsetbv */
        "    out %al, $0x8d\n"
        ".globl tiny_after_xsetbv\n"
        "tiny_after_xsetbv:\n"
        "    out %al, $0x8e\n"
        ".globl tiny_loop\n"
        "tiny_loop:\n"
        "    out %al, $0x8f\n    jmp tiny_loop\n"
        ".globl tiny_handler\n"
        "tiny_handler:\n"
        "    out %al, $0x90\n    iret\n"
        ".globl tiny_undefined_handler\n"
        "tiny_undefined_handler:\n"
        "    out %al, $0x91\n    iret\n"
        ".globl tiny_end\n"
        "tiny_end:\n"
        ".code64\n"
        ".popsection\n");

static uint32_t vm;
static uint32_t bell; /* notification slot */
static const char *step = "start";

static uint64_t offset_of(const uint8_t *label)
{
    return (uint64_t)(label - tiny_begin);
}

static void require(uint32_t status)
{
    if (status != STATUS_OK) {
        panic("%s: error %u\n", step, status);
    }
}

static void passed(void)
{
    print("tiny guest: %s\n", step);
}

static uint64_t run(uint64_t deadline, uint32_t notification)
{
    uint64_t reason = VCPU_EXIT_NONE;
    require(sys_vcpu_run(vm, deadline, notification, &reason));
    if (vcpu[VCPU_EXIT_REASON] != reason) {
        panic("%s: the call says exit %lu, the page %lu\n", step, reason, vcpu[VCPU_EXIT_REASON]);
    }
    return reason;
}

static void expect(const char *name, uint64_t reason)
{
    uint64_t got;
    step = name;
    got = run(DEADLINE_NEVER, NO_SLOT);
    if (got != reason) {
        panic("%s: exit %lu instead of %lu at ip 0x%lx (info 0x%lx 0x%lx)\n", step, got, reason, vcpu[VCPU_RIP],
              vcpu[VCPU_EXIT_INFO1], vcpu[VCPU_EXIT_INFO2]);
    }
}

static void skip(void)
{
    if (vcpu[VCPU_EXIT_NEXT_RIP] == 0) {
        panic("%s: no address of the next instruction\n", step);
    }
    vcpu[VCPU_RIP] = vcpu[VCPU_EXIT_NEXT_RIP];
    vcpu[VCPU_INTERRUPT_SHADOW] = 0;
}

/* The guest must be at an access of `size` bytes to `port`; goes past it. */
static void expect_io(const char *name, uint64_t port, uint64_t size, uint64_t in)
{
    uint64_t info;
    expect(name, VCPU_EXIT_IO);
    info = vcpu[VCPU_EXIT_INFO1];
    if ((info & 0x7ffffff) != (port | size << 16 | in << 24)) {
        panic("%s: I/O exit 0x%lx, wanted port 0x%lx size %lu in %lu\n", step, info, port, size, in);
    }
    skip();
}

static void expect_word(uint64_t got, uint64_t wanted)
{
    if (got != wanted) {
        panic("%s: 0x%lx instead of 0x%lx\n", step, got, wanted);
    }
    passed();
}

static void expect_memory(const char *name, uint64_t info2)
{
    expect(name, VCPU_EXIT_MEMORY);
    if ((vcpu[VCPU_EXIT_INFO1] & ~(PAGE_SIZE - 1)) != SPARE_GPA || vcpu[VCPU_EXIT_INFO2] != info2) {
        panic("%s: address 0x%lx, access %lu\n", step, vcpu[VCPU_EXIT_INFO1], vcpu[VCPU_EXIT_INFO2]);
    }
    passed();
}

static uint32_t on_intel(void)
{
    uint32_t eax = 0, ebx, ecx = 0, edx;
    __asm__ volatile("cpuid" : "+a"(eax), "=b"(ebx), "+c"(ecx), "=d"(edx));
    return ebx == 0x756e6547; /* "Genu" */
}

static void set_up(void)
{
    step = "set-up";
    require(sys_vcpu_page(vm, VCPU_ADDRESS));
    require(sys_mem_map(MEMORY_ADDRESS, MEMORY_PAGES + 1, PROT_READ | PROT_WRITE));
    require(sys_vm_map(vm, 0, MEMORY_ADDRESS, MEMORY_PAGES, PROT_READ | PROT_WRITE | PROT_EXEC));
    real_mode_code(tiny_begin, tiny_end);
    if (on_intel()) {
        memory[CODE_GPA + offset_of(tiny_hypercall) + 2] = 0xc1; /* vmcall: Intel's name for it */
    }
    real_mode_vector(VECTOR_EXTERNAL, offset_of(tiny_handler));
    real_mode_vector(VECTOR_UNDEFINED, offset_of(tiny_undefined_handler));
    step = "reset state in a fresh page";
    expect_word(vcpu[VCPU_RIP], 0xfff0);
    real_mode_start(0);
}

static void instructions(void)
{
    expect_io("port write", 0x80, 1, 0);
    expect_word(vcpu[VCPU_GPR] & 0xff, 0x5a);
    expect_io("port read", 0x81, 2, 1);
    vcpu[VCPU_GPR] = 0xbeef;
    expect_io("value read from a port", 0x82, 2, 0);
    expect_word(vcpu[VCPU_GPR] & 0xffff, 0xbeef);
    expect("cpuid", VCPU_EXIT_CPUID);
    expect_word(vcpu[VCPU_GPR], 0x12345678);
    vcpu[VCPU_GPR + 3] = 0x41534852;
    skip();
    expect_io("cpuid's answer", 0x83, 4, 0);
    expect_word(vcpu[VCPU_GPR], 0x41534852);
    expect("msr read", VCPU_EXIT_MSR_READ);
    expect_word(vcpu[VCPU_GPR + 1], 0xc0011234);
    vcpu[VCPU_GPR] = 77;
    skip();
    expect_io("msr's value", 0x84, 4, 0);
    expect_word(vcpu[VCPU_GPR], 77);
    expect("msr write", VCPU_EXIT_MSR_WRITE);
    expect_word(vcpu[VCPU_GPR], 77);
    skip();
    expect("halt", VCPU_EXIT_HALT);
    skip();
    passed();
}

/* What is refused makes no tables, either. */
static void refused_memory(void)
{
    uint64_t used = 0, after = 0, quota = 0;

    require(sys_quota(&used, &quota));
    if (sys_vm_map(vm, FAR_GPA, UNMAPPED_ADDRESS, 1, PROT_READ) != ERR_BAD_ADDRESS) {
        panic("a page that is not there was given to the guest\n");
    }
    require(sys_quota(&after, &quota));
    expect_word(after, used);
}

static void nested_memory(void)
{
    uint64_t page = MEMORY_ADDRESS + MEMORY_PAGES * PAGE_SIZE;
    expect_memory("write to an unmapped page", 1);
    require(sys_vm_map(vm, SPARE_GPA, page, 1, PROT_READ | PROT_WRITE));
    if (sys_vm_map(vm, SPARE_GPA, page, 1, PROT_READ) != ERR_ALREADY_MAPPED) {
        panic("a guest page could be mapped twice\n");
    }
    expect_io("write after mapping", 0x85, 1, 0);
    expect_word(*(volatile uint16_t *)page, 0x1234);
    require(sys_vm_unmap(vm, SPARE_GPA, 1));
    expect_memory("write after unmapping", 1);
    require(sys_vm_map(vm, SPARE_GPA, page, 1, PROT_READ));
    expect_memory("write to a read-only page", 1);
    expect_word(*(volatile uint16_t *)page, 0x1234);
    require(sys_vm_unmap(vm, SPARE_GPA, 1));
    require(sys_vm_map(vm, SPARE_GPA, page, 1, PROT_READ | PROT_WRITE));
    expect_io("write after mapping again", 0x86, 1, 0);
    expect_word(*(volatile uint16_t *)page, 0x4321);
}

static void events(void)
{
    vcpu[VCPU_CONTROL] = VCPU_CONTROL_INTERRUPT_WINDOW;
    expect("interrupt window", VCPU_EXIT_INTERRUPT_WINDOW);
    expect_word(vcpu[VCPU_RFLAGS] & 0x200, 0x200);
    vcpu[VCPU_CONTROL] = 0;
    vcpu[VCPU_INJECT] = VECTOR_EXTERNAL | INJECT_EXTERNAL | INJECT_VALID;
    expect_io("injected interrupt", 0x90, 1, 0);
    expect_word(vcpu[VCPU_INJECT], 0);
    expect_io("return from interrupt", 0x87, 1, 0);
    /* Its stack is not there: the delivery breaks off, and the event comes back to be injected again. */
    require(sys_vm_unmap(vm, SPARE_GPA, 1));
    vcpu[VCPU_GPR + 4] = SPARE_GPA + 0x800;
    vcpu[VCPU_RFLAGS] |= 0x200;
    vcpu[VCPU_INJECT] = VECTOR_EXTERNAL | INJECT_EXTERNAL | INJECT_VALID;
    expect_memory("interrupt without a stack", 1);
    expect_word(vcpu[VCPU_INJECT] & 0xffffffff, VECTOR_EXTERNAL | INJECT_EXTERNAL | INJECT_VALID);
    require(sys_vm_map(vm, SPARE_GPA, MEMORY_ADDRESS + MEMORY_PAGES * PAGE_SIZE, 1, PROT_READ | PROT_WRITE));
    expect_io("interrupt injected again", 0x90, 1, 0);
    expect_word(vcpu[VCPU_INJECT], 0);
    expect_io("before the exception", 0x88, 1, 0);
    vcpu[VCPU_INJECT] = VECTOR_UNDEFINED | INJECT_EXCEPTION | INJECT_VALID;
    expect_io("injected exception", 0x91, 1, 0);
    passed();
}

static void registers(void)
{
    uint64_t mine = 0x5566778899aabbcc, after = 0;
    expect_io("vector register set", 0x89, 1, 0);
    __asm__ volatile("movq %0, %%xmm3" : : "r"(mine));
    expect_io("guest's vector register kept", 0x8a, 4, 0);
    expect_word(vcpu[VCPU_GPR] & 0xffffffff, 0x11223344);
    step = "monitor's vector register kept";
    __asm__ volatile("movq %%xmm3, %0" : "=r"(after));
    expect_word(after, mine);
}

static void expect_bell(void)
{
    uint64_t bits = 0;
    if (run(DEADLINE_NEVER, bell) != VCPU_EXIT_NOTIFIED) {
        panic("%s: exit %lu\n", step, vcpu[VCPU_EXIT_REASON]);
    }
    require(sys_poll(bell, &bits));
    if (bits == 0) {
        panic("%s: no bit is set\n", step);
    }
}

static void interruptions(void)
{
    uint64_t deadline = sys_clock() + 5 * MILLISECOND;
    uint64_t now;
    step = "deadline";
    if (run(deadline, NO_SLOT) != VCPU_EXIT_DEADLINE) {
        panic("%s: exit %lu\n", step, vcpu[VCPU_EXIT_REASON]);
    }
    now = sys_clock();
    if (now < deadline) {
        panic("%s: left %lu ns early\n", step, deadline - now);
    }
    passed();
    step = "notification already set";
    require(sys_signal(bell));
    expect_bell();
    passed();
    vcpu[VCPU_RIP] = offset_of(tiny_after_spin);
    step = "notification from another processor";
    for (uint32_t i = 0; i < RINGS; i++) {
        expect_bell();
    }
    passed();
    vcpu[VCPU_RIP] = offset_of(tiny_after_second_spin);
}

/* One question is answered by the kernel from the list in the page, the other, of another subleaf, exits. */
static void listed_answers(void)
{
    vcpu[VCPU_CPUID] = 0x13572468ul | 7ul << 32;
    vcpu[VCPU_CPUID + 1] = 0x0badcafeul | 0x11111111ul << 32;
    vcpu[VCPU_CPUID + 2] = 0x22222222ul | 0x33333333ul << 32;
    vcpu[VCPU_CPUID_COUNT] = 1;
    expect_io("listed answer to cpuid", 0x92, 4, 0);
    expect_word(vcpu[VCPU_GPR], 0x0badcafe);
    expect_io("the rest of it", 0x93, 4, 0);
    expect_word(vcpu[VCPU_GPR] | vcpu[VCPU_GPR + 1] << 32, 0x2222222233333333ul);
    expect("question not listed", VCPU_EXIT_CPUID);
    expect_word(vcpu[VCPU_GPR + 1], 8);
    skip();
}

static void refused_instructions(void)
{
    expect("hypercall", VCPU_EXIT_HYPERCALL);
    skip();
    expect("cache flush", VCPU_EXIT_CACHE);
    skip();
    expect("performance counter", VCPU_EXIT_INSTRUCTION);
    expect_word(vcpu[VCPU_EXIT_INFO1], 13);
    vcpu[VCPU_RIP] += 2;
    expect("change of the vector unit's state", VCPU_EXIT_INSTRUCTION);
    expect_word(vcpu[VCPU_EXIT_INFO1], 6);
    vcpu[VCPU_RIP] = offset_of(tiny_after_xsetbv);
    expect_io("after refused instructions", 0x8e, 1, 0);
    passed();
}

static void timing(void)
{
    uint64_t begin = sys_clock();
    for (uint32_t i = 0; i < TIMED_EXITS; i++) {
        expect_io("many exits", 0x8f, 1, 0);
    }
    print("tiny guest: %u exits, %lu ns each\n", TIMED_EXITS, (sys_clock() - begin) / TIMED_EXITS);
}

static void ends(void)
{
    vcpu[VCPU_CR0] = 0x20000010; /* not-write-through without cache-disable */
    vcpu[VCPU_CHANGED] = VCPU_CHANGED_CONTROL;
    expect("state that cannot be", VCPU_EXIT_INVALID_STATE);
    passed();
    vcpu[VCPU_CR0] = 0x10;
    vcpu[VCPU_CHANGED] = VCPU_CHANGED_CONTROL;
    vcpu[VCPU_INJECT] = 7ul << 8 | INJECT_VALID; /* no such kind of event */
    expect("event that cannot be", VCPU_EXIT_INVALID_STATE);
    passed();
    vcpu[VCPU_INJECT] = VECTOR_UNDEFINED | INJECT_EXCEPTION | INJECT_VALID;
    vcpu[VCPU_IDTR] = 0;
    vcpu[VCPU_CHANGED] = VCPU_CHANGED_SEGMENTS | VCPU_CHANGED_CONTROL;
    expect("triple fault", VCPU_EXIT_SHUTDOWN);
    passed();
}

int main(void)
{
    vm = env_slot_of_kind("vm");
    bell = env_slot("notification.bell");
    set_up();
    instructions();
    refused_memory();
    nested_memory();
    events();
    registers();
    interruptions();
    listed_answers();
    refused_instructions();
    timing();
    ends();
    print("TINY-GUEST-DONE\n");
    return 0;
}
