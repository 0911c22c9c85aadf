/* SPDX-License-Identifier: Apache-2.0 */
/* Chrome trace format: one JSON array of complete events. */
#include "tenon/core/pass.h"
#include <pthread.h>
#include <stdlib.h>
#include "tenon/base/file.h"

struct tn_trace {
    tnb_out *out;
    tnb_err err; /* the first failed write */
    tnb_buf line;
    bool any;
    pthread_mutex_t lock;
};

tn_trace *
tn_trace_open(const char *path, tnb_err *err)
{
    tn_trace *t = calloc(1, sizeof *t);
    if (!t) {
        tnb_fail(err, TNB_NO_MEMORY, "no memory for a trace");
        return NULL;
    }
    if (tnb_out_open(path, &t->out, err) != TNB_OK) {
        free(t);
        return NULL;
    }
    pthread_mutex_init(&t->lock, NULL);
    tnb_out_write(t->out, "[\n", 2, &t->err);
    return t;
}

static void
put_text(tnb_buf *b, const char *s)
{
    tnb_buf_putc(b, '"');
    for (; s && *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            tnb_buf_printf(b, "\\%c", c);
        else if (c < 32)
            tnb_buf_printf(b, "\\u%04x", c);
        else
            tnb_buf_putc(b, (char)c);
    }
    tnb_buf_putc(b, '"');
}

void
tn_trace_event(tn_trace *t, const char *category, const char *name, double start_s,
               double duration_s, int thread)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    tnb_buf *b = &t->line;
    b->n = 0;
    tnb_buf_puts(b, t->any ? ",\n{\"ph\":\"X\",\"pid\":1,\"cat\":"
                           : "{\"ph\":\"X\",\"pid\":1,\"cat\":");
    put_text(b, category);
    tnb_buf_puts(b, ",\"name\":");
    put_text(b, name);
    /* whole nanoseconds, so that no locale has a say in the decimal point */
    long long ts = (long long)(start_s * 1e9), dur = (long long)(duration_s * 1e9);
    tnb_buf_printf(b, ",\"tid\":%d,\"ts\":%lld.%03lld,\"dur\":%lld.%03lld}", thread, ts / 1000,
                   ts % 1000, dur / 1000, dur % 1000);
    t->any = true;
    if (b->failed)
        tnb_fail(&t->err, TNB_NO_MEMORY, "no memory for a trace");
    else
        tnb_out_write(t->out, b->s, b->n, &t->err);
    pthread_mutex_unlock(&t->lock);
}

tnb_status
tn_trace_close(tn_trace *t, tnb_err *err)
{
    if (!t)
        return TNB_OK;
    tnb_out_write(t->out, "\n]\n", 3, &t->err);
    tnb_status s;
    if (t->err.status != TNB_OK) {
        s = tnb_fail(err, t->err.status, "%s", t->err.message);
        tnb_out_abandon(t->out);
    } else {
        s = tnb_out_commit(t->out, err);
    }
    pthread_mutex_destroy(&t->lock);
    tnb_buf_free(&t->line);
    free(t);
    return s;
}
