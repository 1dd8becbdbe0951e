/* Burns processor time for ever. It never gives the CPU away; what it gets is what its priority and budget allow. */
#include "ashlar/print.h"

int main(void)
{
    volatile unsigned long turns = 0;

    print("HOG runs\n");
    for (;;) {
        turns++;
    }
}
