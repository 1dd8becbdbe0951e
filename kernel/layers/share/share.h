/* Shares: a process offers one of its frames to another, which accepts it and so becomes a second owner.
 * Invariant: a frame under offer is owned by the process that offers it. So whoever takes a frame from an owner calls
 * share_forget first.
 *
 * Lock: LOCK_SHARE guards everything here. All functions require s < NUM_SHARE, p < NUM_PROCESS. */
#ifndef ASHLAR_SHARE_H
#define ASHLAR_SHARE_H

#include <stdint.h>

#include "config.h"

/* Requires: start-up, one CPU runs. Ensures: no share is defined. */
void share_init(void);

/* Requires: start-up. Ensures: s exists without an offer; process from may offer, process to accept. */
void share_define(uint32_t s, uint32_t from, uint32_t to);

/* Offers p's frame. Requires: p keeps the frame until share_forget, share_withdraw or share_process_ended.
 * Returns STATUS_OK; ERR_BAD_STATE (p is not the one that may offer, or does not own the frame, or an offer stands). */
uint32_t share_offer(uint32_t s, uint32_t p, uint32_t frame);

/* Takes the offered frame: p owns it too, charged to its container, and the offer is gone; share_frame tells which.
 * Returns STATUS_OK; ERR_BAD_STATE (p is not the one that may accept, or owns the frame already);
 * ERR_WOULD_BLOCK (no offer stands); ERR_QUOTA (the offer stays). */
uint32_t share_accept(uint32_t s, uint32_t p);

/* The frame that was accepted last through s. Requires: the accepting process accepts nothing else through s meanwhile. */
uint32_t share_frame(uint32_t s);

/* Takes the offer back. Returns STATUS_OK; ERR_BAD_STATE (p is not the one that may offer, or no offer stands). */
uint32_t share_withdraw(uint32_t s, uint32_t p);

/* Ensures: p offers this frame nowhere. Requires: nobody offers it in p's name meanwhile. */
void share_forget(uint32_t p, uint32_t frame);

/* Ensures: p offers nothing. Requires: no thread of p is left that could offer. */
void share_process_ended(uint32_t p);

uint32_t share_check(void);

#endif
