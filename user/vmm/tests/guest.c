/* Accesses that the monitor makes for the guest: those that the guest's page tables and privilege level allow. */
#define GUEST_BASE 0x20000000ul

#include "../guest.c"

#include "../../libc/tests/check.h"

/* <sys/mman.h> and abi.h both define PROT_READ and the like. */
void *mmap(void *address, size_t bytes, int protection, int flags, int file, long offset);
static uint64_t state[VCPU_WORDS];
static volatile uint64_t *const vcpu = state;

#define MAP_FIXED_PRIVATE 0x32 /* anonymous */
#define TABLES 0x1000ul        /* four pages; the last maps the pages from 0 */

/* Not the C library's, which the header of the programs declares with other types. */
void *memcpy(void *to, const void *from, uint64_t bytes);

static void map(uint64_t page, uint64_t entry)
{
    uint64_t *table = guest_pointer(TABLES + 3 * PAGE + 8 * page, 8);
    *table = entry;
}

static uint64_t fault_of(uint64_t linear, uint64_t bytes, uint32_t write)
{
    uint64_t address = 0, code = 0;
    if (guest_may_access(vcpu, linear, bytes, write, &address, &code)) {
        return ~0ul;
    }
    CHECK(address == linear || (address == 0x6000 && linear == 0x5ffe));
    return code;
}

int main(void)
{
    CHECK(mmap((void *)GUEST_BASE, 16 * PAGE, 3, MAP_FIXED_PRIVATE, -1, 0) == (void *)GUEST_BASE);
    guest_size = 16 * PAGE;
    for (uint64_t i = 0; i < 3; i++) {
        *(uint64_t *)guest_pointer(TABLES + i * PAGE, 8) = (TABLES + (i + 1) * PAGE) | 7;
    }
    map(5, 0x5000 | ENTRY_PRESENT | ENTRY_WRITE);              /* the kernel's */
    map(7, 0x7000 | ENTRY_PRESENT | ENTRY_USER);               /* read-only */
    map(8, 0x8000 | ENTRY_PRESENT | ENTRY_USER | ENTRY_WRITE); /* the program's */
    vcpu[VCPU_CR0] = CR0_PG | CR0_WP;
    vcpu[VCPU_EFER] = EFER_LMA;
    vcpu[VCPU_CR3] = TABLES;
    vcpu[VCPU_CPL] = 0;
    CHECK(fault_of(0x5000, 8, 1) == ~0ul && fault_of(0x8000, 8, 1) == ~0ul && fault_of(0x7000, 8, 0) == ~0ul);
    CHECK(fault_of(0x7000, 1, 1) == (FAULT_PRESENT | FAULT_WRITE));
    CHECK(fault_of(0x6000, 1, 1) == FAULT_WRITE);
    CHECK(fault_of(0x5ffe, 4, 0) == 0); /* runs into a page that is not there */
    vcpu[VCPU_CR0] = CR0_PG;
    CHECK(fault_of(0x7000, 1, 1) == ~0ul);
    vcpu[VCPU_CR4] = CR4_SMAP;
    CHECK(fault_of(0x8000, 1, 0) == FAULT_PRESENT);
    vcpu[VCPU_RFLAGS] = RFLAGS_AC;
    CHECK(fault_of(0x8000, 1, 0) == ~0ul);
    vcpu[VCPU_CPL] = 3;
    CHECK(fault_of(0x8000, 8, 1) == ~0ul);
    CHECK(fault_of(0x7000, 8, 1) == (FAULT_PRESENT | FAULT_WRITE | FAULT_USER));
    CHECK(fault_of(0x5000, 8, 0) == (FAULT_PRESENT | FAULT_USER));
    CHECK(fault_of(0x6000, 8, 0) == FAULT_USER);
    vcpu[VCPU_CR0] = 0;
    CHECK(fault_of(0xfff0, 8, 1) == ~0ul);
    return 0;
}
