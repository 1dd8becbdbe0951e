/* Fills memory with known words and looks again and again whether they are still there; a line on its console makes it look
 * once more, ask the kernel of a debug build whether its tables are whole, and say so.
 *
 * Arguments: `bytes` (default 16M); `tell`, a process whose notification, of the same name, is signalled once the memory is
 * filled. */
#include "keeper.h"

#include "ashlar/env.h"
#include "ashlar/print.h"
#include "ashlar/string.h"
#include "ashlar/syscall.h"

#define ADDRESS 0x0000100000000000ul
#define WORDS (PAGE_SIZE / 8)
#define PAUSE 100000000ul /* ns */
#define REPORTED 8u       /* changes that are reported one by one */

static volatile uint64_t *const memory = (volatile uint64_t *)ADDRESS;
static uint64_t pages;
static uint32_t changes;

static uint64_t expected(uint64_t page, uint64_t word)
{
    if (word < 2) {
        return word == 0 ? KEEPER_MARK : page;
    }
    return (page * WORDS + word) * 0x9e3779b97f4a7c15ul;
}

static void fill(void)
{
    for (uint64_t at = 0; at < pages * WORDS; at++) {
        memory[at] = expected(at / WORDS, at % WORDS);
    }
}

/* Number of what is broken in the kernel's tables, 0 for nothing. */
static uint64_t kernel_broken(void)
{
    uint64_t broken = 0;
    uint32_t status = sys_check(env_slot_of_kind("power"), &broken);

    return status == ERR_NOT_SUPPORTED ? 0 : status != STATUS_OK ? ~0ul : broken;
}

static void look(void)
{
    for (uint64_t at = 0; at < pages * WORDS; at++) {
        uint64_t value = memory[at];
        if (value != expected(at / WORDS, at % WORDS)) {
            changes++;
            if (changes <= REPORTED) {
                print("KEEPER changed: page %lu, word %lu is 0x%lx\n", at / WORDS, at % WORDS, value);
            }
        }
    }
}

int main(void)
{
    uint32_t console = env_slot_of_kind("console");
    char wake_name[48] = "notification.";
    char tell[48] = "notification.";
    char text[64];

    pages = env_arg_u64("bytes", 16ul << 20) / PAGE_SIZE;
    uint32_t status = sys_mem_map(ADDRESS, pages, PROT_READ | PROT_WRITE);
    if (status != STATUS_OK) {
        panic("memory to keep: error %u\n", status);
    }
    env_name(wake_name + strlen(wake_name), sizeof wake_name - strlen(wake_name));
    uint32_t wake = env_slot(wake_name);
    fill();
    if (env_arg("tell", tell + strlen(tell), sizeof tell - strlen(tell)) >= 0) {
        sys_signal(env_slot(tell));
    }
    print("KEEPER keeps %lu pages\n", pages);
    for (uint32_t asked = 0;;) {
        uint64_t bits = 0;
        sys_wait(wake, sys_clock() + PAUSE, &bits);
        size_t bytes = console_read(console, text);
        look();
        for (size_t i = 0; i < bytes; i++) {
            if (text[i] == '\n') {
                asked++;
                print("KEEPER asked %u: %u words changed, kernel tables: %lu\n", asked, changes, kernel_broken());
            }
        }
    }
}
