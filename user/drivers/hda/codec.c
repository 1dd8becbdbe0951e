/* The codec: converters, of samples to sound and of sound to samples, and the pins where it comes out or in. Only pins that are
 * connected to a converter directly are used; what has mixers or selectors between them is not. */
#include "hda.h"

#define NUM_NODE 128u /* that short lists of connections can name */
#define NUM_GROUP 8u  /* function groups that are looked at */
#define NUM_ORDER 32u
#define VOLUME_MOST 127u
#define VOLUME_LEFT(volume) ((volume) >> 8 & 0xffu)
#define VOLUME_RIGHT(volume) ((volume)&0xffu)

struct path path[PATHS];

static uint32_t group; /* of nodes, for audio */

/* ---- questions ---- */

/* What is asked of every widget, and the answers. */
enum {
    FACT_WIDGET,
    FACT_PIN,
    FACT_SOURCES,
    FACT_PCM,
    FACT_AMPLIFIER_IN,
    FACT_AMPLIFIER_OUT,
    FACT_DEFAULT,
    FACT_SOURCE,
};

#define NUM_FACT 8u

static const uint32_t question[NUM_FACT] = {
    GET_PARAMETER << VERB_SHIFT | PARAMETER_WIDGET,
    GET_PARAMETER << VERB_SHIFT | PARAMETER_PIN,
    GET_PARAMETER << VERB_SHIFT | PARAMETER_CONNECTIONS,
    GET_PARAMETER << VERB_SHIFT | PARAMETER_PCM,
    GET_PARAMETER << VERB_SHIFT | PARAMETER_AMPLIFIER_IN,
    GET_PARAMETER << VERB_SHIFT | PARAMETER_AMPLIFIER_OUT,
    GET_DEFAULT << VERB_SHIFT,
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

/* The first of those by which sound comes to this node. */
static uint32_t source_of(uint32_t node)
{
    return fact_of(node, FACT_SOURCE) & 0x7fu;
}

/* Whether the node is a pin that something is connected to, and is capable of this. */
static uint32_t is_pin(uint32_t node, uint32_t capability)
{
    return (WIDGET_TYPE(fact_of(node, FACT_WIDGET)) == WIDGET_PIN) & ((fact_of(node, FACT_PIN) & capability) != 0u) &
           !DEFAULT_NOTHING(fact_of(node, FACT_DEFAULT));
}

/* Whether the first source of the node is a converter, and it a pin, or the other way round. */
static uint32_t is_wanted(uint32_t node, uint32_t direction)
{
    uint32_t sources = fact_of(node, FACT_SOURCES) & 0xffu;
    uint32_t source = source_of(node);
    uint32_t plays = is_pin(node, PIN_OUT) & (WIDGET_TYPE(fact_of(source, FACT_WIDGET)) == WIDGET_OUTPUT);
    uint32_t records = is_pin(source, PIN_IN) & (WIDGET_TYPE(fact_of(node, FACT_WIDGET)) == WIDGET_INPUT);

    return (sources - 1u < CONNECTIONS_SHORT) & (source != 0u) &
           ((plays & (direction == PLAY)) | (records & (direction == RECORD)));
}

/* The path whose last node this is; none if it is 0. */
static void describe_path(struct path *p, uint32_t node, uint32_t direction)
{
    uint32_t source = source_of(node);

    p->converter = direction == PLAY ? source : node;
    p->pin = direction == PLAY ? node : source;
    p->power = direction == PLAY && (fact_of(node, FACT_PIN) & PIN_EAPD) != 0u ? EAPD_ON : 0u;
    p->steps = AMPLIFIER_STEPS(fact_of(p->converter, direction == PLAY ? FACT_AMPLIFIER_OUT : FACT_AMPLIFIER_IN));
    p->volume = VOLUME_MOST << 8 | VOLUME_MOST;
    uint32_t pcm = fact_of(p->converter, FACT_PCM);
    if (pcm == 0u) {
        pcm = ask(group, GET_PARAMETER << VERB_SHIFT | PARAMETER_PCM); /* the converter's are the group's */
    }
    p->rates = node != 0u ? pcm & 0xfffu : 0u;
    p->formats = pcm >> 16 & 0x1fu;
}

static void find_path(uint32_t direction)
{
    uint32_t found = 0;

    for (uint32_t i = 1; i < NUM_NODE; i = i + 1u) {
        if (is_wanted(NUM_NODE - i, direction)) {
            found = NUM_NODE - i;
        }
    }
    describe_path(&path[direction], found, direction);
}

uint32_t find_codec(void)
{
    group = find_group();
    read_facts(nodes_under(group));
    find_path(PLAY);
    find_path(RECORD);
    return path[PLAY].rates != 0u || path[RECORD].rates != 0u;
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

static void put_volume(const struct path *p, uint32_t direction)
{
    uint32_t amplifier = direction == PLAY ? AMPLIFIER_OUT : AMPLIFIER_IN;
    uint32_t left = VOLUME_LEFT(p->volume) * p->steps / VOLUME_MOST;
    uint32_t right = VOLUME_RIGHT(p->volume) * p->steps / VOLUME_MOST;

    left = left | (VOLUME_LEFT(p->volume) == 0u ? AMPLIFIER_MUTE : 0u);
    right = right | (VOLUME_RIGHT(p->volume) == 0u ? AMPLIFIER_MUTE : 0u);
    put(p->converter, SET_AMPLIFIER, amplifier | AMPLIFIER_LEFT | left);
    put(p->converter, SET_AMPLIFIER, amplifier | AMPLIFIER_RIGHT | right);
}

void set_volume(uint32_t direction, uint32_t left, uint32_t right, uint32_t is_on)
{
    struct path *p = &path[direction & (PATHS - 1u)];

    p->volume = (left < VOLUME_MOST ? left : VOLUME_MOST) << 8 | (right < VOLUME_MOST ? right : VOLUME_MOST);
    if (is_on && p->rates != 0u) {
        put_volume(p, direction);
        send_orders();
    }
}

static void put_path(const struct path *p, uint32_t direction)
{
    if (p->rates != 0u) {
        put(p->converter, SET_POWER, POWER_ON);
        put(p->pin, SET_POWER, POWER_ON);
        put(direction == PLAY ? p->pin : p->converter, SET_CONNECTION, 0);
        put(p->pin, SET_PIN, direction == PLAY ? PIN_OUT_ON : PIN_IN_ON);
        put(p->pin, SET_EAPD, p->power);
        put(p->converter, SET_STREAM, STREAM_TAG(direction) << 4);
        put(p->converter, SET_FORMAT, p->format);
        put_volume(p, direction);
    }
}

void wake_codec(void)
{
    put(group, SET_POWER, POWER_ON);
    put_path(&path[PLAY], PLAY);
    put_path(&path[RECORD], RECORD);
    send_orders();
}

void sleep_codec(void)
{
    put(path[PLAY].converter, SET_STREAM, 0);
    put(path[RECORD].converter, SET_STREAM, 0);
    put(group, SET_POWER, POWER_OFF);
    send_orders();
}

void set_format(uint32_t direction, uint32_t format)
{
    struct path *p = &path[direction & (PATHS - 1u)];

    p->format = format & 0xffffu;
    ask(p->converter, SET_FORMAT << VERB_SHIFT | p->format);
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

uint32_t format_of(uint32_t direction, uint32_t hertz, uint32_t bits, uint32_t channels)
{
    uint32_t rates = path[direction & (PATHS - 1u)].rates;
    uint32_t formats = path[direction & (PATHS - 1u)].formats;
    uint32_t sample = bits == 8u ? 0u : bits == 16u ? 1u : bits == 20u ? 2u : bits == 24u ? 3u : bits == 32u ? 4u : 5u;
    uint32_t format = 0;

    for (uint32_t i = 0; i < NUM_RATE; i = i + 1u) {
        if (rate[i].hertz == hertz && (rates >> rate[i].bit & 1u) != 0u) {
            format = FORMAT_VALID | rate[i].format | sample << 4 | (channels - 1u);
        }
    }
    return (formats >> sample & 1u) != 0u && (channels == 1u || channels == 2u) ? format : 0u;
}
