/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The process that simulates an accelerator:  simacc_device MEMORY CC FAULT, with the socket as standard input.
 *
 * The main thread reads commands, finds the objects they name and puts them into a queue; another thread does them in
 * order. One lock guards all state; work is done without it. A queued command holds what it
 * names, so freeing is safe at any time. The process ends when the socket does.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "module.h"
#include "protocol.h"
#include "tenon/base/kernel_abi.h"
#include "tenon/base/status.h"

enum { SOCKET = STDIN_FILENO, ALIGN = 64, TEXT = 512, QUEUED_BYTES = 256 << 20, MAX_IDS = 1 << 24 };

enum kind { MEMORY, MODULE, KERNEL };

typedef struct object {
    enum kind kind;
    uint32_t refs;
    char *data; /* MEMORY */
    uint64_t bytes;
    void *code;        /* MODULE */
    tnb_cpu_kernel fn; /* KERNEL */
    struct object *module;
} object;

typedef struct task {
    struct task *next;
    simacc_command c;
    char *payload;
    uint32_t n;
    object *objects[]; /* that it names, held */
} task;

static struct {
    pthread_mutex_t lock, answers;
    pthread_cond_t changed;
    object **objects; /* by number */
    task *first, **last;
    uint64_t n_objects, queued, memory, in_use;
    uint32_t failed; /* a status, and why: for the next answer */
    char why[TEXT];
    bool garbled;
    const char *cc;
} sim = {.lock = PTHREAD_MUTEX_INITIALIZER,
         .answers = PTHREAD_MUTEX_INITIALIZER,
         .changed = PTHREAD_COND_INITIALIZER};

