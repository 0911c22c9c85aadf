/* SPDX-License-Identifier: Apache-2.0 */
/* tenon show: one thing in full: a plugin, pass, schedule rule, operator, target, pipeline, the configuration, a
 * model's signature, a kernel's source. */
#include "tool.h"

#include "tenon/base/file.h"
#include "tenon/core/text.h"
#include "tenon/kit/rule.h"

static const tnt_option options[] = {
    {"target", 't', TNT_VALUE, "NAME",
     "pipeline, target, kernel, placement: for this target (default: cpu)"},
    {"profile", 0, TNT_VALUE, "NAME",
     "pipeline, kernel, placement: with the passes of [profile NAME]"},
    {"pass-config", 0, TNT_LIST, "KEY=JSON",
     "kernel, placement: configuration of passes under upstream's keys"},
    {"quantize", 0, TNT_VALUE, "NAME",
     "model, kernel, placement: quantize a checkpoint's weights, as tenon compile does"},
    {"dim", 0, TNT_LIST, "NAME=N", "model, kernel, placement: fix a dynamic dimension"},
    {"bind", 0, TNT_LIST, "NAME=FILE", "model, kernel, placement: make an input a constant"},
    {"jobs", 'j', TNT_VALUE, "N", "kernel: number of kernels to compile in parallel"},
    {"json", 0, TNT_FLAG, NULL, "print a JSON object; of config and of kernels' names an array",
     .without = "cost"},
    {"cost", 0, TNT_FLAG, NULL, "kernel: what kernels for GPUs move and compute, by their program"},
    {0}};

static int
not_found(const tnb_err *err)
{
    tnt_complain(err);
    return TNT_FAILED;
}

static int
print_json(const tn_node *v)
{
    return tnt_print_json(v) ? TNT_OK : TNT_FAILED;
}

static int
show_plugin(tnt_session *s, const tnt_args *a, const char *name)
{
    const tnb_plugin *p = NULL;
    const char *names[256];
    uint32_t n = 0;
    for (uint32_t i = 0; i < tnb_plugins_count(s->plugins); i++) {
        const tnb_plugin *q = tnb_plugins_get(s->plugins, i);
        if (n < 256)
            names[n++] = q->name;
        if (!p && strcmp(q->name, name) == 0)
            p = q;
    }
    if (!p) {
        const char *near = tnb_nearest(name, names, n);
        fprintf(stderr, "tenon: there is no plugin '%s'\n  hint: %s%s%s\n", name,
                near ? "did you mean '" : "tenon list plugins", near ? near : "", near ? "'?" : "");
        return TNT_FAILED;
    }
    if (tnt_has(a, "json"))
        return print_json(tnt_plugin_json(s, p));
    printf("%s %s (%s): %s\nABI %u.%u, module %s\n%s\nprovides:\n", p->name, p->version, p->licence,
           p->summary, p->abi_major, p->abi_minor, p->module, p->why);
    for (uint32_t i = 0; i < p->n_provides; i++)
        printf("  %s\n", p->provides[i]);
    return TNT_OK;
}

static int
show_pass(tnt_session *s, const tnt_args *a, const char *name)
{
    tnb_err err = {0};
    const tn_pass *p = tn_find_pass(s->registry, name, &err);
    if (!p)
        return not_found(&err);
    if (tnt_has(a, "json"))
        return print_json(tnt_pass_json(s, p));
    printf("%s: %s\noptimization level %d; keeps %s\n", p->base.name, p->base.doc, p->opt_level,
           tnt_keeps_words(p->keeps));
    tnt_print_schema(s, p->options, "options");
    tnt_print_schema(s, p->config, "pass configuration (--pass-config KEY=JSON)");
    return TNT_OK;
}

