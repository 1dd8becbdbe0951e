/* The codec: a converter that makes sound of samples, and a pin where it comes out. Only pins that are connected to a
 * converter directly are used; what has mixers or selectors between them is not. */
#include "hda.h"

#define NUM_NODE 128u /* that short lists of connections can name */
#define NUM_GROUP 8u  /* function groups that are looked at */
#define NUM_ORDER 16u
#define VOLUME_MOST 127u

uint32_t codec_rates;
uint32_t codec_formats;

static uint32_t group; /* nodes */
static uint32_t converter;
static uint32_t pin;
static uint32_t pin_power;    /* what SET_EAPD is told: of an amplifier behind the pin */
static uint32_t volume_steps; /* of the converter's amplifier; 0: it has none */
static uint32_t volume_left = VOLUME_MOST;
static uint32_t volume_right = VOLUME_MOST;
static uint32_t codec_format;

/* ---- questions ---- */

/* What is asked of every widget, and the answers. */
enum { FACT_WIDGET, FACT_PIN, FACT_SOURCES, FACT_PCM, FACT_AMPLIFIER, FACT_DEFAULT, FACT_SOURCE };

#define NUM_FACT 8u

static const uint32_t question[NUM_FACT] = {
    GET_PARAMETER << VERB_SHIFT | PARAMETER_WIDGET,
    GET_PARAMETER << VERB_SHIFT | PARAMETER_PIN,
    GET_PARAMETER << VERB_SHIFT | PARAMETER_CONNECTIONS,
    GET_PARAMETER << VERB_SHIFT | PARAMETER_PCM,
    GET_PARAMETER << VERB_SHIFT | PARAMETER_AMPLIFIER,
    GET_DEFAULT << VERB_SHIFT,
    GET_CONNECTION << VERB_SHIFT,
    GET_CONNECTION << VERB_SHIFT,
};

static uint32_t fact[NUM_NODE * NUM_FACT];

/* Nodes under another one: the answer to PARAMETER_NODES. */
static uint32_t nodes_under(uint32_t node)
{
    return ask(node, GET_PARAMETER << VERB_SHIFT | PARAMETER_NODES);
}

/* The function group for audio; 0 if there is none. */
static uint32_t find_group(void)
{
    uint32_t nodes = nodes_under(ROOT);
    uint32_t found = 0;

    for (uint32_t i = 0; i < NUM_GROUP; i = i + 1u) {
        uint32_t node = FIRST_NODE(nodes) + i;
        uint32_t type = ask(node, GET_PARAMETER << VERB_SHIFT | PARAMETER_FUNCTION) & 0xffu;
        if (i < NUM_NODES(nodes) && type == FUNCTION_AUDIO) {
            found = node;
        }
    }
    return found;
}

static void read_facts(uint32_t nodes)
{
    for (uint32_t i = 0; i < NUM_NODE * NUM_FACT; i = i + 1u) {
        uint32_t node = i / NUM_FACT;
        fact[i] = 0;
        if (node - FIRST_NODE(nodes) < NUM_NODES(nodes)) {
            fact[i] = ask(node, question[i % NUM_FACT]);
        }
    }
}

static uint32_t fact_of(uint32_t node, uint32_t number)
{
    return fact[(node & (NUM_NODE - 1u)) * NUM_FACT + number];
}

/* Whether the node is a pin that plays, something is connected to it, and a converter is its first source. */
static uint32_t is_wanted(uint32_t node)
{
    uint32_t sources = fact_of(node, FACT_SOURCES) & 0xffu;
    uint32_t source = fact_of(node, FACT_SOURCE) & 0x7fu;

    return (WIDGET_TYPE(fact_of(node, FACT_WIDGET)) == WIDGET_PIN) & ((fact_of(node, FACT_PIN) & PIN_OUT) != 0u) &
           (sources - 1u < CONNECTIONS_SHORT) & !DEFAULT_NOTHING(fact_of(node, FACT_DEFAULT)) & (source != 0u) &
           (WIDGET_TYPE(fact_of(source, FACT_WIDGET)) == WIDGET_OUTPUT);
}

