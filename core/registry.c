/* SPDX-License-Identifier: Apache-2.0 */
/* The registry: tables of what the core and loaded plugins provide, by kind and name. A plugin is
 * loaded when a name that its manifest promises is first asked for.
 */
#include "private.h"
#include "tenon/core/eval.h"
#include <stdio.h>

/* ORDER TABLE: row t of `kinds` describes table t. */
enum table {
    T_PASS,
    T_OP,
    T_TARGET,
    T_LEGALIZER,
    T_RULE,
    T_IMPORTER,
    T_EVALUATOR,
    T_PATTERN,
    T_EXTERNAL,
    T_TENSOR_INTRIN,
    T_DIALECT,
    T_MEANING,
    N_TABLES
};

static const tnb_member pass_members[] = {TNB_MEMBER(tn_pass, run), {0}};
static const tnb_member op_members[] = {TNB_MEMBER(tn_op, infer), {0}};
static const tnb_member legalizer_members[] = {TNB_MEMBER(tn_legalizer, target),
                                               TNB_MEMBER(tn_legalizer, legalize),
                                               {0}};
static const tnb_member evaluator_members[] = {TNB_MEMBER(tn_evaluator, run),
                                               TNB_MEMBER(tn_evaluator, prepare),
                                               TNB_MEMBER(tn_evaluator, call),
                                               TNB_MEMBER(tn_evaluator, release),
                                               {0}};

static const tnb_member meaning_members[] = {TNB_MEMBER(tn_meaning, text),
                                             TNB_MEMBER(tn_meaning, call),
                                             {0}};

/* The kinds as manifests name them ("op:relax.add"). What the entries of higher layers look like, these say:
 * tn_registry_describe. */
static const tnb_entry_kind kinds[N_TABLES] = {
    {"pass", "tn_pass in tenon/core/pass.h", sizeof(tn_pass), pass_members, "run", NULL},
    {"op", "tn_op in tenon/core/op.h", sizeof(tn_op), op_members, "infer", NULL},
    {"target", "tn_target_kind in tenon/core/registry.h", sizeof(tn_target_kind), NULL, NULL, NULL},
    {"legalizer", "tn_legalizer in tenon/core/registry.h", sizeof(tn_legalizer), legalizer_members,
     "target legalize", NULL},
    {.kind = "rule"},
    {.kind = "importer"},
    {"evaluator", "tn_evaluator in tenon/core/eval.h", sizeof(tn_evaluator), evaluator_members,
     "?prepare+call+release run|prepare+call+release", NULL},
    {.kind = "pattern"},
    {.kind = "external"},
    {.kind = "tensor_intrin"},
    {.kind = "dialect"},
    {"meaning", "tn_meaning in tenon/core/eval.h", sizeof(tn_meaning), meaning_members, "text|call",
     NULL},
};
static const tnb_entry_kind *higher; /* ends with a NULL kind; NULL: none */

void
tn_registry_describe(const tnb_entry_kind *described)
{
    higher = described;
}

/* The entry that begins with this base. */
#define AS(T, e) ((const T *)(const void *)(e))
_Static_assert(offsetof(tn_pass, base) == 0 && offsetof(tn_op, base) == 0 &&
                   offsetof(tn_target_kind, base) == 0 && offsetof(tn_legalizer, base) == 0 &&
                   offsetof(tn_evaluator, base) == 0,
               "an entry begins with its base");

struct table_data {
    TNB_VEC(const tnb_entry *) entries;
    tnb_strmap by_name; /* legalizers: "op@target" */
};

/* The operator's plugin and the target's have a legalizer each, and no manifest promises one. */
typedef struct legalizer_clash {
    const char *name; /* "op@target" */
    const char *plugins[2];
} legalizer_clash;

