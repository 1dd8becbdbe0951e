// The test bench of the core: memory on its two buses, and the cycles between instructions that leave its last stage.
//
//   bench FILE START FROM TO
//
// runs the 32-bit executable FILE from address START. For each passage from the instruction at FROM to the one at TO, the first of
// which is counted and the second is not, it prints the cycles: from when the instruction before it left to when the last one did.
// The program ends by a write of the trap's cause beyond its memory. Exit status: 0 if that is the call of a system, else 1.
#include <elf.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <unordered_map>
#include <vector>

#include "VVexRiscv.h"
#include "VVexRiscv_VexRiscv.h"

namespace {

constexpr uint32_t BEYOND = 0x80000000;     // no memory from here on
constexpr uint32_t CALL_OF_SYSTEM = 11;     // mcause of ECALL
constexpr uint64_t MOST_CYCLES = 1u << 30;  // no program of the set runs so long
constexpr unsigned FIRST_WORD = 1;          // cycles that a bus waits for the first word of a line, or for a word alone
constexpr unsigned BURST = 2;               // Wishbone, CTI: a further word of the line comes next

class Memory {
  public:
    uint8_t &byte(uint32_t address)
    {
        std::vector<uint8_t> &page = pages[address >> 12];
        page.resize(4096);
        return page[address & 4095];
    }

    uint32_t word(uint32_t address)
    {
        uint32_t all = 0;
        for (unsigned i = 0; i < 4; i++) {
            all |= uint32_t{byte(address + i)} << 8 * i;
        }
        return all;
    }

  private:
    std::unordered_map<uint32_t, std::vector<uint8_t>> pages;
};

// When a bus answers.
class Waiting {
  public:
    bool answers(bool asked, unsigned kind)
    {
        if (!asked) {
            left = FIRST_WORD;
            return false;
        }
        if (left != 0) {
            left--;
            return false;
        }
        left = kind == BURST ? 0 : FIRST_WORD;
        return true;
    }

  private:
    unsigned left = FIRST_WORD;
};

bool load(const char *path, Memory &memory)
{
    std::ifstream file(path, std::ios::binary);
    std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
    Elf32_Ehdr head;
    if (bytes.size() < sizeof head) {
        return false;
    }
    std::memcpy(&head, bytes.data(), sizeof head);
    for (unsigned i = 0; i < head.e_phnum; i++) {
        Elf32_Phdr part;
        std::memcpy(&part, bytes.data() + head.e_phoff + i * sizeof part, sizeof part);
        for (uint32_t k = 0; part.p_type == PT_LOAD && k < part.p_filesz; k++) {
            memory.byte(part.p_vaddr + k) = static_cast<uint8_t>(bytes.at(part.p_offset + k));
        }
    }
    return true;
}

}  // namespace

int main(int count, char **arguments)
{
    if (count != 5) {
        std::fprintf(stderr, "bench FILE START FROM TO\n");
        return 2;
    }
    auto number = [&](int i) { return static_cast<uint32_t>(std::strtoul(arguments[i], nullptr, 0)); };
    const uint32_t from = number(3), to = number(4);
    Memory memory;
    if (!load(arguments[1], memory)) {
        std::fprintf(stderr, "%s cannot be read\n", arguments[1]);
        return 2;
    }
    VVexRiscv core;
    core.externalResetVector = number(2);
    core.reset = 1;
    for (int i = 0; i < 4; i++) {
        core.clk = 0;
        core.eval();
        core.clk = 1;
        core.eval();
    }
    core.reset = 0;
    Waiting code, data;
    uint64_t last = 0, began = 0;
    bool inside = false;
    for (uint64_t now = 0; now < MOST_CYCLES; now++) {
        core.clk = 0;
        core.eval();
        core.iBusWishbone_ACK = code.answers(core.iBusWishbone_CYC && core.iBusWishbone_STB, core.iBusWishbone_CTI);
        if (core.iBusWishbone_ACK) {
            core.iBusWishbone_DAT_MISO = memory.word(core.iBusWishbone_ADR << 2);
        }
        core.dBusWishbone_ACK = data.answers(core.dBusWishbone_CYC && core.dBusWishbone_STB, core.dBusWishbone_CTI);
        if (core.dBusWishbone_ACK) {
            uint32_t address = core.dBusWishbone_ADR << 2;
            if (!core.dBusWishbone_WE) {
                core.dBusWishbone_DAT_MISO = memory.word(address);
            } else if (address >= BEYOND) {
                return core.dBusWishbone_DAT_MOSI == CALL_OF_SYSTEM ? 0 : 1;
            } else {
                for (unsigned i = 0; i < 4; i++) {
                    if (core.dBusWishbone_SEL >> i & 1) {
                        memory.byte(address + i) = static_cast<uint8_t>(core.dBusWishbone_DAT_MOSI >> 8 * i);
                    }
                }
            }
        }
        core.eval();
        if (core.VexRiscv->lastStageIsFiring) {
            uint32_t at = core.VexRiscv->lastStagePc;
            if (at == from && !inside) {
                began = last;
                inside = true;
            } else if (at == to && inside) {
                std::printf("%lu\n", static_cast<unsigned long>(last - began));
                inside = false;
            }
            last = now;
        }
        core.clk = 1;
        core.eval();
    }
    return 1;
}
