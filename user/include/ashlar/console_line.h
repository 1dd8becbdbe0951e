/* What people type at a console, line by line. */
#ifndef ASHLAR_CONSOLE_LINE_H
#define ASHLAR_CONSOLE_LINE_H

#include "ashlar/print.h"

#define CONSOLE_LINE 40u /* characters of a line; the rest is dropped */

/* Reads some input and has each line obeyed that it ends. Returns 0 if there is none. */
static inline int console_obey(uint32_t console, void (*obey)(const char *line))
{
    static char line[CONSOLE_LINE + 1];
    static uint32_t length;
    char text[64];
    size_t bytes = console_read(console, text);

    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '\n' || text[i] == '\r') {
            line[length] = 0;
            length = 0;
            obey(line);
        } else if (length < CONSOLE_LINE) {
            line[length] = text[i];
            length++;
        }
    }
    return bytes != 0;
}

#endif