struct tn_registry {
    tnb_arena *arena;
    tnb_plugins *plugins;
    struct table_data tables[N_TABLES];
    uint32_t all_loaded
        [N_TABLES]; /* of so many plugins all that provide something of the kind are loaded */
    TNB_VEC(const tn_plugin_desc *) descs;
    const tnb_plugin *loading; /* whose tables are being added */
    tnb_strmap added;          /* names of plugins added */
    tnb_strmap contested; /* "kind:name" that several plugins promise; most of the time nothing */
    tnb_ptrmap plugin_of; /* entries to the names of the plugins that they came with */
    TNB_VEC(legalizer_clash) clashes;
};

static int
table_of(const char *kind)
{
    for (int t = 0; t < N_TABLES; t++)
        if (strcmp(kinds[t].kind, kind) == 0)
            return t;
    return -1;
}

/* ---- adding ---- */
static const char *
key_of(tn_registry *r, enum table t, const tnb_entry *e)
{
    if (t != T_LEGALIZER)
        return e->name;
    const tn_legalizer *l = AS(tn_legalizer, e);
    return tnb_printf(r->arena, "%s@%s", l->base.name, l->target);
}

/* The further names by which an entry is found, ended by NULL: a pass has one at most. */
static const char *const *
aliases_of(enum table t, const tnb_entry *e, const char *of_pass[2])
{
    static const char *const none[] = {NULL};
    if (t == T_PASS) {
        of_pass[0] = AS(tn_pass, e)->alias;
        return of_pass;
    }
    return t == T_TARGET && AS(tn_target_kind, e)->kinds ? AS(tn_target_kind, e)->kinds : none;
}

/* Where two plugins hold a name, the index decides; it has refused the name already if it cannot.
 */
static bool
new_one_serves(tn_registry *r, enum table t, const char *name)
{
    if (!r->plugins || !r->loading)
        return false;
    return tnb_plugins_find(r->plugins, kinds[t].kind, name, NULL) == r->loading;
}

/* What an entry lacks, or has in another size, is not read any further. */
static tnb_status
check_base(enum table t, const tnb_entry *e, const char *plugin, tnb_err *err)
{
    TNB_TRY(tnb_entry_check(&kinds[t], e, plugin, err));
    for (const tnb_entry_kind *k = higher; k && k->kind; k++)
        if (strcmp(k->kind, kinds[t].kind) == 0)
            TNB_TRY(tnb_entry_check(k, e, plugin, err));
    return TNB_OK;
}

static tnb_status
check_entry(tn_registry *r, enum table t, const tnb_entry *e, const char *plugin, tnb_err *err)
{
    if (r->plugins && r->loading) /* it was checked with the promises, and the index decides */
        return TNB_OK;
    TNB_TRY(check_base(t, e, plugin, err));
    const char *of_pass[2] = {NULL, NULL};
    const char *const *a = aliases_of(t, e, of_pass);
    for (const char *key = key_of(r, t, e); key; key = *a ? *a++ : NULL)
        if (tnb_strmap_has(&r->tables[t].by_name, key))
            return tnb_fail(err, TNB_INVALID, "plugin %s: the %s '%s' exists already", plugin,
                            kinds[t].kind, key);
    return TNB_OK;
}

/* Of two legalizers that no manifest promises none comes before the other. */
static void
note_clash(tn_registry *r, const char *key)
{
    const tnb_entry *first = tnb_strmap_get(&r->tables[T_LEGALIZER].by_name, key);
    const char *of = tn_registry_plugin_of(r, first);
    if (of && r->loading && strcmp(of, r->loading->name) != 0 &&
        !tnb_plugins_find(r->plugins, "legalizer", key, NULL))
        TNB_PUSH(r->arena, r->clashes, ((legalizer_clash){key, {of, r->loading->name}}));
}