/* "gpu.Matmul" is for targets of the kind gpu, or with that key. */
static int
show_rule(tnt_session *s, const tnt_args *args, const char *name)
{
    tnb_err err = {0};
    const tnk_rule *r = tn_find_entry(s->registry, "rule", name, &err);
    if (!r)
        return not_found(&err);
    uint32_t n;
    const tnb_provided *p = tnb_plugins_provided(s->plugins, tn_arena(s->ctx), "rule", &n);
    const char *plugin = "?";
    for (uint32_t i = 0; i < n; i++)
        plugin = strcmp(p[i].name, r->base.name) ? plugin : p[i].plugin->name;
    const char *dot = strchr(r->base.name, '.');
    if (tnt_has(args, "json"))
        return print_json(tnt_rule_json(s, r, plugin));
    printf("%s: %s\n", r->base.name, r->base.doc ? r->base.doc : "");
    if (dot)
        printf("for targets of kind or key %.*s; ", (int)(dot - r->base.name), r->base.name);
    printf("of plugin %s\n", plugin);
    const char *const *a = r->attrs;
    for (uint32_t i = 0; a && a[i]; i++)
        printf("%s%s", i ? ", " : "reads the target's attributes ", a[i]);
    fputs(a ? "\n" : "", stdout);
    return TNT_OK;
}

static int
show_target(tnt_session *s, const tnt_args *a, const char *name)
{
    tnk_target t;
    bool ok = tnk_target_find(s->ctx, s->conf, name, &t);
    tnt_report(s);
    if (!ok)
        return TNT_FAILED;
    if (tnt_has(a, "json"))
        return print_json(tnt_target_json(s, &t));
    tnb_buf b = {0};
    tnb_status st = t.target->attrs ? tn_value_to_json(t.target->attrs, &b) : TNB_OK;
    printf("%s: kind %s, served by %s (device %s)\nattributes %s\n", t.name, t.target->kind,
           t.kind->base.name, t.kind->device ? t.kind->device : t.kind->base.name,
           st == TNB_OK && b.n ? b.s : "{}");
    tnb_buf_free(&b);
    tnt_print_schema(s, t.kind->attrs, "attributes of the kind");
    return TNT_OK;
}

static int
show_pipeline(tnt_session *s, const tnt_args *a, const char *name)
{
    tnk_target t;
    tnk_pipeline p;
    bool ok = tnk_target_find(s->ctx, s->conf, name, &t) &&
              tnk_pipeline_make(s->ctx, s->conf, &t, tnt_value(a, "profile", NULL), &p);
    tnt_report(s);
    if (!ok)
        return TNT_FAILED;
    if (tnt_has(a, "json"))
        return print_json(tnt_pipeline_json(s, &p));
    for (int ph = 0; ph < TNK_N_PHASES; ph++) {
        printf("%s:%s\n", tnk_phase_name((tnk_phase)ph), p.phases[ph].n ? "" : " (empty)");
        for (uint32_t i = 0; i < p.phases[ph].n; i++) {
            tnb_buf b = {0};
            tn_pass_list one = {&p.phases[ph].at[i], 1};
            tn_pass_list_print(&one, &b);
            printf("  %-60s %s\n", b.s ? b.s : "", p.phases[ph].at[i].origin);
            tnb_buf_free(&b);
        }
    }
    if (p.dropped.n)
        puts("dropped:");
    for (uint32_t i = 0; i < p.dropped.n; i++)
        printf("  %-60s %s\n", p.dropped.at[i].name, p.dropped.at[i].origin);
    return TNT_OK;
}

static int
show_config(tnt_session *s, const tnt_args *a)
{
    if (tnt_has(a, "json"))
        return print_json(tnt_config_json(s));
    uint32_t n;
    const tnb_conf_value **v = tnb_conf_all(s->conf, tn_arena(s->ctx), &n);
    const char *section = "", *name = "";
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(section, v[i]->section) || strcmp(name, v[i]->name))
            printf("%s[%s%s%s]\n", i ? "\n" : "", v[i]->section, *v[i]->name ? " " : "",
                   v[i]->name);
        section = v[i]->section;
        name = v[i]->name;
        printf("%s = ", v[i]->key);
        for (const char *c = v[i]->value; *c; c++)
            fputs(*c == '\n' ? "\n    " : (char[]){*c, 0}, stdout);
        const tnb_conf_value *lock = tnb_conf_locked(s->conf, v[i]->section, v[i]->name, v[i]->key);
        printf(v[i]->line ? "    ; %s:%u" : "    ; %s", v[i]->file, v[i]->line);
        if (lock)
            printf(", locked by %s:%u", lock->file, lock->line);
        putchar('\n');
    }
    return TNT_OK;
}

