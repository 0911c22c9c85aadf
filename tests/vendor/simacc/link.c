/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The simulated accelerator, device half: the process, the socket, and what becomes of both. */
#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { TICK_MS = 50, PATIENCE_MS = 2000 };

struct simacc_link {
    int fd, timeout_ms;
    pid_t pid;
    bool dead;
    tnb_err why; /* when dead */
    pthread_mutex_t lock;
};

static const char *const op_names[SIMACC_N_OPS] = {
    "hello", "alloc", "free", "write", "read", "copy", "zero", "load", "kernel", "launch", "fence",
};

/* ---- the end of the process ---- */

/* Waits for its end, a while; false: it goes on. */
static bool
ended(pid_t pid, int ms, int *status)
{
    const struct timespec tick = {.tv_nsec = 5000000};
    for (int at = 0;; at += 5) {
        pid_t got = waitpid(pid, status, WNOHANG);
        if (got == pid || (got < 0 && errno != EINTR))
            return true;
        if (at >= ms)
            return false;
        nanosleep(&tick, NULL);
    }
}

static void
put_down(simacc_link *l)
{
    int status;
    (void)kill(l->pid, SIGKILL);
    while (waitpid(l->pid, &status, 0) < 0 && errno == EINTR)
        ;
    l->pid = 0;
}

/* The socket is at its end: says how the process ended. */
static tnb_status
lost(simacc_link *l, uint32_t op, tnb_err *err)
{
    int status = 0;
    l->dead = true;
    if (!ended(l->pid, PATIENCE_MS, &status)) {
        put_down(l);
        (void)tnb_fail(&l->why, TNB_DEVICE,
                       "the process of the simacc device closed its socket at the command '%s'",
                       op_names[op]);
    } else if (WIFSIGNALED(status)) {
        (void)tnb_fail(&l->why, TNB_DEVICE,
                       "the process of the simacc device (%ld) was ended by signal %d (%s), at the "
                       "command '%s'",
                       (long)l->pid, WTERMSIG(status), strsignal(WTERMSIG(status)), op_names[op]);
    } else {
        (void)tnb_fail(
            &l->why, TNB_DEVICE,
            "the process of the simacc device (%ld) ended with status %d, at the command '%s'",
            (long)l->pid, WEXITSTATUS(status), op_names[op]);
    }
    l->pid = 0;
    tnb_hint(&l->why, "what the device held is lost; open it again");
    if (err)
        *err = l->why;
    return TNB_DEVICE;
}

static tnb_status
hung(simacc_link *l, uint32_t op, tnb_err *err)
{
    long pid = l->pid;
    l->dead = true;
    put_down(l);
    (void)tnb_fail(&l->why, TNB_DEVICE,
                   "the process of the simacc device (%ld) did not answer the command '%s' within "
                   "%g s, and was ended",
                   pid, op_names[op], l->timeout_ms / 1000.0);
    tnb_hint(&l->why, "[device simacc] timeout is the time that an answer may take");
    if (err)
        *err = l->why;
    return TNB_DEVICE;
}

static tnb_status
confused(simacc_link *l, uint32_t op, const simacc_reply *r, tnb_err *err)
{
    l->dead = true;
    put_down(l);
    (void)tnb_fail(
        &l->why, TNB_DEVICE,
        "the process of the simacc device answered the command '%s' with what is no answer to it "
        "(command %" PRIu32 ", %" PRIu64 " bytes), and was ended",
        op_names[op], r->op, r->bytes);
    if (err)
        *err = l->why;
    return TNB_DEVICE;
}

/* ---- bytes ---- */

/* Waits until the socket can be written or read. Counted in ticks: a machine that sleeps does not let them pass. */
static tnb_status
ready(simacc_link *l, short events, uint32_t op, tnb_err *err)
{
    for (int at = 0; at < l->timeout_ms; at += TICK_MS) {
        struct pollfd p = {.fd = l->fd, .events = events};
        int n = poll(&p, 1, TICK_MS);
        if (n > 0)
            return TNB_OK; /* errors show when it is used */
        if (n < 0 && errno != EINTR)
            return lost(l, op, err);
    }
    return hung(l, op, err);
}

