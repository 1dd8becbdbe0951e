/* The driver with a disk that answers late, or never. The registers are memory; what the disk does, and time, is in domain_await:
 * interrupts come before messages, and the timer fires when there is nothing else. */
#define _GNU_SOURCE
#include "../ahci.c"
#include "../command.c"
#include "../disk.c"
#include "../hba.c"
#include "../jobs.c"
#include "../service.c"
#include "../wait.c"

#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>

#include "../../../libc/tests/check.h"

#define AREA_BYTES 65536u
#define MOST_MESSAGES 64u
#define SECOND 1000000000ul
#define PORT 3u /* that the driver serves; nothing is written to another one */
#define PX(offset) (PORT_REGISTERS(PORT) + (offset))

/* Instead of a message: what the disk does from now on. */
enum {
    ANSWERS = 1,
    IS_SILENT,
    ANSWERS_QUIETLY,
    FAILS,
    FLICKERS,
    STOPS,
    STOPS_QUIETLY,
    STOPS_FLICKERING,
    IS_ABSENT,
    END
};

/* No monitor looks at them here. */
const struct protocol pci_protocol, sata_protocol, timer_protocol;
const struct mail *domain_current;
static struct mail mail;
static uint8_t area[AREA_BYTES];
static uint8_t payload[MAIL_PAYLOAD];
static uint32_t emitted[MOST_MESSAGES];
static uint32_t num_emitted;
static const uint32_t *script;
static uint32_t answers; /* how the disk does */
static uint32_t is_enabling, is_cancelling;
static uint32_t interrupts;       /* their status */
static int was_held;              /* the link, in reset */
static int was_held_before_reset; /* of the adapter */
static uint64_t fires;            /* ns, or 0 */
static uint64_t now;
static uint64_t named = PORT; /* by the description */
static jmp_buf is_over;

uint64_t dma_size(uint32_t protocol)
{
    (void)protocol;
    return AREA_BYTES;
}

/* The driver's argument `port`. */
uint64_t driver_number(const char *name, uint64_t fallback)
{
    CHECK(strcmp(name, "port") == 0 && fallback == 0);
    return named;
}

volatile void *dma_memory(uint32_t protocol, uint64_t offset)
{
    (void)protocol;
    return area + offset;
}

uint64_t dma_physical(uint32_t protocol, uint64_t offset)
{
    (void)protocol;
    return offset;
}

void *domain_emit_begin(uint32_t mailbox, uint64_t cookie)
{
    (void)mailbox;
    (void)cookie;
    return payload;
}

static volatile uint32_t *word(uint32_t offset)
{
    return (volatile uint32_t *)(REGISTERS_ADDRESS + offset);
}

/* What the adapter makes of what was written: ones clear the interrupts' status, and an engine that stops forgets its commands. */
static void adapter(void)
{
    for (uint32_t offset = PORT_REGISTERS(0); offset < PORT_REGISTERS(PORT); offset += 4) {
        CHECK(*word(offset) == 0);
    }
    CHECK((*word(HBA_IS) & ~(1u << PORT)) == 0);
    if (*word(PX(PX_IS)) != interrupts) {
        interrupts &= ~*word(PX(PX_IS));
        *word(PX(PX_IS)) = interrupts;
    }
    if (*word(PX(PX_SCTL)) == SCTL_INIT) {
        CHECK((*word(PX(PX_CMD)) & (CMD_START | CMD_RECEIVE)) == CMD_RECEIVE);
        was_held = 1;
    }
    was_held_before_reset = was_held_before_reset || (was_held && (*word(HBA_GHC) & GHC_RESET) != 0);
    if ((*word(PX(PX_CMD)) & CMD_START) == 0) {
        *word(PX(PX_CI)) = 0;
        *word(PX(PX_SACT)) = 0;
    }
}

static void set_status(uint32_t bits)
{
    interrupts = bits;
    *word(PX(PX_IS)) = bits;
}

void domain_emit_end(uint32_t mailbox, uint64_t cookie)
{
    (void)cookie;
    if (mailbox == PCI_ACCESS) {
        adapter();
    } else if (mailbox == TIMER_ARM) {
        CHECK(fires == 0 && !is_cancelling);
        fires = now + ((const struct timer_arm *)payload)->nanoseconds;
    } else if (mailbox == TIMER_CANCEL) {
        CHECK(fires != 0);
        fires = 0;
        is_cancelling = 1;
    } else if (mailbox == PCI_IRQ_DONE && answers != IS_ABSENT) {
        *word(PX(PX_SSTS)) = DETECT_PRESENT;
    } else if (mailbox == PCI_ENABLE) {
        is_enabling = 1;
    } else if (mailbox != PCI_IRQ_ON && mailbox != PCI_IRQ_OFF && mailbox != PCI_IRQ_DONE && mailbox != PCI_DISABLE) {
        CHECK(num_emitted < MOST_MESSAGES);
        emitted[num_emitted] = mailbox;
        num_emitted++;
    }
}

