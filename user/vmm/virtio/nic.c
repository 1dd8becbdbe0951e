/* Frames between the guest's queues and the network. A frame that comes waits in the network's buffer until the guest has given
 * one of its own; where all buffers wait, the card loses what comes, as any card does. */
#include "virtio/nic.h"

#include "bytes.h"
#include "virtio/network.h"

#define HEADER                                                                                                         \
    12u /* before each frame: what was left to the device, nothing here; the last two bytes count the buffers */
#define HEADER_BUFFERS 10u
#define FRAME_LEAST 14u
#define FRAME_MOST 1514u

#define FEATURE_ADDRESS (1ul << 5)
#define FEATURE_STATUS (1ul << 16)

/* The configuration space. */
#define ADDRESS 0u
#define STATUS 6u
#define CONFIGURATION 8u
#define STATUS_LINK_UP 1u

static struct virtio *device;
static uint32_t generation;

static uint64_t nic_configuration(uint32_t offset)
{
    uint8_t bytes[CONFIGURATION + 8] = {0};
    for (uint32_t i = 0; i < NETWORK_ADDRESS; i++) {
        bytes[ADDRESS + i] = network_address()[i];
    }
    put(bytes + STATUS, network_is_up() ? STATUS_LINK_UP : 0, 2);
    return offset < CONFIGURATION ? get(bytes + offset, 8) : 0;
}

static uint32_t nic_generation(void)
{
    return generation;
}

/* Buffers of the guest are taken when there is a frame for them. What is to be sent is taken when it can be, or dropped at once
 * where there is no network: a guest must not wait for a driver. */
static uint32_t nic_has_room(uint32_t queue)
{
    if (queue == NIC_RECEIVE) {
        uint32_t bytes = 0;
        return network_first(&bytes) != 0;
    }
    return network_is_open() == 0 || network_frame() != 0;
}

static enum virtio_answer receive(const struct chain *chain, uint32_t *written)
{
    uint8_t header[HEADER] = {0};
    uint32_t bytes = 0;
    const uint8_t *frame = network_first(&bytes);
    if (chain_writable(chain) < HEADER) {
        return VIRTIO_MALFORMED;
    }
    if (bytes <= chain_writable(chain) - HEADER) {
        put(header + HEADER_BUFFERS, 1, 2);
        chain_write(chain, HEADER, frame, bytes);
        *written = HEADER + bytes;
    } else {
        *written = HEADER; /* the guest drops an empty frame */
    }
    chain_write(chain, 0, header, HEADER);
    network_take();
    return VIRTIO_ANSWERED;
}

static enum virtio_answer transmit(const struct chain *chain)
{
    uint32_t readable = chain_readable(chain);
    uint8_t *frame = network_frame();
    if (readable < HEADER) {
        return VIRTIO_MALFORMED;
    }
    uint32_t bytes = readable - HEADER;
    if (frame != 0 && bytes >= FRAME_LEAST && bytes <= FRAME_MOST) {
        chain_read(chain, HEADER, frame, bytes);
        network_send(bytes);
    }
    return VIRTIO_ANSWERED;
}

static enum virtio_answer nic_begin(uint32_t queue, const struct chain *chain, uint32_t *written)
{
    return queue == NIC_RECEIVE ? receive(chain, written) : transmit(chain);
}

const struct virtio_kind nic_kind = {
    .number = 1,
    .queues = 2,
    .features = FEATURE_ADDRESS | FEATURE_STATUS,
    .has_room = nic_has_room,
    .begin = nic_begin,
    .configuration = nic_configuration,
    .generation = nic_generation,
};

void nic_attach(struct virtio *to)
{
    device = to;
}

void nic_changed(void)
{
    generation++;
    if (device != 0) { /* else the guest has not begun */
        virtio_configuration_changed(device);
    }
}
