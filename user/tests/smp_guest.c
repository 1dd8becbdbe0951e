/* A kernel for a guest with two virtual CPUs, run by the monitor from this file's ELF: the first one starts the second by INIT and
 * start-up messages, they interrupt each other, count together, and do what a guest should not. A line for each step; anything
 * unexpected is said and ends it. The command line says how it ends: `off`, `fault` (the second CPU's triple fault) or `dead` (both
 * halted for good). */
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "guest_kernel.h"

#define APIC 0xfee00000ul
#define REG_ID 0x20u
#define REG_END 0xb0u
#define REG_SPURIOUS 0xf0u
#define REG_COMMAND_LOW 0x300u
#define REG_COMMAND_HIGH 0x310u
#define MSR_BASE 0x1bu
#define BASE_WIDE 0x400ul
#define MSR_REGISTERS 0x800u

#define FIXED 0x4000u
#define LOWEST 0x4100u
#define NMI 0x4400u
#define INIT 0x4500u
#define START 0x4608u /* at page 8 */
#define SELF 0x40000u
#define OTHERS 0xc0000u

#define VECTOR_PING 0x40u
#define VECTOR_PONG 0x41u
#define VECTOR_WAKE 0x42u
#define VECTOR_STORM 0x60u /* sixteen of them */
#define VECTOR_NMI 2u
#define PINGS 100u
#define STORM 320u
#define ADDITIONS 100000u
#define TIMES 100u
#define EXITS 20000u
#define POWER_OFF_PORT 0x604u
#define POWER_OFF 0x3400u

/* What the first CPU wants of the second. */
enum task { NOTHING, ADD, SEND, TELL_TIME, LOAD_STATE, GO_WIDE, LOOP_DEAF, HALT_DEAF, FAULT };

static volatile uint32_t task, done;
static volatile uint32_t pings[2], pongs[2], storms[2], nmis, faults;
static volatile uint64_t sum, times;
static volatile uint32_t is_wide[2];
static volatile uint32_t is_loading; /* 1: the second CPU is to go on loading x87 state */
static uint8_t vector_state[512] __attribute__((aligned(16)));
static uint32_t step;

static uint64_t tsc(void)
{
    uint32_t low, high;
    __asm__ volatile("lfence\n\trdtsc" : "=a"(low), "=d"(high) : : "memory");
    return low | (uint64_t)high << 32;
}

static void stop(void)
{
    for (;;) {
        __asm__ volatile("cli\n\thlt");
    }
}

static void fail(const char *what)
{
    guest_say("SMP-GUEST-FAILED: ");
    guest_say(what);
    guest_say("\n");
    stop();
}

static void require(uint32_t holds, const char *what)
{
    if (holds == 0) {
        fail(what);
    }
}

static void say_step(const char *what)
{
    char line[64];
    format(line, sizeof line, "step %u: %s\n", ++step, what);
    guest_say(line);
}

/* ---- the local interrupt controller, in either mode ---- */

/* Which CPU this is: the first one has the first stack, the second one the others, a fresh one at each start. */
static uint32_t self(void)
{
    uint64_t stack;
    __asm__ volatile("mov %%rsp, %0" : "=r"(stack));
    return stack - (uint64_t)guest_stacks <= GUEST_STACK ? 0 : 1;
}

static void write_apic(uint32_t offset, uint32_t value)
{
    if (is_wide[self()]) {
        guest_write_msr(MSR_REGISTERS + (offset >> 4), value);
    } else {
        *(volatile uint32_t *)(APIC + offset) = value;
    }
}

static void command(uint32_t destination, uint32_t low)
{
    if (is_wide[self()]) {
        guest_write_msr(MSR_REGISTERS + (REG_COMMAND_LOW >> 4), (uint64_t)destination << 32 | low);
        return;
    }
    write_apic(REG_COMMAND_HIGH, destination << 24);
    write_apic(REG_COMMAND_LOW, low);
}

