/* A unit test: it runs on this PC, with the sanitizers, and has passed when it ends with status 0. */
#include "../src/sensor/mean.c"
#include <assert.h>

int main(void)
{
    struct mean mean = {0};

    assert(mean_value(&mean) == 0);
    mean_add(&mean, 10);
    mean_add(&mean, 20);
    assert(mean_value(&mean) == 15);
    for (int i = 0; i < 100; i++) {
        mean_add(&mean, 7);
    }
    assert(mean.count == MEAN_MOST && mean_value(&mean) == 7);
    return 0;
}
