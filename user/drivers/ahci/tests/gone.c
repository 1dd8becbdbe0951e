/* An adapter that is taken away between two reads of its registers, or that has stopped with an error: none of its commands
 * counts as done. The registers are memory at the place where the driver looks for them. */
#define _GNU_SOURCE
#include "../command.c"
#include "../hba.c"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "../../../libc/tests/check.h"

#define AREA_BYTES 65536u

enum port port;
uint32_t is_asleep, slots = NUM_SLOT, depth = NUM_SLOT, sector_size = SECTOR;
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
    write32(HBA_GHC, GHC_AHCI | GHC_INTERRUPTS);
    write32(PX_SACT, busy);
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

/* The device: it does what it is given. */
static void *finish_commands(void *is_over)
{
    while (!atomic_load((atomic_int *)is_over)) {
        write32(PX_CI, 0);
    }
    return 0;
}

static uint32_t executes(uint32_t is_finished)
{
    atomic_int is_over = 0;
    pthread_t device;

    issued = 0;
    if (is_finished) {
        CHECK(pthread_create(&device, 0, finish_commands, &is_over) == 0);
    }
    uint32_t is_done = execute(ATA_FLUSH, 0, 0, 0);
    if (is_finished) {
        atomic_store(&is_over, 1);
        CHECK(pthread_join(device, 0) == 0);
    }
    return is_done;
}

/* A command that is waited for. Its error is the last that the adapter says: the zeros after it are no good state. */
static void test_waited_for(void)
{
    set_all_registers(0);
    write32(PX_IS, INT_ERRORS);
    CHECK(!executes(0));
    set_all_registers(0);
    CHECK(!executes(1));
    set_working(0);
    CHECK(executes(1));
}

/* An error, after which a queued command has ended well: the status is that one's. */
static void test_status_of_another(void)
{
    set_working(0);
    write32(PX_IS, INT_ERRORS);
    CHECK(!executes(0));
    set_working(0);
    write32(PX_IS, INT_ERRORS);
    CHECK(!executes(1));
}

int main(void)
{
    void *registers = mmap((void *)REGISTERS_ADDRESS, 4096, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    CHECK(registers == (void *)REGISTERS_ADDRESS);
    test_completions();
    test_gone(0);
    test_gone(0xffffffffu);
    test_waited_for();
    test_status_of_another();
    return 0;
}
