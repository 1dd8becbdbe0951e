/* What active drivers and their clients are written with: EMIT and AWAIT on mailboxes.
 *
 *   EMIT(mailbox), EMIT(mailbox, cookie), EMIT(mailbox, cookie, &payload)
 *       sends a message. Never blocks, never allocates, never fails: a message for a peer that is gone, or that leaves
 *       more unread than its protocol allows, is dropped, and that peer is cut off.
 *   AWAIT(mailbox, mailbox, ...)
 *       blocks until one of the mailboxes holds a message, takes it and returns the mailbox.
 *   COOKIE(), MAIL(type)
 *       the cookie and the payload of the message taken last: MAIL(ethernet_transmit)->length.
 *
 * Mailboxes are the constants of the generated headers NAME_protocol.h, and drivercheck wants them as constants.
 * A driver is the function driver(); what stands before the first AWAIT and after the last is its start and its end. */
#ifndef ASHLAR_DRIVER_H
#define ASHLAR_DRIVER_H

#include <stdint.h>

#include "ashlar/domain.h"

/* drivercheck knows the functions driver_* and register_* by their names and text, and looks at calls of them only. */
static inline __attribute__((always_inline)) void driver_emit(uint32_t mailbox, uint64_t cookie)
{
    domain_emit(mailbox, cookie, 0, 0);
}
static inline __attribute__((always_inline)) void driver_emit_payload(uint32_t mailbox, uint64_t cookie,
                                                                      const void *body, uint64_t size)
{
    domain_emit(mailbox, cookie, body, size);
}
static inline uint32_t driver_await(const struct mail_set *set)
{
    return domain_await(set, ~0ul);
}
static inline uint64_t driver_cookie(void)
{
    return domain_current->cookie;
}
static inline const void *driver_payload(void)
{
    return domain_current->payload;
}

#define EMIT_CHOOSE(a, b, c, name, ...) name
#define EMIT(...) EMIT_CHOOSE(__VA_ARGS__, EMIT_PAYLOAD, EMIT_COOKIE, EMIT_PLAIN, )(__VA_ARGS__)
#define EMIT_PLAIN(mailbox) EMIT_COOKIE(mailbox, 0)
#define EMIT_COOKIE(mailbox, cookie) driver_emit((mailbox), (cookie))
#define EMIT_PAYLOAD(mailbox, cookie, body)                                                                            \
    do {                                                                                                               \
        _Static_assert(sizeof *(body) <= MAIL_PAYLOAD, "a payload has at most 40 bytes");                              \
        driver_emit_payload((mailbox), (cookie), (body), sizeof *(body));                                              \
    } while (0)