/* A function's parameters or results with the model's names. */
static void
print_io(tnt_session *s, const char *what, const tn_node *names, uint32_t i, const tn_type *t)
{
    const tn_array *a = tn_as_array(names);
    const tn_string_imm *n = a && i < a->items.n ? tn_as_string_imm(a->items.at[i]) : NULL;
    printf("  %s %-28s %s\n", what, n ? n->value : "", tn_text(s->ctx, t));
}

/* How often each operator stands in the function. */
static tnb_strmap
count_ops(tnt_session *s, const tn_function *f)
{
    tnb_strmap counts;
    tnb_strmap_init(&counts, tn_arena(s->ctx));
    const tn_seq_expr *seq = tn_as_seq_expr(f->body);
    for (uint32_t b = 0; seq && b < seq->blocks.n; b++) {
        const tn_bindings_block *block = tn_as_bindings_block(seq->blocks.at[b]);
        for (uint32_t i = 0; i < block->bindings.n; i++) {
            const tn_var_binding *vb = tn_as_var_binding(block->bindings.at[i]);
            const tn_call *c = vb ? tn_as_call(vb->value) : NULL;
            const tn_op *op = c ? tn_call_op_of(c) : NULL;
            if (op)
                tnb_strmap_set(&counts, op->base.name,
                               (void *)((uintptr_t)tnb_strmap_get(&counts, op->base.name) + 1));
        }
    }
    return counts;
}

static void
print_ios(const char *what, const tnr_io *io, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        printf("  %s %-28s %s", what, io[i].name,
               tnb_dtype_is_void(io[i].dtype) ? io[i].kind : tnb_dtype_print(io[i].dtype).s);
        for (int32_t k = 0; k < io[i].ndim; k++) {
            printf("%s", k ? ", " : "[");
            if (io[i].symbols[k])
                fputs(io[i].symbols[k], stdout);
            else
                printf("%lld", (long long)io[i].dims[k]);
        }
        puts(io[i].ndim > 0 ? "]" : io[i].ndim == 0 ? "[]" : "");
    }
}

static void
print_list(const char *what, const char *const *texts, uint32_t n)
{
    printf("  %s:%s", what, n ? "" : " none");
    for (uint32_t i = 0; i < n; i++)
        printf("%s%s", i ? ", " : " ", texts[i]);
    puts("");
}

/* A compiled model: its functions, and what its variants need; whether it is whole. */
/* The functions of a variant whose schedules were measured (tenon tune). */
static void
print_tuned(tnt_session *s, const tnr_artifact *art, uint32_t variant)
{
    const char *json = tnr_artifact_metadata(art);
    const tn_node *all = tn_value_from_json(s->ctx, json, strlen(json), NULL);
    const tn_array *variants = tn_as_array(tn_dict_get(all, "variants"));
    const tn_dict *tuned = variants && variant < variants->items.n
                               ? tn_as_dict(tn_dict_get(variants->items.at[variant], "tuned"))
                               : NULL;
    for (uint32_t i = 0; tuned && i < tuned->items.n; i++) {
        const tn_pair *f = tn_as_pair(tuned->items.at[i]);
        const tn_dict *choices = tn_as_dict(tn_dict_get(f->value, "choices"));
        printf("  tuned schedule: %s: %s", f->key, tn_dict_str(f->value, "rule", "?"));
        for (uint32_t k = 0; choices && k < choices->items.n; k++) {
            const tn_pair *c = tn_as_pair(choices->items.at[k]);
            int64_t v;
            if (tn_int_value(c->value, &v))
                printf(" %s=%lld", c->key, (long long)v);
        }
        printf("\n");
    }
}

