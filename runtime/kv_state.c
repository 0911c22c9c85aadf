/* SPDX-License-Identifier: Apache-2.0 */
/* What the paged cache and the state of recurrent models have in common: sequences by number and steps of some of them, as functions of
 * tenon/rt/kv.h. */
#include <stdlib.h>
#include <string.h>
#include "kv_private.h"

/* ---- the object ---- */

tnb_status
kv_state_of(tnr_value v, const struct kv_kind *kind, const char *function, struct kv_state **out,
            tnb_err *err)
{
    const tnr_object *o = v.tag == TNR_OBJECT ? v.u.object : NULL;
    bool paged = o && o->destroy == kv_paged.destroy;
    bool recurrent = o && o->destroy == kv_recurrent.destroy;
    char text[160];
    *out = NULL;
    if ((paged && kind != &kv_recurrent) || (recurrent && kind != &kv_paged)) {
        *out = (struct kv_state *)v.u.object;
        return TNB_OK;
    }
    tnr_describe(v, text, sizeof text);
    return tnb_fail(err, TNB_TYPE, "%s: %s is %s", function,
                    recurrent ? "the state of a recurrent model"
                    : paged   ? "a paged cache"
                              : text,
                    kind == &kv_recurrent ? "no state of a recurrent model" : "no paged cache");
}

tnb_status
kv_state_open(tnr_vm *vm, tnr_value v, const struct kv_kind *kind, const char *function,
              struct kv_state **out, tnb_err *err)
{
    TNB_TRY(kv_state_of(v, kind, function, out, err));
    if ((*out)->vm != vm)
        return tnb_fail(err, TNB_INVALID, "%s: the cache belongs to another machine", function);
    if ((*out)->busy)
        return tnb_fail(err, TNB_INVALID, "%s: called by a function that the cache calls itself",
                        function);
    return TNB_OK;
}

tnb_status
kv_state_at_rest(tnr_vm *vm, tnr_value v, const struct kv_kind *kind, const char *function,
                 struct kv_state **out, tnb_err *err)
{
    TNB_TRY(kv_state_open(vm, v, kind, function, out, err));
    if (!(*out)->stepping)
        return TNB_OK;
    tnb_fail(err, TNB_INVALID, "%s: a step is under way", function);
    tnb_hint(err, "end it first, by tnr_kv_end_forward or tnr_kv_cancel_forward");
    return TNB_INVALID;
}

tnb_status
kv_state_in_step(const struct kv_state *st, const char *function, tnb_err *err)
{
    if (st->stepping)
        return TNB_OK;
    tnb_fail(err, TNB_INVALID, "%s: no step was begun", function);
    tnb_hint(err, "call vm.builtin.kv_state_begin_forward (tnr_kv_begin_forward) before the "
                  "model's function");
    return TNB_INVALID;
}

tnb_status
kv_state_init(struct kv_state *st, tnb_err *err)
{
    st->sequences = calloc((size_t)st->max_sequences, sizeof *st->sequences);
    st->of_step = calloc((size_t)st->max_sequences, sizeof *st->of_step);
    if (!st->sequences || !st->of_step)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for tables of %" PRId64 " sequences",
                        st->max_sequences);
    return TNB_OK;
}

void
kv_state_free(struct kv_state *st)
{
    free(st->sequences);
    free(st->of_step);
}

tnb_status
kv_state_call(struct kv_state *st, tnr_value kernel, const tnr_value *args, uint32_t n,
              const char *what, tnb_err *err)
{
    tnr_value ret = tnr_null();
    bool before = st->busy;
    st->busy = true;
    tnb_status status = tnr_vm_call_closure(st->vm, kernel.u.closure, args, n, &ret, err);
    st->busy = before;
    tnr_release(&ret);
    if (status != TNB_OK)
        tnb_err_prefix(err, "%s", what);
    return status;
}

/* ---- sequences ---- */

struct kv_sequence *
kv_find(const struct kv_state *st, int64_t id, const char *function, tnb_err *err)
{
    for (uint32_t i = 0; i < st->n_sequences; i++)
        if (st->sequences[i].id == id)
            return &st->sequences[i];
    tnb_fail(err, TNB_NOT_FOUND, "%s: the cache has no sequence %" PRId64, function, id);
    return NULL;
}

static tnb_status
find(tnr_vm *vm, tnr_value cache, int64_t id, const char *function, struct kv_state **st,
     struct kv_sequence **s, tnb_err *err)
{
    TNB_TRY(kv_state_at_rest(vm, cache, NULL, function, st, err));
    *s = kv_find(*st, id, function, err);
    return *s ? TNB_OK : TNB_NOT_FOUND;
}