/* The entry was checked. */
static void
add_entry(tn_registry *r, enum table t, const tnb_entry *e)
{
    struct table_data *td = &r->tables[t];
    const char *key = key_of(r, t, e), *of_pass[2] = {NULL, NULL};
    if (tnb_strmap_has(&td->by_name, key) && !new_one_serves(r, t, key)) {
        if (t == T_LEGALIZER)
            note_clash(r, key);
        return;
    }
    TNB_PUSH(r->arena, td->entries, e);
    tnb_strmap_set(&td->by_name, key, e);
    if (r->loading)
        tnb_ptrmap_set(&r->plugin_of, e, r->loading->name);
    for (const char *const *a = aliases_of(t, e, of_pass); *a; a++) {
        const tnb_entry *there = tnb_strmap_get(&td->by_name, *a);
        if (!there || (tn_registry_plugin_of(r, there) != tn_registry_plugin_of(r, e) &&
                       new_one_serves(r, t, *a)))
            tnb_strmap_set(&td->by_name, *a, e);
    }
}

/* The tables of a descriptor in the order of `kinds`. */
struct span {
    const void *const *at;
    uint32_t n;
};

static void
spans_of(const tn_plugin_desc *d, struct span out[N_TABLES])
{
    out[T_PASS] = (struct span){(const void *const *)d->passes, d->n_passes};
    out[T_OP] = (struct span){(const void *const *)d->ops, d->n_ops};
    out[T_TARGET] = (struct span){(const void *const *)d->targets, d->n_targets};
    out[T_LEGALIZER] = (struct span){(const void *const *)d->legalizers, d->n_legalizers};
    out[T_RULE] = (struct span){(const void *const *)d->rules, d->n_rules};
    out[T_IMPORTER] = (struct span){(const void *const *)d->importers, d->n_importers};
    out[T_EVALUATOR] = (struct span){(const void *const *)d->evaluators, d->n_evaluators};
    out[T_PATTERN] = (struct span){(const void *const *)d->patterns, d->n_patterns};
    out[T_EXTERNAL] = (struct span){(const void *const *)d->externals, d->n_externals};
    out[T_TENSOR_INTRIN] =
        (struct span){(const void *const *)d->tensor_intrins, d->n_tensor_intrins};
    out[T_DIALECT] = (struct span){(const void *const *)d->dialects, d->n_dialects};
    out[T_MEANING] = (struct span){(const void *const *)d->meanings, d->n_meanings};
}

/* ORDER: nothing of a plugin is added before all of it was checked and its init succeeded. */
static tnb_status
add_desc(tn_registry *r, const tn_plugin_desc *given, const tnb_plugin *plugin, tnb_err *err)
{
    tn_plugin_desc *d = TNB_NEW(r->arena, tn_plugin_desc);
    *d = *given;
    const char *name = d->head.name ? d->head.name : "(unnamed)";
    struct span spans[N_TABLES];
    spans_of(d, spans);
    for (int t = 0; t < N_TABLES; t++)
        for (uint32_t i = 0; i < spans[t].n; i++)
            TNB_TRY(check_entry(r, t, spans[t].at[i], name, err));
    const tnb_plugin_start start = tnb_plugins_start(r->plugins, plugin);
    if (d->init)
        TNB_TRY(TNB_CALL(err, d->init(r, &start, err), "plugin", name, "init"));
    const tn_plugin_desc *added = d;
    TNB_PUSH(r->arena, r->descs, added);
    tnb_strmap_set(&r->added, name, d);
    for (int t = 0; t < N_TABLES; t++)
        for (uint32_t i = 0; i < spans[t].n; i++)
            add_entry(r, t, spans[t].at[i]);
    return tnb_arena_failed(r->arena) ? tnb_fail(err, TNB_NO_MEMORY, "no memory for the registry")
                                      : TNB_OK;
}

tnb_status
tn_registry_add(tn_registry *r, const tn_plugin_desc *d, tnb_err *err)
{
    return add_desc(r, d, NULL, err);
}

/* "KIND:NAME" of "KIND_alias:NAME": one name serves for both. */
static const char *
without_alias(tn_registry *r, const char *promise)
{
    static const char suffix[] = "_alias:";
    const char *at = strstr(promise, suffix);
    return at ? tnb_printf(r->arena, "%.*s:%s", (int)(at - promise), promise,
                           at + sizeof suffix - 1)
              : promise;
}

