/* A receiver of frames: start, length, payload, checksum, with a fixed number of bytes per call.
 * Inputs: 16 bytes. Cases: a frame of every length at several places, followed by rest. The byte loop runs through, and
 * the payload is summed over at most seven bytes. */
#include "program.h"

enum { BYTES = 16, LONGEST = 7, START = 0x7e };
uint8_t received[BYTES];

const uint32_t cases = 8 * 4;

void prepare(uint32_t number)
{
    for (uint32_t i = 0; i < BYTES; i++)
        received[i] = (uint8_t)i;
    uint32_t place = number / 8, length = number % 8;
    received[place] = START;
    received[place + 1] = (uint8_t)length;
    uint8_t sum = 0;
    for (uint32_t i = 0; i < length; i++)
        sum = (uint8_t)(sum + received[place + 2 + i]);
    received[place + 2 + length] = sum;
}

ENTRY uint32_t entry(uint32_t first, uint32_t second)
{
    enum { IDLE, LENGTH, PAYLOAD, CHECK } state = IDLE;
    uint8_t payload[LONGEST] = {0};
    uint32_t length = 0, filled = 0, good = 0;
    for (const uint8_t *byte = received; byte < received + BYTES; byte++) {
        switch (state) {
        case IDLE:
            if (*byte == START)
                state = LENGTH;
            break;
        case LENGTH:
            length = *byte % (LONGEST + 1);
            filled = 0;
            state = length > 0 ? PAYLOAD : CHECK;
            break;
        case PAYLOAD:
            payload[filled % LONGEST] = *byte;
            if (++filled >= length)
                state = CHECK;
            break;
        case CHECK: {
            uint8_t sum = 0;
            for (uint32_t i = 0; i < length; i++)
                sum = (uint8_t)(sum + payload[i]);
            good += sum == *byte;
            state = IDLE;
            break;
        }
        }
    }
    return good;
}
