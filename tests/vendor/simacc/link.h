/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The process of a simulated accelerator, and commands to it. Functions may be called from several threads.
 *
 * What cannot be sent, or is not answered in time, ends the process; from then on every call fails with the reason.
 */
#ifndef SIMACC_LINK_H
#define SIMACC_LINK_H

#include "protocol.h"
#include "tenon/base/status.h"

typedef struct simacc_link simacc_link;

typedef struct simacc_settings {
    const char *program, *memory, *cc, *fault; /* the last two may be NULL */
    int timeout_ms;
} simacc_settings;

tnb_status
simacc_link_open(const simacc_settings *s, simacc_link **out, tnb_err *err);
void
simacc_link_close(simacc_link *l);
/* Sends a command with what follows it, in up to two parts, and does not wait. */
tnb_status
simacc_send(simacc_link *l, const simacc_command *c, const void *part0, uint64_t n0,
            const void *part1, uint64_t n1, tnb_err *err);
/* Sends one that is answered, and waits. The answer has `n` bytes, written to `out`. `value` may be NULL. */
tnb_status
simacc_ask(simacc_link *l, const simacc_command *c, const void *part, uint64_t n_part, void *out,
           uint64_t n, uint64_t *value, tnb_err *err);

#endif