/* The set of mailboxes of an AWAIT is a constant: a bit for each message, by port. Up to MAIL_MOST mailboxes. */
#define MAIL_MOST 64
#define MAIL_BIT(port, mailbox) ((uint32_t)(mailbox) >> 8 == (port) ? 1ul << ((mailbox)&63u) : 0ul)
#define MAIL_MASK_1(port, mailbox) MAIL_BIT(port, mailbox)
#define MAIL_MASK_2(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_1(port, __VA_ARGS__)
#define MAIL_MASK_3(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_2(port, __VA_ARGS__)
#define MAIL_MASK_4(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_3(port, __VA_ARGS__)
#define MAIL_MASK_5(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_4(port, __VA_ARGS__)
#define MAIL_MASK_6(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_5(port, __VA_ARGS__)
#define MAIL_MASK_7(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_6(port, __VA_ARGS__)
#define MAIL_MASK_8(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_7(port, __VA_ARGS__)
#define MAIL_MASK_9(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_8(port, __VA_ARGS__)
#define MAIL_MASK_10(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_9(port, __VA_ARGS__)
#define MAIL_MASK_11(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_10(port, __VA_ARGS__)
#define MAIL_MASK_12(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_11(port, __VA_ARGS__)
#define MAIL_MASK_13(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_12(port, __VA_ARGS__)
#define MAIL_MASK_14(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_13(port, __VA_ARGS__)
#define MAIL_MASK_15(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_14(port, __VA_ARGS__)
#define MAIL_MASK_16(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_15(port, __VA_ARGS__)
#define MAIL_MASK_17(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_16(port, __VA_ARGS__)
#define MAIL_MASK_18(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_17(port, __VA_ARGS__)
#define MAIL_MASK_19(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_18(port, __VA_ARGS__)
#define MAIL_MASK_20(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_19(port, __VA_ARGS__)
#define MAIL_MASK_21(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_20(port, __VA_ARGS__)
#define MAIL_MASK_22(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_21(port, __VA_ARGS__)
#define MAIL_MASK_23(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_22(port, __VA_ARGS__)
#define MAIL_MASK_24(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_23(port, __VA_ARGS__)
#define MAIL_MASK_25(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_24(port, __VA_ARGS__)
#define MAIL_MASK_26(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_25(port, __VA_ARGS__)
#define MAIL_MASK_27(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_26(port, __VA_ARGS__)
#define MAIL_MASK_28(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_27(port, __VA_ARGS__)
#define MAIL_MASK_29(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_28(port, __VA_ARGS__)
#define MAIL_MASK_30(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_29(port, __VA_ARGS__)
#define MAIL_MASK_31(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_30(port, __VA_ARGS__)
#define MAIL_MASK_32(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_31(port, __VA_ARGS__)
#define MAIL_MASK_33(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_32(port, __VA_ARGS__)
#define MAIL_MASK_34(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_33(port, __VA_ARGS__)
#define MAIL_MASK_35(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_34(port, __VA_ARGS__)
#define MAIL_MASK_36(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_35(port, __VA_ARGS__)
#define MAIL_MASK_37(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_36(port, __VA_ARGS__)
#define MAIL_MASK_38(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_37(port, __VA_ARGS__)
#define MAIL_MASK_39(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_38(port, __VA_ARGS__)
#define MAIL_MASK_40(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_39(port, __VA_ARGS__)
#define MAIL_MASK_41(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_40(port, __VA_ARGS__)
#define MAIL_MASK_42(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_41(port, __VA_ARGS__)
#define MAIL_MASK_43(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_42(port, __VA_ARGS__)
#define MAIL_MASK_44(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_43(port, __VA_ARGS__)
#define MAIL_MASK_45(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_44(port, __VA_ARGS__)
#define MAIL_MASK_46(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_45(port, __VA_ARGS__)
#define MAIL_MASK_47(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_46(port, __VA_ARGS__)
#define MAIL_MASK_48(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_47(port, __VA_ARGS__)
#define MAIL_MASK_49(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_48(port, __VA_ARGS__)
#define MAIL_MASK_50(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_49(port, __VA_ARGS__)
#define MAIL_MASK_51(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_50(port, __VA_ARGS__)
#define MAIL_MASK_52(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_51(port, __VA_ARGS__)
#define MAIL_MASK_53(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_52(port, __VA_ARGS__)
#define MAIL_MASK_54(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_53(port, __VA_ARGS__)
#define MAIL_MASK_55(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_54(port, __VA_ARGS__)
#define MAIL_MASK_56(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_55(port, __VA_ARGS__)
#define MAIL_MASK_57(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_56(port, __VA_ARGS__)
#define MAIL_MASK_58(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_57(port, __VA_ARGS__)
#define MAIL_MASK_59(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_58(port, __VA_ARGS__)
#define MAIL_MASK_60(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_59(port, __VA_ARGS__)
#define MAIL_MASK_61(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_60(port, __VA_ARGS__)
#define MAIL_MASK_62(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_61(port, __VA_ARGS__)
#define MAIL_MASK_63(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_62(port, __VA_ARGS__)
#define MAIL_MASK_64(port, mailbox, ...) MAIL_BIT(port, mailbox) | MAIL_MASK_63(port, __VA_ARGS__)
/* clang-format off */
#define MAIL_CHOOSE(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20,    \
    a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32, a33, a34, a35, a36, a37, a38, a39, a40, a41,      \
    a42, a43, a44, a45, a46, a47, a48, a49, a50, a51, a52, a53, a54, a55, a56, a57, a58, a59, a60, a61, a62,      \
    a63, a64, name, ...)                                                                                          \
    name
