/* Registers and descriptors of the Intel 82574L, which QEMU's `e1000e` is, as its data sheet names them ("Intel 82574 GbE Controller
 * Family Datasheet", chapters 7 and 10). All registers are 32 bits wide. Descriptors have 16 bytes: the legacy ones for frames to come, for those to send
 * the extended ones, which say where in the frame checksums go. */
#ifndef E1000E_REGISTERS_H
#define E1000E_REGISTERS_H

#define CTRL 0x0000u
#define STATUS 0x0008u
#define EECD 0x0010u /* of the memory that holds the address */
#define ICR 0x00c0u  /* reading takes all causes */
#define ITR 0x00c4u
#define IMS 0x00d0u
#define IMC 0x00d8u
#define IVAR 0x00e4u  /* which entry of the table of messages tells which causes */
#define EITR0 0x00e8u /* what ITR is, for the table's first entry */
#define RCTL 0x0100u
#define TCTL 0x0400u
#define TIPG 0x0410u
#define RDBAL 0x2800u /* receive descriptors: two words, then bytes, head, tail */
#define RDBAH 0x2804u
#define RDLEN 0x2808u
#define RDH 0x2810u
#define RDT 0x2818u
#define TDBAL 0x3800u /* transmit descriptors */
#define TDBAH 0x3804u
#define TDLEN 0x3808u
#define TDH 0x3810u
#define TDT 0x3818u
#define TXDCTL 0x3828u
#define MPC 0x4010u  /* frames missed; reading clears it, as the next one */
#define COLC 0x4028u /* collisions */
#define RXCSUM 0x5000u
#define RFCTL 0x5008u
#define RAL0 0x5400u /* the address: four bytes, then two */
#define RAH0 0x5404u
#define MRQC 0x5818u

#define CTRL_DUPLEX 0x00000001u
#define CTRL_MASTER_OFF 0x00000004u /* begin no more accesses to memory */
#define CTRL_AUTO_SPEED 0x00000020u
#define CTRL_LINK 0x00000040u /* let the link come up */
#define CTRL_RST 0x04000000u
#define STATUS_DUPLEX 0x00000001u
#define STATUS_LINK 0x00000002u
#define STATUS_SPEED 0x000000c0u /* 0: 10, 0x40: 100, otherwise 1000 */
#define STATUS_SPEED_100 0x00000040u
#define STATUS_MASTER 0x00080000u /* accesses to memory are allowed, or still under way */
#define EECD_READ 0x00000200u     /* the address was read after reset */

#define INT_TXDW 0x00000001u  /* a transmit descriptor was written back */
#define INT_LSC 0x00000004u   /* the link has changed */
#define INT_RXO 0x00000040u   /* no receive descriptor, or the FIFO ran over */
#define INT_RXT0 0x00000080u  /* a frame has come */
#define INT_RX 0x00100000u    /* a frame has come: in place of RXT0 where the device has a table of messages */
#define INT_TX 0x00400000u    /* ... TXDW */
#define INT_OTHER 0x01000000u /* ... and all others */
#define INT_ALL 0xffffffffu
#define IVAR_FIRST 0x00080808u /* all causes by the first entry */
#define INT_GONE 0xffffffffu   /* what is read where no device is */

#define RCTL_EN 0x00000002u
#define RCTL_ALL 0x00000008u       /* frames to other addresses */
#define RCTL_MULTICAST 0x00000010u /* to all groups */
#define RCTL_BROADCAST 0x00008000u
#define RCTL_STRIP_CRC 0x04000000u /* buffers have 2048 bytes: the size that is encoded as 0 */
#define TCTL_EN 0x00000002u
#define TCTL_PAD 0x00000008u      /* short frames */
#define TCTL_TRIES 0x000000f0u    /* 15, as the standard has it */
#define TCTL_DISTANCE 0x0003f000u /* of collisions, full duplex */
#define TIPG_GAPS 0x00602008u     /* the data sheet's, for copper */
#define TXDCTL_WRITE 0x01410000u  /* write back each descriptor; bit 22 must be set */
#define RXCSUM_IP 0x00000100u
#define RXCSUM_TCP 0x00000200u /* and UDP */
#define RFCTL_NO_ACK                                                                                                   \
    0x00001000u /* no interrupt for an acknowledgement: it would tell of causes that the driver has not asked for */
#define RAH_VALID 0x80000000u
#define ITR_INTERVAL 200u /* in 256 ns: an interrupt each 51 us at most */

#define NUM_DESCRIPTOR 256u /* of each ring: a page; one is never given, for head = tail says that the ring is empty */

struct descriptor {
    uint32_t low;
    uint32_t high;
    uint32_t length; /* and, for transmission, commands */
    uint32_t status; /* and, for transmission, checksums to insert */
};

#define TX_DATA                                                                                                        \
    0x00100000u /* of a frame; without it a context: where, from then on, the headers and their checksums stand */
#define TX_END 0x01000000u /* of the frame */
#define TX_CRC 0x02000000u /* append it */
#define TX_REPORT 0x08000000u
#define TX_EXTENDED 0x20000000u
#define TX_CONTEXT_TCP 0x01000000u /* otherwise UDP */
#define TX_CONTEXT_IP 0x02000000u  /* of version 4 */
#define TX_INSERT_IP 0x00000100u
#define TX_INSERT_TCP 0x00000200u /* or UDP's, as the context says */
#define TX_DONE 0x00000001u
#define TX_ERRORS 0x00000006u /* too many collisions, or a late one */
#define RX_LENGTH 0x0000ffffu
#define RX_DONE 0x00000001u
#define RX_LAST 0x00000002u      /* of the frame */
#define RX_UNCHECKED 0x00000004u /* no checksum was looked at */
#define RX_UDP 0x00000010u       /* UDP's was calculated */
#define RX_TCP 0x00000020u       /* TCP's or UDP's was */
#define RX_IP 0x00000040u
#define RX_ERRORS 0x00008700u /* of data, CRC, symbol, sequence */
#define RX_TCP_WRONG 0x00002000u
#define RX_IP_WRONG 0x00004000u

#endif
