/* The table of stations: what is learned is found and forgotten, it is bounded, and no station takes a client's place. */
#include "../table.h"

#include "../../../libc/tests/check.h"

#define OUTSIDE 8u
#define CLIENT 0x024153480001ul

static struct table table;

static void test_addresses(void)
{
    static const uint8_t bytes[6] = {2, 0x41, 0x53, 0x48, 0, 1};
    CHECK(station_address(bytes) == CLIENT && !address_is_group(CLIENT));
    CHECK(address_is_group(0xfffffffffffful) && address_is_group(0x01005e000001ul));
    CHECK(address_is_link_local(0x0180c2000000ul) && address_is_link_local(0x0180c200000ful));
    CHECK(!address_is_link_local(0x0180c2000010ul) && !address_is_link_local(0x0180c1ffffful));
}

static void test_learning(void)
{
    CHECK(table_find(&table, 0x525400000001ul, 0) == TABLE_NONE && table_find(&table, 0, 0) == TABLE_NONE);
    table_learn(&table, 0x525400000001ul, OUTSIDE, 1000);
    CHECK(table_find(&table, 0x525400000001ul, 1000) == OUTSIDE);
    CHECK(table_find(&table, 0x525400000001ul, 1000 + TABLE_AGE - 1) == OUTSIDE);
    CHECK(table_find(&table, 0x525400000001ul, 1000 + TABLE_AGE) == TABLE_NONE); /* not heard from for too long */
    table_learn(&table, 0x525400000001ul, 3, 2000);                              /* it has moved */
    CHECK(table_find(&table, 0x525400000001ul, 2000) == 3);
    table_learn(&table, 0, OUTSIDE, 2000);
    CHECK(table_find(&table, 0, 2000) == TABLE_NONE);
    table_forget(&table, 3);
    CHECK(table_find(&table, 0x525400000001ul, 2000) == TABLE_NONE);
}

static void test_clients(void)
{
    table_fix(&table, CLIENT, 0);
    table_fix(&table, CLIENT + 1, 1);
    table_learn(&table, CLIENT, OUTSIDE, 5000); /* one outside says that it is the client */
    CHECK(table_find(&table, CLIENT, 5000) == 0 && table_client(&table, CLIENT) == 0);
    CHECK(table_find(&table, CLIENT + 1, 9 * TABLE_AGE) == 1); /* a client is silent as long as it likes */
    CHECK(table_client(&table, CLIENT + 2) == TABLE_NONE);
    table_forget(&table, 0);
    CHECK(table_find(&table, CLIENT, 5000) == 0);
    for (uint32_t i = 2; i < TABLE_FIXED + 2; i++) {
        table_fix(&table, CLIENT + i, i);
    }
    CHECK(table_client(&table, CLIENT + TABLE_FIXED - 1) == TABLE_FIXED - 1);
    CHECK(table_client(&table, CLIENT + TABLE_FIXED) == TABLE_NONE); /* no room, and nothing overwritten */
}

/* Ten times as many stations as there is room for: those that were heard from last are known, none wrongly, and clients stay. */
static void test_flood(void)
{
    uint32_t num_known = 0, last = 10 * TABLE_SETS * TABLE_WAYS;
    for (uint32_t i = 0; i < last; i++) {
        table_learn(&table, 0x525411000000ul + i, OUTSIDE, 10000 + i);
        table_learn(&table, 0x525400000007ul, 5, 10000 + i); /* it goes on sending */
    }
    for (uint32_t i = 0; i < last; i++) {
        uint32_t port = table_find(&table, 0x525411000000ul + i, 20000);
        CHECK(port == OUTSIDE || port == TABLE_NONE);
        num_known += port == OUTSIDE;
    }
    CHECK(num_known >= TABLE_SETS * TABLE_WAYS - TABLE_WAYS && num_known <= TABLE_SETS * TABLE_WAYS);
    for (uint32_t i = last - 2 * TABLE_SETS; i < last; i++) {
        CHECK(table_find(&table, 0x525411000000ul + i, 20000) == OUTSIDE);
    }
    CHECK(table_find(&table, 0x525400000007ul, 20000) == 5 && table_find(&table, CLIENT, 20000) == 0);
}

int main(void)
{
    test_addresses();
    test_learning();
    test_clients();
    test_flood();
    return 0;
}