#define MAIL_MASK(port, ...)                                                                                      \
    (MAIL_CHOOSE(__VA_ARGS__, MAIL_MASK_64, MAIL_MASK_63, MAIL_MASK_62, MAIL_MASK_61, MAIL_MASK_60,               \
    MAIL_MASK_59, MAIL_MASK_58, MAIL_MASK_57, MAIL_MASK_56, MAIL_MASK_55, MAIL_MASK_54, MAIL_MASK_53,             \
    MAIL_MASK_52, MAIL_MASK_51, MAIL_MASK_50, MAIL_MASK_49, MAIL_MASK_48, MAIL_MASK_47, MAIL_MASK_46,             \
    MAIL_MASK_45, MAIL_MASK_44, MAIL_MASK_43, MAIL_MASK_42, MAIL_MASK_41, MAIL_MASK_40, MAIL_MASK_39,             \
    MAIL_MASK_38, MAIL_MASK_37, MAIL_MASK_36, MAIL_MASK_35, MAIL_MASK_34, MAIL_MASK_33, MAIL_MASK_32,             \
    MAIL_MASK_31, MAIL_MASK_30, MAIL_MASK_29, MAIL_MASK_28, MAIL_MASK_27, MAIL_MASK_26, MAIL_MASK_25,             \
    MAIL_MASK_24, MAIL_MASK_23, MAIL_MASK_22, MAIL_MASK_21, MAIL_MASK_20, MAIL_MASK_19, MAIL_MASK_18,             \
    MAIL_MASK_17, MAIL_MASK_16, MAIL_MASK_15, MAIL_MASK_14, MAIL_MASK_13, MAIL_MASK_12, MAIL_MASK_11,             \
    MAIL_MASK_10, MAIL_MASK_9, MAIL_MASK_8, MAIL_MASK_7, MAIL_MASK_6, MAIL_MASK_5, MAIL_MASK_4, MAIL_MASK_3,      \
    MAIL_MASK_2, MAIL_MASK_1, )(port, __VA_ARGS__))
#define MAIL_SET(...)                                                                                             \
    {{MAIL_MASK(0, __VA_ARGS__), MAIL_MASK(1, __VA_ARGS__), MAIL_MASK(2, __VA_ARGS__), MAIL_MASK(3, __VA_ARGS__), \
      MAIL_MASK(4, __VA_ARGS__), MAIL_MASK(5, __VA_ARGS__), MAIL_MASK(6, __VA_ARGS__), MAIL_MASK(7, __VA_ARGS__), \
      MAIL_MASK(8, __VA_ARGS__), MAIL_MASK(9, __VA_ARGS__), MAIL_MASK(10, __VA_ARGS__), MAIL_MASK(11, __VA_ARGS__),\
      MAIL_MASK(12, __VA_ARGS__), MAIL_MASK(13, __VA_ARGS__), MAIL_MASK(14, __VA_ARGS__), MAIL_MASK(15, __VA_ARGS__)}}
/* clang-format on */
#define AWAIT(...)                                                                                                     \
    ({                                                                                                                 \
        _Static_assert(sizeof((const uint32_t[]){__VA_ARGS__}) <= MAIL_MOST * sizeof(uint32_t),                        \
                       "an AWAIT waits for at most 64 mailboxes");                                                     \
        static const struct mail_set mail_set_ = MAIL_SET(__VA_ARGS__);                                                \
        driver_await(&mail_set_);                                                                                      \
    })
