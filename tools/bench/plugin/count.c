/* A plugin of QEMU's emulator (-plugin ./count.so,out=PATH): counts how often each instruction is executed while a benchmark takes
 * its samples, for all processes and the kernel alike.
 *
 * A program marks the beginning and the end of the samples of an operation by executing MARK (user/bench/bench.h), and each sample
 * by two RDTSC: the instructions between them are counted, and the second one, so that the sum is what the stamps say. At each end
 * mark PATH is written anew:
 *
 *   page N ADDRESS BYTES          a page of code: its address in its address space, and its 4096 bytes in hexadecimal
 *   count OPERATION N OFFSET M    in operation 0, 1, ... the instruction at that offset of page N was executed M times
 *   samples OPERATION M           so many samples were taken
 *
 * Two processes may have different code at one address: so a page is one of the guest's memory, at one address. One processor only.
 *
 * QEMU is a separate program, and its header is not part of this one: what is used of the plugin interface, version 1, is
 * declared here. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* ---- the plugin interface ---- */
typedef uint64_t plugin_id;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { CALLBACK_WITHOUT_REGISTERS = 0 };

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv);

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*translated)(plugin_id, struct qemu_plugin_tb *));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *instruction);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, void (*executed)(unsigned int, void *), int,
                                            void *);

/* ---- what is counted ---- */
#define PAGE 4096u
#define NUM_PAGE 4096u /* a power of two, more than there are pages of code */
#define NUM_OPERATION 8u

static const uint8_t MARK[] = {0x0f, 0x1f, 0x80, 0x6d, 0x61, 0x72, 0x6b};
static const uint8_t STAMP[] = {0x0f, 0x31};

struct counter {
    uint64_t count[NUM_OPERATION];
};

static struct page {
    const uint8_t *host; /* null: none */
    uint64_t address;
    struct counter *counters; /* by offset */
} pages[NUM_PAGE];

static const char *out_path;
static uint64_t marks;   /* executed so far */
static bool is_counting; /* between the two stamps of a sample */
static uint64_t samples[NUM_OPERATION];

static void write_counts(void)
{
    FILE *out = fopen(out_path, "w");
    if (out == NULL) {
        perror(out_path);
        exit(2);
    }
    for (size_t n = 0; n < NUM_PAGE; n++) {
        if (pages[n].host == NULL) {
            continue;
        }
        bool is_told = false;
        for (size_t offset = 0; offset < PAGE; offset++) {
            for (size_t operation = 0; operation < NUM_OPERATION; operation++) {
                uint64_t count = pages[n].counters[offset].count[operation];
                if (count == 0) {
                    continue;
                }
                if (!is_told) {
                    is_told = true;
                    fprintf(out, "page %zu %lx ", n, pages[n].address);
                    for (size_t i = 0; i < PAGE; i++) {
                        fprintf(out, "%02x", pages[n].host[i]);
                    }
                    fputc('\n', out);
                }
                fprintf(out, "count %zu %zu %zu %lu\n", operation, n, offset, count);
            }
        }
    }
    for (size_t operation = 0; operation < NUM_OPERATION; operation++) {
        fprintf(out, "samples %zu %lu\n", operation, samples[operation]);
    }
    if (fclose(out) != 0) {
        perror(out_path);
        exit(2);
    }
}

static void executed(unsigned int processor, void *counter)
{
    (void)processor;
    if (is_counting) {
        ((struct counter *)counter)->count[marks / 2 % NUM_OPERATION]++;
    }
}

static void stamped(unsigned int processor, void *counter)
{
    executed(processor, counter);
    samples[marks / 2 % NUM_OPERATION] += is_counting;
    is_counting = !is_counting && marks % 2 == 1;
}

static void marked(unsigned int processor, void *counter)
{
    (void)processor;
    (void)counter;
    marks++;
    if (marks % 2 == 0) {
        write_counts();
    }
}

static struct counter *counter_of(const uint8_t *host, uint64_t address)
{
    const uint8_t *start = (const uint8_t *)((uintptr_t)host & ~(uintptr_t)(PAGE - 1));
    size_t n = ((uintptr_t)start / PAGE) % NUM_PAGE;
    for (size_t tries = 0; tries < NUM_PAGE; tries++, n = (n + 1) % NUM_PAGE) {
        if (pages[n].host == NULL) {
            pages[n].host = start;
            pages[n].address = address & ~(uint64_t)(PAGE - 1);
            pages[n].counters = calloc(PAGE, sizeof *pages[n].counters);
            if (pages[n].counters == NULL) {
                perror("count");
                exit(2);
            }
        }
        if (pages[n].host == start && pages[n].address == (address & ~(uint64_t)(PAGE - 1))) {
            return &pages[n].counters[address % PAGE];
        }
    }
    fprintf(stderr, "count: more pages of code than %u\n", NUM_PAGE);
    exit(2);
}

static bool is(const uint8_t *host, uint64_t address, const uint8_t *bytes, size_t size)
{
    return address % PAGE + size <= PAGE && memcmp(host, bytes, size) == 0;
}

static void translated(plugin_id id, struct qemu_plugin_tb *block)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
        const uint8_t *host = qemu_plugin_insn_haddr(instruction);
        uint64_t address = qemu_plugin_insn_vaddr(instruction);
        if (host == NULL) {
            continue; /* of a device */
        }
        bool is_user = address >> 47 == 0;
        void (*callback)(unsigned int, void *) = executed;
        if (is_user && is(host, address, MARK, sizeof MARK)) {
            callback = marked;
        } else if (is_user && is(host, address, STAMP, sizeof STAMP)) {
            callback = stamped;
        }
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, callback, CALLBACK_WITHOUT_REGISTERS,
                                               counter_of(host, address));
    }
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "out=", 4) != 0) {
            fprintf(stderr, "count: there is no option %s\n", argv[i]);
            return -1;
        }
        out_path = strdup(argv[i] + 4);
    }
    if (out_path == NULL) {
        fprintf(stderr, "count: out= is missing\n");
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    return 0;
}