void guest_interrupt(uint64_t vector)
{
    uint32_t me = self();
    if (vector == VECTOR_NMI) {
        nmis++;
        return;
    }
    if (vector < 32) {
        faults++;
        fail("an exception");
    }
    if (vector == VECTOR_PING) {
        pings[me]++;
        write_apic(REG_END, 0);
        command(me ^ 1, FIXED | VECTOR_PONG);
        return;
    }
    pongs[me] += vector == VECTOR_PONG;
    storms[me] += vector >= VECTOR_STORM && vector < VECTOR_STORM + 16;
    write_apic(REG_END, 0);
}

/* Sleeps until *word is `wanted` or more, which an interrupt follows. */
static void await(volatile const uint32_t *word, uint32_t wanted)
{
    __asm__ volatile("cli");
    while (*word < wanted) {
        __asm__ volatile("sti\n\thlt\n\tcli" : : : "memory");
    }
    __asm__ volatile("sti");
}

static void add(void)
{
    for (uint32_t i = 0; i < ADDITIONS; i++) {
        __asm__ volatile("lock incq %0" : "+m"(sum));
    }
}

static void storm(uint32_t other)
{
    for (uint32_t i = 0; i < STORM; i++) {
        command(other, FIXED | (VECTOR_STORM + i % 16));
    }
}

/* Each sees the other's time, one after the other: it never goes back. */
static void tell_time(uint32_t parity)
{
    for (uint32_t i = parity; i < TIMES; i += 2) {
        while ((times >> 48) != i) {
            __asm__ volatile("pause");
        }
        uint64_t before = times & 0xfffffffffffful, now = tsc() & 0xfffffffffffful;
        require(now >= before, "the time goes back from one CPU to the other");
        times = (uint64_t)(i + 1) << 48 | now;
    }
}

/* As context switches do. An emulator may change another CPU's flags then. */
static void load_state(void)
{
    __asm__ volatile("fxsave %0" : "=m"(vector_state));
    while (is_loading != 0) {
        __asm__ volatile("fxrstor %0" : : "m"(vector_state));
    }
}

/* Without interrupts: one that came in between would be ended in the old mode, and never end. */
static void go_wide(void)
{
    __asm__ volatile("cli");
    guest_write_msr(MSR_BASE, guest_read_msr(MSR_BASE) | BASE_WIDE);
    is_wide[self()] = 1;
    __asm__ volatile("sti");
    require(guest_read_msr(MSR_REGISTERS + (REG_ID >> 4)) == self(), "the identifier in x2APIC mode");
}

/* ---- the second CPU ---- */

static void second(void)
{
    is_wide[1] = (guest_read_msr(MSR_BASE) & BASE_WIDE) != 0;
    write_apic(REG_SPURIOUS, 0x1ff);
    done = 1;
    command(0, FIXED | VECTOR_WAKE);
    for (;;) {
        await(&task, NOTHING + 1);
        uint32_t now = task;
        task = NOTHING;
        if (now == ADD) {
            add();
        } else if (now == SEND) {
            storm(0);
        } else if (now == TELL_TIME) {
            tell_time(1);
        } else if (now == LOAD_STATE) {
            load_state();
        } else if (now == GO_WIDE) {
            go_wide();
        } else if (now == LOOP_DEAF) {
            __asm__ volatile("cli\n\tmovl $1, %0\n1:\tjmp 1b" : "=m"(done));
        } else if (now == HALT_DEAF) {
            __asm__ volatile("cli\n\tmovl $1, %0\n1:\thlt\n\tjmp 1b" : "=m"(done));
        } else if (now == FAULT) {
            __asm__ volatile("push $0\n\tpush $0\n\tlidt (%rsp)\n\tud2");
        }
        done = 1;
        command(0, FIXED | VECTOR_WAKE);
    }
}

/* ---- the first CPU ---- */

static void let_second(enum task what)
{
    done = 0;
    task = what;
    command(1, FIXED | VECTOR_WAKE);
}

static void await_second(void)
{
    await(&done, 1);
}

/* What the second CPU does before it cannot interrupt any more. */
static void await_deaf(void)
{
    while (done == 0) {
        __asm__ volatile("pause");
    }
}

