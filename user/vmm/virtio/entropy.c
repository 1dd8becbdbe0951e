/* Randomness by RDRAND. A request gets at most a page of it, so that none takes long. */
#include "virtio/entropy.h"

#include <cpuid.h>

#define LEAF1_ECX_RDRAND (1u << 30)
#define ENTROPY_MOST 4096u
#define ATTEMPTS 10u /* what Intel advises */

uint32_t entropy_present(void)
{
    uint32_t eax, ebx, ecx = 0, edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & LEAF1_ECX_RDRAND) != 0;
}

/* Returns 0 if the source has nothing to give. */
static uint32_t random_word(uint64_t *word)
{
    for (uint32_t i = 0; i < ATTEMPTS; i++) {
        uint8_t is_valid;
        __asm__ volatile("rdrand %0; setc %1" : "=r"(*word), "=qm"(is_valid) : : "cc");
        if (is_valid) {
            return 1;
        }
    }
    return 0;
}

/* Fills the chain's writable bytes, the first ENTROPY_MOST at most. Returns how many it has filled. */
static uint32_t fill(const struct chain *chain)
{
    uint64_t word = 0;
    uint32_t filled = 0;
    for (uint32_t i = 0; i < chain->writable; i++) {
        const struct segment *segment = &chain->segment[chain->readable + i];
        for (uint32_t k = 0; k < segment->length; k++) {
            if (filled == ENTROPY_MOST || (filled % 8 == 0 && random_word(&word) == 0)) {
                return filled;
            }
            segment->at[k] = (uint8_t)(word >> (filled % 8 * 8));
            filled++;
        }
    }
    return filled;
}

static enum virtio_answer entropy_begin(uint32_t queue, const struct chain *chain, uint32_t *written)
{
    (void)queue;
    *written = fill(chain);
    return VIRTIO_ANSWERED;
}

const struct virtio_kind entropy_kind = {.number = 4, .queues = 1, .begin = entropy_begin};
