/* A kernel for guests: one that floods everything a guest has, in turn and at once, as flood_schedule.h says, and others that go on
 * with their work meanwhile and count it. Command line:
 *
 *   flood                       floods
 *   neighbour peer=NUMBER disk=PERCENT network=PERCENT
 *                               asks its peer, the client of the switch with that number, for answers and the disk for sectors, as
 *                               much as it can, and answers its peer. Of what it gets alone it was promised so many percent of
 *                               each while that is flooded, and all of it while something else is.
 *
 * A promise is kept within a tenth: how many requests fit into a stretch of time depends on where it begins. */
#include "flood_guest.h"

/* Questions to the peer under way: so many that the switch always has some, as a share is one of its work. With 12 the neighbours waited
 * for answers most of the time, and a frame that just missed a turn of the switch cost both a whole round. */
#define WINDOW 24u
#define QUESTION 4096u
#define FRAME 256u
#define LOST_AFTER 4000000ul /* ns: an answer that has not come until then does not come */
#define TICK 1000000u        /* ns */

/* ---- the neighbour ---- */

struct work {
    uint64_t disk;
    uint64_t network; /* answers, its own and its peer's: each has a frame of both on its way through the switch */
};

static struct work done[FLOODS];
static uint32_t peer, num_asked;
static uint64_t answered_at;

static void take_frames(struct work *work)
{
    uint32_t from = 0, kind;

    card_take_sent();
    while ((kind = card_take(&from)) != 0) {
        if (kind == FRAME_ASKS && from == peer && sent_num_free != 0) {
            card_send(peer, FRAME_ANSWERS, FRAME);
            work->network++;
        } else if (kind == FRAME_ANSWERS && num_asked != 0) {
            work->network++;
            num_asked--;
            answered_at = now();
        }
    }
    virtio_tell(&receive);
}

static void ask_peer(void)
{
    if (num_asked == WINDOW && now() - answered_at > LOST_AFTER) {
        num_asked = 0;
    }
    while (num_asked < WINDOW && sent_num_free > WINDOW) {
        answered_at = num_asked == 0 ? now() : answered_at;
        card_send(peer, FRAME_ASKS, FRAME);
        num_asked++;
    }
    virtio_tell(&transmit);
}

static void work_until(uint64_t end, struct work *work)
{
    while (now() < end) {
        work->disk += disk_take();
        take_frames(work);
        ask_peer();
        while (disk_num_free != 0) {
            disk_ask(any() % 4 == 0 ? REQUEST_WRITE : REQUEST_READ, QUESTION);
        }
        virtio_tell(&disk);
        sleep();
    }
}

static void judge(const char *what, enum flood flood, uint64_t alone, uint64_t with, uint64_t percent)
{
    uint64_t promised = alone * percent / 100;

    say("FLOOD of %s: %s %lu, alone %lu, promised %lu: %s\n", flood_name[flood], what, with, alone, promised,
        10 * with >= 9 * promised && alone != 0 ? "kept" : "BELOW");
}

static void neighbour(const char *options)
{
    uint64_t of_disk = option(options, "disk=", 100), of_network = option(options, "network=", 100);
    struct work between;

    peer = (uint32_t)option(options, "peer=", 0);
    tick(TICK);
    for (uint32_t i = 0; i < FLOODS; i++) {
        work_until(flood_begin(i), &between);
        work_until(flood_end(i), &done[i]);
    }
    work_until(flood_begin(FLOODS), &between); /* its peer counts on it */
    for (enum flood i = FLOOD_NOTHING + 1; i < FLOODS; i++) {
        judge("disk", i, done[0].disk, done[i].disk, i == FLOOD_DISK || i == FLOOD_ALL ? of_disk : 100);
        judge("network", i, done[0].network, done[i].network, i == FLOOD_NETWORK || i == FLOOD_ALL ? of_network : 100);
    }
    say("FLOOD-DONE\n");
    guest_out_16(0x604, 0x3400); /* off */
    stop();
}

/* ---- floods: each a piece, so that all of them can take turns ---- */

static uint64_t pieces[FLOODS];

static void flood_network(void)
{
    uint32_t from = 0;

    card_take_sent();
    while (card_take(&from) != 0) {
    }
    while (sent_num_free != 0) {
        uint32_t number = any();
        card_send(number % 3 == 0 ? 0 : number % 3 + 1, FRAME_FLOODS, number % 2 == 0 ? 60 : FRAME_MOST);
        pieces[FLOOD_NETWORK]++;
    }
    virtio_tell(&receive);
    virtio_tell(&transmit);
}

