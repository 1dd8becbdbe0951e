/* The 8254. Counters are not stepped: what they show follows from the time since their load. */
#include "devices/pit.h"

/* 1193182 / 10^9 and its inverse in binary fixed point with 64 and 32 fraction bits. */
#define TICKS_PER_NS ((uint64_t)(((unsigned __int128)PIT_HZ << 64) / 1000000000u))
#define NS_PER_TICK ((1000000000ul << 32) / PIT_HZ)

/* Between two edges: with less, guest and monitor would do nothing but serve them. */
#define PERIOD_LEAST_NS 100000ul

static uint64_t ticks_since(const struct pit_channel *channel, uint64_t now)
{
    uint64_t elapsed = now > channel->start ? now - channel->start : 0;
    return (uint64_t)(((unsigned __int128)elapsed * TICKS_PER_NS) >> 64);
}

/* First whole nanosecond at which `ticks` have passed since the load. */
static uint64_t time_of(const struct pit_channel *channel, uint64_t ticks)
{
    uint64_t at = channel->start + (uint64_t)(((unsigned __int128)ticks * NS_PER_TICK) >> 32);
    while (ticks_since(channel, at) < ticks) {
        at++;
    }
    return at;
}

static uint32_t is_periodic(const struct pit_channel *channel)
{
    return channel->mode == 2 || channel->mode == 3;
}

static uint32_t counter(const struct pit_channel *channel, uint64_t now)
{
    uint64_t ticks = ticks_since(channel, now);
    uint32_t reload = channel->reload;
    if (channel->mode == 3) { /* counts by two, twice a period */
        return (uint32_t)(reload - (2 * ticks) % reload) & 0xffff;
    }
    if (is_periodic(channel)) {
        return (uint32_t)(reload - ticks % reload) & 0xffff;
    }
    return (uint32_t)(reload - ticks) & 0xffff; /* runs on through 0xffff */
}

static uint32_t output(const struct pit_channel *channel, uint64_t now)
{
    if (channel->armed == 0) {
        return channel->mode != 0;
    }
    uint64_t ticks = ticks_since(channel, now);
    switch (channel->mode) {
    case 2:
        return ticks % channel->reload != channel->reload - 1;
    case 3:
        return ticks % channel->reload < (channel->reload + 1) / 2;
    case 4:
    case 5:
        return ticks != channel->reload;
    default: /* 0 and 1 */
        return ticks >= channel->reload;
    }
}

/* Channel 0's next rising edge after `now`. */
static void schedule(struct pit *pit, uint64_t now)
{
    const struct pit_channel *channel = &pit->channel[0];
    uint64_t ticks = ticks_since(channel, now);
    if (channel->armed == 0) {
        pit->next = PIT_NEVER;
    } else if (is_periodic(channel)) {
        pit->next = time_of(channel, (ticks / channel->reload + 1) * channel->reload);
        if (channel->reload * NS_PER_TICK >> 32 < PERIOD_LEAST_NS) {
            pit->next = now + PERIOD_LEAST_NS;
        }
    } else {
        pit->next = ticks < channel->reload ? time_of(channel, channel->reload) : PIT_NEVER;
    }
}

void pit_init(struct pit *pit)
{
    *pit = (struct pit){.next = PIT_NEVER};
    for (uint32_t i = 0; i < 3; i++) {
        pit->channel[i] = (struct pit_channel){.mode = 3, .access = 3, .reload = 65536, .gate = i != 2};
    }
}

static void load(struct pit *pit, struct pit_channel *channel, uint32_t value, uint64_t now)
{
    channel->reload = value == 0 ? 65536 : value;
    channel->start = now;
    channel->armed = 1;
    if (channel == &pit->channel[0]) {
        schedule(pit, now);
    }
}

static uint32_t read_counter(struct pit_channel *channel, uint64_t now)
{
    if (channel->status_latched) {
        channel->status_latched = 0;
        return channel->status;
    }
    uint32_t value = channel->latched ? channel->latch : counter(channel, now);
    uint32_t high = channel->access == 2 || (channel->access == 3 && channel->read_high);
    if (channel->access == 3) {
        channel->read_high = !channel->read_high;
        channel->latched = channel->latched && !high;
    } else {
        channel->latched = 0;
    }
    return high ? value >> 8 : value & 0xff;
}

static void write_counter(struct pit *pit, struct pit_channel *channel, uint32_t value, uint64_t now)
{
    if (channel->access == 1) {
        load(pit, channel, value, now);
    } else if (channel->access == 2) {
        load(pit, channel, value << 8, now);
    } else if (channel->write_high == 0) {
        channel->write_low = value;
        channel->write_high = 1;
    } else {
        channel->write_high = 0;
        load(pit, channel, channel->write_low | value << 8, now);
    }
}

static void latch_counter(struct pit_channel *channel, uint64_t now)
{
    if (channel->latched == 0) {
        channel->latched = 1;
        channel->latch = counter(channel, now);
    }
}

static void read_back(struct pit *pit, uint32_t value, uint64_t now)
{
    for (uint32_t i = 0; i < 3; i++) {
        struct pit_channel *channel = &pit->channel[i];
        if ((value & (2u << i)) == 0) {
            continue;
        }
        if ((value & 0x20) == 0) {
            latch_counter(channel, now);
        }
        if ((value & 0x10) == 0 && channel->status_latched == 0) {
            channel->status_latched = 1;
            channel->status =
                output(channel, now) << 7 | (channel->armed == 0) << 6 | channel->access << 4 | channel->mode << 1;
        }
    }
}

static void write_control(struct pit *pit, uint32_t value, uint64_t now)
{
    uint32_t select = value >> 6;
    if (select == 3) {
        read_back(pit, value, now);
        return;
    }
    struct pit_channel *channel = &pit->channel[select];
    uint32_t access = value >> 4 & 3;
    if (access == 0) {
        latch_counter(channel, now);
        return;
    }
    uint32_t mode = value >> 1 & 7;
    channel->mode = mode > 5 ? mode - 4 : mode;
    channel->access = access;
    channel->armed = 0;
    channel->write_high = 0;
    channel->read_high = 0;
    channel->latched = 0;
    channel->status_latched = 0;
    if (select == 0) {
        pit->next = PIT_NEVER;
    }
}

uint32_t pit_read(struct pit *pit, uint32_t port, uint64_t now)
{
    if (port == 0x61) {
        pit->refresh ^= 0x10;
        return pit->channel[2].gate | pit->speaker | pit->refresh | output(&pit->channel[2], now) << 5;
    }
    return port == 0x43 ? 0xff : read_counter(&pit->channel[port - 0x40], now);
}

void pit_write(struct pit *pit, uint32_t port, uint32_t value, uint64_t now)
{
    value &= 0xff;
    if (port == 0x61) {
        struct pit_channel *channel = &pit->channel[2];
        uint32_t gate = value & 1;
        if (gate != 0 && channel->gate == 0 && channel->armed) {
            channel->start = now; /* the rising gate reloads the count */
        }
        channel->gate = gate;
        pit->speaker = value & 2;
    } else if (port == 0x43) {
        write_control(pit, value, now);
    } else {
        write_counter(pit, &pit->channel[port - 0x40], value, now);
    }
}

uint32_t pit_expire(struct pit *pit, uint64_t now)
{
    if (now < pit->next) {
        return 0;
    }
    schedule(pit, now);
    return 1;
}
