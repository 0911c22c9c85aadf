/* SPDX-License-Identifier: Apache-2.0 */
/* The dialect "c": what its files share. */
#ifndef TENON_PLUGINS_TIR_C_H
#define TENON_PLUGINS_TIR_C_H

#include "tenon/core/build.h"
#include "tenon/core/walk.h"
#include "tenon/kit/emit_hooks.h"

/* ---- c_dialect.c ---- */
extern const tnk_dialect c_dialect;

/* A place in memory that was fetched: its address as text, and the indent of the statement. */
typedef struct c_fetch {
    const char *address;
    int indent;
} c_fetch;

/* Of one kernel. */
typedef struct c_kernel {
    uint32_t n_parts;            /* functions made of loops */
    const tn_for_loop *streamed; /* the loop at hand whose results go past the caches */
    tnb_ptrmap ahead;            /* data Var -> int64_t: elements of it are fetched that early */
    TNB_VEC(c_fetch) fetched;    /* in the kernel so far */
    uint32_t turn;               /* where in `fetched` the innermost loop's body begins */
} c_kernel;
c_kernel *
c_kernel_of(tnk_emitter *e);

/* ---- c_cost.c ---- */
/* Nanoseconds that a statement takes, roughly. `text`: the same as C text over the kernel's scalars, which `ns` guesses; NULL:
 * they do not matter. */
typedef struct c_cost {
    double ns;
    const char *text;
} c_cost;
/* Of one thread, from which on a second pays: bench/threads measures it. */
enum { C_TEAM_NS = 2000 };
c_cost
c_cost_of(tnk_emitter *e, const tn_stmt *s);
/* For how many threads there is enough to do. */
int
c_cost_threads(double ns);

/* ---- c_team.c: loops for a team of threads ---- */
/* tnk_dialect.parallel */
bool
c_parallel(tnk_emitter *e, const tn_for_loop *f);

/* ---- c_memory.c: what is fetched early, and written past the caches ---- */
/* Parts of tnk_dialect.stmt */
/* The loop on one thread, from and up to what the texts say (NULL: its own bounds). */
void
c_turns(tnk_emitter *e, const tn_for_loop *f, const char *from, const char *to);
bool
c_fetch_attr(tnk_emitter *e, const tn_attr_stmt *a);
bool
c_fetch_call(tnk_emitter *e, const tn_evaluate *v);
/* What loads of a statement's value will read some turns later; once in a turn. */
void
c_fetch_ahead(tnk_emitter *e, const tn_expr *value);
bool
c_stream_store(tnk_emitter *e, const tn_buffer_store *s);
/* tnk_dialect.packed_store */
const char *
c_packed_store(tnk_emitter *e, uint8_t bits, const char *space);

/* ---- c_x86.c ---- */
/* tnk_dialect.body */
const char *
c_x86_body(tnk_emitter *e, tnk_helper helper, tn_intrin_id function, tnb_dtype d);

#endif
