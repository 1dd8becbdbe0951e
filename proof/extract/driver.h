/* The C side of a comparison: reads operations, one a line (a name and numbers), and answers each with a line of numbers.
 * Answers are sent when a line with a period is read. A fault may make an operation run for ever; then the program ends. */
#ifndef ASHLAR_DRIVER_H
#define ASHLAR_DRIVER_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "hosted.h"

#define MOST_ARGUMENTS 8
#define MOST_SECONDS 5 /* for the operations up to a period */

struct operation {
    const char *name;
    uint32_t arguments;
    void (*run)(const uint64_t *argument);
};

/* Argument i of an operation. */
#define A(i) ((uint32_t)argument[i])

static uint32_t answered;

/* One number of the answer to the current operation. */
static inline void answer(uint64_t number)
{
    printf(answered++ ? " %" PRIu64 : "%" PRIu64, number);
}

/* An operation that does not fit the list is a fault of the comparison, not of what it compares. */
static inline void refuse(const char *line)
{
    fprintf(stderr, "not an operation: %s\n", line);
    exit(2);
}

static inline void run_line(char *line, const struct operation *operations, uint32_t count)
{
    uint64_t argument[MOST_ARGUMENTS];
    uint32_t given = 0;
    char *name = strtok(line, " \n");
    char *word;

    while ((word = strtok(NULL, " \n")) != NULL) {
        if (given == MOST_ARGUMENTS) {
            refuse(name);
        }
        argument[given++] = strtoull(word, NULL, 10);
    }
    for (uint32_t i = 0; name != NULL && i < count; i++) {
        if (strcmp(name, operations[i].name) == 0 && operations[i].arguments == given) {
            answered = 0;
            operations[i].run(argument);
            putchar('\n');
            return;
        }
    }
    refuse(name == NULL ? "" : name);
}

/* Gives main's result. */
static inline int drive(const struct operation *operations, uint32_t count)
{
    static char line[512];
    uint32_t running = 0;

    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strcmp(line, ".\n") == 0) {
            fflush(stdout);
            alarm(0);
            running = 0;
        } else {
            if (!running) {
                alarm(MOST_SECONDS);
                running = 1;
            }
            run_line(line, operations, count);
        }
    }
    return 0;
}

#define DRIVE(operations) drive(operations, sizeof(operations) / sizeof *(operations))

#endif
