/* Registers of a High Definition Audio controller and verbs of its codecs, as the specification names them (Intel, High
 * Definition Audio Specification 1.0a). */
#ifndef HDA_REGISTERS_H
#define HDA_REGISTERS_H

/* ---- the controller ---- */
#define GCAP 0x00u /* 16 bits: numbers of streams, 64-bit addresses */
#define GCTL 0x08u
#define WAKEEN 0x0cu   /* 16 bits */
#define STATESTS 0x0eu /* 16 bits: a bit for each codec that has reported */
#define INTCTL 0x20u
#define INTSTS 0x24u
#define CORBCTL 0x4cu /* 8 bits */
#define RIRBCTL 0x5cu /* 8 bits */
#define ICOI 0x60u    /* a command, sent at once */
#define ICII 0x64u    /* its answer */
#define ICIS 0x68u    /* 16 bits */
#define DPLBASE 0x70u
#define DPUBASE 0x74u

#define GCAP_64 0x0001u
#define GCAP_INPUTS(capabilities) ((capabilities) >> 8 & 0xfu)
#define GCAP_OUTPUTS(capabilities) ((capabilities) >> 12 & 0xfu)
#define GCAP_BOTH(capabilities) ((capabilities) >> 3 & 0x1fu) /* streams of either direction */
#define GCTL_CRST 0x00000001u                                 /* 0 holds the controller in reset */
#define INTCTL_GIE 0x80000000u
#define ICIS_BUSY 0x0001u
#define ICIS_VALID 0x0002u /* an answer is there; a one clears it */

/* ---- a stream; SD(n) is where the n-th begins: first those that record, then those that play ---- */
#define SD(n) (0x80u + 0x20u * (n))
#define SD_CTL 0x00u     /* 24 bits */
#define SD_CTL_TOP 0x02u /* their uppermost eight */
#define SD_STS 0x03u     /* 8 bits */
#define SD_LPIB 0x04u    /* bytes of the ring that were played or recorded */
#define SD_CBL 0x08u     /* bytes of the ring */
#define SD_LVI 0x0cu     /* 16 bits: the last entry of the list */
#define SD_FMT 0x12u     /* 16 bits */
#define SD_BDPL 0x18u
#define SD_BDPU 0x1cu

#define CTL_SRST 0x01u
#define CTL_RUN 0x02u
#define CTL_IOCE 0x04u /* interrupt when an entry that says so is done */
#define CTL_FEIE 0x08u
#define CTL_DEIE 0x10u
#define STS_BCIS 0x04u /* an entry that says so is done */
#define STS_FIFOE 0x08u
#define STS_DESE 0x10u
#define STS_ALL (STS_BCIS | STS_FIFOE | STS_DESE)
#define STS_GONE 0xffu /* what is read where no device is */

/* An entry of the buffer descriptor list: bytes that follow each other in memory. */
struct fragment {
    uint32_t low;
    uint32_t high;
    uint32_t length;
    uint32_t flags;
};

#define FRAGMENT_IOC 0x00000001u
#define NUM_FRAGMENT 256u
#define FRAGMENT_ALIGN 128u

/* ---- codecs: a command is codec, node, verb and parameter ---- */
#define CODEC_SHIFT 28u
#define NODE_SHIFT 20u
#define VERB_SHIFT 8u

#define GET_PARAMETER 0xf00u
#define GET_CONNECTION 0xf02u
#define SET_CONNECTION 0x701u
#define SET_POWER 0x705u
#define SET_STREAM 0x706u
#define SET_PIN 0x707u
#define SET_EAPD 0x70cu
#define GET_DEFAULT 0xf1cu
#define SET_FORMAT 0x200u /* with 16 bits of parameter, as the next */
#define SET_AMPLIFIER 0x300u

#define PARAMETER_NODES 0x04u
#define FIRST_NODE(nodes) ((nodes) >> 16 & 0xffu)
#define NUM_NODES(nodes) ((nodes)&0xffu)
#define PARAMETER_FUNCTION 0x05u
#define PARAMETER_WIDGET 0x09u
#define PARAMETER_PCM 0x0au /* formats << 16 | rates, a bit each */
#define PARAMETER_PIN 0x0cu
#define PARAMETER_CONNECTIONS 0x0eu
#define PARAMETER_AMPLIFIER_IN 0x0du
#define PARAMETER_AMPLIFIER_OUT 0x12u

#define ROOT 0u
#define FUNCTION_AUDIO 1u
#define WIDGET_TYPE(capabilities) ((capabilities) >> 20 & 0xfu)
#define WIDGET_OUTPUT 0u /* a converter of samples to sound */
#define WIDGET_INPUT 1u  /* of sound to samples */
#define WIDGET_PIN 4u
#define CONNECTIONS_SHORT 0x7fu /* more, and the entries of the list are longer */
#define PIN_OUT 0x00000010u
#define PIN_IN 0x00000020u
#define PIN_EAPD 0x00010000u
#define DEFAULT_NOTHING(value) ((value) >> 30 == 1u) /* nothing is connected to the pin */
#define POWER_ON 0u
#define POWER_OFF 3u
#define PIN_OUT_ON 0x40u
#define PIN_IN_ON 0x20u
#define EAPD_ON 0x02u
#define AMPLIFIER_STEPS(value) ((value) >> 8 & 0x7fu)
#define AMPLIFIER_OUT 0x8000u
#define AMPLIFIER_IN 0x4000u
#define AMPLIFIER_LEFT 0x2000u
#define AMPLIFIER_RIGHT 0x1000u
#define AMPLIFIER_MUTE 0x80u

#endif
