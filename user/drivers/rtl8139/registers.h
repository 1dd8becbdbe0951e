/* Registers and descriptors of the RTL8139C+, as its data sheet names them. */
#ifndef RTL8139_REGISTERS_H
#define RTL8139_REGISTERS_H

#define IDR0 0x00u  /* six bytes: the address */
#define MAR0 0x08u  /* two words: hash of the multicast groups */
#define TNPDS 0x20u /* two words: normal transmit descriptors */
#define THPDS 0x28u /* two words: those of high priority */
#define CR 0x37u
#define IMR 0x3cu
#define ISR 0x3eu
#define TCR 0x40u
#define RCR 0x44u
#define MPC 0x4cu /* frames missed */
#define CR9346 0x50u
#define MSR 0x58u
#define TPPOLL 0xd9u
#define CPCR 0xe0u
#define RDSAR 0xe4u /* two words: receive descriptors */

#define CR_TE 0x04u
#define CR_RE 0x08u
#define CR_RST 0x10u

#define INT_ROK 0x0001u
#define INT_RER 0x0002u
#define INT_TOK 0x0004u
#define INT_TER 0x0008u
#define INT_RDU 0x0010u /* no receive descriptor */
#define INT_LINK 0x0020u
#define INT_FOVW 0x0040u /* the receive FIFO ran over */
#define INT_TDU 0x0080u  /* no transmit descriptor: nothing to do */
#define INT_SERR 0x8000u
#define INT_GONE 0xffffu /* what is read where no device is */

#define TCR_BURST 0x00000700u /* unlimited */
#define TCR_GAP 0x03000000u   /* the standard's */
#define RCR_ALL 0x00000001u
#define RCR_OWN 0x00000002u
#define RCR_MULTICAST 0x00000004u
#define RCR_BROADCAST 0x00000008u
#define RCR_BURST 0x00000700u
#define RCR_FIFO 0x0000e000u /* no threshold: frames as a whole */

#define CR9346_WRITE 0xc0u /* lets the address be written */
#define CR9346_LOCK 0x00u
#define MSR_LINK_FAILED 0x04u
#define MSR_TEN 0x08u
#define TPPOLL_NORMAL 0x40u
#define CPCR_TX 0x0001u
#define CPCR_RX 0x0002u
#define CPCR_MULTIPLE 0x0008u
#define CPCR_CHECKSUM 0x0020u

#define NUM_DESCRIPTOR 64u /* of each ring: the most there can be */

struct descriptor {
    uint32_t flags;
    uint32_t tag;
    uint32_t low;
    uint32_t high;
};

#define DESC_OWN 0x80000000u   /* the device's */
#define DESC_END 0x40000000u   /* of the ring */
#define DESC_FIRST 0x20000000u /* of the frame */
#define DESC_LAST 0x10000000u
#define TX_IP 0x00040000u /* checksums to insert */
#define TX_UDP 0x00020000u
#define TX_TCP 0x00010000u
#define TX_ERRORS 0x02f00000u
#define RX_ERROR 0x00100000u
#define RX_PROTOCOL 0x00030000u /* 1 TCP, 2 UDP, 3 other IP */
#define RX_TCP 0x00010000u
#define RX_UDP 0x00020000u
#define RX_IP_WRONG 0x00008000u
#define RX_UDP_WRONG 0x00004000u
#define RX_TCP_WRONG 0x00002000u
#define RX_LENGTH 0x00001fffu
#define CRC_BYTES 4u

#endif
