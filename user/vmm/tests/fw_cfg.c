/* The firmware configuration device: what a firmware finds there, and what a guest does that tries everything. */
#include "../devices/fw_cfg.c"

#include <string.h>

#include "../../libc/tests/check.h"

static struct fw_cfg fw_cfg;

static uint64_t read_number(uint32_t bytes, uint32_t is_swapped)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < bytes; i++) {
        uint64_t byte = fw_cfg_read(&fw_cfg);
        value = is_swapped ? value << 8 | byte : value | byte << (8 * i);
    }
    return value;
}

/* Reads a file as a firmware does: by its name in the directory. Returns its length, or ~0 if there is none. */
static uint32_t read_file(const char *wanted, uint8_t *to)
{
    fw_cfg_select(&fw_cfg, KEY_DIRECTORY);
    uint64_t count = read_number(4, 1);
    for (uint64_t i = 0; i < count; i++) {
        char name[NAME_BYTES];
        uint32_t bytes = (uint32_t)read_number(4, 1), key = (uint32_t)read_number(2, 1);
        CHECK(read_number(2, 1) == 0);
        for (uint32_t k = 0; k < NAME_BYTES; k++) {
            name[k] = (char)fw_cfg_read(&fw_cfg);
        }
        CHECK(name[NAME_BYTES - 1] == 0);
        if (strcmp(name, wanted) == 0) {
            fw_cfg_select(&fw_cfg, key);
            for (uint32_t k = 0; k < bytes; k++) {
                to[k] = (uint8_t)fw_cfg_read(&fw_cfg);
            }
            return bytes;
        }
    }
    return ~0u;
}

static void test_items(void)
{
    uint8_t got[64];
    fw_cfg_init(&fw_cfg, 2);
    fw_cfg_add(&fw_cfg, FW_CFG_PROCESSORS, "\3", 2);
    fw_cfg_add_file(&fw_cfg, "etc/one", "first", 5);
    fw_cfg_add_file(&fw_cfg, "etc/two", "the second", 10);
    fw_cfg_select(&fw_cfg, KEY_SIGNATURE);
    CHECK(read_number(4, 1) == 0x51454d55);
    CHECK(read_number(4, 0) == 0); /* behind its end */
    fw_cfg_select(&fw_cfg, KEY_VERSION);
    CHECK(read_number(4, 0) == VERSION_PORTS);
    fw_cfg_select(&fw_cfg, FW_CFG_PROCESSORS);
    CHECK(read_number(4, 0) == 3);
    CHECK(read_file("etc/one", got) == 5 && memcmp(got, "first", 5) == 0);
    CHECK(read_file("etc/two", got) == 10 && memcmp(got, "the second", 10) == 0);
    CHECK(read_file("etc/three", got) == ~0u);
    fw_cfg_select(&fw_cfg, KEY_FIRST_FILE);
    CHECK(fw_cfg_read(&fw_cfg) == 'f');
    fw_cfg_select(&fw_cfg, KEY_FIRST_FILE | 0xabc0000); /* the port has 16 bits */
    CHECK(fw_cfg_read(&fw_cfg) == 'f');
}

/* Whatever is selected, and however much is read, comes from an item or is zero. */
static void test_sweep(void)
{
    uint64_t sum = 0, all = 0;
    for (uint32_t i = 0; i < fw_cfg.used; i++) {
        all += fw_cfg.store[i];
    }
    for (uint32_t key = 0; key <= 0xffff; key++) {
        fw_cfg_select(&fw_cfg, key);
        for (uint32_t i = 0; i < (key < 0x100 ? 2 * FW_CFG_BYTES : 4); i++) {
            sum += fw_cfg_read(&fw_cfg);
        }
    }
    CHECK(sum == all);
    fw_cfg_select(&fw_cfg, KEY_DIRECTORY);
    for (uint32_t i = 0; i < 1000000; i++) { /* a flood moves no counter beyond the item */
        fw_cfg_read(&fw_cfg);
    }
    CHECK(fw_cfg.at == fw_cfg.item[fw_cfg.directory].bytes);
}

static void test_absent(void)
{
    memset(&fw_cfg, 0, sizeof fw_cfg);
    fw_cfg_select(&fw_cfg, KEY_SIGNATURE);
    CHECK(fw_cfg_read(&fw_cfg) == 0xff);
}

int main(void)
{
    test_items();
    test_sweep();
    test_absent();
    return 0;
}
