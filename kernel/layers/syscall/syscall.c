/* Dispatch: an if-tree on the number of the call, the message calls first. */
#include "syscall.h"

#include "abi.h"
#include "arch.h"
#include "endpoint.h"
#include "process.h"
#include "sched.h"
#include "syscall_parts.h"
#include "thread.h"
#include "uctx.h"

uint32_t syscall_slot_valid(uint32_t current, uint32_t kind, uint32_t rights)
{
    uint32_t p = thread_process(current);
    uint64_t slot = uctx_get(current, UCTX_RDI);
    if (slot >= NUM_GRANT) {
        return 0u;
    }
    uint32_t granted_kind = process_grant_kind(p, (uint32_t)slot);
    uint32_t granted_rights = process_grant_rights(p, (uint32_t)slot);
    if (granted_kind != kind || (granted_rights & rights) != rights) {
        return 0u;
    }
    return 1u;
}

uint32_t syscall_object(uint32_t current)
{
    uint32_t p = thread_process(current);
    uint64_t slot = uctx_get(current, UCTX_RDI);
    uint32_t object = process_grant_object(p, (uint32_t)slot);
    return object;
}

/* The four calls that send: number is SYS_CALL, SYS_SEND, or a receiving one with a reply. */
static void syscall_message_send(uint32_t current, uint64_t number)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_ENDPOINT, RIGHT_SEND);
    uint64_t n = uctx_get(current, UCTX_RSI);
    if (valid == 0u) {
        uctx_set(current, UCTX_RAX, ERR_BAD_SLOT);
        return;
    }
    if (n > MESSAGE_MAX_WORDS) {
        uctx_set(current, UCTX_RAX, ERR_BAD_ARGUMENT);
        return;
    }
    uint32_t p = thread_process(current);
    uint64_t slot = uctx_get(current, UCTX_RDI);
    uint32_t e = process_grant_object(p, (uint32_t)slot);
    uint64_t badge = process_grant_badge(p, (uint32_t)slot);
    if (number == SYS_CALL) {
        endpoint_call(e, badge, (uint32_t)n);
    } else {
        endpoint_send(e, badge, (uint32_t)n);
    }
}

/* SYS_REPLY_RECV and SYS_RECV. */
static void syscall_message_receive(uint32_t current, uint64_t number)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_ENDPOINT, RIGHT_RECV);
    uint64_t n = uctx_get(current, UCTX_RSI);
    if (valid == 0u) {
        uctx_set(current, UCTX_RAX, ERR_BAD_SLOT);
        return;
    }
    uint32_t e = syscall_object(current);
    if (number == SYS_REPLY_RECV) {
        if (n > MESSAGE_MAX_WORDS) {
            uctx_set(current, UCTX_RAX, ERR_BAD_ARGUMENT);
            return;
        }
        endpoint_reply_recv(e, (uint32_t)n);
    } else {
        endpoint_recv(e);
    }
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

/* SYS_SHARE_OFFER .. SYS_BBQ_REMOVE and memory. */
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
    } else if (number == SYS_BBQ_INSERT) {
        status = syscall_bbq_insert(current);
    } else if (number == SYS_BBQ_REMOVE) {
        status = syscall_bbq_remove(current);
    }
    return status;
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

uint32_t syscall_dispatch(void)
{
    uint32_t current = thread_current();
    uint64_t number = uctx_get(current, UCTX_RAX);
    uint32_t status = STATUS_OK;
    if (number == SYS_CALL || number == SYS_SEND) {
        syscall_message_send(current, number);
        return 0u;
    }
    if (number == SYS_REPLY_RECV || number == SYS_RECV) {
        syscall_message_receive(current, number);
        return 0u;
    }
    if (number == SYS_WAIT) {
        syscall_wait(current);
        return 0u;
    }
    if (number == SYS_THREAD_EXIT) {
        return 1u;
    }
    if (number <= SYS_THREAD_START) {
        status = syscall_small_family(current, number);
    } else if (number <= SYS_BBQ_REMOVE) {
        status = syscall_memory_family(current, number);
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
