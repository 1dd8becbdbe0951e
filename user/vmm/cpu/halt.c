#include "cpu/halt.h"

#include "cpu/vcpu.h"
#include "guest.h"

#define HLT 0xf4u

uint32_t halt_is_next(volatile const uint64_t *vcpu)
{
    uint8_t instruction = 0;
    uint64_t at = vcpu_linear(vcpu, SEGMENT_CS, vcpu[VCPU_RIP]);

    if ((vcpu[VCPU_RFLAGS] & RFLAGS_IF) == 0 || vcpu[VCPU_CPL] != 0 || (vcpu[VCPU_INJECT] & INJECT_VALID) != 0) {
        return 0;
    }
    return guest_read_linear(vcpu, at, &instruction, 1) == 1 && instruction == HLT;
}
