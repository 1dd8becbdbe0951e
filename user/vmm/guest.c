/* Guest memory and the walk through the guest's page tables. */
#include "guest.h"

#include "ashlar/string.h"
#include "cpu/vcpu.h"

#define ENTRY_PRESENT 0x1ul
#define ENTRY_WRITE 0x2ul
#define ENTRY_USER 0x4ul
#define FAULT_PRESENT 0x1ul
#define FAULT_WRITE 0x2ul
#define FAULT_USER 0x4ul
#define ENTRY_LARGE 0x80ul
#define ENTRY_ADDRESS 0x000ffffffffff000ul
#define PAGE 4096ul

uint64_t guest_size;

/* Translates, and gives the rights that all levels have in common. */
static uint32_t walk(volatile const uint64_t *vcpu, uint64_t linear, uint64_t *physical, uint64_t *rights)
{
    *rights = ENTRY_WRITE | ENTRY_USER;
    if ((vcpu[VCPU_CR0] & CR0_PG) == 0) {
        *physical = linear;
        return 1;
    }
    if ((vcpu[VCPU_EFER] & EFER_LMA) == 0) {
        return 0;
    }
    uint64_t table = vcpu[VCPU_CR3] & ENTRY_ADDRESS;
    for (uint32_t shift = 39;; shift -= 9) {
        volatile const uint64_t *at = guest_pointer(table + (linear >> shift & 511) * 8, 8);
        uint64_t entry = at == 0 ? 0 : *at;
        if ((entry & ENTRY_PRESENT) == 0) {
            return 0;
        }
        *rights &= entry;
        if (shift == 12 || (shift < 39 && (entry & ENTRY_LARGE) != 0)) {
            uint64_t inside = (1ul << shift) - 1;
            *physical = (entry & ENTRY_ADDRESS & ~inside) | (linear & inside);
            return 1;
        }
        table = entry & ENTRY_ADDRESS;
    }
}

uint32_t guest_translate(volatile const uint64_t *vcpu, uint64_t linear, uint64_t *physical)
{
    uint64_t rights;
    return walk(vcpu, linear, physical, &rights);
}

static uint32_t page_allows(volatile const uint64_t *vcpu, uint64_t linear, uint32_t write, uint64_t *error_code)
{
    uint32_t user = vcpu[VCPU_CPL] == 3;
    uint64_t physical, rights;
    *error_code = (write ? FAULT_WRITE : 0) | (user ? FAULT_USER : 0);
    if ((vcpu[VCPU_CR0] & CR0_PG) == 0) {
        return 1;
    }
    if (walk(vcpu, linear, &physical, &rights) == 0) {
        return 0;
    }
    *error_code |= FAULT_PRESENT;
    if (write && (rights & ENTRY_WRITE) == 0 && (user || (vcpu[VCPU_CR0] & CR0_WP) != 0)) {
        return 0;
    }
    if (user) {
        return (rights & ENTRY_USER) != 0;
    }
    return (rights & ENTRY_USER) == 0 || (vcpu[VCPU_CR4] & CR4_SMAP) == 0 || (vcpu[VCPU_RFLAGS] & RFLAGS_AC) != 0;
}

uint32_t guest_may_access(volatile const uint64_t *vcpu, uint64_t linear, uint64_t bytes, uint32_t write,
                          uint64_t *address, uint64_t *error_code)
{
    uint64_t last = linear + bytes - 1;
    *address = linear;
    if (page_allows(vcpu, linear, write, error_code) == 0) {
        return 0;
    }
    if (last / PAGE != linear / PAGE) {
        *address = last & ~(PAGE - 1);
        return page_allows(vcpu, last, write, error_code);
    }
    return 1;
}

/* Bytes from `linear` to the end of its page, at most `bytes`, and the pointer to them; 0 if there is nothing. */
static uint64_t piece(volatile const uint64_t *vcpu, uint64_t linear, uint64_t bytes, uint8_t **at)
{
    uint64_t length = PAGE - linear % PAGE;
    uint64_t physical;
    length = length < bytes ? length : bytes;
    if (guest_translate(vcpu, linear, &physical) == 0) {
        return 0;
    }
    *at = guest_pointer(physical, length);
    return *at == 0 ? 0 : length;
}

uint64_t guest_read_linear(volatile const uint64_t *vcpu, uint64_t linear, void *to, uint64_t bytes)
{
    uint64_t done = 0, length;
    uint8_t *at;
    while (done < bytes && (length = piece(vcpu, linear + done, bytes - done, &at)) != 0) {
        memcpy((uint8_t *)to + done, at, length);
        done += length;
    }
    return done;
}

uint64_t guest_write_linear(volatile const uint64_t *vcpu, uint64_t linear, const void *from, uint64_t bytes)
{
    uint64_t done = 0, length;
    uint8_t *at;
    while (done < bytes && (length = piece(vcpu, linear + done, bytes - done, &at)) != 0) {
        memcpy(at, (const uint8_t *)from + done, length);
        done += length;
    }
    return done;
}
