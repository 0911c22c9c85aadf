/* SPDX-License-Identifier: Apache-2.0 */
/* The device conformance suite: what its files share. Each check looks at one thing that a driver must do (tenon/rt/device.h), is
 * named after it, and frees what it made where it holds. */
#ifndef TESTS_DEVICE_CONFORMANCE_H
#define TESTS_DEVICE_CONFORMANCE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tenon/rt/device.h"

struct suite {
    const tnr_driver *d;
    void *dev, *other;  /* another one of the driver; NULL: there is none */
    const char *format; /* of the module; NULL: none given */
    const char *code;
    size_t n_code;
    const char *skipped; /* why the check at hand is not made; NULL: it is */
    char reason[1024];   /* why it fails */
};

struct check {
    const char *name;
    bool (*run)(struct suite *s);
};
#define CHECK(f) \
    {            \
#f, f    \
    }
/* Each ends with a NULL name. */
extern const struct check memory_checks[], stream_checks[], module_checks[];

/* ---- in a check, `s` being the suite ---- */
#define NEED(cond)                                               \
    do {                                                         \
        if (!(cond))                                             \
            return suite_fail(s, __FILE__, __LINE__, #cond, ""); \
    } while (0)
/* The call, which reports to `err`, succeeds. */
#define DONE(expr)                                                                        \
    do {                                                                                  \
        tnb_err err = {0};                                                                \
        if ((expr) != TNB_OK)                                                             \
            return suite_fail(s, __FILE__, __LINE__, #expr,                               \
                              *err.message ? err.message : "it fails without a message"); \
    } while (0)
/* The call fails with a message. */
#define REFUSED(expr)                                                                            \
    do {                                                                                         \
        tnb_err err = {0};                                                                       \
        if ((expr) == TNB_OK || err.status == TNB_OK || !err.message[0])                         \
            return suite_fail(s, __FILE__, __LINE__, #expr, "it is not refused with a message"); \
    } while (0)
/* The check is left out where the driver, or the command line, has not what it needs. */
#define SKIP_UNLESS(cond, why)  \
    do {                        \
        if (!(cond)) {          \
            s->skipped = (why); \
            return true;        \
        }                       \
    } while (0)

/* Notes why the check fails; false. */
bool
suite_fail(struct suite *s, const char *file, int line, const char *what, const char *why);
/* Copies in the device's own stream; false: one failed. */
bool
up(struct suite *s, void *mem, uint64_t offset, const void *host, uint64_t n);
bool
down(struct suite *s, const void *mem, uint64_t offset, void *host, uint64_t n);
bool
across(struct suite *s, void *to, uint64_t to_offset, const void *from, uint64_t from_offset,
       uint64_t n);
/* A copy with all its parts. */
tnr_copy
copy_of(int kind, void *dst, const void *src, uint64_t bytes);
/* Bytes that each seed has others of. */
void
pattern(uint8_t *p, size_t n, unsigned seed);
/* A new stream, where the driver has some; else NULL, the device's own. */
tnb_status
stream_new(struct suite *s, void **stream, tnb_err *err);
void
stream_free(struct suite *s, void *stream);

#endif
