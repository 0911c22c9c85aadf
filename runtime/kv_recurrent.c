/* SPDX-License-Identifier: Apache-2.0 */
/* The state of recurrent models (RWKV): of each sequence, tensors of a fixed size that every step replaces, and as many older ones as it was
 * made for.
 *
 * Each layer has `n_states` tensors. The storage of one is [sequences, history, ...]: a row of the first axis is a sequence's slot, whose
 * `history` places are used in turn. A step reads the place that holds and writes the next one, so that the places before are those
 * of the steps before: forgetting tokens goes back to them. The model's own functions read and write:
 *
 *     get(storage, slots [n], places [n], out [n, ...])        out[i] = storage[slots[i], places[i]]
 *     set(storage, slots [n], places [n], data [n, ...])       storage[slots[i], (places[i] + 1) % history] = data[i]
 *
 * Names and meaning are upstream's (vm.builtin.rnn_state_*). A step of several tokens of a sequence is one place: what was before it cannot
 * be had again token by token, as upstream has it. Otherwise than there a state that no function wrote in a step keeps its value, and a fork
 * at a position in the middle is one, or is refused.
 */
#include <stdlib.h>
#include <string.h>
#include "kv_private.h"

enum { MAX_LAYERS = 1 << 16, MAX_STATES = 64, MAX_SEQUENCES = 1 << 16, MAX_HISTORY = 1 << 16 };
enum { MAX_DIMS = 8 }; /* of a state */
enum { ALIGNED = TNR_HOST_ALIGNMENT / sizeof(int32_t) };

struct recurrent {
    struct kv_state base;
    int64_t n_layers, n_states, history;
    tnr_value *init;      /* per state: what a new sequence has, on the device */
    tnr_value *get, *set; /* per state: closures */
    tnr_value *storage;   /* per layer and state */
    int64_t *free;        /* stack of free slots */
    int64_t n_free;
    /* the step */
    uint8_t *written; /* per layer and state */
    int32_t *
        host; /* slots, and from `ALIGNED` on behind them places, of as many sequences as there can be */
    int64_t places_at;
    tnr_value device_ints;   /* storage of the same */
    tnr_value slots, places; /* views of it for the step's sequences */
};

static struct recurrent *
of(struct kv_state *st)
{
    return (struct recurrent *)st;
}

static void
release(tnr_value *v, int64_t n)
{
    for (int64_t i = 0; v && i < n; i++)
        tnr_release(&v[i]);
    free(v);
}

static void
destroy(tnr_object *o)
{
    struct recurrent *r = (struct recurrent *)o;
    release(r->init, r->n_states);
    release(r->get, r->n_states);
    release(r->set, r->n_states);
    release(r->storage, r->n_states * r->n_layers);
    tnr_release(&r->device_ints);
    tnr_release(&r->slots);
    tnr_release(&r->places);
    kv_state_free(&r->base);
    free(r->free);
    free(r->written);
    free(r->host);
    free(r);
}

/* ---- parts of storages ---- */

/* Of a slot, the place `at`; at -1: all of it. */
static tnb_status
view(const struct recurrent *r, int64_t i, int64_t slot, int64_t at, tnr_value *out, tnb_err *err)
{
    const tnr_tensor *t = r->storage[i].u.tensor;
    const uint64_t slot_bytes = t->n_bytes / (uint64_t)r->base.max_sequences;
    const uint64_t bytes = slot_bytes / (uint64_t)r->history;
    const uint32_t gone = at < 0 ? 1 : 2;
    return tnr_tensor_view(t->storage,
                           (uint64_t)slot * slot_bytes + (at < 0 ? 0 : (uint64_t)at * bytes),
                           t->dl.shape + gone, (uint32_t)t->dl.ndim - gone, t->dl.dtype, out, err);
}

