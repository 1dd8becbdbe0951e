/* The first stream that plays. The controller reads the client's ring through a list of fragments, none of which crosses a
 * page; the last fragment of every period interrupts. The list begins with the period where playing begins, so that a
 * stream that was stopped can go on from there. */
#include "hda.h"

#define POLLS 100000u
#define RING_MOST (1u << 20) /* what the list can describe */

uint64_t stream_played;

static uint32_t ring_buffer; /* in the client's area */
static uint32_t ring_period; /* bytes */
static uint32_t ring_size;
static uint32_t ring_place; /* where playing has come to */
static uint32_t ring_left;  /* bytes that the client has filled behind it */
static uint32_t list_place; /* the same, from the beginning of the list */
static uint32_t stream;     /* its registers */

uint32_t set_ring(uint32_t buffer, uint32_t period, uint32_t periods)
{
    uint64_t area = dma_size(AUDIO_NUMBER);
    uint64_t size = (uint64_t)period * periods;
    /* A fragment for each page, and one more for a period that begins within a page. */
    uint64_t fragments = (uint64_t)periods * (period / PAGE + 2u);

    if (buffer % FRAGMENT_ALIGN != 0u || period % FRAGMENT_ALIGN != 0u || period == 0u || periods < 2u ||
        size > RING_MOST || buffer + size > area || fragments > NUM_FRAGMENT) {
        return 0;
    }
    ring_buffer = buffer;
    ring_period = period;
    ring_size = (uint32_t)size;
    rewind_stream();
    return 1;
}

/* Writes the list and returns the number of its fragments. */
static uint32_t write_list(void)
{
    uint32_t place = ring_place;
    uint32_t left = ring_size;
    uint32_t period_left = ring_period;
    uint32_t count = 0;

    while (left != 0u && count < NUM_FRAGMENT) {
        volatile struct fragment *f =
            (volatile struct fragment *)dma_memory(PCI_NUMBER, count * sizeof(struct fragment));
        uint32_t page_left = PAGE - (ring_buffer + place) % PAGE;
        uint32_t length = page_left < period_left ? page_left : period_left;
        uint64_t physical = dma_physical(AUDIO_NUMBER, ring_buffer + place);
        f->low = (uint32_t)physical;
        f->high = (uint32_t)(physical >> 32);
        f->length = length;
        f->flags = length == period_left ? FRAGMENT_IOC : 0u;
        place = place + length;
        left = left - length;
        period_left = length == period_left ? ring_period : period_left - length;
        if (place == ring_size) {
            place = 0;
        }
        count = count + 1u;
    }
    return count;
}

/* The stream's registers forget everything. The specification lets both edges take some time. */
static void reset_stream(void)
{
    uint32_t polls = 0;
    uint8_t control = 0;

    write8(stream + SD_CTL, CTL_SRST);
    while ((control & CTL_SRST) == 0u && polls < POLLS) {
        control = read8(stream + SD_CTL);
        polls = polls + 1u;
    }
    write8(stream + SD_CTL, 0);
    polls = 0;
    while ((control & CTL_SRST) != 0u && polls < POLLS) {
        control = read8(stream + SD_CTL);
        polls = polls + 1u;
    }
}

void start_stream(uint32_t format)
{
    uint32_t number = read16(GCAP) >> 8 & 0xfu;
    uint64_t physical = dma_physical(PCI_NUMBER, 0);

    stream = SD(number);
    list_place = 0;
    reset_stream();
    uint32_t count = write_list();
    dma_barrier();
    write8(stream + SD_CTL_TOP, STREAM_TAG << 4);
    write32(stream + SD_CBL, ring_size);
    write16(stream + SD_LVI, (uint16_t)(count - 1u));
    write16(stream + SD_FMT, (uint16_t)format);
    write32(stream + SD_BDPL, (uint32_t)physical);
    write32(stream + SD_BDPU, (uint32_t)(physical >> 32));
    write8(stream + SD_STS, STS_ALL);
    write32(INTCTL, INTCTL_GIE | 1u << number);
    write8(stream + SD_CTL, CTL_RUN | CTL_IOCE | CTL_FEIE | CTL_DEIE);
}

/* Makes a piece of the ring silent, so that it is not heard again should the client be late. */
static void silence(uint32_t place, uint32_t bytes)
{
    volatile uint32_t *word = (volatile uint32_t *)dma_memory(AUDIO_NUMBER, ring_buffer + place);

    for (uint32_t i = 0; i < bytes / 4u; i = i + 1u) {
        word[i] = 0;
    }
}

/* Takes over how far the device has come, in whole periods: what it is reading stays as it is. */
static void advance(void)
{
    uint32_t now = read32(stream + SD_LPIB);
    uint32_t steps = 0;

    if (now < ring_size) {
        uint32_t ahead = now >= list_place ? now - list_place : now + ring_size - list_place;
        while (ahead >= ring_period && steps < NUM_FRAGMENT) {
            silence(ring_place, ring_period);
            stream_played = stream_played + ring_period;
            ring_left = ring_left > ring_period ? ring_left - ring_period : 0u;
            ring_place = ring_place + ring_period < ring_size ? ring_place + ring_period : 0u;
            list_place = list_place + ring_period < ring_size ? list_place + ring_period : 0u;
            ahead = ahead - ring_period;
            steps = steps + 1u;
        }
    }
}

uint32_t stream_advances(void)
{
    uint8_t status = read8(stream + SD_STS);
    uint64_t before = stream_played;

    if (status == STS_GONE) {
        return 0;
    }
    write8(stream + SD_STS, status);
    if ((status & STS_BCIS) != 0u) {
        advance();
    }
    return stream_played != before;
}

void stop_stream(uint32_t is_on)
{
    if (is_on) {
        write8(stream + SD_CTL, 0);
        write32(INTCTL, 0);
        write8(stream + SD_STS, STS_ALL);
    }
}

void rewind_stream(void)
{
    stream_played = 0;
    ring_left = 0;
    ring_place = 0;
}

void fill_stream(uint64_t position)
{
    uint64_t left = position - stream_played;

    if (position <= stream_played) {
        ring_left = 0;
    } else {
        ring_left = left < RING_MOST ? (uint32_t)left : RING_MOST;
    }
}

uint32_t stream_is_empty(void)
{
    return ring_left == 0u;
}

void skip_stream(void)
{
    ring_left = 0;
}
