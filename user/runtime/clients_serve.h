/* What the program around a driver asks of the part for several clients. */
#ifndef RUNTIME_CLIENTS_SERVE_H
#define RUNTIME_CLIENTS_SERVE_H

#include "ashlar/monitor.h"

/* Serves every client that the environment names, `client.NAME=…`, each at a port of its own. */
void clients_serve(const struct protocol *protocol);

#endif