/* Copies a place, or a whole slot where both are -1, of one state. */
static tnb_status
copy(const struct recurrent *r, int64_t i, int64_t slot, int64_t at, int64_t to_slot, int64_t to_at,
     tnb_err *err)
{
    tnr_value from, to = tnr_null();
    TNB_TRY(view(r, i, slot, at, &from, err));
    tnb_status st = view(r, i, to_slot, to_at, &to, err);
    if (st == TNB_OK)
        st = tnr_tensor_copy(from.u.tensor, to.u.tensor, err);
    tnr_release(&from);
    tnr_release(&to);
    return st;
}

/* ---- sequences ---- */

static tnb_status
add(struct kv_state *st, struct kv_sequence *s, tnb_err *err)
{
    struct recurrent *r = of(st);
    int64_t slot = r->free[r->n_free - 1]; /* there are as many as sequences */
    for (int64_t i = 0; i < r->n_layers * r->n_states; i++) {
        tnr_value to;
        TNB_TRY(view(r, i, slot, 0, &to, err));
        tnb_status copied = tnr_tensor_copy(r->init[i % r->n_states].u.tensor, to.u.tensor, err);
        tnr_release(&to);
        TNB_TRY(copied);
    }
    s->slot = slot;
    r->n_free--;
    return TNB_OK;
}

static void
drop(struct kv_state *st, struct kv_sequence *s)
{
    of(st)->free[of(st)->n_free++] = s->slot;
}

static tnb_status
has_state(const struct kv_sequence *s, const char *function, tnb_err *err)
{
    if (!s->lost)
        return TNB_OK;
    tnb_fail(err, TNB_UNSUPPORTED,
             "%s: a step that was cancelled has overwritten the state of sequence %" PRId64,
             function, s->id);
    tnb_hint(err, "remove the sequence, or make the state with a history of more than 1");
    return TNB_UNSUPPORTED;
}

static tnb_status
can_go_back(const struct recurrent *r, const struct kv_sequence *s, int64_t n, const char *function,
            tnb_err *err)
{
    TNB_TRY(has_state(s, function, err));
    if (n <= s->history)
        return TNB_OK;
    tnb_fail(err, TNB_UNSUPPORTED,
             "%s: %" PRId64 " tokens back from the end of sequence %" PRId64
             ": the state still has that of %" PRId64 " tokens back at most",
             function, n, s->id, s->history);
    if (s->history == r->history - 1)
        tnb_hint(err, "make the state with a longer history than %" PRId64, r->history);
    else
        tnb_hint(err,
                 "the state has single steps of one token; begin the sequence anew, or fork it "
                 "before steps that may be taken back");
    return TNB_UNSUPPORTED;
}

static void
go_back(const struct recurrent *r, struct kv_sequence *s, int64_t n)
{
    s->history -= n;
    s->at = (s->at - n + r->history) % r->history;
}

static tnb_status
branch(struct kv_state *st, const struct kv_sequence *parent, int64_t position,
       struct kv_sequence *s, const char *function, tnb_err *err)
{
    struct recurrent *r = of(st);
    int64_t slot = r->free[r->n_free - 1];
    TNB_TRY(can_go_back(r, parent, parent->length - position, function, err));
    for (int64_t i = 0; i < r->n_layers * r->n_states; i++)
        TNB_TRY(copy(r, i, parent->slot, -1, slot, -1, err));
    r->n_free--;
    s->slot = slot;
    s->at = parent->at;
    s->history = parent->history;
    go_back(r, s, parent->length - position);
    return TNB_OK;
}

static tnb_status
pop(struct kv_state *st, struct kv_sequence *s, int64_t n, const char *function, tnb_err *err)
{
    TNB_TRY(can_go_back(of(st), s, n, function, err));
    go_back(of(st), s, n);
    return TNB_OK;
}

/* ---- steps ---- */

