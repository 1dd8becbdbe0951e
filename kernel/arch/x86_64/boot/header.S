/* The headers that loaders look for: Multiboot2 (GRUB) and the PVH note (QEMU -kernel, Xen). */
#include "layout.h"

#define MULTIBOOT2_MAGIC 0xe85250d6
#define ARCHITECTURE_I386 0

    .section .multiboot, "a"
    .balign 8
header:
    .long MULTIBOOT2_MAGIC
    .long ARCHITECTURE_I386
    .long header_end - header
    .long -(MULTIBOOT2_MAGIC + ARCHITECTURE_I386 + (header_end - header))
    .short 3, 0                         /* entry address */
    .long 12
    .long boot_entry - KERNEL_BASE
    .balign 8
    .short 6, 0                         /* modules begin at page boundaries */
    .long 8
    .balign 8
    .short 0, 0                         /* end */
    .long 8
header_end:

    .section .note.Xen, "a", @note
    .balign 4
    .long 4                             /* size of the name */
    .long 8                             /* size of the value */
    .long 18                            /* XEN_ELFNOTE_PHYS32_ENTRY */
    .asciz "Xen"
    .quad boot_entry_pvh - KERNEL_BASE