/* An entry behind those that there are, which do not move. */
static tnb_status
new_sequence(struct kv_state *st, int64_t id, const char *function, struct kv_sequence **out,
             tnb_err *err)
{
    if (id < 0)
        return tnb_fail(err, TNB_INVALID, "%s: sequence %" PRId64 ": numbers begin at 0", function,
                        id);
    if (kv_find(st, id, function, NULL))
        return tnb_fail(err, TNB_INVALID, "%s: the cache has a sequence %" PRId64 " already",
                        function, id);
    if (st->n_sequences == st->max_sequences) {
        tnb_fail(err, TNB_BOUNDS, "%s: the cache holds %" PRId64 " sequences at once", function,
                 st->max_sequences);
        tnb_hint(err, "remove one, or make the cache for more");
        return TNB_BOUNDS;
    }
    *out = &st->sequences[st->n_sequences];
    **out = (struct kv_sequence){.id = id};
    return TNB_OK;
}

tnb_status
tnr_kv_add_sequence(tnr_vm *vm, tnr_value cache, int64_t sequence, tnb_err *err)
{
    static const char fn[] = "kv_state_add_sequence";
    struct kv_state *st;
    struct kv_sequence *s;
    NEED(vm, err);
    TNB_TRY(kv_state_at_rest(vm, cache, NULL, fn, &st, err));
    TNB_TRY(new_sequence(st, sequence, fn, &s, err));
    if (st->kind->add)
        TNB_TRY(st->kind->add(st, s, err));
    st->n_sequences++;
    return TNB_OK;
}

static void
forget(struct kv_state *st, struct kv_sequence *s)
{
    st->kind->remove(st, s);
    *s = st->sequences[--st->n_sequences];
}

tnb_status
tnr_kv_remove_sequence(tnr_vm *vm, tnr_value cache, int64_t sequence, tnb_err *err)
{
    struct kv_state *st;
    struct kv_sequence *s;
    NEED(vm, err);
    TNB_TRY(find(vm, cache, sequence, "kv_state_remove_sequence", &st, &s, err));
    forget(st, s);
    return TNB_OK;
}

tnb_status
tnr_kv_fork_sequence(tnr_vm *vm, tnr_value cache, int64_t parent, int64_t child, int64_t position,
                     tnb_err *err)
{
    static const char fn[] = "kv_state_fork_sequence";
    struct kv_state *st;
    struct kv_sequence *from, *to;
    NEED(vm, err);
    TNB_TRY(find(vm, cache, parent, fn, &st, &from, err));
    if (position == -1)
        position = from->length;
    if (position < 0 || position > from->length)
        return tnb_fail(err, TNB_INVALID,
                        "%s: position %" PRId64 " of sequence %" PRId64 ", which has %" PRId64
                        " tokens",
                        fn, position, parent, from->length);
    TNB_TRY(new_sequence(st, child, fn, &to, err));
    TNB_TRY(st->kind->fork(st, from, position, to, fn, err));
    to->length = position;
    st->n_sequences++;
    return TNB_OK;
}

tnb_status
tnr_kv_popn(tnr_vm *vm, tnr_value cache, int64_t sequence, int64_t n, tnb_err *err)
{
    static const char fn[] = "kv_state_popn";
    struct kv_state *st;
    struct kv_sequence *s;
    NEED(vm, err);
    TNB_TRY(find(vm, cache, sequence, fn, &st, &s, err));
    if (n < 0 || n > s->length)
        return tnb_fail(err, TNB_INVALID,
                        "%s: %" PRId64 " tokens of sequence %" PRId64 ", which has %" PRId64, fn, n,
                        sequence, s->length);
    TNB_TRY(st->kind->pop(st, s, n, fn, err));
    s->length -= n;
    return TNB_OK;
}

/* ---- steps ---- */

static void
end(struct kv_state *st, bool keep)
{
    for (uint32_t i = 0; keep && i < st->n_step; i++) {
        struct kv_sequence *s = &st->sequences[st->of_step[i]];
        s->length += s->pending;
    }
    st->kind->end(st, keep);
    for (uint32_t i = 0; i < st->n_step; i++)
        st->sequences[st->of_step[i]].pending = 0;
    st->n_step = 0;
    st->stepping = false;
}

