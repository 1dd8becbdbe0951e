/* Feeds lines of standard input to a monitor and prints its verdicts; the test compares them with the automaton.
 *   e MAILBOX COOKIE HEX   the driver emits     r MAILBOX COOKIE HEX   it receives
 *   w MAILBOX…             it waits             q                      it returns
 *   s                      start again */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include PROTOCOL_HEADER

int main(void)
{
    static uint64_t open[WORDS];
    static char line[4096];
    struct monitor monitor;
    const struct monitor *all[] = {&monitor};
    monitor_start(&monitor, &PROTOCOL, open);
    while (fgets(line, sizeof line, stdin) != NULL) {
        enum monitor_verdict verdict = MONITOR_OK;
        char *word = strtok(line, " \n");
        if (word[0] == 'e' || word[0] == 'r') {
            uint32_t mailbox = (uint32_t)strtoul(strtok(NULL, " \n"), NULL, 10);
            uint64_t cookie = strtoull(strtok(NULL, " \n"), NULL, 10);
            uint8_t payload[40] = {0};
            const char *hex = strtok(NULL, " \n");
            for (size_t i = 0; hex != NULL && hex[2 * i] != 0; i++) {
                unsigned int byte = 0;
                sscanf(hex + 2 * i, "%2x", &byte);
                payload[i] = (uint8_t)byte;
            }
            verdict = (word[0] == 'e' ? monitor_emit : monitor_receive)(&monitor, mailbox, cookie, payload);
        } else if (word[0] == 'w') {
            uint32_t mailboxes[256];
            uint32_t count = 0;
            for (char *next = strtok(NULL, " \n"); next != NULL; next = strtok(NULL, " \n")) {
                mailboxes[count++] = (uint32_t)strtoul(next, NULL, 10);
            }
            verdict = monitor_await(all, 1, mailboxes, count);
        } else if (word[0] == 'q') {
            verdict = monitor_return(all, 1);
        } else {
            monitor_start(&monitor, &PROTOCOL, open);
        }
        printf("%d %s\n", (int)verdict, monitor_state(&monitor));
    }
    return 0;
}
