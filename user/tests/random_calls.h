/* The page that random_calls and random_parent share: 64-bit words. */
#ifndef ASHLAR_RANDOM_CALLS_H
#define ASHLAR_RANDOM_CALLS_H

#define PROGRESS_ADDRESS 0x0000123456000000ul
#define PROGRESS_SEED 0u  /* written by the parent before each start */
#define PROGRESS_LIMIT 1u /* calls this life should make, written by the parent */
#define PROGRESS_CALLS 2u /* calls made in this life, counted before each */

#endif
