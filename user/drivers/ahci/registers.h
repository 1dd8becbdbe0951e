/* Registers and structures in memory of AHCI 1.3.1, and the frames and commands of ATA that it carries. */
#ifndef AHCI_REGISTERS_H
#define AHCI_REGISTERS_H

/* The host adapter. */
#define HBA_CAP 0x00u
#define HBA_GHC 0x04u
#define HBA_IS 0x08u /* a bit for each port */
#define HBA_PI 0x0cu /* ports that there are */

#define CAP_SLOTS_SHIFT 8u /* command slots of a port, less one */
#define CAP_SLOTS_MASK 0x1fu
#define CAP_QUEUED 0x40000000u /* native command queueing */
#define GHC_RESET 0x00000001u
#define GHC_INTERRUPTS 0x00000002u
#define GHC_AHCI 0x80000000u

/* A port, from where its registers begin. */
#define NUM_PORT 32u
#define PORT_REGISTERS(port) (0x100u + 0x80u * (port))
#define PX_CLB 0x00u /* two words: the list of commands */
#define PX_FB 0x08u  /* two words: where received frames go */
#define PX_IS 0x10u
#define PX_IE 0x14u
#define PX_CMD 0x18u
#define PX_TFD 0x20u /* the device's status and error */
#define PX_SIG 0x24u
#define PX_SSTS 0x28u
#define PX_SCTL 0x2cu
#define PX_SERR 0x30u
#define PX_SACT 0x34u /* queued commands that the device has not completed */
#define PX_CI 0x38u   /* commands to be sent to the device */

#define INT_COMMAND_DONE 0x00000003u /* one that is not queued: its status, or its data */
#define INT_SET_BITS 0x00000008u     /* queued commands are done */
#define INT_CONNECT 0x00000040u
#define INT_PHY_READY 0x00400000u
#define INT_ERRORS 0x78000000u /* of the task file, the interface, the bus */
#define INT_ALL 0xffffffffu    /* also what is read where no device is */

#define CMD_START 0x0001u
#define CMD_SPIN_UP 0x0002u
#define CMD_POWER_ON 0x0004u
#define CMD_RECEIVE 0x0010u /* received frames go to memory */
#define CMD_RECEIVING 0x4000u
#define CMD_RUNNING 0x8000u

#define TFD_ERROR 0x01u
#define TFD_REQUEST 0x08u
#define TFD_BUSY 0x80u
#define SSTS_DETECT 0x0fu
#define DETECT_PRESENT 0x03u /* a device, and the link to it works */
#define SCTL_INIT 0x301u     /* hold the link in reset, no power states */
#define SCTL_RUN 0x300u
#define SIG_DISK 0x00000101u
#define SIG_PACKET 0xeb140101u
#define SIG_ENCLOSURE 0xc33c0101u

/* An entry of the command list. */
struct header {
    uint32_t flags;
    uint32_t transferred;
    uint32_t table_low;
    uint32_t table_high;
    uint32_t spare[4];
};

#define HEADER_FRAME_WORDS 5u
#define HEADER_WRITE 0x40u
#define HEADER_REGIONS_SHIFT 16u

/* A region of memory that a command reads or fills. */
struct region {
    uint32_t low;
    uint32_t high;
    uint32_t spare;
    uint32_t last; /* its bytes, less one */
};

#define NUM_REGION 56u

/* What a slot's command is: 1024 bytes. */
struct table {
    uint32_t frame[16];
    uint32_t packet[16];
    struct region region[NUM_REGION];
};

/* A register frame from host to device, with a command; its first word. */
#define FRAME_COMMAND 0x00008027u
#define FRAME_COMMAND_SHIFT 16u
#define FRAME_FEATURES_SHIFT 24u
#define FRAME_LBA 0x40000000u /* in the second word */
#define FRAME_FORCE 0x80000000u
#define FRAME_TAG_SHIFT 3u

#define ATA_READ_LOG 0x2fu
#define ATA_READ_QUEUED 0x60u
#define ATA_WRITE_QUEUED 0x61u
#define ATA_STANDBY 0xe0u
#define ATA_IDLE 0xe1u
#define ATA_FLUSH 0xeau
#define ATA_IDENTIFY 0xecu
#define ATA_SET_FEATURES 0xefu

#define FEATURE_CACHE_ON 0x02u
#define FEATURE_CACHE_OFF 0x82u
#define LOG_QUEUE_ERROR 0x10u

/* Words of the answer to IDENTIFY. */
#define ID_QUEUE_DEPTH 75u /* less one */
#define ID_SATA 76u
#define ID_SATA_QUEUED 0x100u
#define ID_COMMANDS 83u
#define ID_COMMANDS_LONG 0x400u /* addresses of 48 bits */
#define ID_SECTORS 100u
#define ID_SECTOR_FORM 106u
#define ID_SECTOR_LONG 0x5000u /* valid, and more than 512 bytes */
#define ID_SECTOR_VALID 0xd000u
#define ID_SECTOR_WORDS 117u

#endif