uint32_t find_codec(void)
{
    pin = 0;
    group = find_group();
    read_facts(nodes_under(group));
    for (uint32_t i = 1; i < NUM_NODE; i = i + 1u) {
        if (is_wanted(NUM_NODE - i)) {
            pin = NUM_NODE - i;
        }
    }
    converter = fact_of(pin, FACT_SOURCE) & 0x7fu;
    pin_power = (fact_of(pin, FACT_PIN) & PIN_EAPD) != 0u ? EAPD_ON : 0u;
    volume_steps = AMPLIFIER_STEPS(fact_of(converter, FACT_AMPLIFIER));
    uint32_t pcm = fact_of(converter, FACT_PCM);
    if (pcm == 0u) {
        pcm = ask(group, GET_PARAMETER << VERB_SHIFT | PARAMETER_PCM); /* the converter's are the group's */
    }
    codec_rates = pcm & 0xfffu;
    codec_formats = pcm >> 16 & 0x1fu;
    return pin != 0u && codec_rates != 0u;
}

/* ---- orders: they are put down, then sent ---- */

static struct order {
    uint32_t node;
    uint32_t command;
} order[NUM_ORDER];

static uint32_t num_order;

static void put(uint32_t node, uint32_t verb, uint32_t parameter)
{
    struct order *next = &order[num_order % NUM_ORDER];

    next->node = node;
    next->command = verb << VERB_SHIFT | parameter;
    num_order = num_order + 1u;
}

static void send_orders(void)
{
    for (uint32_t i = 0; i < NUM_ORDER; i = i + 1u) {
        if (i < num_order) {
            ask(order[i].node, order[i].command);
        }
    }
    num_order = 0;
}

static void put_volume(void)
{
    uint32_t left = volume_left * volume_steps / VOLUME_MOST;
    uint32_t right = volume_right * volume_steps / VOLUME_MOST;

    put(converter, SET_AMPLIFIER, AMPLIFIER_LEFT | left | (volume_left == 0u ? AMPLIFIER_MUTE : 0u));
    put(converter, SET_AMPLIFIER, AMPLIFIER_RIGHT | right | (volume_right == 0u ? AMPLIFIER_MUTE : 0u));
}

void set_volume(uint32_t left, uint32_t right, uint32_t is_on)
{
    volume_left = left < VOLUME_MOST ? left : VOLUME_MOST;
    volume_right = right < VOLUME_MOST ? right : VOLUME_MOST;
    if (is_on) {
        put_volume();
        send_orders();
    }
}

void wake_codec(void)
{
    put(group, SET_POWER, POWER_ON);
    put(converter, SET_POWER, POWER_ON);
    put(pin, SET_POWER, POWER_ON);
    put(pin, SET_CONNECTION, 0);
    put(pin, SET_PIN, PIN_OUT_ON);
    put(pin, SET_EAPD, pin_power);
    put(converter, SET_STREAM, STREAM_TAG << 4);
    put(converter, SET_FORMAT, codec_format);
    put_volume();
    send_orders();
}

void sleep_codec(void)
{
    put(converter, SET_STREAM, 0);
    put(group, SET_POWER, POWER_OFF);
    send_orders();
}

void set_format(uint32_t format)
{
    codec_format = format & 0xffffu;
    ask(converter, SET_FORMAT << VERB_SHIFT | codec_format);
}

/* Rates as the codec knows them: 44.1 or 48 kHz, times and divided. */
struct rate {
    uint32_t hertz;
    uint32_t bit;
    uint32_t format;
};

#define NUM_RATE 11u

static const struct rate rate[NUM_RATE] = {
    {8000u, 0u, 0x0500u},  {11025u, 1u, 0x4300u},  {16000u, 2u, 0x0200u},   {22050u, 3u, 0x4100u},
    {32000u, 4u, 0x0a00u}, {44100u, 5u, 0x4000u},  {48000u, 6u, 0x0000u},   {88200u, 7u, 0x4800u},
    {96000u, 8u, 0x0800u}, {176400u, 9u, 0x5800u}, {192000u, 10u, 0x1800u},
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
