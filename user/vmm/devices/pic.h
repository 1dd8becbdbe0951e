/* Two cascaded 8259A interrupt controllers, as every PC kernel expects them. Pure state: no system calls. */
#ifndef VMM_PIC_H
#define VMM_PIC_H

#include <stdint.h>

#define PIC_LINES 16u
#define PIC_NO_VECTOR 0xffffffffu

struct pic_chip {
    uint32_t lines;     /* levels of the eight inputs */
    uint32_t irr;       /* requests */
    uint32_t isr;       /* in service */
    uint32_t imr;       /* masked */
    uint32_t elcr;      /* level-triggered inputs */
    uint32_t base;      /* vector of input 0 */
    uint32_t init_step; /* 0: ready; else the number of the next initialisation word */
    uint32_t needs_icw4;
    uint32_t auto_eoi;
    uint32_t special_mask;
    uint32_t rotate; /* rotate on automatic end of interrupt */
    uint32_t lowest; /* input with the lowest priority; 7 unless rotated */
    uint32_t read_isr;
    uint32_t poll;
};

struct pic {
    struct pic_chip chip[2]; /* master, slave on the master's input 2 */
    uint32_t output;         /* 1: the master asks the CPU for an interrupt */
};

void pic_init(struct pic *pic);
/* Drives input `line` 0..15 to `level` 0 or 1. */
void pic_set_line(struct pic *pic, uint32_t line, uint32_t level);
/* Whether an interrupt of the line was acknowledged and not ended; whether the line is masked. */
uint32_t pic_is_serving(const struct pic *pic, uint32_t line);
uint32_t pic_is_masked(const struct pic *pic, uint32_t line);
/* A short pulse, for edge-triggered sources such as the timer. */
void pic_pulse(struct pic *pic, uint32_t line);
/* The CPU's interrupt acknowledge: the vector. Requires output = 1. */
uint32_t pic_acknowledge(struct pic *pic);
/* Ports 0x20 0x21 0xa0 0xa1 and the edge/level registers 0x4d0 0x4d1. */
uint32_t pic_read(struct pic *pic, uint32_t port);
void pic_write(struct pic *pic, uint32_t port, uint32_t value);

#endif
