/* The kernel's checks of the boot table, as a program: reads images from its input, each as 8 bytes of length and the image,
 * and answers each with a line: empty if start-up accepts the image, otherwise the reason. The machine has no memory where
 * windows of devices are, and an interrupt controller at the usual addresses. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

/* In place of cpu/cpu.h: physical addresses are addresses of this process. */
#define ASHLAR_X86_64_CPU_H
static inline void *direct(uint64_t physical)
{
    return (void *)(uintptr_t)physical;
}

struct cpuid {
    uint32_t eax, ebx, ecx, edx;
};

static inline struct cpuid cpuid(uint32_t leaf, uint32_t subleaf)
{
    struct cpuid r;
    __asm__ volatile("cpuid" : "=a"(r.eax), "=b"(r.ebx), "=c"(r.ecx), "=d"(r.edx) : "a"(leaf), "c"(subleaf));
    return r;
}

static inline uint64_t read_cr0(void)
{
    return 0;
}

static inline void write_cr0(uint64_t value)
{
    (void)value;
}

#include "start/crc32.c"
#include "start/table.c"
#undef FRAME
#undef FOUR_GIB
#include "start/table_objects.c"
#undef FRAME
#include "start/table_processes.c"

#define ROOM (64ul << 20) /* bytes of an image, at most */

struct boot_info boot_info;
struct platform platform = { .local_apic = 0xfee00000, .io_apic = 0xfec00000 };
char kernel_end[1];

static jmp_buf refused;

/* This kernel records. */
uint32_t trace_first_frame(void)
{
    return 1;
}

uint64_t kernel_physical(const void *address)
{
    (void)address;
    return 0;
}

uint32_t memory_is_ram(uint64_t base, uint64_t size)
{
    (void)base;
    (void)size;
    return 0;
}

void boot_print(const char *format, ...)
{
    (void)format;
}

void boot_fail(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    for (; *format != 0; format++) {
        if (*format != '%') {
            putchar(*format);
        } else if (*++format == 's') {
            fputs(va_arg(arguments, const char *), stdout);
        } else if (*format == 'u') {
            printf("%u", va_arg(arguments, uint32_t));
        } else {
            printf("%#lx", va_arg(arguments, uint64_t));
        }
    }
    va_end(arguments);
    longjmp(refused, 1);
}

int main(void)
{
    uint64_t length = 0;
    char *image = mmap(0, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

    if (image == MAP_FAILED) {
        return 2;
    }
    while (fread(&length, sizeof length, 1, stdin) == 1) {
        if (length > ROOM || fread(image, 1, length, stdin) != length) {
            return 2;
        }
        boot_info.module = (uint64_t)(uintptr_t)image;
        boot_info.module_size = length;
        if (setjmp(refused) == 0) {
            table_verify();
        }
        putchar('\n');
        fflush(stdout);
    }
    return 0;
}
