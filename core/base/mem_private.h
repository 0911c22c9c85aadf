/* SPDX-License-Identifier: Apache-2.0 */
/* Between arena.c and buf.c. */
#ifndef TENON_BASE_MEM_PRIVATE_H
#define TENON_BASE_MEM_PRIVATE_H

/* An arena or a text could not grow (tnb_memory_failures). */
void
tnb_count_memory_failure(void);

#endif