static tnb_status
put(simacc_link *l, const void *bytes, uint64_t n, uint32_t op, tnb_err *err)
{
    for (const char *at = bytes; n > 0;) {
        ssize_t did = send(l->fd, at, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (did > 0) {
            at += did;
            n -= (uint64_t)did;
        } else if (did < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            TNB_TRY(ready(l, POLLOUT, op, err));
        } else if (!(did < 0 && errno == EINTR)) {
            return lost(l, op, err);
        }
    }
    return TNB_OK;
}

static tnb_status
get(simacc_link *l, void *bytes, uint64_t n, uint32_t op, tnb_err *err)
{
    for (char *at = bytes; n > 0;) {
        ssize_t did = recv(l->fd, at, n, MSG_DONTWAIT);
        if (did > 0) {
            at += did;
            n -= (uint64_t)did;
        } else if (did < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            TNB_TRY(ready(l, POLLIN, op, err));
        } else if (!(did < 0 && errno == EINTR)) {
            return lost(l, op, err);
        }
    }
    return TNB_OK;
}

/* ---- commands ---- */

static tnb_status
transmit(simacc_link *l, const simacc_command *c, const void *part0, uint64_t n0, const void *part1,
         uint64_t n1, tnb_err *err)
{
    simacc_command full = *c;
    full.bytes = n0 + n1;
    if (l->dead) {
        if (err)
            *err = l->why;
        return TNB_DEVICE;
    }
    TNB_TRY(put(l, &full, sizeof full, c->op, err));
    TNB_TRY(put(l, part0, n0, c->op, err));
    return put(l, part1, n1, c->op, err);
}

tnb_status
simacc_send(simacc_link *l, const simacc_command *c, const void *part0, uint64_t n0,
            const void *part1, uint64_t n1, tnb_err *err)
{
    pthread_mutex_lock(&l->lock);
    tnb_status st = transmit(l, c, part0, n0, part1, n1, err);
    pthread_mutex_unlock(&l->lock);
    return st;
}

static tnb_status
receive(simacc_link *l, const simacc_command *c, void *out, uint64_t n, uint64_t *value,
        tnb_err *err)
{
    char text[600];
    simacc_reply r;
    TNB_TRY(get(l, &r, sizeof r, c->op, err));
    if (r.op != c->op || r.bytes != (r.status ? r.bytes : n) ||
        (r.status && r.bytes >= sizeof text))
        return confused(l, c->op, &r, err);
    if (value)
        *value = r.value;
    if (!r.status)
        return get(l, out, n, c->op, err);
    TNB_TRY(get(l, text, r.bytes, c->op, err));
    text[r.bytes] = '\0';
    return tnb_fail(err, r.status <= TNB_INTERNAL ? (tnb_status)r.status : TNB_DEVICE, "%s", text);
}

tnb_status
simacc_ask(simacc_link *l, const simacc_command *c, const void *part, uint64_t n_part, void *out,
           uint64_t n, uint64_t *value, tnb_err *err)
{
    pthread_mutex_lock(&l->lock);
    tnb_status st = transmit(l, c, part, n_part, NULL, 0, err);
    if (st == TNB_OK)
        st = receive(l, c, out, n, value, err);
    pthread_mutex_unlock(&l->lock);
    return st;
}

/* ---- opening and closing ---- */

static tnb_status
start(simacc_link *l, const simacc_settings *s, tnb_err *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return tnb_fail(err, TNB_IO, "no socket to the simacc device: %s", strerror(errno));
    posix_spawn_file_actions_t fa;
    const char *argv[] = {s->program, s->memory, s->cc ? s->cc : "cc", s->fault ? s->fault : "",
                          NULL};
    int rc = posix_spawn_file_actions_init(&fa);
    if (rc == 0) {
        rc = posix_spawn_file_actions_adddup2(&fa, pair[1], STDIN_FILENO);
        if (rc == 0)
            rc = posix_spawn_file_actions_addopen(&fa, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
        if (rc == 0)
            rc = posix_spawn(&l->pid, s->program, &fa, NULL, (char **)(uintptr_t)argv, environ);
        posix_spawn_file_actions_destroy(&fa);
    }
    close(pair[1]);
    l->fd = pair[0];
    if (rc == 0)
        return TNB_OK;
    close(pair[0]);
    return tnb_fail(err, TNB_DEVICE, "the process of the simacc device, %s, cannot be started: %s",
                    s->program, strerror(rc));
}

tnb_status
simacc_link_open(const simacc_settings *s, simacc_link **out, tnb_err *err)
{
    const simacc_command hello = {.op = SIMACC_HELLO};
    uint64_t version = 0;
    simacc_link *l = calloc(1, sizeof *l);
    if (!l)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to open the simacc device");
    l->timeout_ms = s->timeout_ms;
    pthread_mutex_init(&l->lock, NULL);
    tnb_status st = start(l, s, err);
    if (st != TNB_OK) {
        pthread_mutex_destroy(&l->lock);
        free(l);
        return st;
    }
    st = simacc_ask(l, &hello, NULL, 0, NULL, 0, &version, err);
    if (st == TNB_OK && version != SIMACC_VERSION)
        st = tnb_fail(err, TNB_DEVICE,
                      "%s speaks version %" PRIu64 " of the protocol, this plugin %d", s->program,
                      version, SIMACC_VERSION);
    if (st != TNB_OK) {
        simacc_link_close(l);
        return st;
    }
    *out = l;
    return TNB_OK;
}

/* The process ends by itself when the socket does. */
void
simacc_link_close(simacc_link *l)
{
    int status;
    close(l->fd);
    if (l->pid && !ended(l->pid, PATIENCE_MS, &status))
        put_down(l);
    pthread_mutex_destroy(&l->lock);
    free(l);
}