static void
note_contested(tn_registry *r)
{
    tnb_strmap promised;
    tnb_strmap_init(&r->contested, r->arena);
    tnb_strmap_init(&promised, r->arena);
    for (uint32_t i = 0; r->plugins && i < tnb_plugins_count(r->plugins); i++) {
        const tnb_plugin *p = tnb_plugins_get(r->plugins, i);
        for (uint32_t k = 0; p->state <= TNB_PLUGIN_LOADED && k < p->n_provides; k++) {
            const char *text = without_alias(r, p->provides[k]);
            if (tnb_strmap_has(&promised, text))
                tnb_strmap_set(&r->contested, text, p);
            tnb_strmap_set(&promised, text, p);
        }
    }
}

tn_registry *
tn_registry_new(tnb_plugins *plugins)
{
    tnb_arena *a = tnb_arena_new();
    if (!a)
        return NULL;
    tn_registry *r = TNB_NEW(a, tn_registry);
    r->arena = a;
    r->plugins = plugins;
    for (int t = 0; t < N_TABLES; t++)
        tnb_strmap_init(&r->tables[t].by_name, a);
    tnb_strmap_init(&r->added, a);
    note_contested(r);
    tnb_ptrmap_init(&r->plugin_of, a);
    for (uint32_t i = 0; i < tn_n_structural_ops; i++)
        add_entry(r, T_OP, &tn_structural_ops[i].base);
    for (uint32_t i = 0; i < tn_n_scalar_intrinsics; i++)
        add_entry(r, T_OP, &tn_scalar_intrinsics[i].base);
    if (tnb_arena_failed(a)) {
        tnb_arena_free(a);
        return NULL;
    }
    return r;
}

void
tn_registry_free(tn_registry *r)
{
    if (!r)
        return;
    for (uint32_t i = r->descs.n; i-- > 0;)
        if (r->descs.at[i]->fini)
            r->descs.at[i]->fini();
    tnb_arena_free(r->arena);
}

/* ---- loading ---- */
/* The plugin itself has the operator or the target that a legalizer is for: whoever needs the
 * legalizer has loaded the plugin. */
static bool
is_loaded_with(const struct span spans[N_TABLES], const tn_legalizer *l)
{
    for (uint32_t i = 0; i < spans[T_OP].n; i++) {
        const tn_op *op = spans[T_OP].at[i];
        if (op && op->base.name && strcmp(op->base.name, l->base.name) == 0)
            return true;
    }
    for (uint32_t i = 0; i < spans[T_TARGET].n; i++) {
        const tn_target_kind *k = spans[T_TARGET].at[i];
        if (!k || !k->base.name)
            continue;
        if (strcmp(k->base.name, l->target) == 0)
            return true;
        for (const char *const *served = k->kinds; served && *served; served++)
            if (strcmp(*served, l->target) == 0)
                return true;
    }
    return false;
}

static const char *
joined(tn_registry *r, const char *a, const char *b, const char *c)
{
    size_t n_a = strlen(a), n_b = strlen(b), n_c = strlen(c);
    char *text = tnb_alloc(r->arena, n_a + n_b + n_c + 1);
    if (!text)
        return "";
    memcpy(text, a, n_a);
    memcpy(text + n_a, b, n_b);
    memcpy(text + n_a + n_b, c, n_c + 1);
    return text;
}

/* What a descriptor's tables hold, as manifests say it: legalizers (OP@TARGET) where the target is another plugin's. */
static tnb_status
check_promise(tn_registry *r, const tnb_plugin *p, const tn_plugin_desc *d, tnb_err *err)
{
    struct span spans[N_TABLES];
    spans_of(d, spans);
    TNB_VEC(const char *) holds = {0};
    for (int t = 0; t < N_TABLES; t++)
        for (uint32_t i = 0; i < spans[t].n; i++) {
            const tnb_entry *e = spans[t].at[i];
            TNB_TRY(check_base(t, e, p->name, err));
            if (t == T_LEGALIZER && is_loaded_with(spans, spans[t].at[i]))
                continue;
            const char *of_pass[2] = {NULL, NULL};
            TNB_PUSH(r->arena, holds, joined(r, kinds[t].kind, ":", key_of(r, t, e)));
            for (const char *const *a = aliases_of(t, e, of_pass); *a; a++)
                if (**a && strcmp(*a, e->name) != 0)
                    TNB_PUSH(r->arena, holds, joined(r, kinds[t].kind, "_alias:", *a));
        }
    return tnb_plugins_check(r->plugins, p, holds.at, holds.n, err);
}