static tnb_status
begin(struct kv_state *st, const char *function, tnb_err *err)
{
    struct recurrent *r = of(st);
    int64_t n = st->n_step, total = 2 * r->places_at, row = 0;
    tnr_value all;
    for (uint32_t i = 0; i < st->n_step; i++) {
        const struct kv_sequence *s = &st->sequences[st->of_step[i]];
        TNB_TRY(has_state(s, function, err));
        for (int64_t t = 0; st->parents && t < s->pending; t++, row++)
            if (st->parents[row] != t - 1)
                return tnb_fail(err, TNB_UNSUPPORTED,
                                "%s: token %" PRId64 " of sequence %" PRId64
                                " has the parent %" PRId64
                                ": the state of a recurrent model takes chains alone, %" PRId64,
                                function, t, s->id, st->parents[row], t - 1);
        r->host[i] = (int32_t)s->slot;
        r->host[r->places_at + i] = (int32_t)s->at;
    }
    TNB_TRY(tnr_tensor_view(r->device_ints.u.storage, 0, &total, 1, TNB_I32, &all, err));
    tnb_status status =
        tnr_tensor_write(all.u.tensor, r->host, (uint64_t)total * sizeof *r->host, err);
    tnr_release(&all);
    if (status == TNB_OK)
        status = tnr_tensor_view(r->device_ints.u.storage, 0, &n, 1, TNB_I32, &r->slots, err);
    if (status == TNB_OK)
        status = tnr_tensor_view(r->device_ints.u.storage, (uint64_t)r->places_at * sizeof *r->host,
                                 &n, 1, TNB_I32, &r->places, err);
    return status;
}

/* What no function wrote keeps its value. */
static tnb_status
finish(struct kv_state *st, tnb_err *err)
{
    struct recurrent *r = of(st);
    for (int64_t i = 0; i < r->n_layers * r->n_states && r->history > 1; i++)
        for (uint32_t j = 0; j < st->n_step && !r->written[i]; j++) {
            const struct kv_sequence *s = &st->sequences[st->of_step[j]];
            TNB_TRY(copy(r, i, s->slot, s->at, s->slot, (s->at + 1) % r->history, err));
        }
    return TNB_OK;
}

static void
end(struct kv_state *st, bool keep)
{
    struct recurrent *r = of(st);
    bool any = false;
    for (int64_t i = 0; i < r->n_layers * r->n_states; i++)
        any |= r->written[i];
    for (uint32_t i = 0; i < st->n_step; i++) {
        struct kv_sequence *s = &st->sequences[st->of_step[i]];
        if (keep) {
            s->at = (s->at + 1) % r->history;
            s->history = s->pending > 1                ? 0
                         : s->history < r->history - 1 ? s->history + 1
                                                       : s->history;
        } else if (any && r->history == 1) {
            s->lost = true;
        } else if (any && s->history == r->history - 1) {
            s->history--; /* the next place was that of the oldest one */
        }
    }
    memset(r->written, 0, (size_t)(r->n_layers * r->n_states));
    tnr_release(&r->slots);
    tnr_release(&r->places);
}

/* ---- packed functions ---- */

static tnb_status
index_of(const tnr_value *args, int i, const char *what, int64_t n, int64_t *out, const char *fn,
         tnb_err *err)
{
    TNB_TRY(tnr_want_int(fn, args, i, out, err));
    if (*out < 0 || *out >= n)
        return tnb_fail(err, TNB_BOUNDS, "%s: %s %" PRId64 " of %" PRId64, fn, what, *out, n);
    return TNB_OK;
}

/* (state, layer, number of the state within it, ...) */
static tnb_status
which(struct recurrent *r, const tnr_value *args, int64_t *layer, int64_t *state, const char *fn,
      tnb_err *err)
{
    TNB_TRY(index_of(args, 1, "layer", r->n_layers, layer, fn, err));
    return index_of(args, 2, "state", r->n_states, state, fn, err);
}

