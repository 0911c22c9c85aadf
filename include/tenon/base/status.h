/* SPDX-License-Identifier: Apache-2.0 */
/* Status codes and the error record that every fallible function of Tenon shares.
 *
 * Two ways of reporting exist. The runtime and base fill a caller-owned tnb_err (fixed size: the
 * error path allocates nothing). The compiler records diagnostics in its context
 * (tenon/base/diag.h) and returns NULL or the error node.
 */
#ifndef TENON_BASE_STATUS_H
#define TENON_BASE_STATUS_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TNB_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define TNB_MUST_CHECK __attribute__((warn_unused_result))
#define TNB_EXPORT __attribute__((visibility("default")))
#else
#define TNB_PRINTF(f, a)
#define TNB_MUST_CHECK
#define TNB_EXPORT
#endif

/* ORDER STATUS: tnb_status_name() has a row for each, in this order. Grows at the end only. */
typedef enum tnb_status {
    TNB_OK = 0,
    TNB_INVALID,     /* an argument or option is wrong */
    TNB_NO_MEMORY,   /* an allocation failed */
    TNB_IO,          /* the system refused a file operation */
    TNB_FORMAT,      /* a file or text is not what its format demands */
    TNB_TYPE,        /* wrong dtype or kind of value */
    TNB_SHAPE,       /* wrong rank or extent */
    TNB_UNSUPPORTED, /* valid, but this build, target or device lacks it */
    TNB_NOT_FOUND,   /* a name that nobody provides */
    TNB_BOUNDS,      /* an index, count or offset out of range */
    TNB_DEVICE,      /* a device or driver call failed */
    TNB_BUILD,       /* an external compiler failed */
    TNB_UNTRUSTED,   /* refused by ownership, permission or digest */
    TNB_ABI,         /* made for another version of Tenon */
    TNB_DIFFERS,     /* a comparison found a difference */
    TNB_CANCELLED,   /* stopped on request */
    TNB_INTERNAL     /* a fault of Tenon itself */
} tnb_status;

/* One error, owned by the caller. `message` says what happened (lower case, no full stop), `hint`
 * what to do about it (may be empty). Both are always terminated; longer text is cut with "...". */
typedef struct tnb_err {
    tnb_status status;
    char message[768];
    char hint[256];
} tnb_err;

/* The name of a status, as "not found"; never NULL. */
TNB_EXPORT const char *
tnb_status_name(tnb_status s);

/* Fills `err` (may be NULL) and returns `s`, so that a caller writes `return tnb_fail(...)`. */
TNB_EXPORT tnb_status
tnb_fail(tnb_err *err, tnb_status s, const char *fmt, ...) TNB_PRINTF(3, 4);

TNB_EXPORT tnb_status
tnb_failv(tnb_err *err, tnb_status s, const char *fmt, va_list ap) TNB_PRINTF(3, 0);

/* Sets the hint of an error already filled. Does nothing when `err` is NULL. */
TNB_EXPORT void
tnb_hint(tnb_err *err, const char *fmt, ...) TNB_PRINTF(2, 3);

/* Puts "TEXT: " in front of the message of an error already filled (context on the way up). */
TNB_EXPORT void
tnb_err_prefix(tnb_err *err, const char *fmt, ...) TNB_PRINTF(2, 3);

/* Writes `format` with its placeholders "{}" replaced by the texts of `values`, one after another; "{{" and
 * "}}" stand for braces; placeholders without a value stay. Always terminated; longer text is cut. */
TNB_EXPORT void
tnb_fill_braces(char *out, size_t size, const char *format, const char *const *values, uint32_t n);

/* Returns from the calling function with the status of `expr` unless it is TNB_OK. */
#define TNB_TRY(expr)                  \
    do {                               \
        tnb_status tnb_try_s = (expr); \
        if (tnb_try_s != TNB_OK)       \
            return tnb_try_s;          \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