static tnb_status
load(tn_registry *r, const tnb_plugin *p, tnb_err *err)
{
    if (tnb_strmap_has(&r->added, p->name))
        return TNB_OK;
    for (uint32_t i = 0; i < p->n_requires; i++) {
        const tnb_plugin *needed = tnb_plugins_named(r->plugins, p->requires_[i]);
        if (needed && needed->kind == TNB_PLUGIN_COMPILER && needed != p)
            TNB_TRY(load(r, needed, err));
    }
    const tnb_plugin_head *head = tnb_plugins_load(r->plugins, p, err);
    if (!head)
        return err->status ? err->status : TNB_INVALID;
    const tn_plugin_desc *d = (const tn_plugin_desc *)(const void *)head;
    tnb_status s = tnb_plugin_size_check(head, sizeof *d, err);
    if (s == TNB_OK)
        s = check_promise(r, p, d, err);
    if (s != TNB_OK) {
        tnb_plugins_refuse(r->plugins, p, err);
        return s;
    }
    const tnb_plugin *outer = r->loading;
    r->loading = p;
    s = add_desc(r, d, p, err);
    r->loading = outer;
    if (s != TNB_OK)
        tnb_plugins_refuse(r->plugins, p, err);
    return s;
}

tnb_status
tn_registry_load(tn_registry *r, const tnb_plugin *p, tnb_err *err)
{
    tnb_err local = {0};
    if (p->kind != TNB_PLUGIN_COMPILER)
        return tnb_fail(err, TNB_INVALID, "plugin '%s' is no compiler plugin", p->name);
    return load(r, p, err ? err : &local);
}

/* Two plugins have the name and nothing says which one serves: TNB_INVALID in `err`. What was loaded first would else be taken. */
static bool
is_undecided(const tn_registry *r, enum table t, const char *name, tnb_err *err)
{
    char key[256];
    int n = r->contested.n ? snprintf(key, sizeof key, "%s:%s", kinds[t].kind, name) : -1;
    if (n < 0 || (size_t)n >= sizeof key || !tnb_strmap_has(&r->contested, key))
        return false;
    tnb_err why = {0};
    if (tnb_plugins_find(r->plugins, kinds[t].kind, name, &why) || why.status != TNB_INVALID)
        return false;
    if (err)
        *err = why;
    return true;
}

static const tnb_entry *
find(tn_registry *r, enum table t, const char *name, tnb_err *err)
{
    if (is_undecided(r, t, name, err))
        return NULL;
    const tnb_entry *e = tnb_strmap_get(&r->tables[t].by_name, name);
    if (e)
        return e;
    if (!r->plugins) {
        tnb_fail(err, TNB_NOT_FOUND, "no %s '%s'", kinds[t].kind, name);
        return NULL;
    }
    const tnb_plugin *p = tnb_plugins_find(r->plugins, kinds[t].kind, name, err);
    if (!p)
        return NULL;
    if (p->kind != TNB_PLUGIN_COMPILER) {
        tnb_fail(err, TNB_NOT_FOUND, "no %s '%s'", kinds[t].kind, name);
        return NULL;
    }
    tnb_err local = {0};
    if (load(r, p, err ? err : &local) != TNB_OK) {
        tnb_err_prefix(err, "%s '%s'", kinds[t].kind, name);
        return NULL;
    }
    e = tnb_strmap_get(&r->tables[t].by_name, name);
    if (!e)
        tnb_fail(err, TNB_NOT_FOUND, "plugin %s does not hold the %s '%s'", p->name, kinds[t].kind,
                 name);
    return e;
}

