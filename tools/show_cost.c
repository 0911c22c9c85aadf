/* SPDX-License-Identifier: Apache-2.0 */
/* `tenon show kernel --cost`: what a kernel for threads asks of a device (tenon/kit/cost.h), a line each. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tenon/core/arith.h"
#include "tenon/core/text.h"
#include "tenon/kit/cost.h"
#include "tool.h"

static void
line(tnt_session *s, const char *what, const tn_expr *number, const char *unit)
{
    printf("  %-22s %s%s\n", what, tn_text(s->ctx, number), unit);
}

/* Whether blocks share the memory that one of them may have is not known where the backend's compiler counts blocks itself. */
static void
print_block(const tnk_cost *c, const tnk_kernel *k)
{
    printf("  %-22s %" PRId64 " x %" PRId64 " x %" PRId64, "threads of a block", c->threads[0],
           c->threads[1], c->threads[2]);
    if (c->most_threads)
        printf(" = %" PRId64 " of at most %" PRId64, c->block_threads, c->most_threads);
    printf("\n  %-22s %" PRId64 " bytes", "shared memory", c->shared_bytes);
    if (c->most_shared)
        printf(" of at most %" PRId64, c->most_shared);
    if (c->most_shared && c->shared_bytes && !k->compiled)
        printf("; %" PRId64 " blocks fit there together", c->most_shared / c->shared_bytes);
    printf("\n  %-22s %" PRId64 " bytes of a thread\n", "local memory", c->local_bytes);
}

/* Lines "what: value". */
static void
print_compiled(const char *at)
{
    for (size_t n; at && *at; at += n + (at[n] == '\n')) {
        n = strcspn(at, "\n");
        size_t what = strcspn(at, ":");
        if (what + 2 <= n)
            printf("  %-22.*s %.*s\n", (int)what, at, (int)(n - what - 2), at + what + 2);
    }
}

bool
tnt_show_cost(tnt_session *s, const tn_target *target, const tnk_kernel *k)
{
    tnk_cost c;
    if (!tnk_kernel_cost(s->ctx, target, k, &c))
        return false;
    printf("%s\n", k->name);
    line(s, "blocks", c.blocks, "");
    print_block(&c, k);
    line(s, "global bytes read", c.read, "");
    line(s, "global bytes written", c.written, "");
    line(s, "global bytes moved", c.moved, " in sectors of 32");
    line(s, "shared bytes", c.shared, " read and written");
    line(s, "float operations", c.floats, "");
    line(s, "integer operations", c.whole, "");
    int64_t moved, floats;
    if (tn_int_value(c.moved, &moved) && tn_int_value(c.floats, &floats) && moved)
        printf("  %-22s %.3g float operations a byte moved\n", "intensity",
               (double)floats / (double)moved);
    if (c.bank_conflicts)
        printf("  %-22s %u accesses; at most %" PRId64 " further turns (buffer '%s')\n",
               "bank conflicts", c.bank_conflicts, c.bank_turns, c.bank_buffer);
    else
        printf("  %-22s none\n", "bank conflicts");
    uint32_t open;
    line(s, "turns of a thread", tn_simplify_now(s->ctx, tnk_kernel_turns(s->ctx, k, &open)),
         open ? " of its loops, and those of unknown length" : " of its loops, with their tests");
    print_compiled(k->compiled);
    if (c.open_loops)
        printf("  %-22s %u: counted as one iteration\n", "loops of unknown length", c.open_loops);
    return true;
}
