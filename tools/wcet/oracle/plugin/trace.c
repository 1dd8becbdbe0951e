/* A plugin of QEMU's emulator (-plugin ./trace.so,out=PATH,from=ADDRESS,to=ADDRESS,...): writes what a stretch of the guest's
 * address space executes, and which memory it touches, to PATH.N for processor N.
 *
 *   from=, to=     the stretch: the kernel's text
 *   calls=A        an instruction that stores the number of a system call; ram=FILE is the guest's memory from physical
 *                  address 0 on, and base= what is to be subtracted from a kernel address
 *   values=A       what stands at A and the bytes= behind it is written with each access to it, from the same memory
 *   count=A        writing begins when the instruction at A is executed for the first time, and
 *   limit=N        stops after N times, which is said on standard error
 *
 * Records of 8 bytes, little-endian: the address's lower 48 bits, and in the upper 16 what it is: 0 an instruction that is
 * executed; 1 + 2 * log2(size) a read, 2 + 2 * log2(size) a write, of the instruction before; 256 the number of a system call
 * in place of the address; 257 what stands where the access before went, behind it; 258 the physical address for which the page
 * stands in which the access before went, if this processor's last access to that page did not find it there.
 *
 * QEMU is a separate program, and its header is not part of this one: what is used of the plugin interface, version 1, is
 * declared here. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* ---- the plugin interface ---- */
typedef uint64_t plugin_id;
typedef uint32_t plugin_access;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum { CALLBACK_WITHOUT_REGISTERS = 0, ACCESS_READ_OR_WRITE = 3 };

EXPORT int qemu_plugin_version = 1;
EXPORT int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv);

void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*translated)(plugin_id, struct qemu_plugin_tb *));
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *block, size_t index);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *instruction);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, void (*executed)(unsigned int, void *), int, void *);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *,
                                      void (*accessed)(unsigned int, plugin_access, uint64_t, void *), int, int, void *);
unsigned int qemu_plugin_mem_size_shift(plugin_access access);
bool qemu_plugin_mem_is_store(plugin_access access);
struct qemu_plugin_hwaddr;
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(plugin_access access, uint64_t address);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *place);
uint64_t qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *place);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*ended)(plugin_id, void *), void *);

/* ---- records ---- */
#define NUM_PROCESSOR 16
#define BUFFER 8192
#define ADDRESS_BITS 48
#define KIND_CALL 256ul
#define KIND_VALUE 257ul
#define KIND_PAGE 258ul
#define PAGE 4096ul
#define KNOWN_PAGES 4096

static struct {
    int file;
    size_t used;
    uint64_t record[BUFFER];
} output[NUM_PROCESSOR];

static const char *out_path = "trace", *ram_path;
/* Pages and what they stood for, by the lower bits of their numbers. */
static struct {
    uint64_t page, physical;
} known[NUM_PROCESSOR][KNOWN_PAGES];

static uint64_t from, to, calls, base, counted, values, value_bytes, limit = UINT64_MAX;
static uint64_t count;
static const uint8_t *ram;
static uint64_t ram_bytes;
static bool stopped = true, begun;

static void flush(unsigned int processor)
{
    const char *bytes = (const char *)output[processor].record;
    size_t left = output[processor].used * sizeof(uint64_t);
    while (left > 0) {
        ssize_t written = write(output[processor].file, bytes, left);
        if (written <= 0) {
            perror("trace");
            exit(2);
        }
        bytes += written;
        left -= (size_t)written;
    }
    output[processor].used = 0;
}

static void put(unsigned int processor, uint64_t kind, uint64_t value)
{
    if (processor >= NUM_PROCESSOR || stopped) {
        return;
    }
    if (output[processor].file < 0) {
        char path[4096];
        snprintf(path, sizeof path, "%s.%u", out_path, processor);
        output[processor].file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
        if (output[processor].file < 0) {
            perror(path);
            exit(2);
        }
    }
    output[processor].record[output[processor].used++] = kind << ADDRESS_BITS | (value & ((1ul << ADDRESS_BITS) - 1));
    if (output[processor].used == BUFFER) {
        flush(processor);
    }
}

static void executed(unsigned int processor, void *address)
{
    put(processor, 0, (uint64_t)address);
}

static void executed_counted(unsigned int processor, void *address)
{
    if (!__atomic_exchange_n(&begun, true, __ATOMIC_RELAXED)) {
        __atomic_store_n(&stopped, false, __ATOMIC_RELAXED);
    }
    if (__atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) > limit && !__atomic_exchange_n(&stopped, true, __ATOMIC_RELAXED)) {
        fprintf(stderr, "trace: limit reached\n");
    }
    put(processor, 0, (uint64_t)address);
}

