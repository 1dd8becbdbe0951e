/* Nested page maps in EPT's format: four levels, rights in the low bits of every entry, memory of type write-back. */
#include "abi.h"
#include "arch.h"
#include "vmx/vmx.h"

#define EPT_READ 1ul
#define EPT_WRITE 2ul
#define EPT_EXECUTE 4ul
#define EPT_WRITE_BACK (6ul << 3) /* of leaves; whatever the guest's page tables say, the PAT of the guest refines it */
#define EPTP_WRITE_BACK 6ul       /* the tables themselves */
#define EPTP_FOUR_LEVELS (3ul << 3)

uint64_t ept_entry(uint32_t frame, uint32_t prot)
{
    uint64_t entry = (uint64_t)frame << ARCH_PTE_FRAME_SHIFT | EPT_READ | EPT_WRITE_BACK;
    if (prot & PROT_WRITE) {
        entry |= EPT_WRITE;
    }
    if (prot & PROT_EXEC) {
        entry |= EPT_EXECUTE;
    }
    return entry;
}

uint64_t ept_table(uint32_t frame)
{
    return (uint64_t)frame << ARCH_PTE_FRAME_SHIFT | EPT_READ | EPT_WRITE | EPT_EXECUTE;
}

uint64_t ept_pointer(uint32_t root)
{
    return (uint64_t)root << ARCH_PTE_FRAME_SHIFT | EPTP_FOUR_LEVELS | EPTP_WRITE_BACK;
}
