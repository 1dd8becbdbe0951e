/* All calls but the two on the fast path: an if-tree on the number. */
#include "abi.h"
#include "arch.h"
#include "endpoint.h"
#include "sched.h"
#include "syscall.h"
#include "syscall_parts.h"
#include "uctx.h"

static void syscall_send(uint32_t current)
{
    uint32_t status = syscall_message_valid(current, RIGHT_SEND);
    if (status != STATUS_OK) {
        uctx_set(current, UCTX_RAX, (uint64_t)status);
        return;
    }
    uint32_t e = syscall_object(current);
    uint64_t badge = syscall_badge(current);
    uint64_t n = uctx_get(current, UCTX_RSI);
    endpoint_send(e, badge, (uint32_t)n);
}

static void syscall_recv(uint32_t current)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_ENDPOINT, RIGHT_RECV);
    if (valid == 0u) {
        uctx_set(current, UCTX_RAX, ERR_BAD_SLOT);
        return;
    }
    uint32_t e = syscall_object(current);
    endpoint_recv(e);
}

static uint32_t syscall_reply(uint32_t current)
{
    uint32_t status = ERR_BAD_ARGUMENT;
    uint64_t n = uctx_get(current, UCTX_RSI);
    if (n <= MESSAGE_MAX_WORDS) {
        status = endpoint_reply((uint32_t)n);
    }
    return status;
}

static uint32_t syscall_yield(void)
{
    sched_yield();
    return STATUS_OK;
}

/* SYS_SHARE_OFFER .. SYS_BUFFER_REMOVE and memory. */
static uint32_t syscall_memory_family(uint32_t current, uint64_t number)
{
    uint32_t status = ERR_UNKNOWN_CALL;
    if (number == SYS_MEM_MAP) {
        status = syscall_mem_map(current);
    } else if (number == SYS_MEM_UNMAP) {
        status = syscall_mem_unmap(current);
    } else if (number == SYS_SHARE_OFFER) {
        status = syscall_share_offer(current);
    } else if (number == SYS_SHARE_ACCEPT) {
        status = syscall_share_accept(current);
    } else if (number == SYS_SHARE_WITHDRAW) {
        status = syscall_share_withdraw(current);
    }
    return status;
}

/* The calls that may wake others after they have waited. */
static void syscall_buffer_family(uint32_t current, uint64_t number)
{
    uint32_t status = ERR_UNKNOWN_CALL;
    if (number == SYS_BUFFER_INSERT) {
        status = syscall_buffer_insert(current);
    } else if (number == SYS_BUFFER_REMOVE) {
        status = syscall_buffer_remove(current);
    }
    uctx_set(current, UCTX_RAX, (uint64_t)status);
}

static uint32_t syscall_process_family(uint32_t current, uint64_t number)
{
    uint32_t status = ERR_UNKNOWN_CALL;
    if (number == SYS_PROCESS_CREATE) {
        status = syscall_process_create(current);
    } else if (number == SYS_PROCESS_COPY) {
        status = syscall_process_copy(current);
    } else if (number == SYS_PROCESS_START) {
        status = syscall_process_start(current);
    } else if (number == SYS_PROCESS_KILL) {
        status = syscall_process_kill(current);
    } else if (number == SYS_PROCESS_STATUS) {
        status = syscall_process_status(current);
    } else if (number == SYS_PROCESS_EXIT) {
        status = syscall_process_exit(current);
    } else if (number == SYS_QUOTA) {
        status = syscall_quota(current);
    }
    return status;
}

static uint32_t syscall_device_family(uint32_t current, uint64_t number)
{
    uint32_t status = ERR_UNKNOWN_CALL;
    if (number == SYS_IRQ_ACK) {
        status = syscall_irq_ack(current);
    } else if (number == SYS_DEVICE_MAP) {
        status = syscall_device_map(current);
    } else if (number == SYS_PORT_IN) {
        status = syscall_port_in(current);
    } else if (number == SYS_PORT_OUT) {
        status = syscall_port_out(current);
    } else if (number == SYS_DMA_ADDRESS) {
        status = syscall_dma_address(current);
    }
    return status;
}

static uint32_t syscall_machine_family(uint32_t current, uint64_t number)
{
    uint32_t status = ERR_UNKNOWN_CALL;
    if (number == SYS_VCPU_RUN) {
        status = syscall_vcpu_run(current);
    } else if (number == SYS_VM_MAP) {
        status = syscall_vm_map(current);
    } else if (number == SYS_VM_UNMAP) {
        status = syscall_vm_unmap(current);
    } else if (number == SYS_VCPU_PAGE) {
        status = syscall_vcpu_page(current);
    } else if (number == SYS_CONSOLE_WRITE) {
        status = syscall_console_write(current);
    } else if (number == SYS_CONSOLE_READ) {
        status = syscall_console_read(current);
    } else if (number == SYS_POWER_OFF) {
        status = syscall_power_off(current);
    } else if (number == SYS_CHECK) {
        status = syscall_check(current);
    }
    return status;
}

/* SYS_NULL and SYS_REPLY .. SYS_THREAD_START without those that are dispatched before. */
static uint32_t syscall_small_family(uint32_t current, uint64_t number)
{
    uint32_t status = ERR_UNKNOWN_CALL;
    if (number == SYS_NULL) {
        status = STATUS_OK;
    } else if (number == SYS_REPLY) {
        status = syscall_reply(current);
    } else if (number == SYS_SIGNAL) {
        status = syscall_signal(current);
    } else if (number == SYS_POLL) {
        status = syscall_poll(current);
    } else if (number == SYS_YIELD) {
        status = syscall_yield();
    } else if (number == SYS_SLEEP) {
        status = syscall_sleep(current);
    } else if (number == SYS_CLOCK) {
        status = syscall_clock(current);
    } else if (number == SYS_THREAD_START) {
        status = syscall_thread_start(current);
    }
    return status;
}

uint32_t syscall_dispatch_other(uint32_t current, uint64_t number)
{
    uint32_t status = STATUS_OK;
    if (number == SYS_SEND) {
        syscall_send(current);
        return 0u;
    }
    if (number == SYS_RECV) {
        syscall_recv(current);
        return 0u;
    }
    if (number == SYS_WAIT) {
        syscall_wait(current);
        return 0u;
    }
    if (number == SYS_THREAD_EXIT) {
        return SYSCALL_ENDS;
    }
    if (number <= SYS_THREAD_START) {
        status = syscall_small_family(current, number);
    } else if (number < SYS_BUFFER_INSERT) {
        status = syscall_memory_family(current, number);
    } else if (number <= SYS_BUFFER_REMOVE) {
        syscall_buffer_family(current, number);
        return SYSCALL_WAITED;
    } else if (number <= SYS_QUOTA) {
        status = syscall_process_family(current, number);
    } else if (number <= SYS_DMA_ADDRESS) {
        status = syscall_device_family(current, number);
    } else {
        status = syscall_machine_family(current, number);
    }
    if (status == STATUS_RESTART) {
        /* rax still holds the number: the same instruction makes the same call, with the arguments as they are now. */
        uint64_t ip = uctx_get(current, UCTX_RIP);
        uctx_set(current, UCTX_RIP, ip - SYSCALL_INSTRUCTION_BYTES);
    } else {
        uctx_set(current, UCTX_RAX, (uint64_t)status);
    }
    return 0u;
}
