/* Device resources: the edges of windows and port ranges, and through system calls what a process without the
 * grant gets. */
#include "abi.h"
#include "device.h"
#include "hosted.h"
#include "invariants.h"
#include "process.h"
#include "test.h"
#include "world.h"

#define WINDOW_SLOT 1u
#define PORT_SLOT 2u
#define EMPTY_SLOT 3u
#define DMA_SLOT 4u
#define HERE 0x10000000ul

static void edges(void)
{
    device_init();
    CHECK_EQUAL(device_owner(0), NONE);
    CHECK_EQUAL(device_frame(0, 0), NONE);
    CHECK_EQUAL(device_port(0, 0, 1), NONE);
    device_define(0, GRANT_MMIO, 0xfe000000ul, 3 * 4096, 7);
    device_define(1, GRANT_PORT, 0x3f8, 8, 7);
    device_define(2, GRANT_PORT, 65532, 4, 7);
    device_define(3, GRANT_MMIO, 0xfffffffeul * 4096, 4096, 7); /* the last frame that has a number */
    CHECK_EQUAL(device_owner(0), 7);
    CHECK_EQUAL(device_frame(0, 0), 0xfe000);
    CHECK_EQUAL(device_frame(0, 2), 0xfe002);
    CHECK_EQUAL(device_frame(0, 3), NONE);
    CHECK_EQUAL(device_frame(0, ~0ul), NONE);
    CHECK_EQUAL(device_frame(0, 1ul << 52), NONE); /* page * 4096 would wrap to 0 */
    CHECK_EQUAL(device_frame(3, 0), 0xfffffffe);
    CHECK_EQUAL(device_frame(1, 0), NONE); /* a port range is no window */
    CHECK_EQUAL(device_port(0, 0, 1), NONE);
    CHECK_EQUAL(device_port(1, 0, 1), 0x3f8);
    CHECK_EQUAL(device_port(1, 7, 1), 0x3ff);
    CHECK_EQUAL(device_port(1, 7, 2), NONE);
    CHECK_EQUAL(device_port(1, 6, 2), 0x3fe);
    CHECK_EQUAL(device_port(1, 4, 4), 0x3fc);
    CHECK_EQUAL(device_port(1, 5, 4), NONE);
    CHECK_EQUAL(device_port(1, 8, 1), NONE);
    CHECK_EQUAL(device_port(1, ~0ul, 1), NONE);
    CHECK_EQUAL(device_port(1, ~0ul, 2), NONE);
    CHECK_EQUAL(device_port(1, 0, 0), NONE);
    CHECK_EQUAL(device_port(1, 0, 3), NONE);
    CHECK_EQUAL(device_port(1, 0, 8), NONE);
    CHECK_EQUAL(device_port(1, 0, 0x100000001ul), NONE);
    CHECK_EQUAL(device_port(2, 0, 4), 65532);
    CHECK_EQUAL(device_check(), 0);
    device_define(4, GRANT_PORT, 65533, 4, 7);
    CHECK_EQUAL(device_check(), 3);
    device_define(4, GRANT_PORT, 8, ~0ul, 7); /* the end wraps around */
    CHECK_EQUAL(device_check(), 3);
}

