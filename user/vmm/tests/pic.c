/* The interrupt controllers: initialisation as Linux does it, priorities, both kinds of end of interrupt, cascade,
 * edge and level inputs, spurious requests, and random operations against the rules that must always hold. */
#include "../devices/pic.c"

#include "../../libc/tests/check.h"

static struct pic pic;

static void start(void)
{
    pic_init(&pic);
    static const uint32_t words[][2] = {{0x20, 0x11}, {0x21, 0x30}, {0x21, 4}, {0x21, 1}, {0xa0, 0x11},
                                        {0xa1, 0x38}, {0xa1, 2},    {0xa1, 1}, {0x21, 0}, {0xa1, 0}};
    for (unsigned i = 0; i < sizeof words / sizeof words[0]; i++) {
        pic_write(&pic, words[i][0], words[i][1]);
    }
}

static void test_edge_and_priority(void)
{
    start();
    CHECK(pic.output == 0);
    pic_set_line(&pic, 4, 1);
    pic_pulse(&pic, 0);
    CHECK(pic.output == 1 && pic_acknowledge(&pic) == 0x30);
    CHECK(pic.output == 0); /* 4 is behind 0 while 0 is served */
    pic_write(&pic, 0x20, 0x60);
    CHECK(pic.output == 1 && pic_acknowledge(&pic) == 0x34);
    pic_pulse(&pic, 0);
    CHECK(pic.output == 1); /* 0 interrupts 4 */
    CHECK(pic_acknowledge(&pic) == 0x30);
    pic_write(&pic, 0x20, 0x20); /* non-specific: ends 0, the higher */
    pic_write(&pic, 0x20, 0x0b);
    CHECK(pic_read(&pic, 0x20) == 0x10);
    pic_write(&pic, 0x20, 0x64);
    CHECK(pic_read(&pic, 0x20) == 0);
    CHECK(pic.output == 0); /* the line is still high: no new edge */
    pic_set_line(&pic, 4, 0);
    pic_set_line(&pic, 4, 1);
    CHECK(pic.output == 1);
    pic_set_line(&pic, 4, 0);
    CHECK(pic.output == 0);               /* withdrawn */
    CHECK(pic_acknowledge(&pic) == 0x37); /* too late: spurious */
    CHECK(pic_read(&pic, 0x20) == 0);
}

static void test_mask_and_cascade(void)
{
    start();
    pic_write(&pic, 0x21, 0x01);
    pic_pulse(&pic, 0);
    CHECK(pic.output == 0 && pic_read(&pic, 0x21) == 1);
    pic_write(&pic, 0x21, 0);
    CHECK(pic.output == 1 && pic_acknowledge(&pic) == 0x30);
    pic_write(&pic, 0x20, 0x60);
    pic_set_line(&pic, 8, 1);
    CHECK(pic.output == 1 && pic_acknowledge(&pic) == 0x38);
    pic_set_line(&pic, 12, 1);
    CHECK(pic.output == 0);
    pic_write(&pic, 0xa0, 0x60);
    CHECK(pic.output == 0); /* the master still serves the cascade */
    pic_write(&pic, 0x20, 0x62);
    CHECK(pic.output == 1 && pic_acknowledge(&pic) == 0x3c);
}

static void test_level(void)
{
    start();
    pic_write(&pic, 0x4d1, 0x02); /* input 9 */
    CHECK(pic_read(&pic, 0x4d1) == 2 && pic_read(&pic, 0x4d0) == 0);
    pic_set_line(&pic, 9, 1);
    CHECK(pic_acknowledge(&pic) == 0x39);
    pic_write(&pic, 0xa0, 0x61);
    pic_write(&pic, 0x20, 0x62);
    CHECK(pic.output == 1); /* still high */
    pic_set_line(&pic, 9, 0);
    CHECK(pic.output == 0);
}

static void test_auto_end(void)
{
    pic_init(&pic);
    pic_write(&pic, 0x20, 0x11);
    pic_write(&pic, 0x21, 0x20);
    pic_write(&pic, 0x21, 4);
    pic_write(&pic, 0x21, 3);
    pic_write(&pic, 0x21, 0);
    pic_pulse(&pic, 3);
    CHECK(pic_acknowledge(&pic) == 0x23);
    pic_pulse(&pic, 5);
    CHECK(pic.output == 1 && pic_acknowledge(&pic) == 0x25);
}

/* Whatever is written, registers stay bytes, vectors stay the chips' own, and the output agrees with the state. */
static void test_random(void)
{
    static const uint32_t ports[] = {0x20, 0x21, 0xa0, 0xa1, 0x4d0, 0x4d1};
    start();
    for (unsigned i = 0; i < 1000000; i++) {
        unsigned r = (unsigned)rand();
        switch (r & 3) {
        case 0:
            pic_set_line(&pic, r >> 2 & 15, r >> 6 & 1);
            break;
        case 1:
            pic_write(&pic, ports[(r >> 2) % 6], r >> 8 & 0xff);
            break;
        case 2:
            CHECK(pic_read(&pic, ports[(r >> 2) % 6]) <= 0xff);
            break;
        default:
            if (pic.output) {
                CHECK(pic_acknowledge(&pic) <= 0xff);
            }
        }
        for (unsigned c = 0; c < 2; c++) {
            CHECK((pic.chip[c].irr | pic.chip[c].isr | pic.chip[c].imr | pic.chip[c].lines) <= 0xff);
            CHECK(pic.chip[c].lowest < 8 && (pic.chip[c].base & 7) == 0);
        }
        CHECK(pic.output == 0 || (pic.chip[0].irr & ~pic.chip[0].imr) != 0);
    }
}

int main(void)
{
    test_edge_and_priority();
    test_mask_and_cascade();
    test_level();
    test_auto_end();
    test_random();
    return 0;
}