static tnb_status
take_sequences(struct kv_state *st, const int64_t *sequences, const int64_t *lengths, uint32_t n,
               const char *function, tnb_err *err)
{
    int64_t rows = 0;
    if (n == 0 || n > st->n_sequences)
        return tnb_fail(err, TNB_INVALID, "%s: %" PRIu32 " sequences of %" PRIu32, function, n,
                        st->n_sequences);
    for (uint32_t i = 0; i < n; i++) {
        struct kv_sequence *s = kv_find(st, sequences[i], function, err);
        if (!s)
            return TNB_NOT_FOUND;
        if (lengths[i] < 1 || lengths[i] > st->step_tokens - rows) {
            tnb_fail(err, lengths[i] < 1 ? TNB_INVALID : TNB_BOUNDS,
                     "%s: %" PRId64 " tokens for sequence %" PRId64 ": a step has 1 to %" PRId64
                     " tokens in all",
                     function, lengths[i], sequences[i], st->step_tokens);
            tnb_hint(err, "append them in several steps");
            return lengths[i] < 1 ? TNB_INVALID : TNB_BOUNDS;
        }
        if (s->pending)
            return tnb_fail(err, TNB_INVALID, "%s: sequence %" PRId64 " is there twice", function,
                            sequences[i]);
        if (s->length > INT32_MAX / 2 - lengths[i])
            return tnb_fail(err, TNB_BOUNDS, "%s: sequence %" PRId64 " is too long", function,
                            sequences[i]);
        s->pending = lengths[i];
        st->of_step[st->n_step++] = (uint32_t)(s - st->sequences);
        rows += lengths[i];
    }
    return TNB_OK;
}

static tnb_status
begin(struct kv_state *st, const int64_t *sequences, const int64_t *lengths, uint32_t n,
      const int64_t *parents, uint32_t n_parents, const char *function, tnb_err *err)
{
    int64_t rows = 0;
    tnb_status status = take_sequences(st, sequences, lengths, n, function, err);
    for (uint32_t i = 0; status == TNB_OK && i < n; i++)
        rows += lengths[i];
    if (status == TNB_OK && parents && rows != (int64_t)n_parents)
        status = tnb_fail(err, TNB_INVALID, "%s: %" PRId64 " tokens with %" PRIu32 " parents",
                          function, rows, n_parents);
    st->parents = parents;
    if (status == TNB_OK)
        status = st->kind->begin(st, function, err);
    st->parents = NULL;
    if (status != TNB_OK)
        end(st, false);
    st->stepping = status == TNB_OK;
    return status;
}

tnb_status
tnr_kv_begin_forward(tnr_vm *vm, tnr_value cache, const int64_t *sequences, const int64_t *lengths,
                     uint32_t n, tnb_err *err)
{
    static const char fn[] = "kv_state_begin_forward";
    struct kv_state *st;
    NEED(vm, err);
    NEED_N(sequences, n, err);
    NEED_N(lengths, n, err);
    TNB_TRY(kv_state_at_rest(vm, cache, NULL, fn, &st, err));
    return begin(st, sequences, lengths, n, NULL, 0, fn, err);
}

tnb_status
tnr_kv_begin_tree(tnr_vm *vm, tnr_value cache, const int64_t *sequences, const int64_t *lengths,
                  uint32_t n, const int64_t *parents, uint32_t n_parents, tnb_err *err)
{
    static const char fn[] = "kv_state_begin_forward";
    struct kv_state *st;
    NEED(vm, err);
    NEED(parents, err);
    NEED_N(sequences, n, err);
    NEED_N(lengths, n, err);
    TNB_TRY(kv_state_at_rest(vm, cache, NULL, fn, &st, err));
    return begin(st, sequences, lengths, n, parents, n_parents, fn, err);
}

tnb_status
tnr_kv_end_forward(tnr_vm *vm, tnr_value cache, tnb_err *err)
{
    struct kv_state *st;
    NEED(vm, err);
    TNB_TRY(kv_state_open(vm, cache, NULL, "kv_state_end_forward", &st, err));
    if (!st->stepping)
        return tnb_fail(err, TNB_INVALID, "kv_state_end_forward: no step was begun");
    if (st->kind->finish)
        TNB_TRY(st->kind->finish(st, err));
    end(st, true);
    return TNB_OK;
}

tnb_status
tnr_kv_cancel_forward(tnr_vm *vm, tnr_value cache, tnb_err *err)
{
    struct kv_state *st;
    NEED(vm, err);
    TNB_TRY(kv_state_open(vm, cache, NULL, "kv_state_cancel_forward", &st, err));
    if (st->stepping)
        end(st, false);
    return TNB_OK;
}

tnb_status
tnr_kv_clear(tnr_vm *vm, tnr_value cache, tnb_err *err)
{
    struct kv_state *st;
    NEED(vm, err);
    TNB_TRY(kv_state_open(vm, cache, NULL, "kv_state_clear", &st, err));
    if (st->stepping)
        end(st, false);
    while (st->n_sequences)
        forget(st, &st->sequences[0]);
    return TNB_OK;
}

tnb_status
tnr_kv_length(tnr_value cache, int64_t sequence, int64_t *out, tnb_err *err)
{
    NEED(out, err);
    struct kv_state *st;
    const struct kv_sequence *s;
    TNB_TRY(kv_state_of(cache, NULL, "tnr_kv_length", &st, err));
    s = kv_find(st, sequence, "tnr_kv_length", err);
    if (!s)
        return TNB_NOT_FOUND;
    *out = s->length;
    return TNB_OK;
}
