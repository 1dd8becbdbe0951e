/* A stream to an echo service, and the service. */
#define _DEFAULT_SOURCE
#include "measure.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ECHO_PORT 7

/* The bytes that net_echo sends: this again and again. */
#define PERIOD 65521u
static uint8_t pattern[PERIOD + CHUNK];

static void make_pattern(void)
{
    for (uint32_t i = 0; i < sizeof pattern; i++) {
        uint32_t place = i % PERIOD;
        pattern[i] = (uint8_t)(place * 167 + (place >> 8) * 13);
    }
}

static int connect_echo(const char *address)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(ECHO_PORT)};
    int connection = socket(AF_INET, SOCK_STREAM, 0);

    if (inet_pton(AF_INET, address, &to.sin_addr) != 1) {
        errno = EINVAL;
        fail(address);
    }
    if (connection < 0 || connect(connection, (struct sockaddr *)&to, sizeof to) != 0) {
        fail("connecting");
    }
    if (fcntl(connection, F_SETFL, O_NONBLOCK) != 0) {
        fail("O_NONBLOCK");
    }
    return connection;
}

/* Sends as much as fits now. */
static uint64_t send_some(int connection, uint64_t sent, uint64_t bytes)
{
    uint64_t count = bytes - sent < CHUNK ? bytes - sent : CHUNK;
    ssize_t done = write(connection, pattern + sent % PERIOD, count);

    if (done < 0 && errno != EAGAIN) {
        fail("sending");
    }
    return sent + (done > 0 ? (uint64_t)done : 0);
}

/* Takes and checks what has come back. */
static uint64_t verify_some(int connection, uint64_t verified)
{
    static uint8_t in[CHUNK];
    ssize_t count = read(connection, in, sizeof in);

    if (count == 0 || (count < 0 && errno != EAGAIN)) {
        fail("receiving");
    }
    if (count > 0 && memcmp(in, pattern + verified % PERIOD, (size_t)count) != 0) {
        fail("a byte came back changed");
    }
    return verified + (count > 0 ? (uint64_t)count : 0);
}

void echo(uint64_t bytes, const char *address)
{
    uint64_t sent = 0;
    uint64_t verified = 0;
    int connection = connect_echo(address);

    make_pattern();
    while (verified < bytes) {
        struct pollfd what = {connection, (short)(sent < bytes ? POLLIN | POLLOUT : POLLIN), 0};
        if (poll(&what, 1, -1) < 0) {
            fail("poll");
        }
        if ((what.revents & POLLOUT) != 0) {
            sent = send_some(connection, sent, bytes);
        }
        if ((what.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
            verified = verify_some(connection, verified);
        }
    }
}

/* Gives back what comes, until the client closes. */
static void serve_one(int connection)
{
    static uint8_t in[CHUNK];
    ssize_t count;

    while ((count = read(connection, in, sizeof in)) > 0) {
        for (ssize_t done = 0; done < count;) {
            ssize_t more = send(connection, in + done, (size_t)(count - done), MSG_NOSIGNAL);
            if (more <= 0) {
                return;
            }
            done += more;
        }
    }
}

void serve(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(ECHO_PORT)};
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    if (listener < 0 || bind(listener, (struct sockaddr *)&at, sizeof at) != 0 || listen(listener, 1) != 0) {
        fail("listening");
    }
    if (daemon(0, 0) != 0) {
        fail("going on alone");
    }
    for (;;) {
        int connection = accept(listener, NULL, NULL);
        if (connection < 0) {
            fail("accept");
        }
        serve_one(connection);
        close(connection);
    }
}
