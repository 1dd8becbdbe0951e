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

#define MOST_SHIFT 12u                       /* sectors of 4096 bytes */
#define SIZE ((NUM_ENTRY - 1u) << 16 | DISK) /* of the queues for commands, and their number */

uint32_t name_space;
uint32_t identity;
uint64_t sectors;
uint32_t sector_size;
uint32_t transfer;
uint8_t write_cache;
static uint32_t has_cache;

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

/* ---- what is asked of it ---- */

/* Which namespaces it has, how many pairs of queues there will be, and the one pair. */
void restart_controller(void)
{
    is_up = 0;
    if (start_controller() && execute(ADMIN_SET_FEATURES, 0, ANSWER_AT, FEATURE_QUEUES, 0) &&
        execute(ADMIN_CREATE_COMPLETION, 0, QUEUES_AT + 3u * PAGE, SIZE, QUEUE_CONTIGUOUS | QUEUE_INTERRUPTS) &&
        execute(ADMIN_CREATE_SUBMISSION, 0, QUEUES_AT + 2u * PAGE, SIZE, DISK << 16 | QUEUE_CONTIGUOUS) &&
        execute(ADMIN_IDENTIFY, 0, ANSWER_AT, IDENTIFY_LIST, 0)) {
        name_space = answer_word(0);
        is_up = 1;
    }
}

/* What the controller says of itself, and of the namespace. */
uint32_t identify_disk(void)
{
    volatile uint16_t *to = (volatile uint16_t *)dma_memory(SATA_NUMBER, identity);

    if (!execute(ADMIN_IDENTIFY, 0, ANSWER_AT, IDENTIFY_CONTROLLER, 0)) {
        return 0;
    }
    uint32_t shift = answer_byte(ID_TRANSFER);
    transfer = shift == 0u || shift > 8u ? PAGE << 8 : PAGE << shift;
    has_cache = (answer_byte(ID_CACHE) & ID_CACHE_THERE) != 0u;
    put_names(to);
    if (!execute(ADMIN_IDENTIFY, name_space, ANSWER_AT, IDENTIFY_NAMESPACE, 0)) {
        return 0;
    }
    sectors = sectors_of_answer();
    sector_size = sector_size_of_answer();
    put_size(to);
    return sectors != 0u;
}

/* Also of a controller that a restart has made forget it: one without a cache to switch is asked who it is, which it knows. A namespace that has got another format than the client knows would
 * read and write beyond the pages of a command. */
uint32_t configure_disk(void)
{
    if (!execute(ADMIN_IDENTIFY, name_space, ANSWER_AT, IDENTIFY_NAMESPACE, 0) || sectors_of_answer() != sectors ||
        sector_size_of_answer() != sector_size) {
        return 0;
    }
    return execute(has_cache ? ADMIN_SET_FEATURES : ADMIN_IDENTIFY, 0, ANSWER_AT,
                   has_cache ? FEATURE_CACHE : IDENTIFY_CONTROLLER, has_cache ? write_cache : 0u);
}