/* Whether args[3] is a state for each sequence of the step. */
static tnb_status
check_batch(const struct recurrent *r, int64_t state, const tnr_value *args, const char *fn,
            tnb_err *err)
{
    const tnr_tensor *t = args[3].tag == TNR_TENSOR ? args[3].u.tensor : NULL;
    const tnr_tensor *one = r->init[state].u.tensor;
    bool right = t && tnb_dtype_eq(t->dl.dtype, one->dl.dtype) && t->dl.ndim == one->dl.ndim + 1 &&
                 t->dl.shape[0] == r->base.n_step;
    for (int32_t i = 0; right && i < one->dl.ndim; i++)
        right = t->dl.shape[i + 1] == one->dl.shape[i];
    if (right)
        return TNB_OK;
    char text[160], wanted[160];
    tnr_describe(args[3], text, sizeof text);
    tnr_describe(r->init[state], wanted, sizeof wanted);
    return tnb_fail(err, t ? TNB_SHAPE : TNB_TYPE,
                    "%s: argument 3 is %s, the step needs state %" PRId64
                    ", %s, for each of %" PRIu32 " sequences",
                    fn, text, state, wanted, r->base.n_step);
}

static tnb_status
access(tnr_vm *vm, const tnr_value *args, bool write, const char *fn, tnb_err *err)
{
    struct kv_state *st;
    int64_t layer, state;
    TNB_TRY(kv_state_open(vm, args[0], &kv_recurrent, fn, &st, err));
    TNB_TRY(kv_state_in_step(st, fn, err));
    struct recurrent *r = of(st);
    TNB_TRY(which(r, args, &layer, &state, fn, err));
    TNB_TRY(check_batch(r, state, args, fn, err));
    int64_t i = layer * r->n_states + state;
    const tnr_value given[4] = {r->storage[i], r->slots, r->places, args[3]};
    r->written[i] |= write; /* also where it fails half way */
    tnb_status status = kv_state_call(st, write ? r->set[state] : r->get[state], given, 4,
                                      write ? "writing a state" : "reading a state", err);
    if (status != TNB_OK)
        tnb_err_prefix(err, "layer %" PRId64 ", state %" PRId64, layer, state);
    return status;
}

/* (state, layer, number, out) */
tnb_status
kv_recurrent_get(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err)
{
    (void)n, (void)ret;
    return access(vm, args, false, "vm.builtin.rnn_state_get", err);
}

/* (state, layer, number, data): the state */
tnb_status
kv_recurrent_set(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err)
{
    (void)n;
    TNB_TRY(access(vm, args, true, "vm.builtin.rnn_state_set", err));
    *ret = args[0];
    tnr_retain(*ret);
    return TNB_OK;
}

/* (state, layer, number, sequence): a tensor */
tnb_status
kv_recurrent_debug_get(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err)
{
    static const char fn[] = "vm.builtin.rnn_state_debug_get";
    struct kv_state *st;
    int64_t layer, state, id;
    tnr_value from;
    (void)n;
    TNB_TRY(kv_state_at_rest(vm, args[0], &kv_recurrent, fn, &st, err));
    struct recurrent *r = of(st);
    TNB_TRY(which(r, args, &layer, &state, fn, err));
    TNB_TRY(tnr_want_int(fn, args, 3, &id, err));
    const struct kv_sequence *s = kv_find(st, id, fn, err);
    if (!s)
        return TNB_NOT_FOUND;
    TNB_TRY(has_state(s, fn, err));
    TNB_TRY(view(r, layer * r->n_states + state, s->slot, s->at, &from, err));
    const tnr_tensor *t = from.u.tensor;
    tnb_status status = tnr_tensor_new_on(st->device, tnr_vm_queue(vm, st->device), t->dl.shape,
                                          (uint32_t)t->dl.ndim, t->dl.dtype, ret, err);
    if (status == TNB_OK) {
        status = tnr_tensor_copy(t, ret->u.tensor, err);
        if (status != TNB_OK)
            tnr_release(ret);
    }
    tnr_release(&from);
    return status;
}

