/* Unit tests of programs on a PC: the programs are functions of the test, and the kernel's own layers, the same C that boots, serve
 * their system calls in one process of Linux. A test in tests/NAME.c says what there is, lets it run, and looks at what has become:
 *
 *   #define main server
 *   #include "../src/server/main.c"
 *   #undef main
 *   ...
 *   unit_begin();
 *   uint32_t serving = unit_process("server", server), asking = unit_process("client", client);
 *   unit_endpoint("requests", serving, asking);
 *   unit_run(UNIT_SECOND);
 *   assert(unit_exit_code(asking) == 0 && unit_said(serving, "42 served"));
 *
 * There is one processor; a thread is interrupted only in its system calls. Time stands still while threads run, and goes on to the
 * next moment for which one waits when all do. There is no memory but the PC's: pages that programs share or map, and messages of more than
 * ten words, end the test; there are no devices, further threads and children. */
#ifndef ASHLAR_UNIT_H
#define ASHLAR_UNIT_H

#include <stdint.h>

#define UNIT_SECOND 1000000000ul
#define UNIT_RUNS (-1)  /* of unit_exit_code: the program has not ended */
#define UNIT_FAULT (-2) /* ... it has ended in another way than with a code */

/* A kernel with nothing in it; its clock says 0. */
void unit_begin(void);

/* A process whose program is `program`; its number. Up to 16, in the order in which they begin to run. */
uint32_t unit_process(const char *name, int (*program)(void));
/* Its priority: 100 if none is given. */
void unit_priority(uint32_t process, uint32_t priority);
/* An argument that env_arg finds. */
void unit_argument(uint32_t process, const char *key, const char *value);

/* An end point and its senders, one for each call; the first call makes it. All know it by `endpoint.NAME`. */
void unit_endpoint(const char *name, uint32_t receiver, uint32_t sender);
/* A notification and its signallers, in the same way. A process can be both. */
void unit_notification(const char *name, uint32_t waiter, uint32_t signaller);

/* Runs until all programs wait for what does not come or have ended, but not past `until`, in nanoseconds. Once after unit_begin. */
void unit_run(uint64_t until);

/* What a program has returned or given to sys_process_exit; 125 after a panic. */
int unit_exit_code(uint32_t process);
/* Whether it has printed this text. All that programs print goes to standard output too. */
int unit_said(uint32_t process, const char *text);
/* The kernel's clock. */
uint64_t unit_clock(void);

#endif
