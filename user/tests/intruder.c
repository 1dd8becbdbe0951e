/* Tries everything it may not: each attempt must end in the fault or the error that is listed with it, and nothing else.
 * Its faults go to fault_handler, which lets it go on after each one. */
#include "fault_handler.h"

#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"

#define ANY_FAULT 255u
#define DIVIDE 0u
#define INVALID_OPCODE 6u
#define GENERAL_PROTECTION 13u
#define PAGE_FAULT 14u
#define KERNEL_IMAGE 0xffffffff80000000ul
#define KERNEL_DIRECT_MAP 0xffff800000000000ul
#define NOT_CANONICAL 0x0000900000000000ul
#define UNMAPPED 0x0000000077770000ul
#define SPARE 0x0000000050000000ul
#define NUM_SLOTS_TRIED 80u

static uint32_t faults;
static uint32_t failures;
static uint32_t attempts;
static uint64_t writable_word;

/* Runs probe; returns when it returns or when the fault handler skips to attempt_resume, with the stack as it was. */
void attempt(void (*probe)(void));
extern const char attempt_resume[];
__asm__(".text\n"
        "attempt:\n"
        "    push %rbx\n    push %rbp\n    push %r12\n    push %r13\n    push %r14\n    push %r15\n"
        "    mov %rsp, attempt_stack(%rip)\n"
        "    call *%rdi\n"
        "attempt_resume:\n"
        "    mov attempt_stack(%rip), %rsp\n"
        "    pop %r15\n    pop %r14\n    pop %r13\n    pop %r12\n    pop %rbp\n    pop %rbx\n"
        "    ret\n"
        ".bss\n"
        ".balign 8\n"
        "attempt_stack: .skip 8\n"
        ".text\n");

static uint64_t ask(uint64_t request, uint64_t argument)
{
    struct message message = {.count = 2, .word = {request, argument}};
    uint32_t status = message_call(faults, &message);

    if (status != STATUS_OK) {
        panic("calling the fault handler: error %u\n", status);
    }
    return message.word[0];
}

static void expect_fault(const char *what, void (*probe)(void), uint32_t vector)
{
    attempts++;
    attempt(probe);
    uint64_t happened = ask(HANDLER_WHAT_HAPPENED, 0);
    if (happened == 0) {
        failures++;
        print("INTRUDER FAILED: %s: no fault\n", what);
    } else if (vector != ANY_FAULT && happened != vector + 1) {
        failures++;
        print("INTRUDER FAILED: %s: exception %lu instead of %u\n", what, happened - 1, vector);
    }
}

static void expect_status(const char *what, uint64_t status, uint64_t expected)
{
    attempts++;
    if (status != expected) {
        failures++;
        print("INTRUDER FAILED: %s: status %lu instead of %lu\n", what, status, expected);
    }
}

static void read_at(uint64_t address)
{
    *(volatile uint64_t *)address;
}

static void write_at(uint64_t address)
{
    *(volatile uint64_t *)address = 0x6261642077726974ul;
}

static void execute_at(uint64_t address)
{
    ((void (*)(void))address)();
}

#define PROBE(name, statement)                                                                                         \
    static void name(void)                                                                                             \
    {                                                                                                                  \
        statement;                                                                                                     \
    }