static void flood_disk(void)
{
    disk_take();
    while (disk_num_free != 0) {
        uint32_t number = any();
        if (number % 8 == 0) {
            disk_ask(REQUEST_FLUSH, 0);
        } else {
            disk_ask(number % 2 == 0 ? REQUEST_READ : REQUEST_WRITE, REQUEST_MOST);
        }
        pieces[FLOOD_DISK]++;
    }
    virtio_tell(&disk);
}

static void flood_console(void)
{
    for (uint32_t i = 0; i < 64; i++) {
        guest_out(0x3f8, i == 63 ? '\n' : '.');
        pieces[FLOOD_CONSOLE]++;
    }
}

static void flood_exits(void)
{
    uint32_t a = 0, c = 0;

    __asm__ volatile("cpuid" : "+a"(a), "+c"(c)::"ebx", "edx");
    guest_out(0x80, 0);
    virtio_get(VIRTIO_DISK, 0);
    guest_read_msr(0x1b);
    pieces[FLOOD_EXITS] += 4;
}

/* To itself: the only processor that it has. */
static void flood_ipis(void)
{
    for (uint32_t i = 0; i < 16; i++) {
        apic(APIC_COMMAND, IPI_SELF | VECTOR_IPI);
        __asm__ volatile("sti\n\tnop\n\tcli");
    }
    pieces[FLOOD_IPIS] += 16;
}

/* All timers of a PC, as short as they go. */
static void timers(uint32_t on)
{
    tick(on ? 1 : 0);
    guest_out(0x43, 0x34); /* the interval timer, periodic */
    guest_out(0x40, on ? 2 : 0);
    guest_out(0x40, 0);
    guest_out(0x70, 0x0a);
    guest_out(0x71, 0x21); /* the clock, 32768 times a second */
    guest_out(0x70, 0x0b);
    guest_out(0x71, on ? 0x42 : 0x02);
    guest_out(0x21, on ? 0xfa : 0xfb);
    guest_out(0xa1, on ? 0xf2 : 0xf3);
}

static void flood_timer(void)
{
    guest_out(0x70, 0x0c);
    __asm__ volatile("in $0x71, %%al" ::: "eax"); /* the clock waits for that */
    sleep();
    pieces[FLOOD_TIMER]++;
}

static void flood(uint32_t number)
{
    static void (*const kind[FLOODS])(void) = {0,           flood_network, flood_disk, flood_console,
                                               flood_timer, flood_exits,   flood_ipis, 0};
    uint32_t has_timer = number == FLOOD_TIMER || number == FLOOD_ALL;

    while (now() < flood_begin(number)) {
        disk_take();
        card_take_sent();
        sleep();
    }
    tick(0);
    timers(has_timer);
    while (now() < flood_end(number)) {
        if (number != FLOOD_ALL) {
            kind[number]();
            continue;
        }
        for (uint32_t i = FLOOD_NETWORK; i < FLOOD_ALL; i++) {
            kind[i]();
        }
    }
    timers(0);
    tick(TICK);
}

static void flood_everything(void)
{
    tick(TICK);
    for (uint32_t i = FLOOD_NOTHING + 1; i < FLOODS; i++) {
        flood(i);
    }
    say("\nFLOOD pieces: network %lu, disk %lu, console %lu, timer %lu, exits %lu, ipis %lu; interrupts %lu, %lu\n",
        pieces[FLOOD_NETWORK], pieces[FLOOD_DISK], pieces[FLOOD_CONSOLE], pieces[FLOOD_TIMER], pieces[FLOOD_EXITS],
        pieces[FLOOD_IPIS], timer_interrupts, ipis);
    say("FLOOD-DONE\n");
    guest_out_16(0x604, 0x3400); /* off */
    stop();
}

void guest_main(uint64_t cpu, uint64_t start_info)
{
    const char *options = *(const char *const *)(start_info + 24);

    (void)cpu;
    begin(options);
    say("FLOOD ready at %lu us\n", now() / 1000);
    if (now() >= FLOOD_BEGIN) {
        say("FLOOD-FAILED: ready too late\n");
        stop();
    }
    if (strncmp(options, "flood", 5) == 0) {
        flood_everything();
    }
    neighbour(options);
}

int main(void)
{
    print("flood_guest is a kernel for a guest: name it as `kernel` of a [vm.NAME]\n");
    return 1;
}
