/* Which station is behind which port. Clients' stations are fixed: nothing that is learned takes their place. Stations that a
 * frame has come from are learned, and forgotten when none has come for a while. The table is bounded: of the places that
 * an address can have, the one that was heard from longest ago makes room. */
#ifndef SWITCH_TABLE_H
#define SWITCH_TABLE_H

#include <stdint.h>

#define TABLE_SETS 64u
#define TABLE_WAYS 4u
#define TABLE_FIXED 8u
#define TABLE_AGE 300000000000ul /* ns */
#define TABLE_NONE 0xffffffffu

struct station {
    uint64_t address; /* of six bytes; 0: none */
    uint64_t heard;   /* ns since boot */
    uint32_t port;
};

struct table {
    struct station fixed[TABLE_FIXED];
    struct station learned[TABLE_SETS][TABLE_WAYS];
};

static inline uint64_t station_address(const uint8_t *bytes)
{
    return (uint64_t)bytes[0] << 40 | (uint64_t)bytes[1] << 32 | (uint64_t)bytes[2] << 24 | (uint64_t)bytes[3] << 16 |
           (uint64_t)bytes[4] << 8 | bytes[5];
}

/* All stations of a network, or some of them. */
static inline uint32_t address_is_group(uint64_t address)
{
    return (address >> 40 & 1) != 0;
}

/* Between a bridge and its neighbour: pause, spanning tree and the like. Never handed on. */
static inline uint32_t address_is_link_local(uint64_t address)
{
    return address >> 4 == 0x0180c200000ul;
}

/* A place for `address`, which is fixed from now on. Requires: fewer than TABLE_FIXED are. */
static inline void table_fix(struct table *table, uint64_t address, uint32_t port)
{
    for (uint32_t i = 0; i < TABLE_FIXED; i++) {
        if (table->fixed[i].address == 0) {
            table->fixed[i] = (struct station){address, 0, port};
            return;
        }
    }
}

/* The client with this address, or TABLE_NONE. */
static inline uint32_t table_client(const struct table *table, uint64_t address)
{
    for (uint32_t i = 0; i < TABLE_FIXED && table->fixed[i].address != 0; i++) {
        if (table->fixed[i].address == address) {
            return table->fixed[i].port;
        }
    }
    return TABLE_NONE;
}

/* Neighbouring addresses, as of one maker's cards, are in different sets. */
static inline struct station *table_set(struct table *table, uint64_t address)
{
    return table->learned[(address ^ address >> 6 ^ address >> 24) % TABLE_SETS];
}

/* A frame from `address` has come by `port`, at time `now`. Requires: it is no group. */
static inline void table_learn(struct table *table, uint64_t address, uint32_t port, uint64_t now)
{
    struct station *set = table_set(table, address);
    struct station *place = &set[0];

    if (address == 0 || table_client(table, address) != TABLE_NONE) {
        return;
    }
    for (uint32_t i = 0; i < TABLE_WAYS; i++) {
        if (set[i].address == address) {
            place = &set[i];
            break;
        }
        if (set[i].address == 0 || (place->address != 0 && set[i].heard < place->heard)) {
            place = &set[i];
        }
    }
    *place = (struct station){address, now, port};
}

/* The port behind which `address` is, or TABLE_NONE if that is not known. */
static inline uint32_t table_find(struct table *table, uint64_t address, uint64_t now)
{
    struct station *set = table_set(table, address);
    uint32_t client = table_client(table, address);

    for (uint32_t i = 0; client == TABLE_NONE && i < TABLE_WAYS; i++) {
        if (address != 0 && set[i].address == address && now - set[i].heard < TABLE_AGE) {
            return set[i].port;
        }
    }
    return client;
}

/* What was learned of a port is of no use any more. */
static inline void table_forget(struct table *table, uint32_t port)
{
    for (uint32_t i = 0; i < TABLE_SETS * TABLE_WAYS; i++) {
        struct station *station = &table->learned[i / TABLE_WAYS][i % TABLE_WAYS];
        if (station->port == port) {
            *station = (struct station){0};
        }
    }
}

#endif