/* Starts the second CPU, which is the one that comes as number `number`. */
static void start(uint32_t number)
{
    done = 0;
    command(1, INIT);
    command(1, START);
    command(1, START); /* it runs already, or will: no matter */
    await_second();
    require(guest_started == number + 1, "the second CPU starts twice, or not anew");
}

static void ping(uint32_t times_wanted)
{
    for (uint32_t i = 0; i < times_wanted; i++) {
        uint32_t before = pongs[0];
        command(1, FIXED | VECTOR_PING);
        await(&pongs[0], before + 1);
    }
}

static void exchange(void)
{
    start(1);
    say_step("the second CPU has started");
    ping(PINGS);
    require(pings[1] == PINGS && pongs[0] == PINGS, "interrupts were lost or came twice");
    say_step("each interrupt is answered once");
    let_second(ADD);
    add();
    await_second();
    require(sum == 2 * ADDITIONS, "the sum is wrong");
    say_step("both have counted");
    let_second(TELL_TIME);
    tell_time(0);
    await_second();
    say_step("the time is one");
    is_loading = 1;
    let_second(LOAD_STATE);
    for (uint32_t i = 0; i < EXITS; i++) {
        uint32_t a = 0, b, c = 0, d;
        __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    }
    is_loading = 0;
    await_second();
    say_step("exits come and go while the other CPU loads x87 state");
}

static void misbehave(void)
{
    uint32_t before = pings[1];
    let_second(SEND);
    storm(1);
    await_second();
    ping(1);
    require(storms[0] > 0 && storms[1] > 0, "nothing of a storm arrives");
    say_step("storms pass");
    for (uint32_t vector = 0; vector < 16; vector++) {
        command(1, FIXED | vector);
        command(0, SELF | FIXED | vector);
    }
    command(1, START);
    command(0, START); /* to itself */
    command(0, SELF | INIT);
    command(7, FIXED | VECTOR_PING);
    command(7, INIT);
    ping(1);
    require(pings[1] == before + 2 && guest_started == 2, "what is void had an effect");
    say_step("void messages have no effect");
    command(0, SELF | FIXED | VECTOR_STORM);
    uint32_t seen = pongs[0];
    command(0, OTHERS | FIXED | VECTOR_PING);
    await(&pongs[0], seen + 1);
    command(1, NMI);
    ping(1); /* the NMI comes first */
    require(nmis == 1, "an NMI came twice");
    say_step("shorthands and NMI arrive");
}

static void revive(void)
{
    let_second(HALT_DEAF);
    await_deaf();
    command(1, FIXED | VECTOR_PING); /* is not taken */
    start(2);
    ping(1);
    say_step("a CPU that was halted for good starts anew");
    let_second(LOOP_DEAF);
    await_deaf();
    start(3);
    ping(1);
    say_step("a running CPU is stopped and starts anew");
}

static void wide(void)
{
    uint32_t a = 1, b, c = 0, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    require((b >> 16 & 0xff) == 2 && b >> 24 == 0, "CPUID tells of another number of CPUs");
    if ((c >> 21 & 1) != 0) {
        let_second(GO_WIDE);
        go_wide();
        await_second();
        ping(PINGS);
        say_step("x2APIC");
    }
}

static void end(const char *how)
{
    if (strncmp(how, "fault", 5) == 0) {
        let_second(FAULT);
        stop();
    }
    if (strncmp(how, "dead", 4) == 0) {
        let_second(HALT_DEAF);
        stop();
    }
    guest_out_16(POWER_OFF_PORT, POWER_OFF);
    stop();
}

void guest_main(uint64_t cpu, uint64_t start_info)
{
    if (cpu != 0) {
        second();
    }
    guest_prepare();
    write_apic(REG_SPURIOUS, 0x1ff);
    __asm__ volatile("sti");
    exchange();
    misbehave();
    revive();
    wide();
    guest_say("SMP-GUEST-DONE\n");
    end(*(const char *const *)(start_info + 24));
}

int main(void)
{
    print("smp_guest is a kernel for a guest: name it as `kernel` of a [vm.NAME]\n");
    return 1;
}
