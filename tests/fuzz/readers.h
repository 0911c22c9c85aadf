/* SPDX-License-Identifier: Apache-2.0 */
/* What fuzz_readers.c drives: a table of readers. */
#ifndef TENON_TESTS_FUZZ_READERS_H
#define TENON_TESTS_FUZZ_READERS_H

#include "tenon/base/mem.h"

enum { MOST_SEEDS = 256 };

typedef struct reader {
    const char *name;
    void (*seeds)(tnb_buf *out, uint32_t *n); /* what is right, for mutations */
    void (*read)(const void *data, size_t n);
    bool (*begin)(void); /* false: it is not built; may be NULL */
    void (*end)(void);
} reader;

extern const reader readers[];
extern const uint32_t n_readers;
extern uint64_t reader_taken; /* inputs that were no error */

/* In read_payloads.c. */
bool
payloads_begin(void);
void
payloads_end(void);
void
artifact_seeds(tnb_buf *out, uint32_t *n);
void
read_artifact(const void *data, size_t n);
void
dnnl_seeds(tnb_buf *out, uint32_t *n);
void
read_dnnl(const void *data, size_t n);

#endif