static int
show_artifact(tnt_session *s, const tnt_args *a, const char *path)
{
    tnb_err err = {0};
    tnr_artifact *art;
    if (tnr_artifact_open(path, &art, &err) != TNB_OK)
        return not_found(&err);
    if (tnt_has(a, "json")) {
        tnb_status whole = tnr_artifact_check_data(art, &err);
        bool printed = tnt_print_json(tnt_artifact_json(s, art, path, whole == TNB_OK));
        if (whole != TNB_OK)
            tnt_complain(&err);
        tnr_artifact_close(art);
        return printed && whole == TNB_OK ? TNT_OK : TNT_FAILED;
    }
    const tnr_signature *f;
    for (uint32_t i = 0; (f = tnr_artifact_function_at(art, i)); i++) {
        printf("function %s:\n", f->name);
        print_ios("input ", f->params, f->n_inputs);
        print_ios("weight", f->params + f->n_inputs, f->n_params - f->n_inputs);
        print_ios("output", f->results, f->n_results);
    }
    for (uint32_t i = 0; i < tnr_artifact_variants(art); i++) {
        const tnr_variant *v = tnr_artifact_variant(art, i);
        printf("variant %u, %s: runs on device '%s'\n", i, v->name, v->device);
        printf("  code: %zu bytes%s%s\n", v->code_bytes, *v->format ? " of format " : "",
               v->format);
        print_list("required features", v->features, v->n_features);
        if (v->fallback_device) {
            printf("  fallback on device '%s': %zu bytes of format %s\n", v->fallback_device,
                   v->fallback_bytes, v->fallback_format);
            print_list("required features of the fallback", v->fallback_features,
                       v->n_fallback_features);
        }
        print_list("called packed functions", v->packed, v->n_packed);
        print_tuned(s, art, i);
    }
    tnb_status st = tnr_artifact_check_data(art, &err);
    if (st == TNB_OK)
        puts("constants: checksum ok");
    else
        tnt_complain(&err);
    tnr_artifact_close(art);
    return st == TNB_OK ? TNT_OK : TNT_FAILED;
}

/* What is known of a model that cannot be imported. */
static void
print_declared(tnt_session *s, const char *path)
{
    tnb_buf b = {0};
    const tnk_importer *imp = tnb_ends_with(path, ".py") ? NULL : tnk_find_importer(s->ctx, path);
    if (imp && imp->declared && imp->declared(imp->self, s->ctx, path, &b) == TNB_OK && b.n)
        printf("%s, as it declares itself:\n%s", path, b.s);
    tnb_buf_free(&b);
    tnb_diags_clear(tn_diags(s->ctx)); /* said already */
}

/* `in` and `out`: the model's names for its inputs and outputs; NULL: those of the parameters. */
static void
print_function(tnt_session *s, const tn_function *f, const tn_node *in, const tn_node *out)
{
    int64_t n_in = tn_dict_int(f->attrs, "num_input", f->params.n);
    for (uint32_t i = 0; i < f->params.n; i++) {
        const tn_expr *p = f->params.at[i];
        const tn_ty_tuple *weights = tn_as_ty_tuple(p->type);
        if ((int64_t)i < n_in && in)
            print_io(s, "input ", in, i, p->type);
        else if ((int64_t)i < n_in)
            printf("  input  %-28s %s\n", tn_var_name(p), tn_text(s->ctx, p->type));
        else if (weights && !in)
            printf("  weight %-28s a tuple of %u\n", tn_var_name(p), weights->fields.n);
    }
    const tn_ty_tuple *t = tn_as_ty_tuple(f->ret);
    for (uint32_t i = 0; i < (t ? t->fields.n : 1); i++)
        print_io(s, "output", out, i, t ? t->fields.at[i] : f->ret);
    tnb_strmap counts = count_ops(s, f);
    puts("operators:");
    for (uint32_t i = 0; i < counts.n; i++)
        printf("  %6lu %s\n", (unsigned long)(uintptr_t)counts.at[i].value, counts.at[i].key);
}

static const char *
name_at(const tn_node *names, uint32_t i)
{
    const tn_array *a = tn_as_array(names);
    const tn_string_imm *n = a && i < a->items.n ? tn_as_string_imm(a->items.at[i]) : NULL;
    return n ? n->value : NULL;
}