void
kv_recurrent_describe(const struct kv_state *st, tnr_kv_info *out)
{
    const struct recurrent *r = (const struct recurrent *)st;
    out->n_layers = r->n_layers;
    out->dtype = r->init[0].u.tensor->dl.dtype;
    for (int64_t i = 0; i < r->n_layers * r->n_states; i++)
        out->bytes += r->storage[i].u.tensor->n_bytes;
}

/* ---- making ---- */

static const char create[] = "vm.builtin.rnn_state_create";

static tnb_status
number(const tnr_value *args, int i, const char *what, int64_t most, int64_t *out, tnb_err *err)
{
    TNB_TRY(tnr_want_int(create, args, i, out, err));
    if (*out < 1 || *out > most)
        return tnb_fail(err, TNB_INVALID,
                        "%s: argument %d, %s, is %" PRId64 ", it is 1 to %" PRId64, create, i, what,
                        *out, most);
    return TNB_OK;
}

/* The tuples of arguments 3 to 5, of functions that read and write and of what a new sequence has: as many as there are states. */
static tnb_status
take_states(struct recurrent *r, const tnr_value *args, tnb_err *err)
{
    tnr_value **const to[3] = {&r->get, &r->set, &r->init};
    char text[160];
    for (int i = 3; i < 6; i++)
        TNB_TRY(tnr_want(create, args, i, TNR_TUPLE, err));
    r->n_states = args[5].u.tuple->n;
    if (r->n_states < 1 || r->n_states > MAX_STATES || args[3].u.tuple->n != args[5].u.tuple->n ||
        args[4].u.tuple->n != args[5].u.tuple->n) {
        tnb_fail(err, TNB_INVALID,
                 "%s: %" PRIu32 " functions that read, %" PRIu32 " that write, %" PRIu32
                 " values of states; there are as many of each, up to %d",
                 create, args[3].u.tuple->n, args[4].u.tuple->n, args[5].u.tuple->n, MAX_STATES);
        r->n_states = 0;
        return TNB_INVALID;
    }
    for (int i = 0; i < 3; i++)
        if (!(*to[i] = calloc((size_t)r->n_states, sizeof **to[i])))
            return tnb_fail(err, TNB_NO_MEMORY, "%s: no memory", create);
    for (int64_t i = 0; i < r->n_states; i++) {
        for (int k = 0; k < 2; k++) {
            tnr_value f = args[3 + k].u.tuple->items[i];
            if (f.tag != TNR_CLOSURE || f.u.closure->vm != r->base.vm) {
                tnr_describe(f, text, sizeof text);
                return tnb_fail(err, TNB_TYPE,
                                "%s: item %" PRId64 " of argument %d is %s, expected a function of "
                                "the module",
                                create, i, 3 + k, text);
            }
            (*to[k])[i] = f;
            tnr_retain(f);
        }
        tnr_value v = args[5].u.tuple->items[i];
        if (v.tag != TNR_TENSOR || v.u.tensor->dl.ndim > MAX_DIMS || v.u.tensor->n_elems == 0) {
            tnr_describe(v, text, sizeof text);
            return tnb_fail(err, TNB_TYPE,
                            "%s: item %" PRId64
                            " of argument 5 is %s, expected a tensor of up to %d dimensions, "
                            "none of them 0",
                            create, i, text, MAX_DIMS);
        }
        const tnb_dtype dtype = v.u.tensor->dl.dtype;
        if (v.u.tensor->n_elems * dtype.bits * dtype.lanes % 8) {
            tnr_describe(v, text, sizeof text);
            tnb_fail(err, TNB_UNSUPPORTED,
                     "%s: item %" PRId64
                     " of argument 5 is %s, which ends within a byte: states of "
                     "sequences begin at whole bytes",
                     create, i, text);
            tnb_hint(err, "make the state of an even number of elements, or of int8");
            return TNB_UNSUPPORTED;
        }
        TNB_TRY(tnr_tensor_to_on(v.u.tensor, r->base.device,
                                 tnr_vm_queue(r->base.vm, r->base.device), &r->init[i], err));
    }
    return TNB_OK;
}

