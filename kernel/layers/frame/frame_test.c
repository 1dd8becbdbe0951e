/* Frames against a model: an owner mask per frame, and containers that must agree. */
#include "abi.h"
#include "arch.h"
#include "container.h"
#include "frame.h"
#include "hosted.h"
#include "test.h"

#define FIRST HOSTED_FIRST_FRAME
#define NUM 300u /* usable frames: few, so that they run out */
#define NUM_OWNER 6u
#define QUOTA 100u /* of each owner: together more than there are */

static uint64_t model[FIRST + NUM];
static uint32_t used[NUM_PROCESS];

static void random_alloc(void)
{
    uint32_t p = test_random(NUM_OWNER);
    uint32_t free = frame_free_count();
    uint32_t frame = frame_alloc(p);

    if (used[p] == QUOTA) {
        CHECK_EQUAL(frame, FRAME_NO_QUOTA);
        return;
    }
    if (free == 0) {
        CHECK_EQUAL(frame, NONE);
        return;
    }
    if (!CHECK(frame >= FIRST && frame < FIRST + NUM)) {
        return;
    }
    CHECK_EQUAL(model[frame], 0);
    for (uint32_t i = 0; i < FRAME_WORDS; i++) {
        CHECK_EQUAL(arch_frame_read(frame, i), 0);
    }
    model[frame] = 1ul << p;
    used[p]++;
    arch_frame_write(frame, test_random(FRAME_WORDS), test_random(1000) + 1); /* another process's secret */
}

static void random_add(uint32_t frame, uint32_t p)
{
    uint32_t status = frame_add_owner(frame, p);

    if (p >= NUM_OWNER) {
        CHECK_EQUAL(status, ERR_BAD_STATE);
    } else if (used[p] == QUOTA) {
        CHECK(status == ERR_QUOTA || status == ERR_BAD_STATE);
    } else if (frame >= FIRST + NUM || model[frame] == 0 || (model[frame] >> p & 1)) {
        CHECK_EQUAL(status, ERR_BAD_STATE);
    } else if (CHECK_EQUAL(status, STATUS_OK)) {
        model[frame] |= 1ul << p;
        used[p]++;
    }
}

static void random_remove(uint32_t frame, uint32_t p)
{
    uint32_t owned = frame < FIRST + NUM && (model[frame] >> p & 1);

    CHECK_EQUAL(frame_remove_owner(frame, p), owned ? STATUS_OK : ERR_BAD_STATE);
    if (owned) {
        model[frame] &= ~(1ul << p);
        used[p]--;
    }
}

static uint32_t some_frame(void)
{
    switch (test_random(20)) {
    case 0:
        return FIRST + NUM;
    case 1:
        return NUM_FRAME + test_random(100);
    case 2:
        return test_random(FIRST);
    default:
        return FIRST + test_random(NUM);
    }
}

static void compare(void)
{
    uint32_t free = 0;

    for (uint32_t frame = FIRST - 1; frame < FIRST + NUM; frame++) {
        CHECK_EQUAL(frame_owners(frame), model[frame]);
        free += frame >= FIRST && model[frame] == 0;
    }
    CHECK_EQUAL(frame_state(FIRST - 1), FRAME_RESERVED);
    CHECK_EQUAL(frame_free_count(), free);
    for (uint32_t p = 0; p < NUM_OWNER; p++) {
        CHECK_EQUAL(container_usage(p), used[p]);
    }
}

static void start(void)
{
    hosted_reset(4);
    container_init(NUM_OWNER * QUOTA);
    for (uint32_t p = 0; p < NUM_OWNER; p++) {
        container_split(CONTAINER_ROOT, p, QUOTA);
    }
    frame_init();
}

static void against_model(void)
{
    uint64_t operations = test_operations(20000);

    start();
    frame_make_usable(FIRST, NUM - 10);
    frame_make_usable(FIRST + 5, NUM - 5); /* ranges may overlap */
    CHECK_EQUAL(frame_check(), 0);
    for (uint64_t i = 0; i < operations; i++) {
        /* Phases of growing and shrinking, so that both ends are met. */
        uint32_t growing = (i / 700) % 2 == 0;
        uint32_t choice = test_random(10);
        if (choice < (growing ? 6u : 2u)) {
            random_alloc();
        } else if (choice < 8) {
            random_remove(some_frame(), test_random(NUM_OWNER));
        } else {
            random_add(some_frame(), test_random(NUM_OWNER + 1));
        }
        if (i % 16 == 0) {
            compare();
        }
        if (i % 4000 == 0 && !CHECK_EQUAL(frame_check(), 0)) { /* it walks all NUM_FRAME frames */
            break;
        }
    }
    compare();
    CHECK_EQUAL(frame_check(), 0);
}

/* The summaries at their seams: single frames at the ends of words of every level. */
static void seams(void)
{
    static const uint32_t frames[] = {0, 63, 64, 4095, 4096, 262143, 262144, NUM_FRAME - 1};

    start();
    for (uint32_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        if (frames[i] < HOSTED_FRAMES) {
            frame_make_usable(frames[i], 1);
            CHECK_EQUAL(frame_check(), 0);
            CHECK_EQUAL(frame_alloc(0), frames[i]);
            CHECK_EQUAL(frame_check(), 0);
            CHECK_EQUAL(frame_alloc(0), NONE);
        } else {
            frame_make_usable(frames[i], 1);
            CHECK_EQUAL(frame_state(frames[i]), FRAME_FREE);
            CHECK_EQUAL(frame_check(), 0);
        }
    }
}

#if !defined(LOCK_BIG)
/* CPUs allocate and free at once: no frame is handed out twice. */
static uint32_t holder[FIRST + NUM];

static void alloc_and_free(uint32_t cpu)
{
    uint64_t state = test_seed * 100 + cpu;
    uint32_t mine[50];
    uint32_t n = 0;

    for (uint32_t i = 0; i < 3000; i++) {
        if (n < 50 && test_random_of(&state) % 2) {
            uint32_t frame = frame_alloc(cpu);
            if (frame != NONE && frame != FRAME_NO_QUOTA) {
                CHECK_EQUAL(__atomic_exchange_n(&holder[frame], cpu + 1, __ATOMIC_RELAXED), 0);
                mine[n++] = frame;
            }
        } else if (n > 0) {
            uint32_t frame = mine[--n];
            CHECK_EQUAL(__atomic_exchange_n(&holder[frame], 0, __ATOMIC_RELAXED), cpu + 1);
            CHECK_EQUAL(frame_remove_owner(frame, cpu), STATUS_OK);
        }
    }
    while (n > 0) {
        holder[mine[n - 1]] = 0;
        CHECK_EQUAL(frame_remove_owner(mine[--n], cpu), STATUS_OK);
    }
}

static void on_four_cpus(void)
{
    start();
    frame_make_usable(FIRST, 120); /* less than four times 50 */
    hosted_run_cpus(4, alloc_and_free);
    CHECK_EQUAL(frame_free_count(), 120);
    CHECK_EQUAL(frame_check(), 0);
}
#endif

int main(void)
{
    test_random_start();
    against_model();
    seams();
#if !defined(LOCK_BIG) /* its lock is taken at the kernel's entry, which this test has none of */
    on_four_cpus();
#endif
    return TEST_END();
}
