/* Requests of a virtio disk, against a disk that this test plays: in all divisions into segments, each rule broken once, and
 * requests whose driver has gone away. */
#include "../virtio/block.c"
#include "../virtio/chain.c"

#include "../../libc/tests/check.h"

#define NUM_SECTOR 100u

static struct disk_identity disk = {
    .sectors = NUM_SECTOR, .sector_size = 512, .depth = 4, .serial = "ABCDEFGHIJKLMNOPQRST"};
static struct disk_work begun[DISK_SLOTS];
static uint32_t last_slot, num_begun;
static struct virtio blk;
static uint32_t num_answered, last_head, last_written, num_changed;

const struct disk_identity *disk_identity(void)
{
    return &disk;
}

void disk_begin(uint32_t slot, const struct disk_work *work)
{
    begun[slot] = *work;
    last_slot = slot;
    num_begun++;
}

void virtio_answer(struct virtio *to, uint32_t queue, const struct chain *chain, uint32_t written)
{
    CHECK(to == &blk && queue == 0);
    num_answered++;
    last_head = chain->head;
    last_written = written;
}

void virtio_configuration_changed(struct virtio *to)
{
    CHECK(to == &blk);
    num_changed++;
}

static uint8_t out[DISK_MOST + 4096], in[DISK_MOST + 4096];

/* A chain of `readable` bytes of `out` and `writable` of `in`, cut into pieces of `piece` bytes. */
static struct chain make(uint32_t readable, uint32_t writable, uint32_t piece)
{
    struct chain chain = {.head = 7};
    for (uint32_t at = 0; at < readable; at += piece) {
        uint32_t rest = readable - at;
        chain.segment[chain.readable++] = (struct segment){out + at, rest < piece ? rest : piece};
    }
    for (uint32_t at = 0; at < writable; at += piece) {
        uint32_t rest = writable - at;
        chain.segment[chain.readable + chain.writable++] = (struct segment){in + at, rest < piece ? rest : piece};
    }
    return chain;
}

static void header(uint32_t type, uint64_t sector)
{
    put(out, type, 4);
    put(out + 4, 0xffffffff, 4);
    put(out + 8, sector, 8);
}

static void test_transfers(void)
{
    static const uint32_t pieces[] = {1024, 512, 100, 33};
    static uint8_t buffer[DISK_MOST];
    for (uint32_t p = 0; p < 4; p++) {
        uint32_t written = 0;
        header(TYPE_WRITE, 8);
        for (uint32_t i = 0; i < 1024; i++) {
            out[HEADER + i] = (uint8_t)(i * 7 + p);
        }
        struct chain chain = make(HEADER + 1024, 1, pieces[p]);
        in[0] = 0xee;
        CHECK(block_has_room(0) && block_begin(0, &chain, &written) == VIRTIO_LATER);
        CHECK(begun[last_slot].kind == DISK_WRITE && begun[last_slot].sector == 8 && begun[last_slot].count == 2);
        CHECK(begun[last_slot].force == 1); /* no FLUSH feature was taken */
        CHECK(block_prepare(last_slot, buffer) == 1 && memcmp(buffer, out + HEADER, 1024) == 0);
        block_done(last_slot, 1, buffer);
        CHECK(in[0] == STATUS_OK_BYTE && last_written == 1 && last_head == 7);

        header(TYPE_READ, NUM_SECTOR - 2);
        memset(in, 0xee, 1026);
        chain = make(HEADER, 1025, pieces[p]);
        CHECK(block_begin(0, &chain, &written) == VIRTIO_LATER && begun[last_slot].kind == DISK_READ);
        CHECK(begun[last_slot].force == 0);
        block_done(last_slot, 1, buffer);
        CHECK(memcmp(in, out + HEADER, 1024) == 0 && in[1024] == STATUS_OK_BYTE && in[1025] == 0xee);
        CHECK(last_written == 1025);

        chain = make(HEADER, 1025, pieces[p]);
        memset(in, 0xee, 1025);
        CHECK(block_begin(0, &chain, &written) == VIRTIO_LATER);
        block_done(last_slot, 0, buffer); /* it has failed: no data */
        CHECK(in[0] == 0xee && in[1024] == STATUS_IOERR && last_written == 0);
    }
    blk.accepted = FEATURE_FLUSH;
    uint32_t written = 0;
    header(TYPE_WRITE, 0);
    struct chain chain = make(HEADER + 512, 1, 512);
    CHECK(block_begin(0, &chain, &written) == VIRTIO_LATER && begun[last_slot].force == 0);
    block_done(last_slot, 1, buffer);
    header(TYPE_FLUSH, ~0ul); /* its sector means nothing */
    chain = make(HEADER, 1, 512);
    CHECK(block_begin(0, &chain, &written) == VIRTIO_LATER && begun[last_slot].kind == DISK_FLUSH);
    block_done(last_slot, 1, 0);
    CHECK(in[0] == STATUS_OK_BYTE && last_written == 1);
}

/* What is answered at once. Returns the status byte. */
static uint8_t refused(uint32_t readable, uint32_t writable)
{
    uint32_t before = num_begun, written = 99;
    struct chain chain = make(readable, writable, 4096);
    memset(in, 0xee, writable);
    CHECK(block_begin(0, &chain, &written) == VIRTIO_ANSWERED && num_begun == before);
    CHECK(written == (writable == 1));
    CHECK(writable == 1 || in[0] == 0xee);
    return in[writable - 1];
}

