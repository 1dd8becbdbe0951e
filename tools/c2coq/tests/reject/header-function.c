/* expect: header-function header-function.h:2 */
#include "header-function.h"
