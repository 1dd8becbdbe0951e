/* The client's disk: what is known of it, and how it comes and goes. */
#include "ahci.h"

#define DISK 1u
#define PACKET_DEVICE 2u
#define ENCLOSURE 3u
#define MULTIPLIER 4u

enum port port;
uint32_t is_asleep;
uint32_t slots;
uint32_t depth;
uint64_t sectors;
uint32_t sector_size;
uint8_t write_cache;
uint32_t queue_depth;
uint32_t log_tells;
uint32_t identity;

void announce(void)
{
    if (port == EMPTY && disk_is_there()) {
        port = UNKNOWN;
        EMIT(SATA_PLUGGED);
    }
}

void forget_commands(void)
{
    issued = 0;
    waiting = 0;
    is_asleep = 0;
    log_tells = 0;
}

void lose_disk(void)
{
    forget_commands();
    port = DETACHED;
    EMIT(SATA_UNPLUGGED);
}

void lose_device(void)
{
    if (port >= UNKNOWN) {
        lose_disk();
    }
}

void freeze(uint8_t reason)
{
    struct sata_frozen body = {reason};

    log_tells = reason == REASON_HARDWARE;
    port = FROZEN;
    EMIT(SATA_FROZEN, 0, &body);
}

/* ---- bringing the port and its disk up ---- */

void fail_start(uint8_t reason)
{
    struct sata_start_fail body = {reason};
    EMIT(SATA_START_FAIL, 0, &body);
}

void started(void)
{
    struct sata_start_ok body = {(uint8_t)slots, 0};

    forget_commands();
    port = EMPTY;
    EMIT(SATA_START_OK, 0, &body);
}

static uint8_t kind_of_device(void)
{
    uint32_t signature = read32(port_register(PX_SIG));

    if (signature == SIG_DISK) {
        return DISK;
    }
    if (signature == SIG_PACKET) {
        return PACKET_DEVICE;
    }
    return signature == SIG_ENCLOSURE ? ENCLOSURE : MULTIPLIER;
}

void was_reset(uint32_t is_good)
{
    if (is_good) {
        struct sata_reset_ok body = {kind_of_device()};
        port = REACHED;
        EMIT(SATA_RESET_OK, 0, &body);
    } else {
        struct sata_reset_fail body = {REASON_HARDWARE};
        port = UNKNOWN;
        EMIT(SATA_RESET_FAIL, 0, &body);
    }
}

/* What the disk says of itself. Returns 1 if it is one that the driver can use. */
static uint32_t understand_answer(void)
{
    uint32_t form = answer_word(ID_SECTOR_FORM);

    sectors = (uint64_t)answer_word(ID_SECTORS) | (uint64_t)answer_word(ID_SECTORS + 1u) << 16 |
              (uint64_t)answer_word(ID_SECTORS + 2u) << 32;
    queue_depth = (answer_word(ID_QUEUE_DEPTH) & 0x1fu) + 1u;
    sector_size = SECTOR;
    if ((form & ID_SECTOR_VALID) == ID_SECTOR_LONG) {
        sector_size = 2u * ((uint32_t)answer_word(ID_SECTOR_WORDS) | (uint32_t)answer_word(ID_SECTOR_WORDS + 1u) << 16);
    }
    return sectors != 0u && sector_size >= 512u && sector_size <= 4096u &&
           (answer_word(ID_SATA) & ID_SATA_QUEUED) != 0u && (answer_word(ID_COMMANDS) & ID_COMMANDS_LONG) != 0u;
}

void fail_identify(uint8_t reason)
{
    struct sata_identify_fail body = {reason};

    port = UNKNOWN;
    EMIT(SATA_IDENTIFY_FAIL, 0, &body);
}

void identified(uint32_t is_good)
{
    if (is_good && understand_answer()) {
        struct sata_identify_ok body = {sectors, sector_size, (uint8_t)queue_depth};
        volatile uint16_t *to = (volatile uint16_t *)dma_memory(SATA_NUMBER, identity);
        for (uint32_t i = 0; i < SECTOR / 2u; i = i + 1u) {
            to[i] = answer_word(i);
        }
        port = IDENTIFIED;
        EMIT(SATA_IDENTIFY_OK, 0, &body);
    } else {
        fail_identify(REASON_HARDWARE);
    }
}

void configured(uint32_t is_good)
{
    if (is_good) {
        port = ACTIVE;
        EMIT(SATA_CONFIGURE_OK);
    } else {
        struct sata_configure_fail body = {REASON_HARDWARE};
        port = UNKNOWN;
        EMIT(SATA_CONFIGURE_FAIL, 0, &body);
    }
}

/* ---- recovery ---- */

void fail(uint64_t cookie, uint64_t sector, uint8_t reason)
{
    struct sata_failed body = {reason, sector};
    EMIT(SATA_FAILED, cookie, &body);
}

/* The disk says which command it was that stopped it. That one is not to be sent again. Returns 0 if the disk does not tell:
 * then only a reset makes sure that the others are not under way any more. */
uint32_t fail_command_of_log(void)
{
    uint32_t first = answer_word(0);
    uint32_t slot = first & 0x1fu;
    uint64_t sector = (uint64_t)answer_word(2) | (uint64_t)(answer_word(3) & 0xffu) << 16 |
                      (uint64_t)answer_word(4) << 24 | (uint64_t)(answer_word(5) & 0xffu) << 40;

    if ((first & 0x80u) != 0u || (issued >> slot & 1u) == 0u) {
        return 0;
    }
    issued = issued & ~(1u << slot);
    fail(slot, sector, REASON_HARDWARE);
    return 1;
}

void recovered(uint32_t is_good)
{
    if (is_good) {
        fail_all();
        port = ACTIVE;
        EMIT(SATA_RECOVERED);
    } else {
        forget_commands();
        port = WRECKED;
        EMIT(SATA_RECOVER_FAIL);
    }
}