static void test_refusals(void)
{
    uint32_t written;
    header(TYPE_READ, 0);
    CHECK(refused(HEADER - 1, 513) == STATUS_IOERR);         /* half a header */
    CHECK(refused(0, 1) == STATUS_IOERR);                    /* none */
    CHECK(refused(HEADER, 1) == STATUS_IOERR);               /* no data */
    CHECK(refused(HEADER, 512) == STATUS_IOERR);             /* not a whole sector */
    CHECK(refused(HEADER, DISK_MOST + 513) == STATUS_IOERR); /* too much at once */
    static const uint64_t beyond[] = {NUM_SECTOR, NUM_SECTOR - 1, 1ul << 55, 1ul << 63, ~0ul};
    for (uint32_t i = 0; i < 5; i++) {
        header(TYPE_READ, beyond[i]);
        CHECK(refused(HEADER, 1025) == STATUS_IOERR);
        header(TYPE_WRITE, beyond[i]);
        CHECK(refused(HEADER + 1024, 1) == STATUS_IOERR);
    }
    static const uint32_t unknown[] = {2, 3, 5, 11, 13, 0x80000000, ~0u};
    for (uint32_t i = 0; i < 7; i++) {
        header(unknown[i], 0);
        CHECK(refused(HEADER, 513) == STATUS_UNSUPP);
    }
    struct chain none = make(HEADER, 0, 512);
    CHECK(block_begin(0, &none, &written) == VIRTIO_MALFORMED);
    disk.sector_size = 4096; /* of which the guest's sectors are an eighth */
    header(TYPE_READ, 8);
    CHECK(refused(HEADER, 513) == STATUS_IOERR);
    header(TYPE_READ, 7);
    CHECK(refused(HEADER, 4097) == STATUS_IOERR);
    header(TYPE_READ, 8);
    struct chain chain = make(HEADER, 4097, 4096);
    CHECK(block_begin(0, &chain, &written) == VIRTIO_LATER && begun[last_slot].sector == 1 &&
          begun[last_slot].count == 1);
    block_done(last_slot, 0, 0);
    CHECK(block_configuration(CAPACITY) == 8 * NUM_SECTOR && (uint32_t)block_configuration(BLK_SIZE_AT) == 4096);
    disk.sector_size = 512;
}

static void test_identifier(void)
{
    uint32_t written;
    header(TYPE_GET_ID, 0);
    struct chain chain = make(HEADER, 21, 6);
    CHECK(block_begin(0, &chain, &written) == VIRTIO_ANSWERED && written == 21);
    CHECK(memcmp(in, "ABCDEFGHIJKLMNOPQRST", 20) == 0 && in[20] == STATUS_OK_BYTE);
    chain = make(HEADER, 4, 6); /* as much as there is room for */
    CHECK(block_begin(0, &chain, &written) == VIRTIO_ANSWERED && written == 4 && in[3] == STATUS_OK_BYTE);
    chain = make(HEADER, 31, 6);
    in[25] = 0xee;
    CHECK(block_begin(0, &chain, &written) == VIRTIO_ANSWERED && written == 20 && in[25] == 0xee && in[30] == 0);
}

/* Room for as many as the disk takes; after a reset of the device none until the disk has let go of the old ones, which are not
 * answered and not written. */
static void test_forgotten(void)
{
    uint32_t written, before;
    uint8_t buffer[512];
    header(TYPE_WRITE, 0);
    struct chain chain = make(HEADER + 512, 1, 512);
    for (uint32_t i = 0; i < disk.depth; i++) {
        CHECK(block_has_room(0) && block_begin(0, &chain, &written) == VIRTIO_LATER && last_slot == i);
    }
    CHECK(block_has_room(0) == 0);
    block_done(2, 1, 0);
    CHECK(block_has_room(0));
    before = num_answered;
    block_forget(0);
    CHECK(block_has_room(0) == 0 && block_prepare(0, buffer) == 0);
    in[0] = 0xee;
    block_done(0, 1, 0);
    block_done(1, 0, 0);
    CHECK(block_has_room(0) == 0);
    block_done(3, 1, 0);
    CHECK(block_has_room(0) && num_answered == before && in[0] == 0xee);
}

static void test_no_disk(void)
{
    uint32_t changes = num_changed, was = block_generation();
    disk.sectors = 0;
    disk.depth = 0;
    block_changed();
    CHECK(num_changed == changes + 1 && block_generation() != was && block_configuration(CAPACITY) == 0);
    CHECK(block_has_room(0));
    header(TYPE_READ, 0);
    CHECK(refused(HEADER, 513) == STATUS_IOERR);
    header(TYPE_FLUSH, 0);
    CHECK(refused(HEADER, 1) == STATUS_IOERR);
}

static void test_configuration(void)
{
    CHECK(block_configuration(CAPACITY) == NUM_SECTOR && (uint8_t)block_configuration(1) == 0);
    CHECK((uint32_t)block_configuration(SIZE_MAX_AT) * (uint32_t)block_configuration(SEG_MAX_AT) == DISK_MOST);
    CHECK(block_configuration(CONFIGURATION) == 0 && block_configuration(0xff) == 0);
}

int main(void)
{
    block_attach(&blk);
    test_configuration();
    test_transfers();
    test_refusals();
    test_identifier();
    test_forgotten();
    test_no_disk();
    return 0;
}
