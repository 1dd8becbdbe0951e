/* The controller is set up by admin commands, one after the other: what it was told before a restart it has forgotten. */
#include "nvme.h"

/* The client's protocol has an answer to IDENTIFY of ATA: its words in which a disk says who it is. */
#define ATA_SERIAL 10u
#define ATA_FIRMWARE 23u
#define ATA_MODEL 27u
#define ATA_DEPTH 75u /* less one */
#define ATA_SECTORS 100u
#define ATA_SECTOR_FORM 106u
#define ATA_SECTOR_LONG 0x5000u /* valid, and more than 512 bytes */
#define ATA_SECTOR_WORDS 117u

#define MOST_SHIFT 12u                /* sectors of 4096 bytes */
#define SIZE ((NUM_ENTRY - 1u) << 16) /* of the queues for commands; beside it stands their number */

uint32_t name_space;
uint32_t identity;
uint64_t sectors;
uint32_t sector_size;
uint32_t transfer;
uint8_t write_cache;
static uint32_t has_cache;

/* The admin commands, in their order. Those of a job follow each other. */
enum step {
    COUNT_QUEUES,
    MAKE_COMPLETION,
    MAKE_SUBMISSION,
    MAKE_SECOND_COMPLETION,
    MAKE_SECOND_SUBMISSION,
    LIST,
    KNOW_CONTROLLER,
    KNOW_NAMESPACE,
    COMPARE,
    SWITCH_CACHE
};

static const struct admin request[] = {
    [COUNT_QUEUES] = {ADMIN_SET_FEATURES, ANSWER_AT, FEATURE_QUEUES, QUEUES_ASKED},
    [MAKE_COMPLETION] = {ADMIN_CREATE_COMPLETION, QUEUES_AT + 3u * PAGE, SIZE | READS,
                         QUEUE_CONTIGUOUS | QUEUE_INTERRUPTS},
    [MAKE_SUBMISSION] = {ADMIN_CREATE_SUBMISSION, QUEUES_AT + 2u * PAGE, SIZE | READS, READS << 16 | QUEUE_CONTIGUOUS},
    [MAKE_SECOND_COMPLETION] = {ADMIN_CREATE_COMPLETION, QUEUES_AT + 5u * PAGE, SIZE | WRITES,
                                QUEUE_CONTIGUOUS | QUEUE_INTERRUPTS},
    [MAKE_SECOND_SUBMISSION] = {ADMIN_CREATE_SUBMISSION, QUEUES_AT + 4u * PAGE, SIZE | WRITES,
                                WRITES << 16 | QUEUE_CONTIGUOUS},
    [LIST] = {ADMIN_IDENTIFY, ANSWER_AT, IDENTIFY_LIST, 0},
    [KNOW_CONTROLLER] = {ADMIN_IDENTIFY, ANSWER_AT, IDENTIFY_CONTROLLER, 0},
    [KNOW_NAMESPACE] = {ADMIN_IDENTIFY, ANSWER_AT, IDENTIFY_NAMESPACE, 0},
    [COMPARE] = {ADMIN_IDENTIFY, ANSWER_AT, IDENTIFY_NAMESPACE, 0},
    [SWITCH_CACHE] = {ADMIN_SET_FEATURES, ANSWER_AT, FEATURE_CACHE, 0},
};

static uint8_t answer_byte(uint32_t offset)
{
    return *(volatile uint8_t *)dma_memory(PCI_NUMBER, ANSWER_AT + offset);
}

static uint32_t answer_word(uint32_t offset)
{
    return *(volatile uint32_t *)dma_memory(PCI_NUMBER, ANSWER_AT + offset);
}

/* The format that the namespace says it has now. Returns its bytes of a sector, or 0 if there is more in it than data. */
static uint32_t sector_size_of_answer(void)
{
    uint32_t format = answer_word(ID_FORMATS + 4u * (answer_byte(ID_FORMAT) & ID_FORMAT_MASK));
    uint32_t shift = format >> FORMAT_SHIFT & FORMAT_SHIFT_MASK;

    return shift > MOST_SHIFT || (format & FORMAT_METADATA) != 0u ? 0u : 1u << shift;
}

static uint64_t sectors_of_answer(void)
{
    return (uint64_t)answer_word(ID_SECTORS) | (uint64_t)answer_word(ID_SECTORS + 4u) << 32;
}

