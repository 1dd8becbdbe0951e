/* Runs a program of the set on its cases, one after the other, and ends by a system call.
 *   PROGRAM [FIRST [COUNT]]
 * runs COUNT cases from number FIRST on, by default one; without arguments, all. */
#include <stddef.h>

#include "program.h"

uint32_t arguments[2];

_Noreturn static void leave(void)
{
#ifdef __x86_64__
    __asm__ volatile("mov $60, %eax\n\txor %edi, %edi\n\tsyscall");
#elif defined __riscv
    __asm__ volatile("li a7, 93\n\tli a0, 0\n\tecall");
#else
    __asm__ volatile("mov r7, #1\n\tmov r0, #0\n\tsvc 0");
#endif
    __builtin_unreachable();
}

static uint32_t number_of(const char *digits)
{
    uint32_t number = 0;
    for (; *digits; digits++)
        number = 10 * number + (uint32_t)(*digits - '0');
    return number;
}

/* `stack` is what the loader left: the number of arguments, then pointers to them, of which the first is the name. */
void run(const uintptr_t *stack)
{
    const char *const *words = (const char *const *)(stack + 1);
    uint32_t first = stack[0] > 1 ? number_of(words[1]) : 0;
    uint32_t count = stack[0] > 2 ? number_of(words[2]) : stack[0] > 1 ? 1 : cases;
    for (uint32_t number = first; number < cases && number - first < count; number++) {
        prepare(number);
        entry(arguments[0], arguments[1]);
    }
    leave();
}

#ifdef __x86_64__
__asm__(".globl _start\n.type _start, @function\n_start:\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall run");
#elif defined __riscv
__asm__(".globl _start\n.type _start, @function\n_start:\n\t.option push\n\t.option norelax\n\tla gp, __global_pointer$\n"
        "\t.option pop\n\tmv a0, sp\n\tandi sp, sp, -16\n\tcall run");
#else
__asm__(".globl _start\n.type _start, %function\n_start:\n\tmov r0, sp\n\tbl run");
#endif

void order(uint32_t number, uint32_t count, uint8_t *numbers)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t place = number % (i + 1);
        number /= i + 1;
        for (uint32_t j = i; j > place; j--)
            numbers[j] = numbers[j - 1];
        numbers[place] = (uint8_t)i;
    }
}

/* What the compiler may call, freestanding or not. */
void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)to)[i] = (uint8_t)byte;
    return to;
}

void *memmove(void *to, const void *from, size_t size)
{
    if ((uintptr_t)to < (uintptr_t)from)
        for (size_t i = 0; i < size; i++)
            ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
    else
        for (size_t i = size; i > 0; i--)
            ((uint8_t *)to)[i - 1] = ((const uint8_t *)from)[i - 1];
    return to;
}

#ifdef __arm__
/* Where the division of libgcc goes for a divisor of 0. */
int __aeabi_idiv0(int value)
{
    return value;
}
#endif
