/* Streams: the first one of the controller that plays, and the first one that records. The controller goes through the client's
 * ring by a list of fragments, none of which crosses a page; the last fragment of every period interrupts. The list begins
 * with the period where the stream begins, so that one that was stopped can go on from there. */
#include "hda.h"

#define POLLS 100000u
#define RING_MOST (1u << 20) /* what the list can describe */

static uint32_t interrupts; /* of the streams that run, as INTCTL has them */

/* Those that record come first in the controller's registers. */
static uint32_t number_of(uint32_t direction)
{
    return direction == RECORD ? 0u : GCAP_INPUTS(read16(GCAP));
}

uint32_t has_stream(uint32_t direction)
{
    uint32_t capabilities = read16(GCAP);

    return (direction == RECORD ? GCAP_INPUTS(capabilities) : GCAP_OUTPUTS(capabilities)) != 0u;
}

uint64_t times(uint32_t a, uint32_t b)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < b; i = i + 1u) {
        sum = sum + a;
    }
    return sum;
}

uint32_t set_ring(struct stream *s, uint32_t buffer, uint32_t period, uint32_t periods)
{
    uint64_t area = dma_size(AUDIO_NUMBER);
    uint64_t size = times(period, periods);
    /* A fragment for each page, and one more for a period that begins within a page. */
    uint64_t fragments = times(period / PAGE + 2u, periods);

    /* Two periods or more: asked of the size, since the checker does not relate the sum of a loop to its count. */
    if (buffer % FRAGMENT_ALIGN != 0u || period % FRAGMENT_ALIGN != 0u || period == 0u ||
        size < 2u * (uint64_t)period || size > RING_MOST || buffer + size > area || fragments > NUM_FRAGMENT) {
        return 0;
    }
    s->buffer = buffer;
    s->period = period;
    s->size = (uint32_t)size;
    rewind_stream(s);
    return 1;
}

/* Writes the list and returns the number of its fragments. */
static uint32_t write_list(const struct stream *s)
{
    uint32_t list = s->direction * LIST_SIZE;
    uint32_t buffer = s->buffer;
    uint32_t size = s->size;
    uint32_t period = s->period;
    uint32_t place = s->place;
    uint32_t left = size;
    uint32_t period_left = period;
    uint32_t count = 0;

    while (left != 0u && count < NUM_FRAGMENT) {
        volatile struct fragment *f =
            (volatile struct fragment *)dma_memory(PCI_NUMBER, list + count * sizeof(struct fragment));
        uint32_t page_left = PAGE - (buffer + place) % PAGE;
        uint32_t length = page_left < period_left ? page_left : period_left;
        uint64_t physical = dma_physical(AUDIO_NUMBER, buffer + place);
        f->low = (uint32_t)physical;
        f->high = (uint32_t)(physical >> 32);
        f->length = length;
        f->flags = length == period_left ? FRAGMENT_IOC : 0u;
        place = place + length;
        left = left - length;
        period_left = length == period_left ? period : period_left - length;
        if (place == size) {
            place = 0;
        }
        count = count + 1u;
    }
    return count;
}

/* The stream's registers forget everything. The specification lets both edges take some time. */
static void reset_stream(uint32_t registers)
{
    uint32_t polls = 0;
    uint8_t control = 0;

    write8(registers + SD_CTL, CTL_SRST);
    while ((control & CTL_SRST) == 0u && polls < POLLS) {
        control = read8(registers + SD_CTL);
        polls = polls + 1u;
    }
    write8(registers + SD_CTL, 0);
    polls = 0;
    while ((control & CTL_SRST) != 0u && polls < POLLS) {
        control = read8(registers + SD_CTL);
        polls = polls + 1u;
    }
}

