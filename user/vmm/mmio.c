/* The empty bus. */
#include "mmio.h"

#include "ashlar/string.h"
#include "decode.h"
#include "guest.h"
#include "vcpu.h"

/* The bytes of the instruction that exited: from the processor if it tells, else from guest memory. */
static uint32_t fetch(uint8_t code[DECODE_MAX])
{
    uint64_t given = vcpu[VCPU_FETCHED];
    if (given != 0) {
        uint64_t words[2] = {vcpu[VCPU_FETCHED_BYTES], vcpu[VCPU_FETCHED_BYTES + 1]};
        uint32_t bytes = given < DECODE_MAX ? (uint32_t)given : DECODE_MAX;
        memcpy(code, words, bytes);
        return bytes;
    }
    return (uint32_t)guest_read_linear(vcpu[VCPU_RIP], code, DECODE_MAX);
}

const char *mmio_exit(void)
{
    if ((vcpu[VCPU_EXIT_INFO2] & 2) != 0) {
        return "the guest fetched an instruction where it has no memory";
    }
    if ((vcpu[VCPU_EXIT_INFO2] & 4) != 0) {
        return "the guest's page tables lie where it has no memory";
    }
    if (vcpu[VCPU_EXIT_INFO1] < guest_size) {
        return "the guest was refused its own memory";
    }
    uint8_t code[DECODE_MAX];
    struct decoded d;
    if (decode_move(code, fetch(code), &d) == 0) {
        return "the guest reached for memory it does not have, by an instruction the monitor does not emulate";
    }
    if (d.write == 0) {
        uint64_t old = vcpu_reg(d.reg);
        if (d.high_byte) {
            vcpu_set_reg(d.reg, old | 0xff00);
        } else if (d.size == d.extend || d.sign) { /* all ones over the register's written part */
            uint64_t ones = d.extend == 8 ? ~0ul : (1ul << (8 * d.extend)) - 1;
            vcpu_set_reg(d.reg, d.extend >= 4 ? ones : old | ones);
        } else {
            uint64_t ones = (1ul << (8 * d.size)) - 1;
            vcpu_set_reg(d.reg, d.extend >= 4 ? ones : (old & ~0xfffful) | ones);
        }
    }
    vcpu[VCPU_EXIT_NEXT_RIP] = 0;
    vcpu_skip(d.length);
    return 0;
}
