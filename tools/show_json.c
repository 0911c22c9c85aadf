/* SPDX-License-Identifier: Apache-2.0 */
/* tenon show --json: the things that show tells of as JSON objects, for programs. */
#include "config.h"
#include "tool.h"

#include "tenon/core/text.h"
#include "tenon/core/walk.h"
#include "tenon/kit/rule.h"

static const tn_node *
text(tnt_session *s, const char *t)
{
    return t ? tn_string(s->ctx, t) : tn_none_value(s->ctx);
}

static const tn_node *
texts(tnt_session *s, const char *const *at, uint32_t n)
{
    tn_list l = {0};
    for (uint32_t i = 0; i < n; i++)
        l = tn_list_append(s->ctx, l, text(s, at[i]));
    return tn_array_of(s->ctx, l);
}

static uint32_t
count_of(const char *const *at)
{
    uint32_t n = 0;
    while (at && at[n])
        n++;
    return n;
}

/* ---- entries of plugins ---- */

const tn_node *
tnt_plugin_json(tnt_session *s, const tnb_plugin *p)
{
    static const char *const states[] = {"ready", "loaded", "hidden", "blocked", "refused"};
    return tn_dictv(s->ctx, "name", text(s, p->name), "version", text(s, p->version), "kind",
                    text(s, p->kind == TNB_PLUGIN_RUNTIME ? "runtime" : "compiler"), "licence",
                    text(s, p->licence), "summary", text(s, p->summary), "state",
                    text(s, states[p->state]), "why", text(s, p->why), "hint", text(s, p->cure),
                    "module", text(s, p->module), "abi",
                    tn_string(s->ctx, tn_strf(s->ctx, "%u.%u", p->abi_major, p->abi_minor)),
                    "provides", texts(s, p->provides, p->n_provides), "requires",
                    texts(s, p->requires_, p->n_requires), NULL);
}

const tn_node *
tnt_pass_json(tnt_session *s, const tn_pass *p)
{
    return tn_dictv(s->ctx, "name", text(s, p->base.name), "doc", text(s, p->base.doc), "opt_level",
                    tn_i64(s->ctx, p->opt_level), "keeps", text(s, tnt_keeps_words(p->keeps)),
                    "options", tnt_schema_json(s, p->options), "config",
                    tnt_schema_json(s, p->config), NULL);
}

const tn_node *
tnt_rule_json(tnt_session *s, const tnk_rule *r, const char *plugin)
{
    return tn_dictv(s->ctx, "name", text(s, r->base.name), "doc", text(s, r->base.doc), "plugin",
                    text(s, plugin), "attributes", texts(s, r->attrs, count_of(r->attrs)), NULL);
}

/* ---- targets and settings ---- */

const tn_node *
tnt_target_json(tnt_session *s, const tnk_target *t)
{
    return tn_dictv(s->ctx, "name", text(s, t->name), "kind", text(s, t->target->kind), "backend",
                    text(s, t->kind->base.name), "device",
                    text(s, t->kind->device ? t->kind->device : t->kind->base.name), "attributes",
                    t->target->attrs ? t->target->attrs : tn_dict_of(s->ctx, NULL, NULL, 0),
                    "schema", tnt_schema_json(s, t->kind->attrs), NULL);
}

static const tn_node *
items_json(tnt_session *s, const tn_pass_list *l)
{
    tn_list all = {0};
    for (uint32_t i = 0; i < l->n; i++) {
        tnb_buf b = {0};
        tn_pass_list one = {&l->at[i], 1};
        tn_pass_list_print(&one, &b);
        all = tn_list_append(s->ctx, all,
                             tn_dictv(s->ctx, "pass", text(s, l->at[i].name), "item",
                                      text(s, b.s ? b.s : ""), "origin", text(s, l->at[i].origin),
                                      NULL));
        tnb_buf_free(&b);
    }
    return tn_array_of(s->ctx, all);
}

const tn_node *
tnt_pipeline_json(tnt_session *s, const tnk_pipeline *p)
{
    const tn_node *d = tn_dict_of(s->ctx, NULL, NULL, 0);
    for (int ph = 0; ph < TNK_N_PHASES; ph++)
        d = tn_dict_set(s->ctx, d, tnk_phase_name((tnk_phase)ph), items_json(s, &p->phases[ph]));
    return tn_dict_set(s->ctx, d, "dropped", items_json(s, &p->dropped));
}

static const tn_node *
origin_json(tnt_session *s, const tnb_conf_value *v)
{
    return !v ? tn_none_value(s->ctx)
              : text(s, v->line ? tn_strf(s->ctx, "%s:%u", v->file, v->line) : v->file);
}

