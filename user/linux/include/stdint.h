/* The fixed-width types of drivers and protocols, as Linux has them. */
#include <linux/types.h>