PROBE(read_kernel, read_at(KERNEL_IMAGE))
PROBE(write_kernel, write_at(KERNEL_IMAGE))
PROBE(execute_kernel, execute_at(KERNEL_IMAGE))
PROBE(read_direct_map, read_at(KERNEL_DIRECT_MAP))
PROBE(write_direct_map, write_at(KERNEL_DIRECT_MAP + 0x100000))
PROBE(read_null, read_at(0))
PROBE(read_unmapped, read_at(UNMAPPED))
PROBE(read_not_canonical, read_at(NOT_CANONICAL))
PROBE(execute_not_canonical, execute_at(NOT_CANONICAL))
PROBE(write_code, write_at((uint64_t)&attempt))
PROBE(write_environment, write_at(ENV_VADDR))
PROBE(execute_data, execute_at((uint64_t)&writable_word))
PROBE(execute_message_page, execute_at(MESSAGE_VADDR))
PROBE(halt, __asm__ volatile("hlt"))
PROBE(interrupts_off, __asm__ volatile("cli"))
PROBE(interrupts_on, __asm__ volatile("sti"))
PROBE(port_read, __asm__ volatile("inb $0x60, %%al" ::: "rax"))
PROBE(port_write, __asm__ volatile("outb %%al, $0xf4" ::: "memory"))
PROBE(msr_read, __asm__ volatile("rdmsr" ::"c"(0xc0000080) : "rax", "rdx"))
PROBE(msr_write, __asm__ volatile("wrmsr" ::"c"(0xc0000082), "a"(0), "d"(0)))
PROBE(page_map_read, __asm__ volatile("mov %%cr3, %%rax" ::: "rax"))
PROBE(page_map_write, __asm__ volatile("mov %0, %%cr3" ::"r"(0ul)))
PROBE(protection_off, __asm__ volatile("mov %0, %%cr0" ::"r"(0x11ul)))
PROBE(load_idt, __asm__ volatile("lidt %0" ::"m"(writable_word)))
PROBE(load_task, __asm__ volatile("ltr %%ax" ::"a"(0x28)))
PROBE(load_local_segment, __asm__ volatile("mov %0, %%es" ::"r"(0x7)))
PROBE(load_last_local_segment, __asm__ volatile("mov %0, %%fs" ::"r"(0xffff)))
PROBE(swap_gs, __asm__ volatile("swapgs"))
PROBE(system_return, __asm__ volatile("sysretq" ::: "memory"))
PROBE(invalidate_caches, __asm__ volatile("wbinvd"))
PROBE(kernel_interrupt, __asm__ volatile("int $0x20"))
PROBE(timer_interrupt, __asm__ volatile("int $0x38"))
PROBE(run_guest, __asm__ volatile("vmrun" ::"a"(0)))
PROBE(divide, __asm__ volatile("xor %%ecx, %%ecx\n\tdiv %%ecx" ::: "rax", "rcx", "rdx"))
PROBE(undefined, __asm__ volatile("ud2"))
PROBE(return_to_kernel,
      __asm__ volatile("push $0x10\n\tpush %%rsp\n\tpush $0x2\n\tpush $0x8\n\tpush %0\n\tiretq" ::"r"(KERNEL_IMAGE)
                       : "memory"))

