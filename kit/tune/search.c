/* SPDX-License-Identifier: Apache-2.0 */
/* The schedules that rules can make of a function, and which of them to measure next.
 *
 * A rule's questions form a tree: what is asked later may depend on earlier answers. A small tree is
 * walked whole; in a large one points are drawn at random at first, then most of them by changing an
 * answer or two of one of the fastest points so far. Points that give the same program as another
 * one are left out.
 */
#include "tune_private.h"

#include "tenon/core/ctx.h"
#include "tenon/core/walk.h"

enum {
    MAX_QUESTIONS = 64,
    PARENTS = 8,       /* of changes: the fastest */
    FIRST = 8,         /* measured before changes begin */
    ATTEMPTS = 200,    /* to find a point that is new */
    OTHER_RULES = 8,   /* one in so many random points is another rule's than the default's */
    AS_PREFERRED = 4,  /* one in so many random answers is the preferred one */
    RANDOM_POINTS = 3, /* one in so many points is random where changes are possible */
};

struct told {
    const tnk_candidate *c;
    double seconds;
};

struct tnk_search {
    tn_ctx *ctx;
    tnb_arena *arena;
    const tn_node *func;
    const tn_target *target;
    const tnk_rule **rules; /* those that take the function, the default's first */
    uint32_t n_rules;
    const tnk_candidate *first; /* what the rules prefer */
    TNB_VEC(const tnk_candidate *) all;
    bool complete; /* `all` holds every point */
    uint32_t next;
    tnb_strmap seen; /* keys of points that were given or are known */
    tnb_ptrmap codes;
    TNB_VEC(struct told) told;
    uint64_t random;
};

static uint64_t
next_random(tnk_search *s, uint64_t below) /* splitmix64 */
{
    uint64_t z = s->random += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return below ? z % below : 0;
}

/* The point that a trial comes to; NULL: it is none. */
static const tnk_candidate *
make(tnk_search *s, const tnk_rule *rule, tnk_trial *t, bool follow)
{
    tn_ctx *child = tn_ctx_child(s->ctx); /* what is made here is not needed, nor are its errors */
    if (!child)
        return NULL;
    const tn_node *f = tnk_trial_run(child, rule, s->func, s->target, t);
    tnk_candidate *c = NULL;
    if (f && tnb_diags_errors(tn_diags(child)) == 0 && t->n_asked <= MAX_QUESTIONS &&
        (!follow || tnk_trial_followed(t))) {
        tnk_choice *choices = TNB_NEW_N(s->arena, tnk_choice, t->n_asked + 1);
        c = TNB_NEW(s->arena, tnk_candidate);
        for (uint32_t i = 0; choices && i < t->n_asked; i++)
            choices[i] = (tnk_choice){tnb_strdup(s->arena, t->asked[i].name), t->asked[i].value};
        if (c && choices)
            *c = (tnk_candidate){.rule = rule,
                                 .choices = choices,
                                 .n_choices = t->n_asked,
                                 .key = tune_key(s->arena, rule->base.name, choices, t->n_asked),
                                 .code = tn_hash(child, f, true)};
    }
    t->asked = NULL;
    t->n_asked = 0;
    tn_ctx_free(child);
    return c;
}

static bool
is_new(const tnk_search *s, const tnk_candidate *c)
{
    return !tnb_strmap_has(&s->seen, c->key) &&
           !tnb_ptrmap_has(&s->codes, (const void *)(uintptr_t)c->code);
}

static void
remember(tnk_search *s, const tnk_candidate *c)
{
    tnb_strmap_set(&s->seen, c->key, c);
    tnb_ptrmap_set(&s->codes, (const void *)(uintptr_t)c->code, (void *)(uintptr_t)c);
}

/* ---- the whole tree ---- */

struct place {
    uint32_t index[MAX_QUESTIONS], options[MAX_QUESTIONS], n, asked;
};

static int64_t
pick_at_place(void *user, const tnk_asked *q, uint32_t i)
{
    struct place *p = user;
    if (i >= MAX_QUESTIONS || q->n == 0) {
        if (i < MAX_QUESTIONS) {
            p->index[i] = 0;
            p->options[i] = 1;
            p->asked = i + 1;
        }
        return q->preferred;
    }
    if (i >= p->n)
        p->index[i] = 0;
    p->options[i] = q->n;
    p->asked = i + 1;
    return q->options[p->index[i] < q->n ? p->index[i] : 0];
}