static int takes(const struct mail_set *set, uint32_t mailbox)
{
    return (set->mask[mailbox >> 8] >> (mailbox & 63u) & 1u) != 0;
}

/* An error stops the queue, and none of its commands is on the adapter's lists any more. With the next one the disk does as it is
 * told again. */
static int stop_queue(void)
{
    int is_told = answers != STOPS_QUIETLY;

    if (answers == STOPS_FLICKERING) {
        *word(PX(PX_SSTS)) = 0;
    }
    *word(PX(PX_SACT)) = 0;
    *word(PX(PX_CI)) = 0;
    set_status(INT_ERRORS);
    answers = ANSWERS;
    return is_told;
}

/* The adapter comes out of its reset at once, and the disk does what it is told. Returns 1 if it interrupts. */
static int device(void)
{
    *word(HBA_GHC) &= ~GHC_RESET;
    *word(PX(PX_SSTS)) = answers == IS_ABSENT ? 0 : DETECT_PRESENT;
    set_status(0);
    if (answers == STOPS || answers == STOPS_QUIETLY || answers == STOPS_FLICKERING) {
        return stop_queue();
    }
    if ((*word(PX(PX_CI)) & 1u) == 0 || answers == IS_SILENT || answers == IS_ABSENT) {
        return 0;
    }
    if (answers == FLICKERS) {
        answers = IS_SILENT;
        *word(PX(PX_SSTS)) = 0;
        set_status(INT_PHY_READY);
        return 1;
    }
    if (answers == FAILS) {
        set_status(INT_ERRORS);
    } else {
        *word(PX(PX_CI)) &= ~1u;
        set_status(INT_COMMAND_DONE);
    }
    return answers != ANSWERS_QUIETLY;
}

uint32_t domain_await(const struct mail_set *set, uint64_t deadline)
{
    (void)deadline;
    if (is_cancelling) {
        CHECK(takes(set, TIMER_CANCELLED));
        is_cancelling = 0;
        return TIMER_CANCELLED;
    }
    if (is_enabling && takes(set, PCI_ENABLED)) {
        is_enabling = 0;
        return PCI_ENABLED;
    }
    while (*script <= IS_ABSENT) {
        answers = *script;
        script++;
    }
    if (device() && takes(set, PCI_IRQ)) {
        return PCI_IRQ;
    }
    if (*script != END && takes(set, *script)) {
        domain_current = &mail;
        script++;
        return script[-1];
    }
    if (fires != 0) {
        CHECK(takes(set, TIMER_FIRED));
        now = fires;
        fires = 0;
        return TIMER_FIRED;
    }
    CHECK(*script == END);
    longjmp(is_over, 1);
}

/* Runs the driver from its start. What it had sent is in `emitted`, but for what it said to bring the disk up. */
static void run(const uint32_t *from)
{
    static const struct sata_read body = {0, 8, 0, 0};
    static const uint32_t up[] = {ANSWERS, PCI_PROBE, SATA_START, SATA_RESET, SATA_IDENTIFY, SATA_CONFIGURE, END};
    static const uint32_t all_up[] = {PCI_PROBE_OK,  SATA_START_OK,    SATA_PLUGGED,
                                      SATA_RESET_OK, SATA_IDENTIFY_OK, SATA_CONFIGURE_OK};

    memset((void *)REGISTERS_ADDRESS, 0, 4096);
    write32(HBA_CAP, CAP_QUEUED | CAP_SLOTS_MASK << CAP_SLOTS_SHIFT);
    write32(HBA_PI, 1u << PORT);
    *word(PX(PX_SIG)) = SIG_DISK;
    *word(PX(PX_SSTS)) = DETECT_PRESENT;
    interrupts = 0;
    memset(area, 0, sizeof area);
    ((uint16_t *)(area + ANSWER_AT))[ID_SATA] = ID_SATA_QUEUED;
    ((uint16_t *)(area + ANSWER_AT))[ID_COMMANDS] = ID_COMMANDS_LONG;
    ((uint16_t *)(area + ANSWER_AT))[ID_SECTORS] = 1024;
    ((uint16_t *)(area + ANSWER_AT))[ID_QUEUE_DEPTH] = 31;
    life = UNBOUND;
    job = NONE;
    port = STOPPED;
    issued = 0;
    waiting = 0;
    fires = 0;
    is_enabling = 0;
    is_cancelling = 0;
    num_emitted = 0;
    memset(&mail, 0, sizeof mail);
    ((struct sata_configure *)mail.payload)->depth = 32;
    script = up;
    if (setjmp(is_over) == 0) {
        driver();
    }
    CHECK(num_emitted == 6 && memcmp(emitted, all_up, sizeof all_up) == 0);
    num_emitted = 0;
    was_held = 0;
    was_held_before_reset = 0;
    now = 0;
    mail.cookie = 3;
    memcpy(mail.payload, &body, sizeof body);
    script = from;
    if (setjmp(is_over) == 0) {
        driver();
    }
}