static void try_instructions(void)
{
    ask(HANDLER_RESUME_AT, (uint64_t)attempt_resume);
    expect_fault("reading the kernel", read_kernel, PAGE_FAULT);
    expect_fault("writing the kernel", write_kernel, PAGE_FAULT);
    expect_fault("executing the kernel", execute_kernel, PAGE_FAULT);
    expect_fault("reading physical memory", read_direct_map, PAGE_FAULT);
    expect_fault("writing physical memory", write_direct_map, PAGE_FAULT);
    expect_fault("reading address 0", read_null, PAGE_FAULT);
    expect_fault("reading an unmapped page", read_unmapped, PAGE_FAULT);
    expect_fault("reading a non-canonical address", read_not_canonical, GENERAL_PROTECTION);
    expect_fault("jumping to a non-canonical address", execute_not_canonical, ANY_FAULT);
    expect_fault("writing its own code", write_code, PAGE_FAULT);
    expect_fault("writing its environment", write_environment, PAGE_FAULT);
    expect_fault("executing its data", execute_data, PAGE_FAULT);
    expect_fault("executing its message page", execute_message_page, PAGE_FAULT);
    expect_fault("hlt", halt, GENERAL_PROTECTION);
    expect_fault("cli", interrupts_off, GENERAL_PROTECTION);
    expect_fault("sti", interrupts_on, GENERAL_PROTECTION);
    expect_fault("in", port_read, GENERAL_PROTECTION);
    expect_fault("out", port_write, GENERAL_PROTECTION);
    expect_fault("rdmsr", msr_read, GENERAL_PROTECTION);
    expect_fault("wrmsr", msr_write, GENERAL_PROTECTION);
    expect_fault("reading cr3", page_map_read, GENERAL_PROTECTION);
    expect_fault("writing cr3", page_map_write, GENERAL_PROTECTION);
    expect_fault("writing cr0", protection_off, GENERAL_PROTECTION);
    expect_fault("lidt", load_idt, GENERAL_PROTECTION);
    expect_fault("ltr", load_task, GENERAL_PROTECTION);
    expect_fault("a segment of a local table", load_local_segment, GENERAL_PROTECTION);
    expect_fault("the last segment of a local table", load_last_local_segment, GENERAL_PROTECTION);
    expect_fault("swapgs", swap_gs, GENERAL_PROTECTION);
    expect_fault("sysret", system_return, GENERAL_PROTECTION);
    expect_fault("wbinvd", invalidate_caches, GENERAL_PROTECTION);
    expect_fault("int of a hardware interrupt", kernel_interrupt, GENERAL_PROTECTION);
    expect_fault("int of the timer", timer_interrupt, GENERAL_PROTECTION);
    expect_fault("vmrun", run_guest, ANY_FAULT);
    /* QEMU reads the frame of a user-mode iretq with the kernel's rights, so SMAP makes this a page fault there. */
    expect_fault("iretq into the kernel", return_to_kernel, ANY_FAULT);
    expect_fault("dividing by zero", divide, DIVIDE);
    expect_fault("ud2", undefined, INVALID_OPCODE);
}

/* The slot of the fault endpoint is the only endpoint right it has, and that is a right to send. */
static void try_slots(void)
{
    uint64_t bits = 0;
    uint64_t word = 0;
    struct message message = {0};

    for (uint32_t slot = 0; slot < NUM_SLOTS_TRIED; slot++) {
        if (slot != faults) {
            message.count = 0;
            expect_status("call", message_call(slot, &message), ERR_BAD_SLOT);
            expect_status("send", message_send(slot, &message), ERR_BAD_SLOT);
        }
        expect_status("recv", message_recv(slot, &message), ERR_BAD_SLOT);
        expect_status("signal", sys_signal(slot), ERR_BAD_SLOT);
        expect_status("wait", sys_wait(slot, 0, &bits), ERR_BAD_SLOT);
        expect_status("poll", sys_poll(slot, &bits), ERR_BAD_SLOT);
        expect_status("buffer insert", sys_buffer_insert(slot, 1), ERR_BAD_SLOT);
        expect_status("buffer remove", sys_buffer_remove(slot, &word), ERR_BAD_SLOT);
        expect_status("share offer", sys_share_offer(slot, MESSAGE_VADDR), ERR_BAD_SLOT);
        expect_status("share accept", sys_share_accept(slot, SPARE, PROT_READ), ERR_BAD_SLOT);
        expect_status("process create", sys_process_create(slot), ERR_BAD_SLOT);
        expect_status("process copy", sys_process_copy(slot, SPARE, MESSAGE_VADDR, PROT_READ), ERR_BAD_SLOT);
        expect_status("process start", sys_process_start(slot, SPARE, SPARE, 0), ERR_BAD_SLOT);
        expect_status("process kill", sys_process_kill(slot), ERR_BAD_SLOT);
        expect_status("interrupt acknowledge", sys_irq_ack(slot), ERR_BAD_SLOT);
        expect_status("device map", sys_device_map(slot, SPARE, 0), ERR_BAD_SLOT);
        expect_status("port in", sys_port_in(slot, 0, 1, &word), ERR_BAD_SLOT);
        expect_status("port out", sys_port_out(slot, 0, 1, 0), ERR_BAD_SLOT);
        expect_status("dma address", sys_dma_address(slot, MESSAGE_VADDR, DMA_PHYSICAL, &word), ERR_BAD_SLOT);
        expect_status("vm map", sys_vm_map(slot, 0, MESSAGE_VADDR, 1, PROT_READ), ERR_BAD_SLOT);
        expect_status("vcpu page", sys_vcpu_page(slot, SPARE), ERR_BAD_SLOT);
        expect_status("vcpu run", sys_vcpu_run(slot, 0, NO_SLOT, &word), ERR_BAD_SLOT);
        expect_status("power off", sys_power_off(slot, 0), ERR_BAD_SLOT);
        expect_status("walk of the kernel's tables", sys_check(slot, &word), ERR_BAD_SLOT);
    }
    message.count = MESSAGE_MAX_WORDS + 1;
    expect_status("call with too many words", sys_plain(SYS_CALL, faults, message.count, 0, 0, 0), ERR_BAD_ARGUMENT);
    expect_status("reply without a caller", message_reply(&(struct message){0}), ERR_NO_REPLY_PENDING);
}

