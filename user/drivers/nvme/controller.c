/* The controller as a whole: what it can do, start and end of its work. What takes its time is looked at again after a tick of
 * the timer. */
#include "nvme.h"

#define TICK 10000000ul      /* ns */
#define TICKS_OF_TIMEOUT 50u /* of the unit in which the controller says how long it takes */
#define SHUTDOWN_TICKS 1000u
#define MOST_STRIDE 512u /* all six doorbells are in one page */

uint32_t is_up;
uint32_t stride;
static uint32_t ready_ticks;

/* One that has gone reads as zero or as all ones, which its version never is. */
static uint32_t controller_answers(void)
{
    uint32_t version = read32(VERSION);

    return version != 0u && version != GONE;
}

/* Returns 1 once the bits of the status are `value`. */
static uint32_t await_status(uint32_t mask, uint32_t value, uint32_t ticks)
{
    uint32_t status = read32(CSTS);

    while ((status & mask) != value) {
        if (ticks == 0u || status == GONE) {
            return 0;
        }
        ticks = ticks - 1u;
        arm_timer(TICK);
        AWAIT(TIMER_FIRED);
        status = read32(CSTS);
    }
    return 1;
}

/* Returns 1 if the driver can use such a controller. */
static uint32_t read_capabilities(void)
{
    uint32_t low = read32(CAP_LOW);
    uint32_t high = read32(CAP_HIGH);
    uint32_t bytes = 4u << (high & CAP_STRIDE);

    ready_ticks = ((low >> CAP_TIMEOUT_SHIFT) + 1u) * TICKS_OF_TIMEOUT;
    stride = bytes <= MOST_STRIDE ? bytes : MOST_STRIDE;
    return controller_answers() && (low & CAP_ENTRIES) >= NUM_ENTRY - 1u && bytes <= MOST_STRIDE &&
           (high & CAP_NVM) != 0u && (high >> CAP_PAGE_SHIFT & CAP_PAGE_MASK) == 0u;
}

static void write_address(uint32_t place, uint32_t offset)
{
    uint64_t physical = dma_physical(PCI_NUMBER, offset);

    write32(place, (uint32_t)physical);
    write32(place + 4u, (uint32_t)(physical >> 32));
}

uint32_t stop_controller(void)
{
    is_up = 0;
    write32(CC, CC_SETTINGS);
    return await_status(CSTS_READY, 0, ready_ticks);
}

void shut_down_controller(void)
{
    if (is_up) {
        write32(CC, CC_SETTINGS | CC_ENABLE | CC_SHUTDOWN);
        await_status(CSTS_SHUTDOWN, CSTS_SHUT_DOWN, SHUTDOWN_TICKS);
    }
    stop_controller();
}

uint32_t start_controller(void)
{
    if (dma_size(PCI_NUMBER) < AREA_SIZE || !read_capabilities() || !stop_controller()) {
        return 0;
    }
    clear_queues();
    write32(AQA, (NUM_ENTRY - 1u) << 16 | (NUM_ENTRY - 1u));
    write_address(ASQ, QUEUES_AT);
    write_address(ACQ, QUEUES_AT + PAGE);
    dma_barrier();
    write32(CC, CC_SETTINGS | CC_ENABLE);
    return await_status(CSTS_READY | CSTS_FATAL, CSTS_READY, ready_ticks);
}
