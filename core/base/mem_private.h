/* SPDX-License-Identifier: Apache-2.0 */
/* Between arena.c, buf.c and map.c. */
#ifndef TENON_BASE_MEM_PRIVATE_H
#define TENON_BASE_MEM_PRIVATE_H

#include "tenon/base/mem.h"

/* An arena or a text could not grow (tnb_memory_failures). */
void
tnb_count_memory_failure(void);
/* tnb_alloc_n for what is written before it is read: it may not be zeroed. */
void *
mem_alloc_raw(tnb_arena *a, size_t n, size_t size);

#endif