static const tn_node *
function_json(tnt_session *s, const char *name, const tn_function *f, const tn_node *in,
              const tn_node *out)
{
    tn_list inputs = {0}, outputs = {0};
    const tn_node *weights = tn_none_value(s->ctx), *ops = tn_dict_of(s->ctx, NULL, NULL, 0);
    int64_t n_in = tn_dict_int(f->attrs, "num_input", f->params.n);
    for (uint32_t i = 0; i < f->params.n; i++) {
        const tn_expr *p = f->params.at[i];
        const tn_ty_tuple *tuple = tn_as_ty_tuple(p->type);
        const char *own = in ? name_at(in, i) : tn_var_name(p);
        if ((int64_t)i < n_in)
            inputs = tn_list_append(s->ctx, inputs,
                                    tnt_value_json(s, own ? own : tn_var_name(p), p->type));
        else if (tuple && !in)
            weights = tn_i64(s->ctx, tuple->fields.n);
    }
    const tn_ty_tuple *t = tn_as_ty_tuple(f->ret);
    for (uint32_t i = 0; i < (t ? t->fields.n : 1); i++)
        outputs = tn_list_append(s->ctx, outputs,
                                 tnt_value_json(s, name_at(out, i), t ? t->fields.at[i] : f->ret));
    tnb_strmap counts = count_ops(s, f);
    for (uint32_t i = 0; i < counts.n; i++)
        ops = tn_dict_set(s->ctx, ops, counts.at[i].key,
                          tn_i64(s->ctx, (int64_t)(uintptr_t)counts.at[i].value));
    return tn_dictv(s->ctx, "name", tn_string(s->ctx, name), "inputs", tn_array_of(s->ctx, inputs),
                    "weights", weights, "outputs", tn_array_of(s->ctx, outputs), "operators", ops,
                    NULL);
}

/* The functions that programs call, as show_model prints them. */
static const tn_node *
model_json(tnt_session *s, const tn_module *m, const char *path)
{
    tn_list functions = {0};
    const tn_function *f = tn_as_function(tn_module_get(m, "main"));
    if (f)
        functions = tn_list_append(s->ctx, functions,
                                   function_json(s, "main", f, tn_dict_get(m->attrs, "input_names"),
                                                 tn_dict_get(m->attrs, "output_names")));
    for (uint32_t i = 0; i < m->names.n && !f; i++) {
        const tn_function *entry = tn_as_function(m->funcs.at[i]);
        if (entry && tn_func_attr(&entry->base, "global_symbol"))
            functions = tn_list_append(s->ctx, functions,
                                       function_json(s, tn_module_name(m, i), entry, NULL, NULL));
    }
    return tn_dictv(s->ctx, "file", tn_string(s->ctx, path), "functions",
                    tn_array_of(s->ctx, functions), NULL);
}

static int
show_model(tnt_session *s, const tnt_args *a, const char *path)
{
    if (tnt_is_artifact(path))
        return tnt_needs_no_compiler(a, path) ? show_artifact(s, a, path) : tnt_failure();
    tnk_model m;
    if (!tnt_import(s, a, path, &m)) {
        print_declared(s, path);
        return tnt_failure();
    }
    if (tnt_has(a, "json"))
        return print_json(model_json(s, m.module, path));
    const tn_function *f = tn_as_function(tn_module_get(m.module, "main"));
    printf("%s: %u functions\n", path, m.module->names.n);
    if (f)
        print_function(s, f, tn_dict_get(m.module->attrs, "input_names"),
                       tn_dict_get(m.module->attrs, "output_names"));
    for (uint32_t i = 0; i < m.module->names.n && !f; i++) {
        const tn_function *entry = tn_as_function(m.module->funcs.at[i]);
        if (!entry || !tn_func_attr(&entry->base, "global_symbol"))
            continue;
        printf("function %s:\n", tn_module_name(m.module, i));
        print_function(s, entry, NULL, NULL);
    }
    return TNT_OK;
}

/* The source, or of a backend that generates none the program that its code generator reads. */
static void
print_kernel(tnt_session *s, const tnk_kernel *k)
{
    tnb_buf b = {0};
    if (k->source)
        fputs(k->source, stdout);
    else if (tn_print(s->ctx, k->func, NULL, &b) == TNB_OK && b.n)
        fwrite(b.s, 1, b.n, stdout);
    tnb_buf_free(&b);
}