/* Text has its first character in the upper half of a word. */
static void put_text(volatile uint16_t *to, uint32_t from, uint32_t words)
{
    for (uint32_t i = 0; i < words; i = i + 1u) {
        to[i] = (uint16_t)((uint32_t)answer_byte(from + 2u * i) << 8 | answer_byte(from + 2u * i + 1u));
    }
}

/* Requires: the controller's answer to IDENTIFY is there. */
static void put_names(volatile uint16_t *to)
{
    for (uint32_t i = 0; i < IDENTITY_SIZE / 2u; i = i + 1u) {
        to[i] = 0;
    }
    put_text(to + ATA_SERIAL, ID_SERIAL, 10);
    put_text(to + ATA_FIRMWARE, ID_FIRMWARE, 4);
    put_text(to + ATA_MODEL, ID_MODEL, 20);
    to[ATA_DEPTH] = NUM_SLOT - 1u;
}

static void put_size(volatile uint16_t *to)
{
    for (uint32_t i = 0; i < 4u; i = i + 1u) {
        to[ATA_SECTORS + i] = (uint16_t)(sectors >> (16u * i));
    }
    if (sector_size != 512u) {
        to[ATA_SECTOR_FORM] = ATA_SECTOR_LONG;
        to[ATA_SECTOR_WORDS] = (uint16_t)(sector_size / 2u);
    }
}

/* ---- what is made of the answers ---- */

/* A controller may have fewer queues than it was asked for. */
static void know_queues(void)
{
    last_pair = READS + (((result & QUEUES_MORE) != 0u) & (result >> 16 != 0u));
    tell_pairs();
}

static void know_controller(void)
{
    uint32_t shift = answer_byte(ID_TRANSFER);

    transfer = shift == 0u || shift > 8u ? PAGE << 8 : PAGE << shift;
    has_cache = (answer_byte(ID_CACHE) & ID_CACHE_THERE) != 0u;
    put_names((volatile uint16_t *)dma_memory(SATA_NUMBER, identity));
}

static void know_namespace(void)
{
    sectors = sectors_of_answer();
    sector_size = sector_size_of_answer();
    put_size((volatile uint16_t *)dma_memory(SATA_NUMBER, identity));
}

/* Returns 1 if the driver can go on. A namespace that has got another format than the client knows would read and write beyond
 * the pages of a command. */
static uint32_t understand(uint32_t step)
{
    switch (step) {
    case COUNT_QUEUES:
        know_queues();
        return 1;
    case LIST:
        name_space = answer_word(0);
        return 1;
    case KNOW_CONTROLLER:
        know_controller();
        return 1;
    case KNOW_NAMESPACE:
        know_namespace();
        return sectors != 0u;
    case COMPARE:
        return sectors_of_answer() == sectors && sector_size_of_answer() == sector_size;
    default:
        return 1;
    }
}

/* ---- jobs ---- */

/* Without a cache to switch, or a second pair of queues, the controller is asked who it is, which it knows. */
static uint32_t asked_in_place(uint32_t step)
{
    uint32_t is_second = (step == MAKE_SECOND_COMPLETION) | (step == MAKE_SECOND_SUBMISSION);
    uint32_t is_missing = (is_second & (last_pair != WRITES)) | ((step == SWITCH_CACHE) & (has_cache == 0u));

    return is_missing ? KNOW_CONTROLLER : step;
}

/* The commands of all jobs have one place where they are waited for: each further one would be another part of the program to
 * check. */
uint32_t set_up(enum job job)
{
    uint32_t first = COMPARE;
    uint32_t end = SWITCH_CACHE + 1u;

    if (job == RESTART) {
        is_up = 0;
        if (!start_controller()) {
            return 0;
        }
        first = COUNT_QUEUES;
        end = LIST + 1u;
    } else if (job == IDENTIFY) {
        first = KNOW_CONTROLLER;
        end = KNOW_NAMESPACE + 1u;
    }
    for (uint32_t step = first; step < end; step = step + 1u) {
        uint32_t of = step == KNOW_NAMESPACE || step == COMPARE ? name_space : 0u;
        uint32_t more = step == SWITCH_CACHE ? write_cache : 0u;
        uint32_t asked = asked_in_place(step);
        if (!execute(&request[asked], of, has_cache ? more : 0u) || !understand(step)) {
            return 0;
        }
    }
    is_up = 1;
    return 1;
}
