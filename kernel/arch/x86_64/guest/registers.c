/* The registers of the processor that the guest code reads and writes by instructions of their own: apart, so that its test
 * can stand in for the processor. */
#include "cpu/cpu.h"
#include "guest/guest.h"

void guest_debug_write(const uint64_t dr[4])
{
    __asm__ volatile("mov %0, %%dr0\n\tmov %1, %%dr1\n\tmov %2, %%dr2\n\tmov %3, %%dr3"
                     :
                     : "r"(dr[0]), "r"(dr[1]), "r"(dr[2]), "r"(dr[3]));
}

void guest_debug_read(uint64_t dr[4])
{
    __asm__ volatile("mov %%dr0, %0\n\tmov %%dr1, %1\n\tmov %%dr2, %2\n\tmov %%dr3, %3"
                     : "=r"(dr[0]), "=r"(dr[1]), "=r"(dr[2]), "=r"(dr[3]));
}

uint64_t guest_msr_read(uint32_t msr)
{
    return read_msr(msr);
}

void guest_msr_write(uint32_t msr, uint64_t value)
{
    write_msr(msr, value);
}

uint64_t guest_debug_status_read(void)
{
    uint64_t dr6;
    __asm__ volatile("mov %%dr6, %0" : "=r"(dr6));
    return dr6;
}

void guest_debug_status_write(uint64_t dr6)
{
    __asm__ volatile("mov %0, %%dr6" : : "r"(dr6));
}
