/* What the program around a driver asks of the part for several clients. */
#ifndef RUNTIME_CLIENTS_SERVE_H
#define RUNTIME_CLIENTS_SERVE_H

#include <stdint.h>

#include "ashlar/monitor.h"

/* Serves every client that the environment names, `client.NAME=…`, each at a port of its own. */
void clients_serve(const struct protocol *protocol);

/* The port of the domain at which a protocol is spoken: of that with several clients, with the one whose turn it is. */
uint32_t clients_port(uint32_t protocol);

#endif
