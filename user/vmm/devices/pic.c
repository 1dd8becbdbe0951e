/* The 8259A pair. */
#include "devices/pic.h"

#define CASCADE 2u

/* The input that wins: among `set`, the first one after the lowest-priority input; 8 if none is set. */
static uint32_t winner(const struct pic_chip *chip, uint32_t set)
{
    if (set == 0) {
        return 8;
    }
    uint32_t first = (chip->lowest + 1) & 7;
    uint32_t rotated = ((set >> first) | (set << (8 - first))) & 0xff;
    return ((uint32_t)__builtin_ctz(rotated) + first) & 7;
}

/* Rank of an input in the present rotation, 0 highest; 8 for "none". */
static uint32_t rank(const struct pic_chip *chip, uint32_t input)
{
    return input == 8 ? 8 : (input - chip->lowest - 1) & 7;
}

/* The request this chip would deliver now, or 8. */
static uint32_t deliverable(const struct pic_chip *chip)
{
    uint32_t request = winner(chip, chip->irr & ~chip->imr);
    uint32_t serving = chip->special_mask ? chip->isr & ~chip->imr : chip->isr;
    return rank(chip, request) < rank(chip, winner(chip, serving)) ? request : 8;
}

static void set_input(struct pic_chip *chip, uint32_t input, uint32_t level)
{
    uint32_t bit = 1u << input;
    if (level == 0) {
        chip->lines &= ~bit;
        chip->irr &= ~bit; /* a request whose line falls before the acknowledge is withdrawn */
    } else if ((chip->lines & bit) == 0) {
        chip->lines |= bit;
        chip->irr |= bit;
    }
}

/* Recomputes the slave's output, the master's cascade input and the master's output. */
static void update(struct pic *pic)
{
    struct pic_chip *master = &pic->chip[0];
    uint32_t slave = deliverable(&pic->chip[1]) != 8;
    if (slave == 0) {
        set_input(master, CASCADE, 0);
    } else {
        master->lines |= 1u << CASCADE;
        master->irr |= 1u << CASCADE;
    }
    pic->output = deliverable(master) != 8;
}

void pic_init(struct pic *pic)
{
    for (uint32_t i = 0; i < 2; i++) {
        pic->chip[i] = (struct pic_chip){.imr = 0xff, .lowest = 7, .base = i == 0 ? 0x08 : 0x70};
    }
    pic->output = 0;
}

void pic_set_line(struct pic *pic, uint32_t line, uint32_t level)
{
    set_input(&pic->chip[line >> 3], line & 7, level);
    update(pic);
}

uint32_t pic_is_serving(const struct pic *pic, uint32_t line)
{
    return pic->chip[line >> 3].isr >> (line & 7) & 1;
}

uint32_t pic_is_masked(const struct pic *pic, uint32_t line)
{
    return pic->chip[line >> 3].imr >> (line & 7) & 1;
}

void pic_pulse(struct pic *pic, uint32_t line)
{
    struct pic_chip *chip = &pic->chip[line >> 3];
    chip->irr |= 1u << (line & 7);
    update(pic);
}

/* Takes the chip's best request into service; a spurious acknowledge gives input 7. */
static uint32_t take(struct pic_chip *chip)
{
    uint32_t input = deliverable(chip);
    if (input == 8) {
        return 7;
    }
    uint32_t bit = 1u << input;
    if ((chip->elcr & bit) == 0 || (chip->lines & bit) == 0) {
        chip->irr &= ~bit;
    }
    if (chip->auto_eoi == 0) {
        chip->isr |= bit;
    } else if (chip->rotate) {
        chip->lowest = input;
    }
    return input;
}

uint32_t pic_acknowledge(struct pic *pic)
{
    uint32_t input = take(&pic->chip[0]);
    uint32_t vector = pic->chip[0].base + input;
    if (input == CASCADE) {
        vector = pic->chip[1].base + take(&pic->chip[1]);
    }
    update(pic);
    return vector;
}

static void end_of_interrupt(struct pic_chip *chip, uint32_t value)
{
    uint32_t command = value >> 5;
    uint32_t input = value & 7;
    switch (command) {
    case 1: /* non-specific */
    case 5: /* non-specific, rotate */
        input = winner(chip, chip->special_mask ? chip->isr & ~chip->imr : chip->isr);
        if (input != 8) {
            chip->isr &= ~(1u << input);
            chip->lowest = command == 5 ? input : chip->lowest;
        }
        break;
    case 3: /* specific */
        chip->isr &= ~(1u << input);
        break;
    case 7: /* specific, rotate */
        chip->isr &= ~(1u << input);
        chip->lowest = input;
        break;
    case 6: /* set priority */
        chip->lowest = input;
        break;
    default: /* 0 and 4: rotation on automatic end of interrupt off and on; 2: nothing */
        chip->rotate = command == 4 ? 1 : command == 0 ? 0 : chip->rotate;
        break;
    }
}

static void write_command(struct pic_chip *chip, uint32_t value)
{
    if (value & 0x10) { /* first initialisation word */
        uint32_t elcr = chip->elcr;
        uint32_t lines = chip->lines;
        *chip = (struct pic_chip){
            .lowest = 7, .base = chip->base, .elcr = elcr, .lines = lines, .init_step = 2, .needs_icw4 = value & 1};
    } else if (value & 0x08) { /* OCW3 */
        chip->poll = (value & 0x04) != 0;
        if (value & 0x02) {
            chip->read_isr = value & 1;
        }
        if (value & 0x40) {
            chip->special_mask = (value & 0x20) != 0;
        }
    } else { /* OCW2 */
        end_of_interrupt(chip, value);
    }
}

static void write_data(struct pic_chip *chip, uint32_t value)
{
    switch (chip->init_step) {
    case 0:
        chip->imr = value;
        break;
    case 2:
        chip->base = value & 0xf8;
        chip->init_step = 3; /* always cascaded */
        break;
    case 3:
        chip->init_step = chip->needs_icw4 ? 4 : 0;
        break;
    default:
        chip->auto_eoi = (value & 2) != 0;
        chip->init_step = 0;
        break;
    }
}

uint32_t pic_read(struct pic *pic, uint32_t port)
{
    if (port >= 0x4d0) {
        return pic->chip[port & 1].elcr;
    }
    struct pic_chip *chip = &pic->chip[port >> 7];
    if (chip->poll) {
        chip->poll = 0;
        uint32_t input = deliverable(chip);
        uint32_t result = input == 8 ? 0 : 0x80 | take(chip);
        update(pic);
        return result;
    }
    if (port & 1) {
        return chip->imr;
    }
    return chip->read_isr ? chip->isr : chip->irr;
}

void pic_write(struct pic *pic, uint32_t port, uint32_t value)
{
    value &= 0xff;
    if (port >= 0x4d0) {
        pic->chip[port & 1].elcr = value & (port & 1 ? 0xde : 0xf8);
        return;
    }
    struct pic_chip *chip = &pic->chip[port >> 7];
    if (port & 1) {
        write_data(chip, value);
    } else {
        write_command(chip, value);
    }
    update(pic);
}
