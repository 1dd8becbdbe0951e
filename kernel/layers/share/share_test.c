/* Shares against a model. */
#include "abi.h"
#include "container.h"
#include "frame.h"
#include "hosted.h"
#include "share.h"
#include "test.h"

#define NUM_P 4u
#define NUM_S 5u
#define NUM_F 12u
#define QUOTA 8u

struct model {
    uint32_t from;
    uint32_t to;
    uint32_t offered; /* NONE: nothing */
};

static struct model model[NUM_S];
static uint32_t frames[NUM_F]; /* ids in use, NONE: free entry */

static uint32_t owns(uint32_t p, uint32_t frame)
{
    return frame_owners(frame) >> p & 1;
}

static void random_operation(void)
{
    uint32_t s = test_random(NUM_S);
    uint32_t p = test_random(NUM_P);
    uint32_t *entry = &frames[test_random(NUM_F)];
    uint32_t frame = *entry;

    switch (test_random(6)) {
    case 0:
        if (frame == NONE) {
            frame = frame_alloc(p);
            *entry = frame == FRAME_NO_QUOTA ? NONE : frame;
        } else if (owns(p, frame)) { /* as unmapping does */
            share_forget(p, frame);
            for (uint32_t i = 0; i < NUM_S; i++) {
                if (model[i].from == p && model[i].offered == frame) {
                    model[i].offered = NONE;
                }
            }
            frame_remove_owner(frame, p);
            *entry = frame_owners(frame) == 0 ? NONE : frame;
        }
        break;
    case 1:
        if (frame != NONE) {
            uint32_t good = model[s].from == p && model[s].offered == NONE && owns(p, frame);
            CHECK_EQUAL(share_offer(s, p, frame), good ? STATUS_OK : ERR_BAD_STATE);
            model[s].offered = good ? frame : model[s].offered;
        }
        break;
    case 2:
    case 3: {
        uint32_t offered = model[s].offered;
        uint32_t full = container_usage(p) == QUOTA;
        uint32_t expected = STATUS_OK;
        if (model[s].to != p) {
            expected = ERR_BAD_STATE;
        } else if (offered == NONE) {
            expected = ERR_WOULD_BLOCK;
        } else if (full) {
            expected = ERR_QUOTA;
        } else if (owns(p, offered)) {
            expected = ERR_BAD_STATE;
        }
        CHECK_EQUAL(share_accept(s, p), expected);
        if (expected == STATUS_OK) {
            CHECK_EQUAL(share_frame(s), offered);
            CHECK(owns(p, offered));
            model[s].offered = NONE;
        }
        break;
    }
    case 4: {
        uint32_t good = model[s].from == p && model[s].offered != NONE;
        CHECK_EQUAL(share_withdraw(s, p), good ? STATUS_OK : ERR_BAD_STATE);
        model[s].offered = good ? NONE : model[s].offered;
        break;
    }
    default:
        if (test_random(20) == 0) {
            share_process_ended(p);
            for (uint32_t i = 0; i < NUM_S; i++) {
                model[i].offered = model[i].from == p ? NONE : model[i].offered;
            }
        }
    }
}

int main(void)
{
    static const struct model define[NUM_S] = {{0, 1, NONE}, {1, 0, NONE}, {0, 2, NONE}, {2, 3, NONE}, {0, 1, NONE}};
    uint64_t operations = test_operations(30000);

    hosted_reset(1);
    container_init(1000);
    frame_init();
    frame_make_usable(HOSTED_FIRST_FRAME, 100);
    share_init();
    for (uint32_t p = 0; p < NUM_P; p++) {
        container_split(CONTAINER_ROOT, p, QUOTA);
    }
    for (uint32_t s = 0; s < NUM_S; s++) {
        model[s] = define[s];
        share_define(s, define[s].from, define[s].to);
    }
    for (uint32_t i = 0; i < NUM_F; i++) {
        frames[i] = NONE;
    }
    test_random_start();
    for (uint64_t i = 0; i < operations; i++) {
        random_operation();
        if (!CHECK_EQUAL(share_check(), 0)) {
            break;
        }
        if (i % 10000 == 0 && !CHECK_EQUAL(frame_check(), 0)) {
            break;
        }
    }
    CHECK_EQUAL(frame_check(), 0);
    return TEST_END();
}
