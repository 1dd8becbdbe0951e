/* Shares: a process offers one of its frames to another, which accepts it and so becomes a second owner. Invariant:
 * an offered frame is owned by the process that offers it. So share_forget must be called before a process gives up a
 * frame.
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

/* Accepts the offered frame: p becomes an owner too, charged to its container, and the offer ends; share_frame
 * returns the frame. Returns STATUS_OK; ERR_BAD_STATE (p is not the one that may accept, or owns the frame already);
 * ERR_WOULD_BLOCK (no offer stands); ERR_QUOTA (the offer stays). */
uint32_t share_accept(uint32_t s, uint32_t p);

/* The frame that was accepted last through s. Requires: the acceptor does not accept another frame through s
 * meanwhile. */
uint32_t share_frame(uint32_t s);

/* Withdraws the offer. Returns STATUS_OK; ERR_BAD_STATE (p is not the one that may offer, or no offer stands). */
uint32_t share_withdraw(uint32_t s, uint32_t p);

/* Withdraws all of p's offers of this frame. Requires: no other thread of p offers it meanwhile. */
void share_forget(uint32_t p, uint32_t frame);

/* Withdraws all of p's offers. Requires: no thread of p can offer any more. */
void share_process_ended(uint32_t p);

uint32_t share_check(void);

#endif
