/* expect: include 2, include 3 */
#include <string.h>
#include "missing.h"