/* Walks the tree of a rule; false when it has more than `most` leaves. */
static bool
enumerate(tnk_search *s, const tnk_rule *rule, uint32_t most, tnb_ptrmap *codes)
{
    struct place p = {0};
    for (uint32_t leaves = 0;; leaves++) {
        tnk_trial t = {.pick = pick_at_place, .user = &p};
        if (leaves >= most)
            return false;
        p.asked = 0;
        const tnk_candidate *c = make(s, rule, &t, false);
        if (c && !tnb_ptrmap_has(codes, (const void *)(uintptr_t)c->code)) {
            tnb_ptrmap_set(codes, (const void *)(uintptr_t)c->code, (void *)(uintptr_t)c);
            TNB_PUSH(s->arena, s->all, c);
        }
        p.n = p.asked;
        while (p.n && p.index[p.n - 1] + 1 >= p.options[p.n - 1])
            p.n--;
        if (!p.n)
            return true;
        p.index[p.n - 1]++;
    }
}

/* ---- points of a large one ---- */

static int64_t
pick_random(void *user, const tnk_asked *q, uint32_t i)
{
    tnk_search *s = user;
    (void)i;
    if (q->n == 0 || next_random(s, AS_PREFERRED) == 0)
        return q->preferred;
    return q->options[next_random(s, q->n)];
}

struct change {
    tnk_search *s;
    const tnk_candidate *parent;
    uint32_t at[2]; /* the choices that become others */
};

static int64_t
pick_changed(void *user, const tnk_asked *q, uint32_t i)
{
    struct change *c = user;
    (void)i;
    for (uint32_t k = 0; k < c->parent->n_choices; k++) {
        if (strcmp(c->parent->choices[k].name, q->name) != 0)
            continue;
        int64_t v = c->parent->choices[k].value;
        if ((k != c->at[0] && k != c->at[1]) || q->n == 0)
            return v;
        /* a neighbour as often as any */
        for (uint32_t o = 0; o < q->n && next_random(c->s, 2); o++)
            if (q->options[o] == v)
                return q->options[o > 0 && (o + 1 == q->n || next_random(c->s, 2)) ? o - 1
                                  : o + 1 < q->n                                   ? o + 1
                                                                                   : o];
        return q->options[next_random(c->s, q->n)];
    }
    return pick_random(c->s, q, i);
}

/* One of the fastest. */
static const tnk_candidate *
a_parent(tnk_search *s)
{
    uint32_t rank = (uint32_t)next_random(s, PARENTS), good = 0;
    for (uint32_t i = 0; i < s->told.n; i++)
        good += s->told.at[i].seconds > 0;
    if (good < FIRST)
        return NULL;
    rank = rank < good ? rank : good - 1;
    for (uint32_t i = 0; i < s->told.n; i++) {
        uint32_t faster = 0;
        const struct told *t = &s->told.at[i];
        for (uint32_t k = 0; k < s->told.n && t->seconds > 0; k++) {
            double x = s->told.at[k].seconds;
            faster += x > 0 && (x < t->seconds || (x <= t->seconds && k < i));
        }
        if (t->seconds > 0 && faster == rank)
            return t->c;
    }
    return NULL;
}

static const tnk_candidate *
propose(tnk_search *s)
{
    const tnk_candidate *parent = next_random(s, RANDOM_POINTS) ? a_parent(s) : NULL;
    if (parent && parent->n_choices) {
        struct change c = {.s = s, .parent = parent};
        c.at[0] = (uint32_t)next_random(s, parent->n_choices);
        c.at[1] = next_random(s, 2) ? c.at[0] : (uint32_t)next_random(s, parent->n_choices);
        tnk_trial t = {.pick = pick_changed, .user = &c};
        return make(s, parent->rule, &t, false);
    }
    uint32_t rule = s->n_rules > 1 && next_random(s, OTHER_RULES) == 0
                        ? 1 + (uint32_t)next_random(s, s->n_rules - 1)
                        : 0;
    tnk_trial t = {.pick = pick_random, .user = s};
    return make(s, s->rules[rule], &t, false);
}