static void
fail(tnb_status status, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The first of several errors is told. */
static void
fail(tnb_status status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    pthread_mutex_lock(&sim.lock);
    if (!sim.failed) {
        sim.failed = status;
        vsnprintf(sim.why, sizeof sim.why, fmt, ap);
    }
    pthread_mutex_unlock(&sim.lock);
    va_end(ap);
}

/* ---- the socket ---- */

static void
put(const void *bytes, uint64_t n)
{
    for (const char *at = bytes; n > 0;) {
        ssize_t did = send(SOCKET, at, n, MSG_NOSIGNAL);
        if (did > 0) {
            at += did;
            n -= (uint64_t)did;
        } else if (did == 0 || errno != EINTR) {
            _exit(0); /* nobody listens */
        }
    }
}

static void
get(void *bytes, uint64_t n)
{
    for (char *at = bytes; n > 0;) {
        ssize_t did = recv(SOCKET, at, n, 0);
        if (did > 0) {
            at += did;
            n -= (uint64_t)did;
        } else if (did == 0 || errno != EINTR) {
            _exit(0);
        }
    }
}

static void
quit_if_alone(int ms)
{
    struct pollfd p = {.fd = SOCKET, .events = POLLRDHUP};
    if (poll(&p, 1, ms) > 0)
        _exit(0);
}

static void
answer(uint32_t op, uint64_t value, const void *bytes, uint64_t n)
{
    char why[TEXT];
    pthread_mutex_lock(&sim.lock);
    simacc_reply r = {.op = sim.garbled ? SIMACC_N_OPS : op,
                      .status = sim.failed,
                      .value = value,
                      .bytes = n};
    if (r.status) {
        memcpy(why, sim.why, sizeof why);
        bytes = why;
        r.bytes = strlen(why);
        sim.failed = 0;
    }
    pthread_mutex_unlock(&sim.lock);
    pthread_mutex_lock(&sim.answers);
    put(&r, sizeof r);
    put(bytes, r.bytes);
    pthread_mutex_unlock(&sim.answers);
}

/* ---- objects (with the lock held) ---- */

static void
drop(object *o)
{
    if (!o || --o->refs > 0)
        return;
    if (o->kind == MEMORY) {
        free(o->data);
        sim.in_use -= o->bytes;
    } else if (o->kind == MODULE) {
        module_unload(o->code);
    } else if (o->kind == KERNEL) {
        drop(o->module);
    }
    free(o);
}

static object *
find(uint64_t id, enum kind kind)
{
    object *o = id && id < sim.n_objects ? sim.objects[id] : NULL;
    return o && o->kind == kind ? o : NULL;
}

/* A new object under a number; the caller does not hold it. */
static object *
new_object(uint64_t id, enum kind kind)
{
    if (id >= sim.n_objects && id < MAX_IDS) {
        uint64_t n = (id + 1) * 2;
        object **grown = realloc(sim.objects, n * sizeof *grown);
        if (grown) {
            memset(grown + sim.n_objects, 0, (n - sim.n_objects) * sizeof *grown);
            sim.objects = grown;
            sim.n_objects = n;
        }
    }
    object *o = id && id < sim.n_objects && !sim.objects[id] ? calloc(1, sizeof *o) : NULL;
    if (!o)
        return NULL;
    o->kind = kind;
    o->refs = 1;
    sim.objects[id] = o;
    return o;
}

static void
release(uint64_t id)
{
    object *o = id < sim.n_objects ? sim.objects[id] : NULL;
    if (!o)
        return;
    sim.objects[id] = NULL;
    drop(o);
}

/* ---- work ---- */

static char *
range(const object *o, uint64_t offset, uint64_t bytes)
{
    if (offset <= o->bytes && bytes <= o->bytes - offset)
        return o->data + offset;
    fail(TNB_BOUNDS,
         "the simacc device: %" PRIu64 " bytes at %" PRIu64 " of memory that has %" PRIu64, bytes,
         offset, o->bytes);
    return NULL;
}

struct scratch {
    void **blocks;
    uint32_t n;
};

static void *
scratch_block(struct scratch *s, size_t bytes)
{
    void **grown = realloc(s->blocks, (s->n + 1) * sizeof *grown), *block;
    if (!grown)
        return NULL;
    s->blocks = grown;
    if (posix_memalign(&block, ALIGN, bytes ? bytes : 1) != 0)
        return NULL;
    s->blocks[s->n++] = block;
    return block;
}

static void *
workspace(tnb_kernel_env *env, size_t bytes)
{
    return scratch_block(env->user, bytes);
}

/* Kernels want aligned buffers; one that is not is replaced by a copy. */
static bool
arguments(const task *t, const simacc_buffer *b, void **at, struct scratch *s)
{
    for (uint32_t i = 0; i + 1 < t->n; i++) {
        char *p = range(t->objects[i + 1], b[i].offset, b[i].bytes);
        if (!p)
            return false;
        at[i] = p;
        if ((uintptr_t)p % ALIGN) {
            at[i] = scratch_block(s, b[i].bytes);
            if (!at[i])
                return false;
            memcpy(at[i], p, b[i].bytes);
        }
    }
    return true;
}

static void
launch(const task *t)
{
    struct scratch s = {0};
    tnb_kernel_env env = {.threads = 1, .workspace = workspace, .user = &s};
    const simacc_buffer *b = (const simacc_buffer *)(const void *)t->payload;
    const tnb_kernel_scalar *scalars =
        (const tnb_kernel_scalar *)(const void *)(t->payload + t->c.args[1] * sizeof *b);
    void **at = scratch_block(&s, t->n * sizeof *at);
    if (!at || !arguments(t, b, at, &s)) {
        fail(TNB_NO_MEMORY, "the simacc device has no memory for a launch");
    } else {
        int32_t rc = t->objects[0]->fn(at, scalars, &env);
        if (rc == TNB_KERNEL_NO_MEMORY)
            fail(TNB_NO_MEMORY, "the simacc device has no memory for a kernel's temporaries");
        else if (rc == TNB_KERNEL_REFUSED)
            fail(TNB_BOUNDS, "an index is out of range");
        else if (rc != TNB_KERNEL_OK)
            fail(TNB_INVALID, "assertion %" PRId32 " of the kernel failed", rc);
        for (uint32_t i = 0; i + 1 < t->n; i++) {
            char *p = t->objects[i + 1]->data + b[i].offset;
            if (b[i].written && at[i] != p)
                memcpy(p, at[i], b[i].bytes);
        }
    }
    for (uint32_t i = 0; i < s.n; i++)
        free(s.blocks[i]);
    free(s.blocks);
}

static void
perform(task *t)
{
    const uint64_t *a = t->c.args;
    object *o = t->n ? t->objects[0] : NULL;
    char *p, *q;
    switch (t->c.op) {
    case SIMACC_WRITE:
        if ((p = range(o, a[1], t->c.bytes)))
            memcpy(p, t->payload, t->c.bytes);
        break;
    case SIMACC_READ:
        p = range(o, a[1], a[2]);
        answer(SIMACC_READ, 0, p, p ? a[2] : 0);
        break;
    case SIMACC_COPY:
        p = range(o, a[1], a[4]);
        q = range(t->objects[1], a[3], a[4]);
        if (p && q)
            memmove(p, q, a[4]);
        break;
    case SIMACC_ZERO:
        if ((p = range(o, a[1], a[2])))
            memset(p, 0, a[2]);
        break;
    case SIMACC_LAUNCH:
        launch(t);
        break;
    default: /* FENCE */
        answer(SIMACC_FENCE, 0, NULL, 0);
    }
}

/* ---- the queue ---- */

static void *
work(void *arg)
{
    pthread_mutex_lock(&sim.lock);
    for (;;) {
        task *t = sim.first;
        if (!t) {
            pthread_cond_wait(&sim.changed, &sim.lock);
            continue;
        }
        sim.first = t->next;
        if (!sim.first)
            sim.last = &sim.first;
        pthread_mutex_unlock(&sim.lock);
        perform(t);
        pthread_mutex_lock(&sim.lock);
        sim.queued -= t->c.bytes;
        for (uint32_t i = 0; i < t->n; i++)
            drop(t->objects[i]);
        free(t->payload);
        free(t);
    }
    return arg;
}

/* ---- commands ---- */

/* Which arguments name objects that a queued command holds. */
static bool
hold(task *t, uint64_t id, enum kind kind)
{
    object *o = find(id, kind);
    if (!o)
        return false;
    o->refs++;
    t->objects[t->n++] = o;
    return true;
}

static bool
hold_all(task *t)
{
    const uint64_t *a = t->c.args;
    const simacc_buffer *b = (const simacc_buffer *)(const void *)t->payload;
    switch (t->c.op) {
    case SIMACC_FENCE:
        return true;
    case SIMACC_COPY:
        return hold(t, a[0], MEMORY) && hold(t, a[2], MEMORY);
    case SIMACC_LAUNCH:
        if (!hold(t, a[0], KERNEL))
            return false;
        for (uint64_t i = 0; i < a[1]; i++)
            if (!hold(t, b[i].mem, MEMORY))
                return false;
        return true;
    default:
        return hold(t, a[0], MEMORY);
    }
}

static uint64_t
most_objects(const simacc_command *c)
{
    if (c->op != SIMACC_LAUNCH)
        return 2;
    uint64_t room = c->bytes / sizeof(simacc_buffer);
    return c->args[1] <= room && c->bytes == c->args[1] * sizeof(simacc_buffer) +
                                                 c->args[2] * sizeof(tnb_kernel_scalar)
               ? c->args[1] + 1
               : 0;
}

static bool
answered(uint32_t op)
{
    return op == SIMACC_READ || op == SIMACC_FENCE;
}

/* Queues a command with its payload. */
static void
enqueue(const simacc_command *c, char *payload)
{
    static const char *const nothing =
        "the simacc device was sent a command that names nothing it has";
    uint64_t room = most_objects(c);
    task *t = room ? calloc(1, sizeof *t + room * sizeof t->objects[0]) : NULL;
    pthread_mutex_lock(&sim.lock);
    if (t) {
        t->c = *c;
        t->payload = payload;
    }
    if (t && hold_all(t)) {
        *sim.last = t;
        sim.last = &t->next;
        sim.queued += c->bytes;
        pthread_cond_broadcast(&sim.changed);
        pthread_mutex_unlock(&sim.lock);
        return;
    }
    for (uint32_t i = 0; t && i < t->n; i++)
        drop(t->objects[i]);
    pthread_mutex_unlock(&sim.lock);
    free(t);
    free(payload);
    fail(TNB_DEVICE, "%s", nothing);
    if (answered(c->op))
        answer(c->op, 0, NULL, 0);
}

static void
allocate(uint64_t id, uint64_t bytes)
{
    void *data = NULL;
    bool room = bytes <= sim.memory && sim.in_use <= sim.memory - bytes &&
                posix_memalign(&data, ALIGN, bytes ? bytes : 1) == 0;
    object *o = new_object(id, MEMORY);
    if (o && room) {
        o->data = data;
        o->bytes = bytes;
        sim.in_use += bytes;
        return;
    }
    free(data);
    if (!sim.failed) {
        sim.failed = TNB_NO_MEMORY;
        snprintf(sim.why, sizeof sim.why, "the simacc device has no memory for %" PRIu64 " bytes",
                 bytes);
    }
}

static void
load(uint64_t id, const char *source, size_t n)
{
    char why[TEXT];
    void *code = NULL;
    if (!module_load(sim.cc, source, n, &code, why, sizeof why)) {
        fail(TNB_FORMAT, "%s", why);
    } else {
        pthread_mutex_lock(&sim.lock);
        object *o = new_object(id, MODULE);
        if (o)
            o->code = code;
        pthread_mutex_unlock(&sim.lock);
        if (!o)
            fail(TNB_NO_MEMORY, "the simacc device has no memory for a module");
    }
    answer(SIMACC_LOAD, 0, NULL, 0);
}

static void
kernel(uint64_t id, uint64_t module, const char *name)
{
    pthread_mutex_lock(&sim.lock);
    object *m = find(module, MODULE), *o = NULL;
    void *fn = m ? module_symbol(m->code, name) : NULL;
    if (fn && (o = new_object(id, KERNEL))) {
        memcpy(&o->fn, &fn, sizeof fn);
        o->module = m;
        m->refs++;
    }
    pthread_mutex_unlock(&sim.lock);
    if (!o)
        fail(TNB_NOT_FOUND, "the code has no kernel '%s'", name);
    answer(SIMACC_KERNEL, 0, NULL, 0);
}

/* What the reader does itself; false: it belongs into the queue. */
static bool
at_once(const simacc_command *c, const char *payload)
{
    const uint64_t *a = c->args;
    if (c->op == SIMACC_HELLO) {
        answer(SIMACC_HELLO, SIMACC_VERSION, NULL, 0);
    } else if (c->op == SIMACC_LOAD) {
        load(a[0], payload, c->bytes);
    } else if (c->op == SIMACC_KERNEL) {
        kernel(a[0], a[1], payload);
    } else if (c->op == SIMACC_ALLOC || c->op == SIMACC_FREE) {
        pthread_mutex_lock(&sim.lock);
        if (c->op == SIMACC_ALLOC)
            allocate(a[0], a[1]);
        else
            release(a[0]);
        pthread_mutex_unlock(&sim.lock);
    } else {
        return false;
    }
    return true;
}

static bool
too_much_queued(void)
{
    pthread_mutex_lock(&sim.lock);
    bool much = sim.queued > QUEUED_BYTES;
    pthread_mutex_unlock(&sim.lock);
    return much;
}

/* ---- faults, for tests ---- */

static void
go_wrong(const char *kind)
{
    if (!strcmp(kind, "die"))
        _exit(3);
    if (!strcmp(kind, "crash"))
        raise(SIGSEGV);
    while (!strcmp(kind, "hang"))
        quit_if_alone(1000);
    if (!strcmp(kind, "slow"))
        sleep(1);
    pthread_mutex_lock(&sim.lock);
    sim.garbled |= !strcmp(kind, "garble");
    pthread_mutex_unlock(&sim.lock);
}

int
main(int argc, char **argv)
{
    const struct rlimit none = {0};
    char fault[16] = "";
    unsigned long when = 0, n = 0;
    if (argc != 4) {
        fprintf(stderr, "usage: %s MEMORY CC FAULT, started by the simacc plugin\n", argv[0]);
        return 2;
    }
    (void)setrlimit(RLIMIT_CORE, &none);
    sim.memory = strtoull(argv[1], NULL, 10);
    sim.cc = argv[2];
    (void)sscanf(argv[3], "%15[a-z]:%lu", fault, &when);
    sim.last = &sim.first;
    pthread_t worker;
    if (pthread_create(&worker, NULL, work, NULL) != 0)
        return 1;
    for (;;) {
        simacc_command c;
        get(&c, sizeof c);
        char *payload = c.bytes < SIZE_MAX ? malloc(c.bytes + 1) : NULL;
        if (!payload || c.op >= SIMACC_N_OPS)
            return 4; /* the host sees the end */
        get(payload, c.bytes);
        payload[c.bytes] = '\0';
        if (++n == when)
            go_wrong(fault);
        if (at_once(&c, payload)) {
            free(payload);
            continue;
        }
        enqueue(&c, payload);
        while (too_much_queued())
            quit_if_alone(10);
    }
}
