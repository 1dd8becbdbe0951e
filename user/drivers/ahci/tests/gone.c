/* An adapter that is taken away between two reads of its registers, or that has stopped with an error: none of its commands
 * counts as done. The registers are memory at the place where the driver looks for them. */
#define _GNU_SOURCE
#include "../command.c"
#include "../hba.c"

#include <sys/mman.h>

#include "../../../libc/tests/check.h"

#define AREA_BYTES 65536u

enum port port;
enum job job;
uint32_t has_failed, is_asleep, slots = NUM_SLOT, depth = NUM_SLOT, sector_size = SECTOR;
uint64_t sectors = 1u << 20;
const struct mail *domain_current;

static uint8_t area[AREA_BYTES];
static uint8_t payload[MAIL_PAYLOAD];
static uint64_t done_slots, num_failed;

uint64_t dma_size(uint32_t protocol)
{
    (void)protocol;
    return AREA_BYTES;
}

uint64_t driver_number(const char *name, uint64_t fallback)
{
    (void)name;
    return fallback;
}

volatile void *dma_memory(uint32_t protocol, uint64_t offset)
{
    (void)protocol;
    return area + offset;
}

uint64_t dma_physical(uint32_t protocol, uint64_t offset)
{
    (void)protocol;
    return offset;
}

void *domain_emit_begin(uint32_t mailbox, uint64_t cookie)
{
    if (mailbox == SATA_DONE) {
        done_slots |= 1ul << cookie;
    }
    num_failed += mailbox == SATA_FAILED;
    return payload;
}

void domain_emit_end(uint32_t mailbox, uint64_t cookie)
{
    (void)mailbox;
    (void)cookie;
}

/* Nothing here is waited for. */
uint32_t domain_await(const struct mail_set *set, uint64_t deadline)
{
    (void)set;
    (void)deadline;
    CHECK(0);
    return 0;
}

void arm_timer(uint64_t nanoseconds)
{
    (void)nanoseconds;
}

void cancel_timer(void)
{
}

static void set_all_registers(uint32_t value)
{
    for (uint32_t offset = 0; offset < 4096; offset += 4) {
        write32(offset, value);
    }
}

/* The adapter as it is between two commands, with the queued ones of `busy` still under way. */
static void set_working(uint32_t busy)
{
    set_all_registers(0);
    has_failed = 0;
    write32(HBA_GHC, GHC_AHCI | GHC_INTERRUPTS);
    write32(port_register(PX_SACT), busy);
}

static void begin(void)
{
    issued = 0xf0u;
    done_slots = 0;
    num_failed = 0;
}

static void test_completions(void)
{
    begin();
    set_working(0x90u);
    reap();
    CHECK(done_slots == 0x60u && issued == 0x90u);
}

static void test_gone(uint32_t reads_as)
{
    begin();
    set_all_registers(reads_as);
    reap();
    CHECK(done_slots == 0 && issued == 0xf0u);
    fail_all();
    CHECK(num_failed == 4 && issued == 0);
}

/* A command that is not queued. The device takes it, and perhaps is done with it. */
static uint32_t executes(uint32_t is_finished)
{
    issued = 0;
    execute(ATA_FLUSH, 0, 0, 0);
    CHECK(read32(port_register(PX_CI)) == 1);
    if (is_finished) {
        write32(port_register(PX_CI), 0);
    }
    return has_executed();
}

/* The zeros that are read where the adapter was are no good state. */
static void test_executed(void)
{
    set_working(0);
    CHECK(executes(1));
    CHECK(!executes(0) && is_executing());
    set_all_registers(0);
    CHECK(!executes(1));
    set_all_registers(0xffffffffu);
    CHECK(!executes(1) && !is_executing());
}

/* An error counts whether it is read from the register or an interrupt has told of it, and although a queued command has ended well
 * after it: the status is that one's. */
static void test_errors(void)
{
    set_working(0);
    write32(port_register(PX_IS), INT_ERRORS);
    CHECK(!executes(0) && !is_executing());
    set_working(0);
    write32(port_register(PX_IS), INT_ERRORS);
    CHECK(!executes(1));
    set_working(0);
    execute(ATA_FLUSH, 0, 0, 0);
    has_failed = 1;
    write32(port_register(PX_CI), 0);
    CHECK(!is_executing() && !has_executed());
}

int main(void)
{
    void *registers = mmap((void *)REGISTERS_ADDRESS, 4096, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    CHECK(registers == (void *)REGISTERS_ADDRESS);
    test_completions();
    test_gone(0);
    test_gone(0xffffffffu);
    test_executed();
    test_errors();
    return 0;
}