#define RUN(...)                                                                                                       \
    do {                                                                                                               \
        static const uint32_t messages[] = {__VA_ARGS__, END};                                                         \
        run(messages);                                                                                                 \
    } while (0)
#define CHECK_EMITTED(...)                                                                                             \
    do {                                                                                                               \
        static const uint32_t expected[] = {__VA_ARGS__};                                                              \
        CHECK(num_emitted == sizeof expected / sizeof *expected);                                                      \
        CHECK(memcmp(emitted, expected, sizeof expected) == 0);                                                        \
    } while (0)

/* Commands wait while the cache is written, and are issued behind it. */
static void test_flush(void)
{
    RUN(IS_SILENT, SATA_FLUSH, SATA_READ, ANSWERS);
    CHECK_EMITTED(SATA_FLUSH_OK);
    CHECK(issued == 1u << 3 && waiting == 0 && read32(PX(PX_SACT)) == 1u << 3 && now == 0);
}

/* The deadline is a time. Until then the command is not issued, and no other answer may pass for the one that is missing; not either
 * where the link was lost for a moment. */
static void test_silent_disk(void)
{
    RUN(IS_SILENT, SATA_FLUSH, SATA_READ);
    CHECK_EMITTED(SATA_FLUSH_FAIL, SATA_FROZEN);
    CHECK(now == 30 * SECOND && issued == 0 && waiting == 1u << 3 && read32(PX(PX_SACT)) == 0);
    RUN(FLICKERS, SATA_FLUSH);
    CHECK_EMITTED(SATA_FLUSH_FAIL, SATA_FROZEN);
    CHECK(now == 0 && port == FROZEN);
    RUN(IS_SILENT, SATA_FLUSH, SATA_RECOVER, ANSWERS);
    CHECK_EMITTED(SATA_FLUSH_FAIL, SATA_FROZEN, SATA_RECOVERED);
}

/* An interrupt that is lost costs time and nothing else. */
static void test_lost_interrupt(void)
{
    RUN(ANSWERS_QUIETLY, SATA_FLUSH);
    CHECK_EMITTED(SATA_FLUSH_OK);
    CHECK(now == 30 * SECOND);
}

/* A disk that says that it has failed has answered: the engine is started again, and the queue works on. */
static void test_error(void)
{
    RUN(FAILS, SATA_FLUSH, SATA_READ);
    CHECK_EMITTED(SATA_FLUSH_FAIL);
    CHECK(now == 0 && issued == 1u << 3 && (read32(PX(PX_CMD)) & CMD_START) != 0);
}

/* A command that is queued is completed before the cache is written, and if the disk does not, the cache is not. */
static void test_queue(void)
{
    RUN(ANSWERS, SATA_READ, SATA_FLUSH);
    CHECK_EMITTED(SATA_FLUSH_FAIL);
    CHECK(now == 30 * SECOND && issued == 1u << 3 && read32(PX(PX_CI)) == 1u << 3);
    RUN(ANSWERS, SATA_READ, SATA_FLUSH, SATA_ABORT);
    CHECK_EMITTED(SATA_FROZEN, SATA_FLUSH_FAIL);
    CHECK(now == 0);
}

/* What was under way when the queue stopped is not told as done, whatever the adapter says of it, before the link's reset has made
 * the disk let go of it. */
static void test_stopped_queue(void)
{
    RUN(ANSWERS, SATA_READ, STOPS);
    CHECK_EMITTED(SATA_FROZEN);
    CHECK(issued == 1u << 3);
    RUN(ANSWERS, SATA_READ, STOPS, SATA_RECOVER);
    CHECK_EMITTED(SATA_FROZEN, SATA_FAILED, SATA_RECOVERED);
    CHECK(was_held && issued == 0);
    RUN(ANSWERS, SATA_READ, STOPS_QUIETLY, SATA_ABORT);
    CHECK_EMITTED(SATA_FROZEN);
    CHECK(issued == 1u << 3);
    RUN(ANSWERS, SATA_READ, STOPS_QUIETLY, SATA_FLUSH);
    CHECK_EMITTED(SATA_FLUSH_FAIL, SATA_FROZEN);
    CHECK(issued == 1u << 3);
    RUN(ANSWERS, SATA_READ, SATA_FLUSH, STOPS);
    CHECK_EMITTED(SATA_FLUSH_FAIL, SATA_FROZEN);
    CHECK(issued == 1u << 3);
    RUN(ANSWERS, SATA_READ, SATA_FLUSH, STOPS_FLICKERING);
    CHECK_EMITTED(SATA_FLUSH_FAIL, SATA_FROZEN);
    CHECK(issued == 1u << 3);
    RUN(ANSWERS, SATA_READ, STOPS_QUIETLY, SATA_STOP);
    CHECK_EMITTED(SATA_FAILED, SATA_STOP_OK);
    CHECK(was_held);
}

