/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* libvend, a made-up vendor's library: matrix products, asynchronous.
 *
 * A queue does jobs in order, on a thread of its own. What a job reads and writes must stay until its callback was called or
 * a fence behind it was passed.
 */
#ifndef VEND_H
#define VEND_H

#include <stdint.h>

#define VEND_API __attribute__((visibility("default")))

/* name, what it means */
#define VEND_ERRORS(X)                                            \
    X(VEND_OK, "done")                                            \
    X(VEND_QUEUE_FULL, "the queue has no room; wait for a job")   \
    X(VEND_BAD_SHAPE, "an extent is zero or below")               \
    X(VEND_TOO_LARGE, "a matrix has more than 16777216 elements") \
    X(VEND_NO_MEMORY, "no memory")                                \
    X(VEND_TIMEOUT, "not done in time")                           \
    X(VEND_LOST, "the accelerator was lost")                      \
    X(VEND_ABORTED, "the queue was aborted")

typedef enum vend_status {
#define X(name, meaning) name,
    VEND_ERRORS(X)
#undef X
        VEND_N_ERRORS
} vend_status;

enum { VEND_VERSION = 3, VEND_DEPTH = 2 /* jobs that a queue holds */ };

typedef struct vend_queue vend_queue;

/* out[m][n] = x[m][k] * w[k][n] + bias[n], and no less than 0 with `relu`. bias may be NULL. */
typedef struct vend_dense {
    int64_t m, k, n;
    const float *x, *w, *bias;
    float *out;
    int32_t relu;
} vend_dense;

/* Called on the queue's thread. */
typedef void (*vend_done)(void *user, vend_status status);

VEND_API int
vend_version(void);
VEND_API const char *
vend_error_name(vend_status s);
VEND_API const char *
vend_error_text(vend_status s);
VEND_API vend_status
vend_queue_new(vend_queue **out);
/* Aborts what is in the queue, and waits for it. */
VEND_API void
vend_queue_free(vend_queue *q);
VEND_API vend_status
vend_submit(vend_queue *q, const vend_dense *job, vend_done done, void *user);
/* Waits for all jobs, at most so long; the first error among those that ended since the last fence. */
VEND_API vend_status
vend_fence(vend_queue *q, int timeout_ms);
/* Jobs that have not begun, and the one that has, end with VEND_ABORTED; the queue may be used again. */
VEND_API void
vend_abort(vend_queue *q);

#endif
