/* The items lie one behind the other in a store of fixed size; the directory is made first and filled as files come. */
#include "devices/fw_cfg.h"

#include "ashlar/string.h"
#include "bytes.h"

#define KEY_SIGNATURE 0x00u
#define KEY_VERSION 0x01u
#define KEY_DIRECTORY 0x19u
#define KEY_FIRST_FILE 0x20u

#define VERSION_PORTS 1u /* the two ports; the bit for DMA is clear */
#define FILE_ENTRY 64u   /* of the directory */
#define FILE_KEY 4u
#define FILE_NAME 8u
#define NAME_BYTES 56u

/* The numbers in the directory have their highest byte first. */
static void put_swapped(uint8_t *to, uint32_t value, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++) {
        to[i] = (uint8_t)(value >> (8 * (bytes - 1 - i)));
    }
}

static uint8_t *reserve(struct fw_cfg *f, uint32_t key, uint32_t bytes)
{
    uint8_t *at = f->store + f->used;
    f->item[f->items] = (struct fw_cfg_item){key, f->used, bytes};
    f->items++;
    f->used += bytes;
    return at;
}

void fw_cfg_init(struct fw_cfg *f, uint32_t files)
{
    uint8_t version[4];
    memset(f, 0, sizeof *f);
    put(version, VERSION_PORTS, sizeof version);
    fw_cfg_add(f, KEY_SIGNATURE, "QEMU", 4);
    fw_cfg_add(f, KEY_VERSION, version, sizeof version);
    f->directory = f->items;
    reserve(f, KEY_DIRECTORY, 4 + files * FILE_ENTRY);
}

void fw_cfg_add(struct fw_cfg *f, uint32_t key, const void *from, uint32_t bytes)
{
    memcpy(reserve(f, key, bytes), from, bytes);
}

void fw_cfg_add_file(struct fw_cfg *f, const char *name, const void *from, uint32_t bytes)
{
    uint8_t *directory = f->store + f->item[f->directory].begin;
    uint8_t *entry = directory + 4 + f->files * FILE_ENTRY;
    uint32_t key = KEY_FIRST_FILE + f->files;
    fw_cfg_add(f, key, from, bytes);
    put_swapped(entry, bytes, 4);
    put_swapped(entry + FILE_KEY, key, 2);
    memcpy(entry + FILE_NAME, name, strlen(name));
    f->files++;
    put_swapped(directory, f->files, 4);
}

void fw_cfg_select(struct fw_cfg *f, uint32_t key)
{
    f->selected = key & 0xffff;
    f->at = 0;
}

uint32_t fw_cfg_read(struct fw_cfg *f)
{
    for (uint32_t i = 0; i < f->items; i++) {
        const struct fw_cfg_item *item = &f->item[i];
        if (item->key == f->selected && f->at < item->bytes) {
            return f->store[item->begin + f->at++];
        }
    }
    return f->items == 0 ? 0xff : 0;
}