/* ---- questions ---- */
const tn_op *
tn_find_op(tn_registry *r, const char *name, tnb_err *err)
{
    return AS(tn_op, find(r, T_OP, name, err));
}

const tn_pass *
tn_find_pass(tn_registry *r, const char *name, tnb_err *err)
{
    return AS(tn_pass, find(r, T_PASS, name, err));
}

const tn_target_kind *
tn_find_target(tn_registry *r, const char *name, tnb_err *err)
{
    return AS(tn_target_kind, find(r, T_TARGET, name, err));
}

const tn_legalizer *
tn_find_legalizer(tn_registry *r, const char *op, const char *target)
{
    char key[256];
    int n = snprintf(key, sizeof key, "%s@%s", op, target);
    if (n < 0 || (size_t)n >= sizeof key)
        return NULL;
    const void *e = tnb_strmap_get(&r->tables[T_LEGALIZER].by_name, key);
    return e;
}

/* NULL too where two plugins have an evaluator of one name and nothing says which one serves (TNB_INVALID). */
static const tn_evaluator *
evaluator_that(tn_registry *r, bool native, tnb_err *err)
{
    static const char kind[] = "evaluator:";
    for (uint32_t i = 0; i < r->contested.n; i++)
        if (strncmp(r->contested.at[i].key, kind, sizeof kind - 1) == 0 &&
            is_undecided(r, T_EVALUATOR, r->contested.at[i].key + sizeof kind - 1, err))
            return NULL;
    for (uint32_t i = 0; i < r->tables[T_EVALUATOR].entries.n; i++) {
        const tn_evaluator *e = AS(tn_evaluator, r->tables[T_EVALUATOR].entries.at[i]);
        if (native ? e->prepare && e->call && e->release : e->run != NULL)
            return e;
    }
    return NULL;
}

const struct tn_evaluator *
tn_find_evaluator(tn_registry *r, const char *name, tnb_err *err)
{
    if (name)
        return AS(tn_evaluator, find(r, T_EVALUATOR, name, err));
    tnb_err local = {0};
    err = err ? err : &local;
    err->status = TNB_OK;
    const tn_evaluator *e = evaluator_that(r, false, err);
    if (!e && err->status == TNB_OK) {
        tn_registry_load_all(r, "evaluator");
        e = evaluator_that(r, false, err);
    }
    if (!e && err->status == TNB_OK) {
        tnb_fail(err, TNB_NOT_FOUND, "no plugin provides an evaluator");
        tnb_hint(err, "the plugin `interp` has the reference interpreter");
    }
    return e;
}

const struct tn_evaluator *
tn_find_native_evaluator(tn_registry *r)
{
    const tn_evaluator *e = evaluator_that(r, true, NULL);
    if (!e) {
        tn_registry_load_all(r, "evaluator");
        e = evaluator_that(r, true, NULL);
    }
    return e;
}

bool
tn_legalizers_clash(const tn_registry *r, uint32_t i, const char **name, const char *plugins[2])
{
    if (i >= r->clashes.n)
        return false;
    *name = r->clashes.at[i].name;
    memcpy(plugins, r->clashes.at[i].plugins, sizeof r->clashes.at[i].plugins);
    return true;
}

const void *
tn_find_entry(tn_registry *r, const char *kind, const char *name, tnb_err *err)
{
    int t = table_of(kind);
    if (t < 0) {
        tnb_fail(err, TNB_INVALID, "no table of kind '%s'", kind);
        return NULL;
    }
    return find(r, (enum table)t, name, err);
}