#define COOKIE() driver_cookie()
#define MAIL(type) ((const struct type *)driver_payload())

/* The driver, and its protocols; after the last stands a null. Those of which it is the client stand in a list of their own, if there are
 * any: argument PROTOCOL names the driver, argument PROTOCOL_pages says how large the data area is. `AT(NUMBER, MAIL_LINK_UP)` comes
 * when that driver is there, `AT(NUMBER, MAIL_LINK_LOST)` when it has ended, and with it all that it knew of the client. */
void driver(void);
extern const struct protocol *const driver_protocols[];
extern const struct protocol *const client_protocols[];

/* ---- registers of the device: the first register window that the description gives. Where a driver is part of another system
 * (linux), they stand elsewhere ---- */
#ifndef REGISTERS_ADDRESS
#define REGISTERS_ADDRESS 0x0000200000000000ul
#endif

static inline uint8_t register_read8(uint32_t offset)
{
    return *(const volatile uint8_t *)(REGISTERS_ADDRESS + offset);
}
static inline uint16_t register_read16(uint32_t offset)
{
    return *(const volatile uint16_t *)(REGISTERS_ADDRESS + offset);
}
static inline uint32_t register_read32(uint32_t offset)
{
    return *(const volatile uint32_t *)(REGISTERS_ADDRESS + offset);
}
static inline void register_write8(uint32_t offset, uint8_t value)
{
    *(volatile uint8_t *)(REGISTERS_ADDRESS + offset) = value;
}
static inline void register_write16(uint32_t offset, uint16_t value)
{
    *(volatile uint16_t *)(REGISTERS_ADDRESS + offset) = value;
}
static inline void register_write32(uint32_t offset, uint32_t value)
{
    *(volatile uint32_t *)(REGISTERS_ADDRESS + offset) = value;
}

/* ---- I/O ports of the device, if it has any ----
 * A driver that uses them says in one of its files which device of its description they belong to, and how many it uses:
 *   const struct driver_ports driver_ports = {"rtc", 2};
 * `offset` is counted from the first one. drivercheck wants it as a constant, and each access wholly inside those ports. */
struct driver_ports {
    const char *device;
    uint32_t count;
};
extern const struct driver_ports driver_ports;

uint8_t port_read8(uint32_t offset);
uint16_t port_read16(uint32_t offset);
uint32_t port_read32(uint32_t offset);
void port_write8(uint32_t offset, uint8_t value);
void port_write16(uint32_t offset, uint16_t value);
void port_write32(uint32_t offset, uint32_t value);

/* ---- what the description says ---- */

/* The number of `args.NAME` of the driver's process; `fallback` if there is none, or it is no number. */
uint64_t driver_number(const char *name, uint64_t fallback);

/* ---- memory for the device ----
 * Each link has an area of data pages, which belongs to the client and to the driver both: buffers are named by their
 * offset in it. Pages follow each other for the processor only; a buffer for the device must not cross a page. The area of
 * the link to the bus holds the driver's own descriptors: it outlives the driver, so a device that goes on working
 * after the driver was killed writes to no other memory until the bus has stopped it. */

/* Bytes of the area of the protocol's link; 0 while there is no link. Of a protocol with several clients (ashlar/clients.h) this and the
 * next ones mean the area of the client whose turn it is, and require that one has it: no number leads to another client's. */
uint64_t dma_size(uint32_t protocol);
/* Where `offset` of the area is, for the driver. Requires: offset < dma_size(), or what that was while there was a link; the program ends
 * where it is not. */
volatile void *dma_memory(uint32_t protocol, uint64_t offset);
/* ... and for the device. Requires: the same. */
uint64_t dma_physical(uint32_t protocol, uint64_t offset);

/* The processor does not move writes to memory past this, nor the compiler: before a doorbell is rung. */
static inline void dma_barrier(void)
{
    __asm__ volatile("" ::: "memory");
}

#endif
