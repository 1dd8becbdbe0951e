/* The controller: its reset, and commands to the codecs, which are sent one at a time through the registers for that: they
 * are few. */
#include "hda.h"

#define POLLS 100000u
#define NUM_CODEC 15u
#define NUM_STREAM 30u

static uint32_t codec; /* the one that is used */

/* Puts the controller into its reset, or takes it out. Returns 1 if it follows. */
static uint32_t set_reset(uint32_t value)
{
    uint32_t polls = 0;
    uint32_t control = ~value;

    write32(GCTL, value);
    while ((control & GCTL_CRST) != value && polls < POLLS) {
        control = read32(GCTL);
        polls = polls + 1u;
    }
    return (control & GCTL_CRST) == value;
}

/* Streams must have stopped before the reset, also those that an earlier life of the driver has left running. */
static void stop_all_streams(void)
{
    uint32_t capabilities = read16(GCAP);
    uint32_t count = GCAP_INPUTS(capabilities) + GCAP_OUTPUTS(capabilities) + GCAP_BOTH(capabilities);

    for (uint32_t i = 0; i < NUM_STREAM; i = i + 1u) {
        if (i < count) {
            write8(SD(i) + SD_CTL, 0);
        }
    }
}

uint32_t reset_controller(void)
{
    uint32_t polls = 0;
    uint16_t present = 0;

    stop_all_streams();
    if (!set_reset(0) || !set_reset(GCTL_CRST)) {
        return 0;
    }
    write8(CORBCTL, 0);
    write8(RIRBCTL, 0);
    write32(DPLBASE, 0);
    write32(DPUBASE, 0);
    write16(WAKEEN, 0);
    write32(INTCTL, 0);
    /* Codecs report within 25 frames, 521 us. */
    while (present == 0u && polls < POLLS) {
        present = read16(STATESTS);
        polls = polls + 1u;
    }
    write16(STATESTS, present);
    codec = 0;
    for (uint32_t i = 0; i < NUM_CODEC; i = i + 1u) {
        if ((present >> i & 1u) != 0u && (present & ((1u << i) - 1u)) == 0u) {
            codec = i;
        }
    }
    return present != 0u && present != 0xffffu;
}

uint32_t ask(uint32_t node, uint32_t command)
{
    uint32_t polls = 0;
    uint16_t status = ICIS_BUSY;

    write16(ICIS, ICIS_VALID);
    write32(ICOI, codec << CODEC_SHIFT | node << NODE_SHIFT | command);
    write16(ICIS, ICIS_BUSY);
    while ((status & (ICIS_BUSY | ICIS_VALID)) != ICIS_VALID && polls < POLLS) {
        status = read16(ICIS);
        polls = polls + 1u;
    }
    return (status & (ICIS_BUSY | ICIS_VALID)) == ICIS_VALID ? read32(ICII) : 0u;
}
