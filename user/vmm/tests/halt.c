/* Where the guest's next instruction is a HLT that an interrupt would end. */
#define GUEST_BASE 0x20000000ul

#include "../cpu/halt.c"
#include "../guest.c"

#include "../../libc/tests/check.h"

/* <sys/mman.h> and abi.h both define PROT_READ and the like. */
void *mmap(void *address, size_t bytes, int protection, int flags, int file, long offset);
/* Not the C library's, which the header of the programs declares with other types. */
void *memcpy(void *to, const void *from, uint64_t bytes);

#define MAP_FIXED_PRIVATE 0x32 /* anonymous */
#define NOP 0x90u

static uint64_t state[VCPU_WORDS];
static volatile uint64_t *const vcpu = state;

/* Real mode: the code segment's base counts. */
static void stand_at(uint64_t base, uint64_t rip)
{
    vcpu[VCPU_SEGMENT + 2 * SEGMENT_CS + 1] = base;
    vcpu[VCPU_RIP] = rip;
}

int main(void)
{
    CHECK(mmap((void *)GUEST_BASE, 4 * PAGE, 3, MAP_FIXED_PRIVATE, -1, 0) == (void *)GUEST_BASE);
    guest_size = 4 * PAGE;
    *(uint8_t *)guest_pointer(0x1234, 1) = HLT;
    *(uint8_t *)guest_pointer(0x1235, 1) = NOP;
    vcpu[VCPU_RFLAGS] = RFLAGS_IF;
    stand_at(0x1000, 0x234);
    CHECK(halt_is_next(vcpu) == 1);
    stand_at(0x1000, 0x235);
    CHECK(halt_is_next(vcpu) == 0);
    stand_at(0, guest_size); /* behind its memory */
    CHECK(halt_is_next(vcpu) == 0);
    stand_at(0x1000, 0x234);
    vcpu[VCPU_RFLAGS] = 0; /* for good */
    CHECK(halt_is_next(vcpu) == 0);
    vcpu[VCPU_RFLAGS] = RFLAGS_IF;
    vcpu[VCPU_CPL] = 3; /* an exception */
    CHECK(halt_is_next(vcpu) == 0);
    vcpu[VCPU_CPL] = 0;
    vcpu[VCPU_INJECT] = INJECT_VALID | EXCEPTION_GP; /* comes first */
    CHECK(halt_is_next(vcpu) == 0);
    return 0;
}