/* What the access's page stands for, if that is memory and not what it was. */
static void place(unsigned int processor, plugin_access access, uint64_t address)
{
    struct qemu_plugin_hwaddr *found = qemu_plugin_get_hwaddr(access, address);
    if (processor >= NUM_PROCESSOR || stopped || found == NULL || qemu_plugin_hwaddr_is_io(found)) {
        return;
    }
    uint64_t page = address / PAGE, physical = qemu_plugin_hwaddr_phys_addr(found) / PAGE * PAGE;
    size_t slot = page % KNOWN_PAGES;
    if (known[processor][slot].page != page || known[processor][slot].physical != physical) {
        known[processor][slot].page = page;
        known[processor][slot].physical = physical;
        put(processor, KIND_PAGE, physical);
    }
}

static void accessed(unsigned int processor, plugin_access access, uint64_t address, void *instruction)
{
    unsigned int shift = qemu_plugin_mem_size_shift(access);
    uint64_t kind = 1 + 2 * (uint64_t)shift + (qemu_plugin_mem_is_store(access) ? 1 : 0);
    put(processor, kind, address);
    place(processor, access, address);
    /* The access has been made: what was stored stands in memory. */
    bool in_ram = ram != NULL && address - base + 8 <= ram_bytes;
    if (in_ram && shift <= 3 && address >= values && address < values + value_bytes) {
        uint64_t value = 0;
        memcpy(&value, ram + (address - base), 1ul << shift);
        put(processor, KIND_VALUE, value);
    }
    if ((uint64_t)instruction == calls && in_ram) {
        uint64_t number;
        memcpy(&number, ram + (address - base), sizeof number);
        put(processor, KIND_CALL, number > UINT32_MAX ? UINT32_MAX : number);
    }
}

static void translated(plugin_id id, struct qemu_plugin_tb *block)
{
    (void)id;
    for (size_t i = 0; i < qemu_plugin_tb_n_insns(block); i++) {
        struct qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
        uint64_t address = qemu_plugin_insn_vaddr(instruction);
        if (address < from || address >= to) {
            continue;
        }
        qemu_plugin_register_vcpu_insn_exec_cb(instruction, address == counted ? executed_counted : executed,
                                               CALLBACK_WITHOUT_REGISTERS, (void *)address);
        qemu_plugin_register_vcpu_mem_cb(instruction, accessed, CALLBACK_WITHOUT_REGISTERS, ACCESS_READ_OR_WRITE,
                                         (void *)address);
    }
}

static void ended(plugin_id id, void *unused)
{
    (void)id;
    (void)unused;
    for (unsigned int processor = 0; processor < NUM_PROCESSOR; processor++) {
        if (output[processor].file >= 0) {
            flush(processor);
            close(output[processor].file);
            output[processor].file = -1;
        }
    }
}

static bool map_ram(void)
{
    struct stat state;
    int file = open(ram_path, O_RDONLY);
    if (file < 0 || fstat(file, &state) != 0) {
        perror(ram_path);
        return false;
    }
    ram_bytes = (uint64_t)state.st_size;
    ram = mmap(NULL, ram_bytes, PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (ram == MAP_FAILED) {
        perror(ram_path);
        return false;
    }
    return true;
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (value == NULL) {
            fprintf(stderr, "trace: %s is not of the form NAME=VALUE\n", argv[i]);
            return -1;
        }
        *value++ = 0;
        if (strcmp(argv[i], "out") == 0) {
            out_path = strdup(value);
        } else if (strcmp(argv[i], "ram") == 0) {
            ram_path = strdup(value);
        } else {
            static const struct {
                const char *name;
                uint64_t *to;
            } numbers[] = { { "from", &from }, { "to", &to }, { "calls", &calls },
                            { "base", &base }, { "count", &counted }, { "limit", &limit },
                            { "values", &values }, { "bytes", &value_bytes } };
            size_t which = 0;
            while (which < sizeof numbers / sizeof numbers[0] && strcmp(argv[i], numbers[which].name) != 0) {
                which++;
            }
            if (which == sizeof numbers / sizeof numbers[0]) {
                fprintf(stderr, "trace: there is no option %s\n", argv[i]);
                return -1;
            }
            *numbers[which].to = strtoull(value, NULL, 0);
        }
    }
    for (unsigned int processor = 0; processor < NUM_PROCESSOR; processor++) {
        output[processor].file = -1;
    }
    if (ram_path != NULL && !map_ram()) {
        return -1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