static const tn_node *
kernel_json(tnt_session *s, const tnk_kernel *k)
{
    tnb_buf b = {0};
    bool printed = !k->source && tn_print(s->ctx, k->func, NULL, &b) == TNB_OK && b.n;
    const tn_node *d = tn_dictv(s->ctx, "name", tn_string(s->ctx, k->name), "source",
                                tn_string(s->ctx, k->source ? k->source
                                                  : printed ? b.s
                                                            : ""),
                                NULL);
    tnb_buf_free(&b);
    return d;
}

static int
show_kernel(tnt_session *s, const tnt_args *a, const char *path, const char *name)
{
    tnk_model m;
    tnk_compile_options opt;
    if (!tnt_import(s, a, path, &m) || !tnt_compile_options(s, a, &opt))
        return tnt_failure();
    opt.keep_source = true;
    tnk_compile_result r;
    tnb_status st = tnk_compile(s->ctx, &m, &opt, &r);
    tnt_report(s);
    if (st != TNB_OK)
        return TNT_FAILED;
    bool found = false, counted = false, cost = tnt_has(a, "cost"), json = tnt_has(a, "json");
    const tn_node *one = NULL;
    tn_list names = {0};
    for (uint32_t t = 0; t < r.n_targets; t++) {
        tnk_target target = {0};
        if (cost && !tnk_target_find_with(s->ctx, s->conf, opt.targets[t], opt.target_attrs,
                                          opt.usual_attrs, &target))
            return tnt_failure();
        for (uint32_t i = 0; i < r.n_kernels[t]; i++) {
            const tnk_kernel *k = &r.kernels[t][i];
            if (name && strcmp(name, k->name) != 0)
                continue;
            if (cost)
                counted |= tnt_show_cost(s, target.target, k);
            else if (json && !name)
                names = tn_list_append(s->ctx, names, tn_string(s->ctx, k->name));
            else if (json)
                one = kernel_json(s, k);
            else if (!name)
                printf("%s\n", k->name);
            else
                print_kernel(s, k);
            found = true;
        }
    }
    if (found && cost && !counted) {
        fprintf(stderr,
                "tenon: the cost of %s is not known: it is not for threads of a GPU, or too large "
                "to be counted\n  hint: -t names "
                "a target of GPUs\n",
                name ? name : "these kernels");
        return TNT_FAILED;
    }
    if (!found)
        fprintf(stderr, "tenon: %s has no kernel '%s'\n  hint: tenon show kernel %s lists them\n",
                path, name, path);
    if (json && found)
        return print_json(name ? one : tn_array_of(s->ctx, names));
    return found ? TNT_OK : TNT_FAILED;
}

/* Operands that would have no effect on what is shown. TNT_OK, or another after a message. */
static int
check_operands(const tnt_args *a, const char *what)
{
    char word[64];
    snprintf(word, sizeof word, " %s ", what);
    if (tnt_has(a, "target") && a->n_operands > 1 && strcmp(what, "kernel") != 0 &&
        strcmp(what, "placement") != 0)
        return tnt_usage(a->command, "the target is given twice: as '%s' and with -t",
                         a->operands[1]);
    int most = strstr(" config ops passes targets devices settings ", word) ? 1
               : strcmp(what, "kernel") == 0                                ? 3
                                                                            : 2;
    return a->n_operands <= most
               ? TNT_OK
               : tnt_usage(a->command, "unexpected operand '%s'", a->operands[most]);
}

