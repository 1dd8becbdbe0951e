/* The CPUID policy: what must never reach a guest, whatever the host answers; what must. */
#include "../cpu/cpuid_filter.c"

#include <string.h>

#include "../../libc/tests/check.h"

static const struct cpuid_result all = {~0u, ~0u, ~0u, ~0u};
static const struct cpuid_guest one = {0, 1, FEATURE_END};
static const struct cpuid_guest third_of_four = {2, 4, FEATURE_CLOCK | FEATURE_X2APIC};

/* The virtual CPUs are cores of one processor, and each knows which it is. */
static void tells_of_several(void)
{
    struct cpuid_result r = cpuid_filter(1, 0, all, third_of_four);
    CHECK(r.ebx == (2u << 24 | 4u << 16 | 0xff00) && (r.edx & BIT(28)) != 0);
    CHECK((cpuid_filter(0x80000001, 0, all, third_of_four).ecx & BIT(1)) != 0);
    CHECK(cpuid_filter(0x80000008, 0, all, third_of_four).ecx == 3);
    CHECK(cpuid_filter(4, 3, all, third_of_four).eax >> 26 == 3 && cpuid_filter(4, 3, all, one).eax >> 14 == 0);
}

/* Nothing is announced that is not there. */
static void tells_of_features(void)
{
    static const struct cpuid_guest none = {0, 1, 0};
    CHECK((cpuid_filter(1, 0, all, third_of_four).ecx & BIT(21)) != 0);
    CHECK(cpuid_filter(0x40000101, 0, all, third_of_four).eax == (BIT(3) | BIT(24)));
    CHECK(cpuid_filter(0x40000100, 0, all, none).ebx == 0 && cpuid_filter(0x40000101, 0, all, none).eax == 0);
}

int main(void)
{
    struct cpuid_result r = cpuid_filter(1, 0, all, one);
    CHECK((r.ecx & (BIT(3) | BIT(5) | BIT(12) | BIT(17) | BIT(21) | BIT(26) | BIT(27) | BIT(28))) == 0);
    CHECK((r.edx & (BIT(7) | BIT(12) | BIT(14) | BIT(28))) == 0);
    CHECK((r.ecx & BIT(31)) != 0);
    CHECK((r.edx & (BIT(4) | BIT(6) | BIT(26))) == (BIT(4) | BIT(6) | BIT(26)));
    r = cpuid_filter(1, 0, (struct cpuid_result){0, 0, 0, 0}, one);
    CHECK(r.ecx == (BIT(24) | BIT(31)) && r.edx == BIT(9)); /* only what is emulated is invented */

    r = cpuid_filter(7, 0, all, one);
    CHECK((r.ebx & (BIT(5) | BIT(10) | BIT(16))) == 0 && r.ecx == 0 && r.eax == 0);
    CHECK((cpuid_filter(7, 1, all, one).eax | cpuid_filter(7, 1, all, one).ebx) == 0);
    r = cpuid_filter(0xd, 0, all, one);
    CHECK((r.eax | r.ebx | r.ecx | r.edx) == 0);

    r = cpuid_filter(0x80000001, 0, all, one);
    CHECK((r.ecx & BIT(2)) == 0 && (r.edx & BIT(27)) == 0);
    CHECK((r.edx & (BIT(11) | BIT(20) | BIT(29))) == (BIT(11) | BIT(20) | BIT(29)));
    CHECK((cpuid_filter(0x80000007, 0, (struct cpuid_result){0, 0, 0, 0}, one).edx & BIT(8)) != 0);
    r = cpuid_filter(0x8000000a, 0, all, one);
    CHECK((r.eax | r.ebx | r.ecx | r.edx) == 0);

    r = cpuid_filter(0x40000000, 0, all, one);
    char signature[13] = {0};
    memcpy(signature, &r.ebx, 4);
    memcpy(signature + 4, &r.ecx, 4);
    memcpy(signature + 8, &r.edx, 4);
    CHECK(strcmp(signature, "AshlarAshlar") == 0);
    CHECK(cpuid_filter(0x40000101, 0, all, one).eax == 0x40); /* of KVM's features, the shared end of interrupt only */
    CHECK(cpuid_filter(0, 0, all, one).eax == MAX_BASIC && cpuid_filter(0x80000000, 0, all, one).eax == MAX_EXTENDED);
    tells_of_several();
    tells_of_features();
    return 0;
}