void
tn_registry_load_all(tn_registry *r, const char *kind)
{
    int t = table_of(kind);
    uint32_t n = 0, n_plugins = r->plugins ? tnb_plugins_count(r->plugins) : 0;
    if (t < 0 || r->all_loaded[t] == n_plugins)
        return;
    const tnb_provided *all = tnb_plugins_provided(r->plugins, r->arena, kind, &n);
    for (uint32_t i = 0; i < n; i++) {
        tnb_err err = {0};
        if (all[i].plugin->kind == TNB_PLUGIN_COMPILER &&
            all[i].plugin->state != TNB_PLUGIN_REFUSED && load(r, all[i].plugin, &err) != TNB_OK)
            tnb_plugins_refuse(r->plugins, all[i].plugin, &err);
    }
    r->all_loaded[t] = n_plugins;
}

const void *
tn_registry_entry(tn_registry *r, const char *kind, uint32_t i)
{
    int t = table_of(kind);
    return t >= 0 && i < r->tables[t].entries.n ? r->tables[t].entries.at[i] : NULL;
}

const char *
tn_registry_plugin_of(const tn_registry *r, const tnb_entry *e)
{
    return r ? tnb_ptrmap_get(&r->plugin_of, e) : NULL;
}

tnb_status
tn_need_reason(tn_ctx *ctx, uint32_t errors, tnb_status s, const char *kind, const char *name,
               const char *function)
{
    if (tnb_diags_errors(ctx->diags) != errors)
        return s;
    tn_error(ctx, 0, s, "%s '%s': %s failed without a reason (%s)", kind, name, function,
             tnb_status_name(s));
    tnb_diag_hint(ctx->diags,
                  "tell the author of the plugin: a function that fails says why, with tn_error");
    return s;
}

const tnb_plugins *
tn_registry_plugins(const tn_registry *r)
{
    return r->plugins;
}

const char *
tn_nearest_name(tn_registry *r, const char *kind, const char *name)
{
    int t = table_of(kind);
    if (t < 0)
        return NULL;
    TNB_VEC(const char *) names = {0};
    tnb_arena *a = tnb_arena_new();
    if (!a)
        return NULL;
    for (uint32_t i = 0; i < r->tables[t].entries.n; i++)
        TNB_PUSH(a, names, r->tables[t].entries.at[i]->name);
    uint32_t n = 0;
    const tnb_provided *all = r->plugins ? tnb_plugins_provided(r->plugins, a, kind, &n) : NULL;
    for (uint32_t i = 0; i < n; i++)
        TNB_PUSH(a, names, all[i].name);
    const char *near = tnb_nearest(name, names.at, names.n);
    tnb_arena_free(a);
    return near;
}

static const tnb_plugin *
unusable(tn_ctx *ctx, const char *kind, const char *name)
{
    const tnb_plugins *p = ctx->reg ? ctx->reg->plugins : NULL;
    return p ? tnb_plugins_unusable(p, kind, name, NULL) : NULL;
}

bool
tn_note_unusable(tn_ctx *ctx, const char *kind, const char *name)
{
    tnb_err why = {0};
    const tnb_plugin *p = unusable(ctx, kind, name);
    if (ctx->reg && ctx->reg->plugins && !tnb_plugins_find(ctx->reg->plugins, kind, name, &why) &&
        why.status == TNB_INVALID) {
        tnb_diag_note(ctx->diags, "%s", why.message);
        tnb_diag_hint(ctx->diags, "%s", why.hint);
        return true;
    }
    if (!p)
        return false;
    tnb_diag_note(ctx->diags, "plugin '%s' promises it but cannot be used: %s", p->name, p->why);
    if (*p->cure)
        tnb_diag_hint(ctx->diags, "%s", p->cure);
    return true;
}

const tn_node *
tn_missing(tn_ctx *ctx, const char *kind, const char *name, const tnb_err *err)
{
    tn_error(ctx, 0, err->status ? err->status : TNB_NOT_FOUND, "%s", err->message);
    const char *near = unusable(ctx, kind, name) ? NULL : tn_nearest_name(ctx->reg, kind, name);
    if (near && strcmp(near, name) != 0)
        tnb_diag_hint(ctx->diags, "did you mean '%s'?", near);
    else if (*err->hint)
        tnb_diag_hint(ctx->diags, "%s", err->hint);
    return tn_error_node(ctx);
}
