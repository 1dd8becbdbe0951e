/* A PCI device of the guest's own, with a bus and an interrupt controller that this test plays. Registers are not touched: they would
 * be at an address that a program on the host does not have. */
#include "../devices/pic.c"
#include "../pci/pace.c"
#include "../pci/passed.c"

#include <string.h>

#include "../../libc/tests/check.h"

#define LINE_BIT (1u << (PASSED_LINE & 7))
#define MASK_PORT 0xa1u
#define COMMAND_PORT 0xa0u
#define END_OF_INTERRUPT 0x20u

struct machine machine;
const struct mail *domain_current;
static struct mail mail;
static uint32_t said[64], num_said, line;
static uint64_t now = 1000;

uint64_t clock_now(void)
{
    return now;
}

void domain_send(uint32_t mailbox, uint64_t cookie, const void *body, uint64_t size)
{
    (void)cookie;
    (void)body;
    (void)size;
    said[num_said] = mailbox;
    num_said++;
}

void domain_serve(const struct protocol *protocol)
{
    (void)protocol;
}

const struct protocol pci_protocol;

void machine_set_line(uint32_t number, uint32_t level)
{
    CHECK(number == PASSED_LINE);
    line = level;
    pic_set_line(&machine.pic, number, level);
}

void print(const char *text, ...)
{
    (void)text;
}

const char *env_text_find(const char *text, const char *prefix, const char *key, size_t *length)
{
    (void)text;
    (void)prefix;
    (void)key;
    (void)length;
    return 0;
}

uint32_t env_slot_of_kind(const char *kind)
{
    (void)kind;
    return NO_SLOT;
}

static void receive(uint32_t mailbox)
{
    num_said = 0;
    domain_current = &mail;
    passed_receive(mailbox);
}

/* Exactly these were said. */
static uint32_t was_said(uint32_t first, uint32_t second, uint32_t third)
{
    uint32_t wanted = (first != 0) + (second != 0) + (third != 0);
    return num_said == wanted && (first == 0 || said[0] == first) && (second == 0 || said[1] == second) &&
           (third == 0 || said[2] == third);
}

/* As Linux sets the pair up, but for its vectors. */
static void reset_pic(void)
{
    pic_init(&machine.pic);
    for (uint32_t chip = 0; chip < 2; chip++) {
        uint32_t port = chip == 0 ? 0x20 : 0xa0;
        pic_write(&machine.pic, port, 0x11);
        pic_write(&machine.pic, port + 1, chip == 0 ? 0x30 : 0x38);
        pic_write(&machine.pic, port + 1, chip == 0 ? 4 : 2);
        pic_write(&machine.pic, port + 1, 1);
        pic_write(&machine.pic, port + 1, 0);
    }
    pic_write(&machine.pic, 0x4d1, LINE_BIT);
}

static void bind(void)
{
    const struct pci_probe body = {0x20, 0x1b36, 0x10, 2, 20, 0x010802};
    state = UNBOUND;
    was_given = 0;
    is_raised = 0;
    is_taken = 0;
    is_allowed = 1;
    line = 0;
    reset_pic();
    memcpy(mail.payload, &body, sizeof body);
    CHECK(passed_known() == 0);
    receive(PCI_PROBE);
    CHECK(was_said(PCI_ENABLE, 0, 0) && passed_known() == 0);
    receive(PCI_ENABLED);
    CHECK(was_said(PCI_IRQ_ON, PCI_PROBE_OK, 0));
    CHECK(passed_known() != 0 && passed_known()->device == 0x10 && passed_known()->class == 0x010802);
}

/* By the 8259 pair: taken, masked, ended, served, unmasked; only then may the device interrupt again. */
static void serves_at_the_pair(void)
{
    bind();
    receive(PCI_IRQ);
    CHECK(num_said == 0 && line == 1 && machine.pic.output == 1);
    passed_follow();
    CHECK(num_said == 0 && line == 1); /* it was not taken yet */
    CHECK(pic_acknowledge(&machine.pic) == 0x38 + (PASSED_LINE & 7));
    passed_follow();
    pic_write(&machine.pic, MASK_PORT, LINE_BIT);
    passed_follow();
    pic_write(&machine.pic, COMMAND_PORT, END_OF_INTERRUPT);
    pic_write(&machine.pic, 0x20, END_OF_INTERRUPT);
    passed_follow();
    CHECK(num_said == 0 && line == 1);
    pic_write(&machine.pic, MASK_PORT, 0);
    passed_follow();
    CHECK(was_said(PCI_IRQ_DONE, 0, 0) && line == 0 && machine.pic.output == 0);
    passed_follow();
    CHECK(num_said == 1); /* once */
    receive(PCI_IRQ);
    CHECK(line == 1 && machine.pic.output == 1);
}