const tn_node *
tnt_config_json(tnt_session *s)
{
    uint32_t n;
    const tnb_conf_value **v = tnb_conf_all(s->conf, tn_arena(s->ctx), &n);
    tn_list all = {0};
    for (uint32_t i = 0; i < n; i++)
        all = tn_list_append(
            s->ctx, all,
            tn_dictv(s->ctx, "section", text(s, v[i]->section), "name", text(s, v[i]->name), "key",
                     text(s, v[i]->key), "value", text(s, v[i]->value), "origin",
                     origin_json(s, v[i]), "locked_by",
                     origin_json(s, tnb_conf_locked(s->conf, v[i]->section, v[i]->name, v[i]->key)),
                     NULL));
    return tn_array_of(s->ctx, all);
}

/* ---- models ---- */

/* A number, or the name or formula of a dynamic extent. */
static const tn_node *
extent_json(tnt_session *s, const tn_node *e)
{
    int64_t n;
    return tn_int_value(e, &n) ? tn_i64(s->ctx, n) : text(s, tn_text(s->ctx, e));
}

const tn_node *
tnt_value_json(tnt_session *s, const char *name, const tn_type *type)
{
    const tn_ty_tensor *t = tn_as_ty_tensor(type);
    const tn_shape_expr *shape = t ? tn_as_shape_expr(t->shape) : NULL;
    tn_list extents = {0};
    for (uint32_t i = 0; shape && i < shape->values.n; i++)
        extents = tn_list_append(s->ctx, extents, extent_json(s, shape->values.at[i]));
    return tn_dictv(s->ctx, "name", text(s, name), "type", text(s, tn_text(s->ctx, type)), "dtype",
                    t && !tnb_dtype_is_void(t->dtype) ? text(s, tnb_dtype_print(t->dtype).s)
                                                      : tn_none_value(s->ctx),
                    "shape", shape ? tn_array_of(s->ctx, extents) : tn_none_value(s->ctx), NULL);
}

static const tn_node *
ios_json(tnt_session *s, const tnr_io *io, uint32_t n)
{
    tn_list all = {0};
    for (uint32_t i = 0; i < n; i++) {
        tn_list extents = {0};
        for (int32_t k = 0; k < io[i].ndim; k++)
            extents = tn_list_append(s->ctx, extents,
                                     io[i].symbols[k] ? text(s, io[i].symbols[k])
                                                      : tn_i64(s->ctx, io[i].dims[k]));
        all = tn_list_append(
            s->ctx, all,
            tn_dictv(s->ctx, "name", text(s, io[i].name), "type", text(s, io[i].kind), "dtype",
                     tnb_dtype_is_void(io[i].dtype) ? tn_none_value(s->ctx)
                                                    : text(s, tnb_dtype_print(io[i].dtype).s),
                     "shape",
                     io[i].ndim >= 0 ? tn_array_of(s->ctx, extents) : tn_none_value(s->ctx), NULL));
    }
    return tn_array_of(s->ctx, all);
}

static const tn_node *
variant_json(tnt_session *s, const tnr_variant *v)
{
    return tn_dictv(s->ctx, "target", text(s, v->name), "device", text(s, v->device), "code_bytes",
                    tn_i64(s->ctx, (int64_t)v->code_bytes), "format", text(s, v->format),
                    "features", texts(s, v->features, v->n_features), "fallback_device",
                    text(s, v->fallback_device), "packed", texts(s, v->packed, v->n_packed), NULL);
}

const tn_node *
tnt_artifact_json(tnt_session *s, const tnr_artifact *a, const char *path, bool whole)
{
    tn_list functions = {0}, variants = {0};
    const tnr_signature *f;
    for (uint32_t i = 0; (f = tnr_artifact_function_at(a, i)); i++)
        functions =
            tn_list_append(s->ctx, functions,
                           tn_dictv(s->ctx, "name", text(s, f->name), "inputs",
                                    ios_json(s, f->params, f->n_inputs), "weights",
                                    ios_json(s, f->params + f->n_inputs, f->n_params - f->n_inputs),
                                    "outputs", ios_json(s, f->results, f->n_results), NULL));
    for (uint32_t i = 0; i < tnr_artifact_variants(a); i++)
        variants = tn_list_append(s->ctx, variants, variant_json(s, tnr_artifact_variant(a, i)));
    return tn_dictv(s->ctx, "file", text(s, path), "functions", tn_array_of(s->ctx, functions),
                    "variants", tn_array_of(s->ctx, variants), "constants",
                    text(s, whole ? "ok" : "damaged"), NULL);
}
