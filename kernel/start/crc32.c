/* CRC-32 (IEEE, reflected). Where the processor multiplies without carries, long texts are first folded to 16 bytes; what is
 * left goes through tables, eight bytes a step: table k advances a byte that k more bytes follow. */
#include "crc32.h"

#include "cpu/cpu.h"
#include "layout.h"

#define POLYNOMIAL 0xedb88320u
#define PCLMULQDQ 0x2u /* CPUID 1, ecx */
#define LONG 256u      /* bytes from which folding pays */

void crc32_fold(uint64_t state[2], const uint8_t *bytes, uint64_t blocks);

static uint32_t table[8][256];

static void fill_tables(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (uint32_t bit = 0; bit < 8; bit++) {
            value = value >> 1 ^ ((value & 1) != 0 ? POLYNOMIAL : 0);
        }
        table[0][i] = value;
    }
    for (uint32_t k = 1; k < 8; k++) {
        for (uint32_t i = 0; i < 256; i++) {
            table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 255];
        }
    }
}

/* `crc` is the register itself, not inverted. */
static uint32_t by_table(uint32_t crc, const uint8_t *bytes, uint64_t count)
{
    for (; count >= 8; count -= 8, bytes += 8) {
        uint32_t low, high;
        __builtin_memcpy(&low, bytes, 4);
        __builtin_memcpy(&high, bytes + 4, 4);
        low ^= crc;
        crc = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^ table[4][low >> 24] ^
              table[3][high & 255] ^ table[2][high >> 8 & 255] ^ table[1][high >> 16 & 255] ^ table[0][high >> 24];
    }
    for (; count > 0; count--, bytes++) {
        crc = crc >> 8 ^ table[0][(crc ^ *bytes) & 255];
    }
    return crc;
}

uint32_t crc32(uint32_t crc, const uint8_t *bytes, uint64_t count)
{
    if (table[0][1] == 0) {
        fill_tables();
    }
    crc = ~crc;
    if (count >= LONG && (cpuid(1, 0).ecx & PCLMULQDQ) != 0) {
        uint64_t state[2];
        uint64_t blocks = count / 16 - 1;
        __builtin_memcpy(state, bytes, 16);
        state[0] ^= crc; /* as if the text began with the register */
        uint64_t cr0 = read_cr0();
        write_cr0(cr0 & ~(uint64_t)CR0_TS); /* no thread has vector state yet */
        crc32_fold(state, bytes + 16, blocks);
        write_cr0(cr0);
        crc = by_table(0, (const uint8_t *)state, 16);
        bytes += 16 + 16 * blocks;
        count %= 16;
    }
    return ~by_table(crc, bytes, count);
}