/* The client may use its buffers anew once its disk is lost: the disk has let go of them. So it has before the adapter forgets what
 * it has received. */
static void test_removal(void)
{
    RUN(ANSWERS, SATA_READ, PCI_BUS_ERROR);
    CHECK_EMITTED(SATA_FROZEN, PCI_RECOVERED);
    CHECK(was_held && was_held_before_reset);
    RUN(ANSWERS, SATA_READ, PCI_REMOVE);
    CHECK_EMITTED(SATA_UNPLUGGED, PCI_REMOVE_OK);
    CHECK(was_held);
    RUN(ANSWERS, PCI_REMOVE);
    CHECK_EMITTED(SATA_UNPLUGGED, PCI_REMOVE_OK);
    CHECK(!was_held);
}

/* A suspend waits for the disk; nothing else of the bus does. */
static void test_bus(void)
{
    RUN(IS_SILENT, SATA_FLUSH, PCI_SUSPEND, ANSWERS);
    CHECK_EMITTED(SATA_FLUSH_OK, PCI_SUSPEND_OK);
    RUN(IS_SILENT, SATA_FLUSH, PCI_REMOVE);
    CHECK_EMITTED(SATA_FLUSH_FAIL, SATA_UNPLUGGED, PCI_REMOVE_OK);
    CHECK(now == 0);
    RUN(IS_SILENT, SATA_FLUSH, PCI_UNPLUG);
    CHECK_EMITTED(SATA_UNPLUGGED, PCI_UNPLUG_OK);
    CHECK(now == 0);
    RUN(IS_SILENT, SATA_FLUSH, PCI_BUS_ERROR, ANSWERS);
    CHECK_EMITTED(SATA_FLUSH_FAIL, PCI_RECOVERED);
    CHECK(now < SECOND && port == ACTIVE);
}

/* Without a disk the link comes up in vain, for a second. */
static void test_no_disk(void)
{
    RUN(IS_ABSENT, SATA_STOP, SATA_START);
    CHECK_EMITTED(SATA_STOP_OK, SATA_START_OK);
    CHECK(now >= SECOND && now < 2 * SECOND);
}

/* The client's stop is answered though the disk holds a command, and though the adapter goes meanwhile. */
static void test_stop(void)
{
    RUN(ANSWERS, SATA_READ, SATA_STOP);
    CHECK_EMITTED(SATA_FAILED, SATA_STOP_OK);
    CHECK(now >= 30 * SECOND && now < 31 * SECOND && was_held && *word(PX(PX_SCTL)) == SCTL_RUN);
    RUN(ANSWERS, SATA_FLUSH, SATA_STOP);
    CHECK_EMITTED(SATA_FLUSH_OK, SATA_STOP_OK);
    CHECK(!was_held);
    RUN(ANSWERS, SATA_READ, SATA_STOP, PCI_UNPLUG);
    CHECK_EMITTED(SATA_FAILED, SATA_STOP_OK, PCI_UNPLUG_OK);
    CHECK(now == 0);
}

/* The description names a port that the adapter does not have, or none can. */
static void test_no_port(uint64_t number)
{
    static const uint32_t probe[] = {PCI_PROBE, END};

    RUN(ANSWERS, PCI_REMOVE);
    named = number;
    num_emitted = 0;
    script = probe;
    if (setjmp(is_over) == 0) {
        driver();
    }
    CHECK_EMITTED(PCI_PROBE_FAIL);
    named = PORT;
}

int main(void)
{
    void *registers = mmap((void *)REGISTERS_ADDRESS, 4096, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    CHECK(registers == (void *)REGISTERS_ADDRESS);
    test_flush();
    test_silent_disk();
    test_lost_interrupt();
    test_error();
    test_queue();
    test_stopped_queue();
    test_removal();
    test_bus();
    test_no_disk();
    test_stop();
    test_no_port(PORT - 1u);
    test_no_port(PORT + NUM_PORT);
    test_no_port(PORT + (1ul << 32));
    return 0;
}