static void try_memory(void)
{
    uint32_t read_write = PROT_READ | PROT_WRITE;

    expect_status("mapping write and execute", sys_mem_map(SPARE, 1, read_write | PROT_EXEC), ERR_BAD_ARGUMENT);
    expect_status("mapping unknown protection", sys_mem_map(SPARE, 1, 0x80), ERR_BAD_ARGUMENT);
    expect_status("mapping page 0", sys_mem_map(0, 1, read_write), ERR_BAD_ADDRESS);
    expect_status("mapping unaligned", sys_mem_map(SPARE + 8, 1, read_write), ERR_BAD_ADDRESS);
    expect_status("mapping the kernel", sys_mem_map(KERNEL_IMAGE, 1, read_write), ERR_BAD_ADDRESS);
    expect_status("mapping the direct map", sys_mem_map(KERNEL_DIRECT_MAP, 1, read_write), ERR_BAD_ADDRESS);
    expect_status("mapping past the end", sys_mem_map(USER_END - PAGE_SIZE, 2, read_write), ERR_BAD_ADDRESS);
    expect_status("mapping too much", sys_mem_map(SPARE, ~0ul, read_write), ERR_BAD_ADDRESS);
    expect_status("mapping over code", sys_mem_map((uint64_t)&attempt & ~0xffful, 1, read_write), ERR_ALREADY_MAPPED);
    expect_status("unmapping nothing", sys_mem_unmap(SPARE, 1), ERR_BAD_ADDRESS);
    expect_status("unmapping the kernel", sys_mem_unmap(KERNEL_IMAGE, 1), ERR_BAD_ADDRESS);
    expect_status("unmapping a message page", sys_mem_unmap(MESSAGE_VADDR, 1), ERR_BAD_ADDRESS);
}

static void try_numbers(void)
{
    static const uint64_t numbers[] = {NUM_SYSCALL, NUM_SYSCALL + 1, 0xff, 0x10000, 0xffffffff, 0x100000000, ~0ul};

    for (uint32_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        expect_status("unknown system call", sys_raw(numbers[i], 0, 0, 0, 0, 0).status, ERR_UNKNOWN_CALL);
    }
    expect_status("starting a thread it has not", sys_thread_start(1, SPARE, SPARE, 0), ERR_BAD_ARGUMENT);
    expect_status("starting thread 2^32", sys_thread_start(NO_SLOT, SPARE, SPARE, 0), ERR_BAD_ARGUMENT);
}

int main(void)
{
    faults = env_slot("endpoint.faults");
    try_instructions();
    try_slots();
    try_memory();
    try_numbers();
    if (failures != 0) {
        print("INTRUDER got through: %u of %u attempts\n", failures, attempts);
        return 1;
    }
    print("INTRUDER stopped: %u attempts, every one refused as documented\n", attempts);
    return 0;
}
