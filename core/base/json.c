/* SPDX-License-Identifier: Apache-2.0 */
/* jansson (2.14; issue 362 there) does not look whether its buffer for the present token could grow.
 * So growing must not fail: before reading, a reserve is taken that is large enough for one growth,
 * and allocations that fail during the reading come from there. From then on the reader is given no
 * further byte, so that it ends without growing again, and what it made of the text is dropped.
 */
#include "tenon/base/json.h"

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct reading {
    const char *text;
    size_t n, at;
    char *reserve;
    size_t room, used;
    bool failed; /* an allocation */
} reading;

static __thread reading *current;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static json_malloc_t next_malloc;
static json_free_t next_free;

/* ---- allocation ---- */

static void *
from_reserve(reading *r, size_t n)
{
    enum { ALIGN = 16 };
    if (n > r->room - r->used)
        return NULL;
    void *p = r->reserve + r->used;
    n = n + (ALIGN - n % ALIGN) % ALIGN;
    r->used = n < r->room - r->used ? r->used + n : r->room;
    return p;
}

static void *
reading_malloc(size_t n)
{
    reading *r = current;
    void *p = r && r->failed ? NULL : next_malloc(n);
    if (p || !r)
        return p;
    r->failed = true;
    return from_reserve(r, n);
}

static void
reading_free(void *p)
{
    const reading *r = current;
    uintptr_t at = (uintptr_t)p;
    if (!r || at < (uintptr_t)r->reserve || at >= (uintptr_t)r->reserve + r->room)
        next_free(p);
}

static void
install(void)
{
    json_get_alloc_funcs(&next_malloc, &next_free);
    json_set_alloc_funcs(reading_malloc, reading_free);
}

/* Where this library is unloaded before jansson. */
static void __attribute__((destructor)) uninstall(void)
{
    json_malloc_t m;
    json_free_t f;
    json_get_alloc_funcs(&m, &f);
    if (m == reading_malloc)
        json_set_alloc_funcs(next_malloc, next_free);
}

/* ---- reading ---- */

/* One byte each: none is in jansson's hands when an allocation fails. */
static size_t
next_byte(void *buffer, size_t size, void *user)
{
    reading *r = user;
    if (r->failed || r->at == r->n || !size)
        return 0;
    *(char *)buffer = r->text[r->at++];
    return 1;
}

tnb_status
tnb_json_parse(const char *text, size_t n, size_t flags, json_t **out, tnb_err *err)
{
    json_error_t why;
    tnb_status st = TNB_OK;
    /* a token's buffer has twice its length at most, and is doubled */
    reading r = {.text = text, .n = n, .room = n < SIZE_MAX / 8 ? 4 * n + 64 : 0};
    *out = NULL;
    pthread_once(&once, install);
    r.reserve = r.room ? malloc(r.room) : NULL;
    if (!r.reserve)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to read a JSON text of %zu bytes", n);
    reading *outer = current;
    current = &r;
    json_t *root = json_load_callback(next_byte, &r, flags, &why);
    if (r.failed) {
        json_decref(root);
        st = tnb_fail(err, TNB_NO_MEMORY, "no memory to read a JSON text of %zu bytes", n);
    } else if (!root) {
        st = tnb_fail(err, TNB_FORMAT, "JSON, line %d: %s", why.line, why.text);
    } else {
        *out = root;
    }
    current = outer;
    free(r.reserve);
    return st;
}
