/* The firmware configuration device of QEMU (docs/specs/fw_cfg in its source), by which a firmware learns what machine it is on: items
 * by number, some of them files with a name, which a directory lists. A selector and a byte-wide data port, no DMA. Pure state. */
#ifndef VMM_FW_CFG_H
#define VMM_FW_CFG_H

#include <stdint.h>

#define FW_CFG_SELECTOR 0x510u /* a port of 16 bits */
#define FW_CFG_DATA 0x511u

#define FW_CFG_PROCESSORS 0x05u
#define FW_CFG_BOOT_MENU 0x0eu
#define FW_CFG_PROCESSORS_MOST 0x0fu

#define FW_CFG_ITEMS 12u
#define FW_CFG_BYTES 2048u /* of all items */

struct fw_cfg_item {
    uint32_t key, begin, bytes; /* in `store` */
};

struct fw_cfg {
    uint32_t items; /* 0: the device is not there */
    struct fw_cfg_item item[FW_CFG_ITEMS];
    uint32_t files, used;
    uint32_t directory; /* its item's index */
    uint32_t selected;  /* key */
    uint32_t at;        /* byte of the selected item that is read next */
    uint8_t store[FW_CFG_BYTES];
};

/* A device with a signature, a version, and room for `files` files, which are all to be added. */
void fw_cfg_init(struct fw_cfg *fw_cfg, uint32_t files);
/* Adds an item. Requires that there is room: what is added is the same in all guests. */
void fw_cfg_add(struct fw_cfg *fw_cfg, uint32_t key, const void *from, uint32_t bytes);
/* Adds a file; its name has less than 56 bytes. */
void fw_cfg_add_file(struct fw_cfg *fw_cfg, const char *name, const void *from, uint32_t bytes);

/* What the guest does. An item that is not there, and what is behind an item's end, reads as zeros. */
void fw_cfg_select(struct fw_cfg *fw_cfg, uint32_t key);
uint32_t fw_cfg_read(struct fw_cfg *fw_cfg);

#endif