static void program(uint32_t thread)
{
    (void)thread;
    CHECK_EQUAL(user_call(SYS_DEVICE_MAP, WINDOW_SLOT, HERE, 2, 0, 0), STATUS_OK);
    CHECK_EQUAL(hosted_reach(HERE, 1), 0xfe002);
    CHECK_EQUAL(user_call(SYS_DEVICE_MAP, WINDOW_SLOT, HERE, 1, 0, 0), ERR_ALREADY_MAPPED);
    CHECK_EQUAL(user_call(SYS_DEVICE_MAP, WINDOW_SLOT, HERE + 4096, 3, 0, 0), ERR_BAD_ARGUMENT);
    CHECK_EQUAL(user_call(SYS_DEVICE_MAP, WINDOW_SLOT, HERE + 1, 0, 0, 0), ERR_BAD_ADDRESS);
    CHECK_EQUAL(user_call(SYS_DEVICE_MAP, WINDOW_SLOT, USER_END, 0, 0, 0), ERR_BAD_ADDRESS);
    CHECK_EQUAL(user_call(SYS_DEVICE_MAP, PORT_SLOT, HERE + 4096, 0, 0, 0), ERR_BAD_SLOT);
    CHECK_EQUAL(user_call(SYS_DEVICE_MAP, EMPTY_SLOT, HERE + 4096, 0, 0, 0), ERR_BAD_SLOT);
    CHECK_EQUAL(hosted_reach(HERE + 4096, 0), NONE);
    /* Device registers are not the process's memory: they cannot be offered, given to a device, or copied. */
    CHECK_EQUAL(user_call(SYS_DMA_ADDRESS, DMA_SLOT, HERE, DMA_PHYSICAL, 0, 0), ERR_BAD_ADDRESS);
    CHECK_EQUAL(user_call(SYS_MEM_UNMAP, HERE, 1, 0, 0, 0), STATUS_OK);
    CHECK_EQUAL(hosted_reach(HERE, 0), NONE);

    hosted_port_set(0x3fa, 0x5a);
    CHECK_EQUAL(user_call(SYS_PORT_IN, PORT_SLOT, 2, 1, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_first(), 0x5a);
    CHECK_EQUAL(user_call(SYS_PORT_OUT, PORT_SLOT, 3, 1, 0x77, 0), STATUS_OK);
    CHECK_EQUAL(hosted_port_value(0x3fb), 0x77);
    CHECK_EQUAL(user_call(SYS_PORT_OUT, PORT_SLOT, 8, 1, 0x11, 0), ERR_BAD_ARGUMENT);
    CHECK_EQUAL(user_call(SYS_PORT_IN, PORT_SLOT, 0, 3, 0, 0), ERR_BAD_ARGUMENT);
    CHECK_EQUAL(user_call(SYS_PORT_IN, WINDOW_SLOT, 0, 1, 0, 0), ERR_BAD_SLOT);
    CHECK_EQUAL(user_call(SYS_PORT_OUT, EMPTY_SLOT, 0, 1, 0, 0), ERR_BAD_SLOT);

    /* A page whose physical address a process has learnt stays mapped. */
    CHECK_EQUAL(user_call(SYS_MEM_MAP, HERE, 1, PROT_READ | PROT_WRITE, 0, 0), STATUS_OK);
    uint32_t frame = hosted_reach(HERE, 1);
    CHECK_EQUAL(user_call(SYS_DMA_ADDRESS, EMPTY_SLOT, HERE, DMA_PHYSICAL, 0, 0), ERR_BAD_SLOT);
    CHECK_EQUAL(user_call(SYS_DMA_ADDRESS, DMA_SLOT, HERE, 0, 0, 0), ERR_NOT_SUPPORTED); /* there is no IOMMU */
    CHECK_EQUAL(user_call(SYS_DMA_ADDRESS, DMA_SLOT, HERE, DMA_PHYSICAL, 0, 0), STATUS_OK);
    CHECK_EQUAL(user_first(), (uint64_t)frame * 4096);
    CHECK_EQUAL(user_call(SYS_MEM_UNMAP, HERE, 1, 0, 0, 0), ERR_BAD_STATE);
    CHECK_EQUAL(hosted_reach(HERE, 1), frame);
    CHECK_EQUAL(invariants_check(), 0);
    world_stop();
    user_call(SYS_THREAD_EXIT, 0, 0, 0, 0, 0);
}

static void through_calls(void)
{
    world_start(1);
    device_define(0, GRANT_MMIO, 0xfe000000ul, 3 * 4096, 0);
    device_define(1, GRANT_PORT, 0x3f8, 8, 0);
    world_process(0, NONE, 100, 0, 1, 0, 100, NONE);
    process_set_grant(0, WINDOW_SLOT, GRANT_MMIO, 0, 0, 0);
    process_set_grant(0, PORT_SLOT, GRANT_PORT, 1, 0, 0);
    process_set_grant(0, DMA_SLOT, GRANT_DMA, 0, 0, 0);
    world_create(0);
    world_start_process(0);
    world_run(program);
    CHECK_EQUAL(invariants_check(), 0);
}

int main(void)
{
    edges();
    through_calls();
    return TEST_END();
}
