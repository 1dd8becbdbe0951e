/* What a process died of, for people: a line on the kernel's console. */
#include "abi.h"
#include "arch.h"
#include "console.h"
#include "process.h"
#include "trap_parts.h"
#include "uctx.h"

#define VECTOR_PAGE_FAULT 14u

/* Appends text of up to 8 bytes, lowest first. */
static void trap_report_text(uint64_t text, uint32_t count)
{
    console_put(0u, text, count);
}

/* The lowest 8 hexadecimal digits of value. */
static void trap_report_digits(uint64_t value)
{
    uint64_t text = 0ul;
    for (uint32_t i = 0u; i < 8u; i = i + 1u) {
        uint64_t digit = (value >> (4u * i)) & 15ul;
        uint64_t letter = digit + 0x30ul;
        if (digit > 9ul) {
            letter = digit + 0x57ul;
        }
        text = (text << 8u) | letter;
    }
    trap_report_text(text, 8u);
}

static void trap_report_number(uint64_t value)
{
    trap_report_text(0x7830ul, 2u); /* "0x" */
    trap_report_digits(value >> 32u);
    trap_report_digits(value);
}

/* The name has 32 bytes; the first that is 0 ends it. */
static void trap_report_name(uint32_t p)
{
    uint32_t ended = 0u;
    for (uint32_t i = 0u; i < PROCESS_NAME_WORDS; i = i + 1u) {
        uint64_t word = process_name_word(p, i);
        uint32_t count = 0u;
        for (uint32_t byte = 0u; byte < 8u; byte = byte + 1u) {
            if (((word >> (8u * byte)) & 0xfful) == 0ul) {
                ended = 1u;
            }
            if (ended == 0u) {
                count = count + 1u;
            }
        }
        if (count > 0u) {
            trap_report_text(word, count);
        }
    }
}

/* ": ended by exception DD at " */
static void trap_report_vector(uint64_t vector)
{
    uint64_t tens = vector / 10ul % 10ul + 0x30ul;
    uint64_t ones = vector % 10ul + 0x30ul;
    trap_report_text(0x206465646e65203aul, 8u); /* ": ended " */
    trap_report_text(0x7065637865207962ul, 8u); /* "by excep" */
    trap_report_text(0x206e6f6974ul, 5u);       /* "tion " */
    trap_report_text(tens | (ones << 8u), 2u);
    trap_report_text(0x20746120ul, 4u); /* " at " */
}

static void trap_report_address(uint32_t thread)
{
    uint64_t address = uctx_get(thread, UCTX_FAULT_ADDRESS);
    trap_report_text(0x202cul, 2u);             /* ", " */
    trap_report_text(0x2073736572646461ul, 8u); /* "address " */
    trap_report_number(address);
}

/* "NAME: ended by exception DD at 0xIP", for a page fault ", address 0xADDRESS" */
void trap_report_death(uint32_t p, uint32_t thread, uint64_t vector, uint32_t part)
{
    if (part == 0u) {
        trap_report_name(p);
    } else if (part == 1u) {
        trap_report_vector(vector);
    } else if (part == 2u) {
        uint64_t ip = uctx_get(thread, UCTX_RIP);
        trap_report_number(ip);
    } else {
        if (vector == VECTOR_PAGE_FAULT) {
            trap_report_address(thread);
        }
        trap_report_text(0x0aul, 1u);
    }
}
