/* The codec: a converter that makes sound of samples, and a pin where it comes out. Only pins that are connected to a
 * converter directly are used; what has mixers or selectors between them is not. */
#include "hda.h"

#define NUM_NODE 128u
#define STREAM_TAG 1u                /* by which the codec knows the stream's samples */
#define VOLUME_MOST 127u

uint32_t codec_rates;
uint32_t codec_formats;

static uint32_t group;               /* nodes */
static uint32_t converter;
static uint32_t pin;
static uint32_t pin_connection;      /* the converter, in the pin's list */
static uint32_t pin_has_eapd;
static uint32_t volume_steps;        /* of the converter's amplifier; 0: it has none */
static uint32_t volume_left = VOLUME_MOST;
static uint32_t volume_right = VOLUME_MOST;
static uint32_t codec_format;

static uint32_t parameter(uint32_t node, uint32_t number)
{
    return ask(node, GET_PARAMETER, number);
}

/* The first node under `node`, and how many there are. */
static uint32_t first_node(uint32_t nodes)
{
    return nodes >> 16 & 0xffu;
}

static uint32_t end_node(uint32_t nodes)
{
    uint32_t count = nodes & 0xffu;
    uint32_t end = first_node(nodes) + (count < NUM_NODE ? count : NUM_NODE);
    return end < 256u ? end : 256u;
}

/* The function group for audio; 0 if there is none. */
static uint32_t find_group(void)
{
    uint32_t nodes = parameter(ROOT, PARAMETER_NODES);
    uint32_t end = end_node(nodes);
    uint32_t found = 0;

    for (uint32_t node = first_node(nodes); node < end; node = node + 1u) {
        if (found == 0u && (parameter(node, PARAMETER_FUNCTION) & 0xffu) == FUNCTION_AUDIO) {
            found = node;
        }
    }
    return found;
}

/* Takes the node as the pin if it plays, something is connected to it, and a converter is its first or only source. */
static void look_at(uint32_t node)
{
    uint32_t can = parameter(node, PARAMETER_WIDGET);

    if (pin != 0u || WIDGET_TYPE(can) != WIDGET_PIN) {
        return;
    }
    uint32_t pin_can = parameter(node, PARAMETER_PIN);
    uint32_t sources = parameter(node, PARAMETER_CONNECTIONS) & 0xffu;
    if ((pin_can & PIN_OUT) == 0u || sources == 0u || sources > CONNECTIONS_SHORT || DEFAULT_NOTHING(ask(node, GET_DEFAULT, 0))) {
        return;
    }
    uint32_t source = ask(node, GET_CONNECTION, 0) & 0x7fu;
    if (WIDGET_TYPE(parameter(source, PARAMETER_WIDGET)) == WIDGET_OUTPUT) {
        pin = node;
        pin_connection = sources > 1u;
        pin_has_eapd = (pin_can & PIN_EAPD) != 0u;
        converter = source;
    }
}

uint32_t find_codec(void)
{
    pin = 0;
    group = find_group();
    if (group == 0u) {
        return 0;
    }
    uint32_t nodes = parameter(group, PARAMETER_NODES);
    uint32_t end = end_node(nodes);
    for (uint32_t node = first_node(nodes); node < end; node = node + 1u) {
        look_at(node);
    }
    if (pin == 0u) {
        return 0;
    }
    uint32_t pcm = parameter(converter, PARAMETER_PCM);
    if (pcm == 0u) {
        pcm = parameter(group, PARAMETER_PCM); /* the converter's are the group's */
    }
    codec_rates = pcm & 0xfffu;
    codec_formats = pcm >> 16 & 0x1fu;
    volume_steps = AMPLIFIER_STEPS(parameter(converter, PARAMETER_AMPLIFIER));
    return 1;
}

static void write_amplifier(uint32_t sides, uint32_t volume)
{
    uint32_t gain = volume * volume_steps / VOLUME_MOST;
    ask(converter, SET_AMPLIFIER, sides | gain | (volume == 0u ? AMPLIFIER_MUTE : 0u));
}

static void write_volume(void)
{
    write_amplifier(AMPLIFIER_LEFT, volume_left);
    write_amplifier(AMPLIFIER_RIGHT, volume_right);
}

void set_volume(uint32_t left, uint32_t right, uint32_t is_on)
{
    volume_left = left < VOLUME_MOST ? left : VOLUME_MOST;
    volume_right = right < VOLUME_MOST ? right : VOLUME_MOST;
    if (is_on) {
        write_volume();
    }
}

void wake_codec(void)
{
    ask(group, SET_POWER, POWER_ON);
    ask(converter, SET_POWER, POWER_ON);
    ask(pin, SET_POWER, POWER_ON);
    if (pin_connection) {
        ask(pin, SET_CONNECTION, 0);
    }
    ask(pin, SET_PIN, PIN_OUT_ON);
    if (pin_has_eapd) {
        ask(pin, SET_EAPD, EAPD_ON);
    }
    ask(converter, SET_STREAM, STREAM_TAG << 4);
    ask(converter, SET_FORMAT, codec_format);
    write_volume();
}

void sleep_codec(void)
{
    ask(converter, SET_STREAM, 0);
    ask(group, SET_POWER, POWER_OFF);
}

void set_format(uint32_t format)
{
    codec_format = format & 0xffffu;
    ask(converter, SET_FORMAT, codec_format);
}

/* Rates as the codec knows them: 44.1 or 48 kHz, times and divided. */
struct rate {
    uint32_t hertz;
    uint32_t bit;
    uint32_t format;
};

#define NUM_RATE 11u

static const struct rate rate[NUM_RATE] = {
    {8000u, 0u, 0x0500u},   {11025u, 1u, 0x4300u}, {16000u, 2u, 0x0200u}, {22050u, 3u, 0x4100u},
    {32000u, 4u, 0x0a00u},  {44100u, 5u, 0x4000u}, {48000u, 6u, 0x0000u}, {88200u, 7u, 0x4800u},
    {96000u, 8u, 0x0800u},  {176400u, 9u, 0x5800u}, {192000u, 10u, 0x1800u},
};

uint32_t format_of(uint32_t hertz, uint32_t bits, uint32_t channels)
{
    uint32_t sample = bits == 8u ? 0u : bits == 16u ? 1u : bits == 20u ? 2u : bits == 24u ? 3u : bits == 32u ? 4u : 5u;
    uint32_t format = 0;

    for (uint32_t i = 0; i < NUM_RATE; i = i + 1u) {
        if (rate[i].hertz == hertz && (codec_rates >> rate[i].bit & 1u) != 0u) {
            format = FORMAT_VALID | rate[i].format | sample << 4 | (channels - 1u);
        }
    }
    return (codec_formats >> sample & 1u) != 0u && (channels == 1u || channels == 2u) ? format : 0u;
}
