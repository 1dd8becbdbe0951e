/* What the keeper's pages look like, for the keeper and for those that search memory for them. */
#ifndef ASHLAR_KEEPER_H
#define ASHLAR_KEEPER_H

#include <stdint.h>

#define KEEPER_MARK 0x7365637265742e31ul /* word 0 of each page; word 1 is the page's number */

#endif