static tnb_status
make_storage(struct recurrent *r, tnb_err *err)
{
    struct tnr_queue *q = tnr_vm_queue(r->base.vm, r->base.device);
    const int64_t n = r->n_layers * r->n_states;
    r->storage = calloc((size_t)n, sizeof *r->storage);
    r->written = calloc((size_t)n, sizeof *r->written);
    if (!r->storage || !r->written)
        return tnb_fail(err, TNB_NO_MEMORY, "%s: no memory", create);
    for (int64_t i = 0; i < n; i++) {
        const tnr_tensor *one = r->init[i % r->n_states].u.tensor;
        int64_t dims[MAX_DIMS + 2] = {r->base.max_sequences, r->history};
        for (int32_t d = 0; d < one->dl.ndim; d++)
            dims[d + 2] = one->dl.shape[d];
        tnb_status st = tnr_tensor_new_on(r->base.device, q, dims, (uint32_t)one->dl.ndim + 2,
                                          one->dl.dtype, &r->storage[i], err);
        if (st != TNB_OK) {
            tnb_err_prefix(err,
                           "%s: %" PRId64 " layers of %" PRId64
                           " sequences with a history of %" PRId64,
                           create, r->n_layers, r->base.max_sequences, r->history);
            return st;
        }
    }
    r->places_at = (r->base.max_sequences + ALIGNED - 1) / ALIGNED * ALIGNED;
    return tnr_storage_new_on(r->base.device, q, 2 * (uint64_t)r->places_at * sizeof *r->host, NULL,
                              &r->device_ints, err);
}

static tnb_status
make_tables(struct recurrent *r, tnb_err *err)
{
    TNB_TRY(kv_state_init(&r->base, err));
    r->free = calloc((size_t)r->base.max_sequences, sizeof *r->free);
    r->host = calloc(2 * (size_t)r->places_at, sizeof *r->host);
    if (!r->free || !r->host)
        return tnb_fail(err, TNB_NO_MEMORY, "%s: no memory", create);
    for (int64_t i = r->base.max_sequences; i-- > 0;)
        r->free[r->n_free++] = i;
    return TNB_OK;
}

/* (layers, sequences, history, functions that read, functions that write, values of a new sequence) */
tnb_status
kv_recurrent_create(tnr_vm *vm, const tnr_value *args, int n, tnr_value *ret, tnb_err *err)
{
    struct recurrent *r = calloc(1, sizeof *r);
    (void)n;
    if (!r)
        return tnb_fail(err, TNB_NO_MEMORY, "%s: no memory", create);
    r->base = (struct kv_state){.object = {.refs = 1, .nests = 1, .destroy = destroy},
                                .kind = &kv_recurrent,
                                .vm = vm,
                                .device = tnr_vm_device(vm),
                                .step_tokens = INT32_MAX / 4};
    tnb_status st = number(args, 0, "layers", MAX_LAYERS, &r->n_layers, err);
    if (st == TNB_OK)
        st = number(args, 1, "sequences", MAX_SEQUENCES, &r->base.max_sequences, err);
    if (st == TNB_OK)
        st = number(args, 2, "places of the history, that of the state included", MAX_HISTORY,
                    &r->history, err);
    if (st == TNB_OK)
        st = take_states(r, args, err);
    if (st == TNB_OK)
        st = make_storage(r, err);
    if (st == TNB_OK)
        st = make_tables(r, err);
    if (st != TNB_OK) {
        destroy(&r->base.object);
        return st;
    }
    *ret = (tnr_value){.tag = TNR_OBJECT, .u.object = &r->base.object};
    return TNB_OK;
}

const struct kv_kind kv_recurrent = {
    .destroy = destroy,
    .add = add,
    .remove = drop,
    .fork = branch,
    .pop = pop,
    .begin = begin,
    .finish = finish,
    .end = end,
};