void start_stream(struct stream *s)
{
    uint32_t number = number_of(s->direction);
    uint32_t registers = SD(number);
    uint64_t physical = dma_physical(PCI_NUMBER, s->direction * LIST_SIZE);

    s->number = number;
    s->list_place = 0;
    reset_stream(registers);
    uint32_t count = write_list(s);
    dma_barrier();
    write8(registers + SD_CTL_TOP, (uint8_t)(STREAM_TAG(s->direction) << 4));
    write32(registers + SD_CBL, s->size);
    write16(registers + SD_LVI, (uint16_t)(count - 1u));
    write16(registers + SD_FMT, (uint16_t)s->format);
    write32(registers + SD_BDPL, (uint32_t)physical);
    write32(registers + SD_BDPU, (uint32_t)(physical >> 32));
    write8(registers + SD_STS, STS_ALL);
    interrupts = interrupts | 1u << (number & 31u);
    write32(INTCTL, INTCTL_GIE | interrupts);
    write8(registers + SD_CTL, CTL_RUN | CTL_IOCE | CTL_FEIE | CTL_DEIE);
}

/* Makes a piece of the ring silent, so that it is not heard again should the client be late. */
static void silence(const struct stream *s, uint32_t place, uint32_t bytes)
{
    volatile uint32_t *word = (volatile uint32_t *)dma_memory(AUDIO_NUMBER, s->buffer + place);

    for (uint32_t i = 0; i < bytes / 4u; i = i + 1u) {
        word[i] = 0;
    }
}

/* Takes over how far the device has come, in whole periods: what it is working on stays as it is. */
static void advance(struct stream *s)
{
    uint32_t now = read32(SD(s->number) + SD_LPIB);
    uint32_t period = s->period;
    uint32_t size = s->size;
    uint32_t place = s->place;
    uint32_t list_place = s->list_place;
    uint32_t left = s->left;
    uint64_t position = s->position;
    uint32_t steps = 0;

    if (now < size) {
        uint32_t ahead = now >= list_place ? now - list_place : now + size - list_place;
        while (ahead >= period && steps < NUM_FRAGMENT) {
            if (s->direction == PLAY) {
                silence(s, place, period);
            }
            position = position + period;
            left = left > period ? left - period : 0u;
            place = place + period < size ? place + period : 0u;
            list_place = list_place + period < size ? list_place + period : 0u;
            ahead = ahead - period;
            steps = steps + 1u;
        }
    }
    s->place = place;
    s->list_place = list_place;
    s->left = left;
    s->position = position;
}

uint32_t stream_advances(struct stream *s)
{
    uint8_t status = read8(SD(s->number) + SD_STS);
    uint64_t before = s->position;

    if (status == STS_GONE) {
        return 0;
    }
    write8(SD(s->number) + SD_STS, status);
    if ((status & STS_BCIS) != 0u) {
        advance(s);
    }
    return s->position != before;
}

void stop_stream(struct stream *s, uint32_t is_on)
{
    interrupts = interrupts & ~(1u << (s->number & 31u));
    if (is_on) {
        write8(SD(s->number) + SD_CTL, 0);
        write32(INTCTL, interrupts != 0u ? INTCTL_GIE | interrupts : 0u);
        write8(SD(s->number) + SD_STS, STS_ALL);
    }
}

void rewind_stream(struct stream *s)
{
    s->position = 0;
    s->place = 0;
    s->left = s->direction == RECORD ? s->size : 0u;
}

void fill_stream(struct stream *s, uint64_t position)
{
    uint64_t end = s->direction == RECORD ? position + s->size : position;
    uint64_t left = end - s->position;

    if (end <= s->position) {
        s->left = 0;
    } else {
        s->left = left < RING_MOST ? (uint32_t)left : RING_MOST;
    }
}

uint32_t stream_is_over(const struct stream *s)
{
    return s->direction == RECORD ? s->left < s->period : s->left == 0u;
}

void skip_stream(struct stream *s)
{
    if (s->direction == PLAY) {
        s->left = 0;
    }
}
