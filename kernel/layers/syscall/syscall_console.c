/* Consoles. */
#include "abi.h"
#include "arch.h"
#include "console.h"
#include "syscall_calls.h"
#include "syscall_parts.h"
#include "uctx.h"

uint32_t syscall_console_write(uint32_t current)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_CONSOLE, 0u);
    uint64_t n = uctx_get(current, UCTX_RSI);
    uint64_t taken = 0u;
    uint32_t piece = 8u;
    uint32_t put = 8u;
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    if (n == 0u || n > 64u) {
        return ERR_BAD_ARGUMENT;
    }
    uint32_t console = syscall_object(current);
    uint32_t pending = 0u;
    while (taken < n && put == piece && pending == 0u) {
        uint64_t word = uctx_word(current, (uint32_t)(taken / 8ul));
        if (n - taken < 8ul) {
            piece = (uint32_t)(n - taken);
        }
        put = console_put(console, word, piece);
        taken = taken + (uint64_t)put;
        pending = arch_interrupt_pending();
    }
    uctx_set(current, UCTX_RDI, taken);
    return STATUS_OK;
}

uint32_t syscall_console_read(uint32_t current)
{
    uint32_t valid = syscall_slot_valid(current, GRANT_CONSOLE, 0u);
    uint64_t n = 0u;
    uint64_t word = 0u;
    if (valid == 0u) {
        return ERR_BAD_SLOT;
    }
    uint32_t console = syscall_object(current);
    uint32_t byte = console_get(console);
    while (byte != NONE) {
        word = word | ((uint64_t)(byte & 0xffu) << (8ul * (n % 8ul)));
        n = n + 1ul;
        uctx_set_word(current, (uint32_t)((n - 1ul) / 8ul), word);
        if (n % 8ul == 0u) {
            word = 0u;
        }
        uint32_t pending = arch_interrupt_pending();
        byte = NONE;
        if (n < 64u && pending == 0u) {
            byte = console_get(console);
        }
    }
    uctx_set(current, UCTX_RDI, n);
    return STATUS_OK;
}