static int
run(tnt_session *s, const tnt_args *a)
{
    const char *what = a->operands[0], *name = a->n_operands > 1 ? a->operands[1] : NULL;
    static const char *const kinds[] = {"config",  "settings", "ops",   "passes", "targets",
                                        "devices", "plugin",   "pass",  "rule",   "op",
                                        "target",  "pipeline", "model", "kernel", "placement"};
    bool known = false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        known |= strcmp(what, kinds[i]) == 0;
    if (!known)
        return tnt_unknown(a->command, "cannot show", what, kinds, sizeof kinds / sizeof *kinds);
    int status = check_operands(a, what);
    if (status != TNT_OK)
        return status;
    if (strcmp(what, "config") == 0)
        return show_config(s, a);
    if (strcmp(what, "ops") == 0)
        return tnt_show_ops(s);
    if (strcmp(what, "passes") == 0)
        return tnt_show_passes(s);
    if (strcmp(what, "targets") == 0)
        return tnt_show_targets(s);
    if (strcmp(what, "devices") == 0)
        return tnt_show_devices(s, a);
    if (strcmp(what, "settings") == 0)
        return tnt_show_settings();
    const bool of_model =
        !strcmp(what, "model") || !strcmp(what, "kernel") || !strcmp(what, "placement");
    if (!name && strcmp(what, "pipeline") && strcmp(what, "target"))
        return of_model ? tnt_usage(a->command, "expected the file of a model")
                        : tnt_usage(a->command, "expected the name of a%s %s",
                                    strcmp(what, "op") ? "" : "n", what);
    if (!name) {
        uint32_t n;
        const char **names = tnt_targets(s, a, &n);
        name = names ? names[0] : NULL;
    } else if (strcmp(what, "pipeline") == 0 || strcmp(what, "target") == 0) {
        name = tnt_auto_target(s, name);
    }
    if (!name)
        return TNT_FAILED;
    if (strcmp(what, "plugin") == 0)
        return show_plugin(s, a, name);
    if (strcmp(what, "pass") == 0)
        return show_pass(s, a, name);
    if (strcmp(what, "rule") == 0)
        return show_rule(s, a, name);
    if (strcmp(what, "op") == 0)
        return tnt_show_op(s, name, tnt_has(a, "json"));
    if (strcmp(what, "target") == 0)
        return show_target(s, a, name);
    if (strcmp(what, "pipeline") == 0)
        return show_pipeline(s, a, name);
    if (strcmp(what, "model") == 0)
        return show_model(s, a, name);
    if (strcmp(what, "placement") == 0)
        return tnt_show_placement(s, a, name);
    return show_kernel(s, a, name, a->n_operands > 2 ? a->operands[2] : NULL);
}

static const char *const effects[] = {"target kernel|pipeline|placement|target",
                                      "profile pipeline|kernel|placement",
                                      "pass-config kernel|placement",
                                      "dim model|kernel|placement",
                                      "quantize model|kernel|placement",
                                      "bind model|kernel|placement",
                                      "jobs kernel",
                                      "json config|plugin|pass|rule|op|target|pipeline|model|"
                                      "kernel|placement",
                                      "cost kernel",
                                      "debug kernel|placement",
                                      NULL};

const tnt_command tnt_command_show = {
    .name = "show",
    .operands =
        "plugin|pass|rule|op|target|pipeline|config|model|kernel|placement|ops|passes|targets|"
        "devices|settings "
        "[NAME]",
    .summary = "show details of a plugin, pass, target, model, kernel or setting",
    .details =
        "What is shown:\n\n"
        "  config             every effective value with its origin\n"
        "  ops, passes        reference pages of all operators and passes\n"
        "  targets, devices   reference pages of targets (attributes, lists) and devices\n"
        "  settings           reference page of the sections and keys of INI files\n"
        "  plugin, pass, rule, op, target NAME\n"
        "                     its documentation, options and attributes\n"
        "  pipeline TARGET    the pass lists, with the origin of each entry\n"
        "  model FILE         inputs, outputs and operators; of a .tno file the variants, what "
        "each\n"
        "                     requires, and whether the constants have their checksum\n"
        "  placement FILE     what of a model the target's libraries take, what is left to its\n"
        "                     kernels, and why\n"
        "  kernel FILE [KERNEL]\n"
        "                     the names of a model's kernels, or the source of one; with --cost "
        "the\n"
        "                     memory traffic and operations of kernels for GPUs, counted as if "
        "every\n"
        "                     branch were taken",
    .options = options,
    .min_operands = 1,
    .max_operands = 3,
    .examples =
        (const char *const[]){
            "tenon show pipeline cpu", "the pass lists of a target, with the origin of every entry",
            "tenon show config", "every setting with the file and line that set it",
            "tenon show model model.onnx --json",
            "inputs and outputs with dtypes and shapes, for a program",
            "tenon show kernel model.onnx",
            "the names of a model's kernels; add a name to see its source",
            "tenon show kernel model.onnx -t gpu_generic --cost",
            "bytes and operations, bank conflicts and what limits the blocks of each kernel", NULL},
    .effects = effects,
    .run = run,
};
