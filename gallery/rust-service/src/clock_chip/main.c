/* The driver of the clock chip (MC146818, at ports 0x70 and 0x71), which the description gives to this process alone. Answers each
 * request with the time in the chip's registers. */
#include "ashlar/env.h"
#include "ashlar/message.h"
#include "ashlar/print.h"
#include "requests.h"

#define INDEX 0u /* ports of the device */
#define DATA 1u
#define STATUS_A 10u
#define STATUS_A_UPDATING 0x80u
#define STATUS_B 11u
#define STATUS_B_BINARY 4u
#define NUM_TRY 1000u

/* Registers of second, minute, hour, day of the month, month, year. */
static const uint64_t registers[CHIP_WORDS] = {0, 2, 4, 7, 8, 9};
static uint32_t device;

static uint64_t read_register(uint64_t index)
{
    uint64_t value = 0;
    uint32_t status = sys_port_out(device, INDEX, 1, index);

    if (status == STATUS_OK) {
        status = sys_port_in(device, DATA, 1, &value);
    }
    if (status != STATUS_OK) {
        panic("the clock's ports: error %u\n", status);
    }
    return value;
}

static void read_all(uint64_t *word)
{
    for (uint32_t i = 0; i < CHIP_WORDS; i++) {
        word[i] = read_register(registers[i]);
    }
}

static int same(const uint64_t *a, const uint64_t *b)
{
    uint32_t i = 0;

    while (i < CHIP_WORDS && a[i] == b[i]) {
        i++;
    }
    return i == CHIP_WORDS;
}

/* The chip counts on while it is read: only what is read twice alike, and not during an update, is a time. */
static int read_time(uint64_t *word)
{
    for (uint32_t i = 0; i < NUM_TRY; i++) {
        uint64_t again[CHIP_WORDS];
        if ((read_register(STATUS_A) & STATUS_A_UPDATING) == 0) {
            read_all(word);
            read_all(again);
            if (same(word, again)) {
                return 1;
            }
        }
    }
    return 0;
}

int main(void)
{
    uint32_t requests = env_slot("endpoint.clock_chip");
    struct message message = {.count = 0};

    device = env_slot("device.rtc");
    uint32_t status = message_recv(requests, &message);
    while (status == STATUS_OK) {
        message.count = read_time(message.word) ? CHIP_WORDS : 0;
        if ((read_register(STATUS_B) & STATUS_B_BINARY) == 0) {
            for (uint32_t i = 0; i < message.count; i++) {
                message.word[i] = (message.word[i] >> 4) * 10 + (message.word[i] & 15);
            }
        }
        status = message_reply_recv(requests, &message);
    }
    panic("waiting for requests: error %u\n", status);
}