/* ---- the interface ---- */

static void
release(void *p)
{
    tnb_arena_free(((tnk_search *)p)->arena);
}

tnk_search *
tnk_search_new(tn_ctx *ctx, const tn_node *prim_func, const tn_target *target,
               const tnk_rule *const *rules, uint32_t n_rules, uint32_t small, uint64_t seed)
{
    tnb_arena *arena = tnb_arena_new();
    tnk_search *s = arena ? TNB_NEW(arena, tnk_search) : NULL;
    if (!s) {
        tnb_arena_free(arena);
        return NULL;
    }
    *s = (tnk_search){.ctx = ctx,
                      .arena = arena,
                      .func = prim_func,
                      .target = target,
                      .rules = TNB_NEW_N(arena, const tnk_rule *, n_rules + 1),
                      .random = seed};
    tn_ctx_own(ctx, s, release);
    tnb_strmap_init(&s->seen, arena);
    tnb_ptrmap_init(&s->codes, arena);
    for (uint32_t i = 0; i < n_rules; i++) {
        tnk_trial t = {0};
        const tnk_candidate *c = make(s, rules[i], &t, false);
        if (!c)
            continue;
        s->rules[s->n_rules++] = rules[i];
        s->first = s->first ? s->first : c;
    }
    if (!s->first)
        return NULL;
    remember(s, s->first);
    tnb_ptrmap codes;
    tnb_ptrmap_init(&codes, arena);
    tnb_ptrmap_set(&codes, (const void *)(uintptr_t)s->first->code, s);
    s->complete = true;
    for (uint32_t i = 0; i < s->n_rules && s->complete; i++)
        s->complete = enumerate(s, s->rules[i], 4 * small + 64, &codes) && s->all.n <= small;
    return s;
}

const tnk_candidate *
tnk_search_default(const tnk_search *s)
{
    return s->first;
}

uint32_t
tnk_search_size(const tnk_search *s)
{
    return s->complete ? s->all.n + 1 : 0;
}

const tnk_candidate *
tnk_search_next(tnk_search *s)
{
    const tnk_candidate *c = NULL;
    for (uint32_t i = 0; i < ATTEMPTS; i++) {
        if (s->complete && s->next == s->all.n)
            return NULL;
        c = s->complete ? s->all.at[s->next++] : propose(s);
        i = s->complete ? 0 : i;
        if (c && is_new(s, c)) {
            remember(s, c);
            return c;
        }
    }
    return NULL;
}

const tnk_candidate *
tnk_search_know(tnk_search *s, const tnk_tuning_record *r)
{
    for (uint32_t i = 0; i < s->n_rules; i++) {
        if (strcmp(s->rules[i]->base.name, r->rule) != 0)
            continue;
        tnk_trial t = {.choices = r->choices, .n_choices = r->n_choices};
        const tnk_candidate *c = make(s, s->rules[i], &t, true);
        if (!c)
            return NULL;
        const tnk_candidate *same = tnb_strmap_get(&s->seen, c->key);
        if (same)
            return same;
        remember(s, c);
        return c;
    }
    return NULL;
}

void
tnk_search_tell(tnk_search *s, const tnk_candidate *c, double seconds)
{
    for (uint32_t i = 0; i < s->told.n; i++)
        if (s->told.at[i].c == c) {
            s->told.at[i].seconds = seconds;
            return;
        }
    TNB_PUSH(s->arena, s->told, ((struct told){c, seconds}));
}

const tnk_candidate *
tnk_search_fastest(const tnk_search *s, double *seconds)
{
    const struct told *best = NULL;
    for (uint32_t i = 0; i < s->told.n; i++)
        if (s->told.at[i].seconds > 0 && (!best || s->told.at[i].seconds < best->seconds))
            best = &s->told.at[i];
    if (best && seconds)
        *seconds = best->seconds;
    return best ? best->c : NULL;
}

uint32_t
tnk_search_told(const tnk_search *s, uint32_t *failed)
{
    if (failed)
        *failed = 0;
    for (uint32_t i = 0; failed && i < s->told.n; i++)
        *failed += s->told.at[i].seconds <= 0;
    return s->told.n;
}