static void serves_at_the_controller(void)
{
    bind();
    passed_end(); /* of another source of the line */
    CHECK(line == 0);
    num_said = 0;
    receive(PCI_IRQ);
    passed_end();
    CHECK(was_said(PCI_IRQ_DONE, 0, 0) && line == 0);
    passed_end();
    CHECK(num_said == 1);
}

/* An interrupt comes, and is served `taken` later. Returns whether the device may interrupt again at once. */
static uint32_t serve(uint64_t taken)
{
    receive(PCI_IRQ);
    CHECK(line == 1);
    now += taken;
    passed_end();
    CHECK(line == 0);
    return was_said(PCI_IRQ_DONE, 0, 0);
}

/* One interrupt upon the other: then the line stays closed for as long as they took. */
static void leaves_the_guest_time(void)
{
    bind();
    memset(&pace, 0, sizeof pace);
    for (uint32_t again = 0; again < 3; again++) {
        uint64_t began = now;
        for (uint32_t i = 1; i < PACE_ROW; i++) {
            CHECK(serve(100) && passed_deadline() == ~0ul);
            now += 10; /* the guest's own */
        }
        CHECK(serve(100) == 0);
        uint64_t open = now + (now - began);
        CHECK(passed_deadline() == open);
        passed_expire(open - 1);
        CHECK(num_said == 0);
        now = open;
        passed_expire(now);
        CHECK(was_said(PCI_IRQ_DONE, 0, 0) && passed_deadline() == ~0ul);
        passed_expire(now + 1);
        CHECK(num_said == 1);
    }
}

/* A guest that has time for itself is not kept from its device, however many interrupts come. */
static void keeps_pace(void)
{
    bind();
    memset(&pace, 0, sizeof pace);
    for (uint32_t i = 0; i < 4 * PACE_ROW; i++) {
        CHECK(serve(100));
        now += i % (PACE_ROW - 1) == 0 ? 101 : 1;
    }
}

/* What is lost is not opened. */
static void forgets_when_lost(void)
{
    bind();
    memset(&pace, 0, sizeof pace);
    for (uint32_t i = 1; i < PACE_ROW; i++) {
        CHECK(serve(100));
    }
    CHECK(serve(100) == 0);
    receive(PCI_UNPLUG);
    CHECK(passed_deadline() == ~0ul);
    num_said = 0;
    passed_expire(~1ul);
    CHECK(num_said == 0);
}

/* A guest that has switched interrupts off gets none, and gets it when it lets them in. */
static void keeps_interrupts(void)
{
    bind();
    passed_allow_interrupts(0);
    receive(PCI_IRQ);
    CHECK(line == 0);
    passed_allow_interrupts(1);
    CHECK(line == 1);
    passed_allow_interrupts(0);
    CHECK(line == 0);
}

/* What is lost answers no access, which these would show by a fault. */
static void loses(void)
{
    bind();
    receive(PCI_IRQ);
    receive(PCI_UNPLUG);
    CHECK(was_said(PCI_UNPLUG_OK, 0, 0) && line == 0);
    CHECK(passed_read(0, 4) == ~0ul);
    passed_write(0, 4, 1);
    passed_follow();
    receive(PCI_UNPLUG); /* sent before the bus knew */
    CHECK(num_said == 0);
    receive(PCI_PROBE); /* the guest has known a device, and is given no other */
    CHECK(was_said(PCI_PROBE_FAIL, 0, 0) && passed_known() != 0);

    bind();
    receive(PCI_REMOVE);
    CHECK(was_said(PCI_IRQ_OFF, PCI_DISABLE, PCI_REMOVE_OK) && passed_read(8, 8) == ~0ul);

    bind();
    receive(PCI_SUSPEND);
    CHECK(was_said(PCI_SUSPEND_FAIL, 0, 0));
    receive(PCI_BUS_ERROR);
    CHECK(was_said(PCI_IRQ_OFF, PCI_DISABLE, PCI_UNRECOVERABLE) && passed_read(0, 1) == ~0ul);
    receive(PCI_REMOVE);
    CHECK(was_said(PCI_REMOVE_OK, 0, 0));
    receive(PCI_PROBE);
    CHECK(was_said(PCI_PROBE_FAIL, 0, 0));
}

/* The driver lets go while the bus is still to let the device answer. */
static void loses_early(void)
{
    bind();
    state = UNBOUND;
    was_given = 0;
    receive(PCI_PROBE);
    receive(PCI_UNPLUG);
    CHECK(was_said(PCI_UNPLUG_OK, 0, 0) && passed_known() == 0);
    receive(PCI_ENABLED);
    CHECK(num_said == 0);
}

int main(void)
{
    serves_at_the_pair();
    serves_at_the_controller();
    leaves_the_guest_time();
    keeps_pace();
    forgets_when_lost();
    keeps_interrupts();
    loses();
    loses_early();
    return 0;
}
