/* SPDX-License-Identifier: Apache-2.0 */
/* Pass lists, options, the pass manager; values made up and compared. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tcore.h"
#include "tenon/base/file.h"
#include "tenon/core/eval.h"
#include "tenon/core/text.h"

/* ---- passes to run ---- */
static const tn_module *
run_nothing(const tn_pass_ctx *pc, const tn_module *m)
{
    (void)pc;
    return m;
}

static const tn_module *
run_mark(const tn_pass_ctx *pc, const tn_module *m)
{
    const tn_node *attrs = m->attrs;
    attrs = tn_dict_set(pc->ctx, attrs, "mark", tn_i64(pc->ctx, tn_option_int(pc, "value")));
    attrs = tn_dict_set(pc->ctx, attrs, "label", tn_string(pc->ctx, tn_option_str(pc, "label")));
    return tn_module_with_attrs(pc->ctx, m, attrs);
}

static const tn_module *
run_break(const tn_pass_ctx *pc, const tn_module *m)
{
    const tn_expr *x = tn_var_new(pc->ctx, "x", tn_ty_any(pc->ctx));
    const tn_expr *y = tn_var_new(pc->ctx, "y", tn_ty_any(pc->ctx));
    return tn_module_set(pc->ctx, m, "broken",
                         tn_function_of(pc->ctx, (tn_list){&x, 1}, y, tn_ty_any(pc->ctx), true,
                                        NULL));
}

static const tn_module *
run_fail(const tn_pass_ctx *pc, const tn_module *m)
{
    (void)m;
    tn_error(pc->ctx, 0, TNB_INVALID, "no way");
    return NULL;
}

static const tn_module *
run_silent(const tn_pass_ctx *pc, const tn_module *m)
{
    (void)pc;
    (void)m;
    return NULL;
}

static const tn_node *
strip(const tn_pass_ctx *pc, const tn_module *m, const char *name, const tn_node *func, void *user)
{
    (void)m;
    (*(int *)user)++;
    return strcmp(name, "keep") == 0
               ? func
               : tn_func_with_attr(pc->ctx, func, "seen", tn_bool(pc->ctx, true));
}

static const tn_module *
run_map(const tn_pass_ctx *pc, const tn_module *m)
{
    int n = 0;
    m = tn_map_functions(pc, m, TN_FUNCTIONS, strip, &n);
    assert_int_equal(n, 2);
    return m;
}

/* Makes a new function and much that nobody needs. */
static const tn_module *
run_litter(const tn_pass_ctx *pc, const tn_module *m)
{
    tn_ctx *ctx = pc->ctx;
    const tn_expr *n = tn_var_dtype(ctx, "n", TNB_I64);
    const tn_expr *x = tn_var_new(ctx, "x", tn_ty_tensor_dims(ctx, (tn_list){&n, 1}, TNB_F32));
    for (int i = 0; i < 400000; i++)
        tn_var_dtype(ctx, "garbage", TNB_I64);
    return tn_module_set(ctx, m, "g", tn_function_of(ctx, (tn_list){&x, 1}, x, NULL, true, NULL));
}

/* Puts what it reads of the configuration into the module's attributes. */
static const tn_module *
run_configured(const tn_pass_ctx *pc, const tn_module *m)
{
    const tn_node *attrs = m->attrs;
    attrs = tn_dict_set(pc->ctx, attrs, "depth", tn_i64(pc->ctx, tn_config_int(pc, "t.depth")));
    attrs = tn_dict_set(pc->ctx, attrs, "on", tn_i64(pc->ctx, tn_config_bool(pc, "t.on")));
    attrs = tn_dict_set(pc->ctx, attrs, "name", tn_string(pc->ctx, tn_config_str(pc, "t.name")));
    attrs = tn_dict_set(pc->ctx, attrs, "files", tn_config_value(pc, "t.files"));
    return tn_module_with_attrs(pc->ctx, m, attrs);
}

static const tn_module *
run_undeclared(const tn_pass_ctx *pc, const tn_module *m)
{
    assert_false(tn_config_bool(pc, "t.other"));
    return m;
}

static const tn_attr_schema configuration[] = {
    {"t.depth", TN_ATTR_INT, 0, "256", NULL, ">=1"},
    {"t.on", TN_ATTR_BOOL, 0, "False", NULL},
    {"t.name", TN_ATTR_STR, 0, "\"none\"", NULL, "none|some"},
    {"t.files", TN_ATTR_STRS, 0, "[]", NULL},
    {NULL, 0, 0, NULL, NULL},
};
static const tn_attr_schema mark_options[] = {
    {"value", TN_ATTR_INT, 0, "7", NULL},
    {"label", TN_ATTR_STR, 0, "\"none\"", NULL},
    {"list", TN_ATTR_STRS, 0, "[]", NULL},
    {NULL, 0, 0, NULL, NULL},
};
#define PASS(id, f, ...)                                     \
    static const tn_pass id = {.base.size = sizeof(tn_pass), \
                               .base.name = #id,             \
                               .run = f,                     \
                               __VA_ARGS__}
PASS(Nothing, run_nothing, .alias = "Idle");
PASS(Mark, run_mark, .options = mark_options);
PASS(Break, run_break);
PASS(Fail, run_fail);
PASS(Silent, run_silent);
PASS(Map, run_map);
PASS(Litter, run_litter);
PASS(Third, run_break, .opt_level = 3);
PASS(Configured, run_configured, .config = configuration);
PASS(Undeclared, run_undeclared, .config = configuration);
static const tn_pass *const passes[] = {&Nothing, &Mark,   &Break, &Fail,       &Silent,
                                        &Map,     &Litter, &Third, &Configured, &Undeclared};
static const tn_plugin_desc plugin = {.head = {.size = sizeof plugin, .name = "test"},
                                      .passes = passes,
                                      .n_passes = sizeof passes / sizeof *passes};

struct fixture {
    tn_registry *reg;
    tn_ctx *ctx;
};

static int
set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    tnb_err err;
    f->reg = tn_registry_new(NULL);
    if (!f->reg || tn_registry_add(f->reg, &plugin, &err) != TNB_OK)
        return -1;
    f->ctx = tn_ctx_new(f->reg);
    *state = f;
    return 0;
}

static int
tear_down(void **state)
{
    struct fixture *f = *state;
    tn_ctx_free(f->ctx);
    tn_registry_free(f->reg);
    free(f);
    return 0;
}

#define P(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static const tn_module *
run(struct fixture *f, const char *list, tn_pass_run *opt, const tn_module *m)
{
    tn_pass_list l;
    assert_true(tn_pass_list_parse(f->ctx, list, "test", &l));
    return tn_run_passes(f->ctx, m ? m : tn_module_new(f->ctx), &l, opt);
}

/* ---- lists ---- */
static void
lists_print_as_they_were_read(void **state)
{
    struct fixture *f = *state;
    static const char *const texts[] = {
        "",
        "A",
        "A, B, C",
        "LegalizeOps, FuseOps{fuse_opt_level=2}, ApplyDefaultSchedule{rules=[Matmul,GEMV]}",
        "P{a=1.5,b=true,c=null,d=\"two words\",e={\"k\":[1,2]},f=x.y,g=[]}",
        "P{n=@attr(input_names),w=@w.npy}",
        "@generic, X",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        tn_pass_list l;
        tnb_buf b = {0};
        assert_true(tn_pass_list_parse(f->ctx, texts[i], "test", &l));
        tn_pass_list_print(&l, &b);
        assert_string_equal(b.s ? b.s : "", texts[i]);
        tnb_buf_free(&b);
    }
    tn_pass_list l;
    assert_true(tn_pass_list_parse(f->ctx, "\n  A\n  B{ x = 1 , y = 'q' }\n", "test", &l));
    assert_int_equal(l.n, 2);
    assert_string_equal(tn_dict_str(l.at[1].options, "y", ""), "q");
}

static void
hostile_lists_are_refused_with_a_place(void **state)
{
    struct fixture *f = *state;
    static const char *const bad[] = {
        ",",
        "A,",
        "A B",
        "A{",
        "A{x",
        "A{x=",
        "A{x=1",
        "A{x=1,,y=2}",
        "A{x=[1}",
        "A{x=[1 2]}",
        "A{x=\"}",
        "A{x={1:2}}",
        "A{x={\"a\":1,\"a\":2}}",
        "A{x=1,x=2}",
        "A{=1}",
        "A}",
        "A{x=@}",
        "A{x=@attr()}",
        "A{x=@attr(}",
        "A{x=\"\\ud800\"}",
        "A{x=\"\\u0000\"}",
        "\x01",
        "A{x=\"\\q\"}",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        tn_pass_list l;
        tnb_diags_clear(tn_diags(f->ctx));
        if (tn_pass_list_parse(f->ctx, bad[i], "test", &l))
            print_error("accepted: %s\n", bad[i]);
        assert_int_equal(tnb_diags_errors(tn_diags(f->ctx)), 1);
        assert_int_equal(tnb_diags_get(tn_diags(f->ctx), 0)->place.line, 1);
    }
    char deep[4000] = "A{x=";
    memset(deep + 4, '[', sizeof deep - 5);
    deep[sizeof deep - 1] = 0;
    tn_pass_list l;
    tnb_diags_clear(tn_diags(f->ctx));
    assert_false(tn_pass_list_parse(f->ctx, deep, "test", &l));
    assert_non_null(strstr(tnb_diags_get(tn_diags(f->ctx), 0)->message, "nested too deeply"));
}

/* ---- options ---- */
static void
options_are_checked_and_completed(void **state)
{
    struct fixture *f = *state;
    const tn_module *m = run(f, "Mark", NULL, NULL);
    assert_int_equal(tn_dict_int(m->attrs, "mark", 0), 7);
    m = run(f, "Mark{value=3,label=hello}", NULL, NULL);
    assert_int_equal(tn_dict_int(m->attrs, "mark", 0), 3);
    assert_string_equal(tn_dict_str(m->attrs, "label", ""), "hello");
    m = run(f, "Mark{value=9}, Mark{value=@attr(mark),label=again}", NULL, NULL);
    assert_int_equal(tn_dict_int(m->attrs, "mark", 0), 9);
    assert_null(run(f, "Mark{valu=3}", NULL, NULL));
    const tnb_diag *d = tnb_diags_get(tn_diags(f->ctx), 0);
    assert_non_null(strstr(d->message, "pass Mark has no option 'valu'"));
    assert_non_null(strstr(d->hint, "'value'"));
    tnb_diags_clear(tn_diags(f->ctx));
    assert_null(run(f, "Mark{value=many}", NULL, NULL));
    assert_non_null(strstr(tnb_diags_get(tn_diags(f->ctx), 0)->message, "must be an integer"));
    tnb_diags_clear(tn_diags(f->ctx));
    assert_null(run(f, "Mark{value=@attr(absent)}", NULL, NULL));
    assert_non_null(strstr(tnb_diags_get(tn_diags(f->ctx), 0)->message, "no attribute 'absent'"));
}

/* The configuration of a run of Configured from a program: "key=JSON ..."; the module, or NULL. */
static const tn_module *
configured(struct fixture *f, const char *key, const char *json, const char *origin)
{
    tnb_err err = {0};
    const tn_node *v = tn_value_from_json(f->ctx, json, strlen(json), &err);
    assert_non_null(v);
    tn_pass_run r = {.config = tn_dict_set(f->ctx, NULL, key, v), .config_origin = origin};
    tnb_diags_clear(tn_diags(f->ctx));
    return run(f, "Configured", &r, NULL);
}

static void
the_configuration_is_checked_and_completed(void **state)
{
    struct fixture *f = *state;
    const tn_module *m = run(f, "Configured", NULL, NULL);
    assert_int_equal(tn_dict_int(m->attrs, "depth", 0), 256);
    assert_int_equal(tn_dict_int(m->attrs, "on", 7), 0);
    assert_string_equal(tn_dict_str(m->attrs, "name", ""), "none");
    assert_int_equal(tn_as_array(tn_dict_get(m->attrs, "files"))->items.n, 0);
    assert_int_equal(tn_dict_int(configured(f, "t.depth", "3", NULL)->attrs, "depth", 0), 3);
    assert_int_equal(tn_dict_int(configured(f, "t.on", "true", NULL)->attrs, "on", 0), 1);
    assert_int_equal(tn_dict_int(configured(f, "t.on", "1", NULL)->attrs, "on", 0), 1);
    assert_string_equal(tn_dict_str(configured(f, "t.name", "\"some\"", NULL)->attrs, "name", ""),
                        "some");
    m = configured(f, "t.files", "\"a\"", NULL); /* one stands for a list of one */
    assert_int_equal(tn_as_array(tn_dict_get(m->attrs, "files"))->items.n, 1);
    static const char *const wrong[][3] = {
        {"t.depth", "true", "must be an integer, not True"},
        {"t.depth", "\"3\"", "must be an integer, not \"3\""},
        {"t.depth", "1.5", "must be an integer, not 1.5"},
        {"t.depth", "null", "must be an integer, not None"},
        {"t.depth", "[3]", "must be an integer, not [3]"},
        {"t.depth", "0", "is 0, expected at least 1"},
        {"t.on", "7", "must be true or false, not 7"},
        {"t.on", "\"true\"", "must be true or false, not \"true\""},
        {"t.on", "null", "must be true or false, not None"},
        {"t.name", "3", "must be a text, not 3"},
        {"t.name", "\"sone\"", "is \"sone\", expected none or some"},
        {"t.files", "[\"a\", 1]", "must be a list of texts, not [\"a\", 1]"},
        {"t.files", "{}", "must be a list of texts, not {}"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        for (int by_program = 0; by_program < 2; by_program++) {
            const char *key = wrong[i][0], *text = wrong[i][2];
            assert_null(configured(f, key, wrong[i][1], by_program ? NULL : "--there"));
            assert_int_equal(tnb_diags_errors(tn_diags(f->ctx)), 1);
            const tnb_diag *d = tnb_diags_get(tn_diags(f->ctx), 0);
            const char *want = tn_strf(f->ctx, "pass Configured: configuration '%s' %s", key, text);
            assert_string_equal(d->message, want);
            if (by_program)
                assert_non_null(strstr(d->notes[0], "the caller gave it"));
            else
                assert_string_equal(d->place.file, "--there");
            assert_non_null(strstr(d->notes[d->n_notes - 1], "configuration of pass Configured"));
        }
    tnb_diags_clear(tn_diags(f->ctx));
    assert_null(run(f, "Undeclared", NULL, NULL));
    assert_non_null(strstr(tnb_diags_get(tn_diags(f->ctx), 0)->message,
                           "reads the configuration 't.other', which its table `config`"));
}

/* ---- running ---- */
static void
a_broken_pass_is_named(void **state)
{
    struct fixture *f = *state;
    assert_null(run(f, "Nothing, Break, Mark", NULL, NULL));
    const tnb_diag *d = tnb_diags_get(tn_diags(f->ctx), tnb_diags_count(tn_diags(f->ctx)) - 1);
    assert_non_null(strstr(d->message, "variable 'y' is used, but not defined"));
    assert_non_null(
        strstr(d->notes[d->n_notes - 1], "not well-formed after pass Break (number 2 of 3"));
    tnb_diags_clear(tn_diags(f->ctx));
    assert_null(run(f, "Fail", NULL, NULL));
    d = tnb_diags_get(tn_diags(f->ctx), 0);
    assert_string_equal(d->message, "no way");
    assert_non_null(strstr(d->notes[0], "in pass Fail"));
    tnb_diags_clear(tn_diags(f->ctx));
    assert_null(run(f, "Silent", NULL, NULL));
    assert_non_null(strstr(tnb_diags_get(tn_diags(f->ctx), 0)->message, "failed without a reason"));
    tnb_diags_clear(tn_diags(f->ctx));
    assert_null(run(f, "Nothin", NULL, NULL));
    assert_non_null(strstr(tnb_diags_get(tn_diags(f->ctx), 0)->hint, "'Nothing'"));
}

static void
passes_are_skipped_stopped_and_levelled(void **state)
{
    struct fixture *f = *state;
    double seconds[3] = {-1, -1, -1};
    bool changed[3] = {false, true, false};
    const char *skip[] = {"Break", NULL};
    tn_pass_run opt = {.skip = skip, .seconds = seconds, .changed = changed};
    assert_non_null(run(f, "Mark, Break, Idle", &opt, NULL));
    assert_true(changed[0]);
    assert_false(changed[2]);
    assert_true(seconds[0] >= 0 && seconds[1] < 0);
    opt = (tn_pass_run){.stop_after = "Mark"};
    assert_non_null(run(f, "Mark, Break", &opt, NULL));
    assert_non_null(run(f, "Third", NULL, NULL));
    opt = (tn_pass_run){.opt_level = 3};
    assert_null(run(f, "Third", &opt, NULL));
}

static void
an_ill_formed_input_is_told_before_any_pass(void **state)
{
    struct fixture *f = *state;
    tn_pass_run opt = {.no_verify = true};
    const tn_module *m = run(f, "Break", &opt, NULL);
    assert_non_null(m);
    assert_null(run(f, "Nothing", NULL, m));
    const tnb_diag *d = tnb_diags_get(tn_diags(f->ctx), tnb_diags_count(tn_diags(f->ctx)) - 1);
    assert_non_null(strstr(d->notes[d->n_notes - 1], "before the first pass"));
}

static void
functions_are_mapped(void **state)
{
    struct fixture *f = *state;
    tn_ctx *ctx = f->ctx;
    const tn_module *m = tn_module_new(ctx);
    const char *names[] = {"keep", "other"};
    for (int i = 0; i < 2; i++) {
        const tn_expr *x = tn_var_new(ctx, "x", tn_ty_any(ctx));
        m = tn_module_set(ctx, m, names[i],
                          tn_function_of(ctx, (tn_list){&x, 1}, x, NULL, true, NULL));
    }
    m = tn_module_set(ctx, m, "ext", tn_extern_func_of(ctx, "e"));
    const tn_module *now = run(f, "Map", NULL, m);
    assert_ptr_equal(tn_module_get(now, "keep"), tn_module_get(m, "keep"));
    assert_non_null(tn_func_attr(tn_module_get(now, "other"), "seen"));
}

static void
compaction_keeps_what_lives(void **state)
{
    struct fixture *f = *state;
    tn_ctx *ctx = f->ctx;
    const tn_expr *n = tn_var_dtype(ctx, "n", TNB_I64);
    const tn_expr *x = tn_var_new(ctx, "x", tn_ty_tensor_dims(ctx, (tn_list){&n, 1}, TNB_F32));
    const tn_module *before =
        tn_module_set(ctx, tn_module_new(ctx), "f",
                      tn_function_of(ctx, (tn_list){&x, 1}, x, NULL, true, NULL));
    tn_pass_run always = {.compact_always = true}, between = {.compact = true};
    for (int i = 0; i < 2; i++) {
        const tn_module *m = run(f, "Nothing, Litter, Idle", i ? &between : &always, before);
        assert_true(tnb_arena_used(tn_arena(ctx)) < 100000);
        assert_int_equal(tn_verify(ctx, m), 0);
        const tn_function *g = tn_as_function(tn_module_get(m, "g"));
        assert_ptr_equal(g->params.at[0], tn_as_seq_expr(g->body)->body);
        /* what was there before the run was not moved */
        assert_ptr_equal(tn_module_get(m, "f"), tn_module_get(before, "f"));
        assert_int_equal(tn_verify(ctx, before), 0);
        assert_true(tn_equal(ctx, tn_module_get(m, "f"), &g->base, false, NULL));
    }
    /* a run later may not move it either, and need not compact */
    tn_pass_run none = {0};
    run(f, "Litter", &none, before);
    assert_true(tnb_arena_used(tn_arena(ctx)) > 100000);
    assert_int_equal(tn_verify(ctx, before), 0);
}

static void
traces_are_written(void **state)
{
    struct fixture *f = *state;
    char path[64];
    snprintf(path, sizeof path, "trace-%ld.json", (long)getpid());
    tnb_err err;
    tn_pass_run opt = {.trace = tn_trace_open(path, &err)};
    assert_non_null(opt.trace);
    assert_non_null(run(f, "Mark, Nothing", &opt, NULL));
    assert_int_equal(tn_trace_close(opt.trace, &err), TNB_OK);
    char *text;
    size_t n;
    assert_int_equal(tnb_read_file(path, 0, &text, &n, &err), TNB_OK);
    assert_non_null(strstr(text, "\"name\":\"Mark\""));
    assert_non_null(strstr(text, "\"name\":\"Nothing\""));
    assert_true(text[0] == '[' && text[n - 2] == ']');
    free(text);
    unlink(path);
}

static const tn_module *
small_module(tn_ctx *ctx)
{
    const tn_expr *n = tn_var_dtype(ctx, "n", TNB_I64);
    const tn_expr *x = tn_var_new(ctx, "x", tn_ty_tensor_dims(ctx, (tn_list){&n, 1}, TNB_F32));
    tn_builder *b = tn_builder_new(ctx, NULL);
    tn_builder_begin_function(b, (tn_list){&x, 1});
    tn_builder_begin_block(b, true);
    const tn_expr *s = tn_emit_output(b, tn_call_opv(ctx, "shape_of", NULL, x, NULL), NULL);
    tn_builder_end_block(b);
    tn_builder_add_function(b, tn_builder_end_function(b, s, NULL, true, NULL), "f");
    return tn_builder_module(b);
}

static void
modules_survive_printing_and_reading(void **state)
{
    struct fixture *f = *state;
    tn_pass_run opt = {.roundtrip = true};
    assert_non_null(run(f, "Nothing, Mark", &opt, small_module(f->ctx)));
}

static void
dumps_and_reproducers_can_be_read_again(void **state)
{
    struct fixture *f = *state;
    char dir[64], path[96];
    snprintf(dir, sizeof dir, "dump-%ld", (long)getpid());
    snprintf(path, sizeof path, "%s.py", dir);
    tn_pass_run opt = {.dump_dir = dir, .reproducer = path};
    const tn_module *m = small_module(f->ctx);
    assert_null(run(f, "Mark{value=5}, Break, Nothing", &opt, m));
    tnb_err err;
    char *text;
    size_t n;
    static const char *const files[] = {"000-input.py", "001-Mark.py"};
    for (int i = 0; i < 2; i++) {
        char file[128];
        snprintf(file, sizeof file, "%s/%s", dir, files[i]);
        const tn_module *again = tn_read_module_file(f->ctx, file);
        assert_non_null(again);
        assert_int_equal(tn_dict_int(again->attrs, "mark", 0), i ? 5 : 0);
        unlink(file);
    }
    assert_int_equal(tnb_read_file(path, 0, &text, &n, &err), TNB_OK);
    assert_non_null(strstr(text, "-p 'Break, Nothing'"));
    const tn_module *again = tn_read_module(f->ctx, path, text, n);
    assert_non_null(again);
    assert_int_equal(tn_dict_int(again->attrs, "mark", 0), 5);
    free(text);
    unlink(path);
    rmdir(dir);
}

/* ---- the registry ---- */
static void
an_entry_of_another_size_is_refused(void **state)
{
    struct fixture *f = *state;
    static const tn_pass other = {.base.size = sizeof other - 8, .base.name = "Other"};
    const tn_pass *const list[] = {&other};
    const tn_plugin_desc d = {.head = {.size = sizeof d, .name = "other"},
                              .passes = list,
                              .n_passes = 1};
    tnb_err err;
    assert_int_equal(tn_registry_add(f->reg, &d, &err), TNB_ABI);
    assert_non_null(strstr(err.message, "the pass 'Other' has"));
    assert_non_null(strstr(err.hint, "rebuild the plugin"));
    assert_null(tn_find_pass(f->reg, "Other", &err));
    assert_int_not_equal(tn_registry_add(f->reg, &plugin, &err), TNB_OK); /* the names exist */
}

static tnb_status
failing_init(tn_registry *reg, const tnb_plugin_start *start, tnb_err *err)
{
    (void)reg, (void)start;
    return tnb_fail(err, TNB_DEVICE, "not today");
}

static void
fini_of_failed(void)
{
    fail();
}

static void
nothing_of_a_plugin_that_fails_to_start_is_found(void **state)
{
    struct fixture *f = *state;
    static const tn_pass late = {.base.size = sizeof late, .base.name = "Late", .run = run_nothing};
    static const tn_pass *const list[] = {&late};
    const tn_plugin_desc d = {.head = {.size = sizeof d, .name = "late"},
                              .passes = list,
                              .n_passes = 1,
                              .init = failing_init,
                              .fini = fini_of_failed};
    tnb_err err;
    assert_int_equal(tn_registry_add(f->reg, &d, &err), TNB_DEVICE);
    assert_string_equal(err.message, "not today");
    assert_null(tn_find_pass(f->reg, "Late", &err));
}

/* ---- values ---- */
static void
made_up_arguments_fit_and_repeat(void **state)
{
    struct fixture *f = *state;
    tn_ctx *ctx = f->ctx;
    const tn_expr *n = tn_var_dtype(ctx, "n", TNB_I64);
    const tn_type *a =
        tn_ty_tensor_dims(ctx, tn_listv(ctx, n, tn_mul(ctx, n, tn_i64(ctx, 2)), NULL), TNB_F32);
    const tn_expr *params[] = {
        tn_var_new(ctx, "x", a), n,
        tn_var_new(ctx, "t",
                   tn_ty_tuple_of(ctx, tn_listv(ctx, a, tn_ty_shape_rank(ctx, 2), NULL)))};
    const tn_expr *func = tn_function_of(ctx, (tn_list){params, 3}, params[0], NULL, true, NULL);
    tn_list one, two;
    assert_true(tn_random_args(ctx, func, 1, NULL, &one));
    assert_true(tn_random_args(ctx, func, 1, NULL, &two));
    int64_t v;
    assert_true(tn_int_value(one.at[1], &v));
    const tn_data *d = tn_as_constant(one.at[0])->data;
    assert_int_equal(d->shape[0], v);
    assert_int_equal(d->shape[1], 2 * v);
    for (int i = 0; i < 3; i++)
        assert_true(tn_values_close(ctx, one.at[i], two.at[i], 0, 0, NULL));
    assert_true(tn_random_args(ctx, func, 2, tn_dictv(ctx, "n", tn_i64(ctx, 9), NULL), &two));
    assert_int_equal(tn_as_constant(two.at[0])->data->shape[0], 9);
    assert_false(tn_values_close(ctx, one.at[0], two.at[0], 1, 1, NULL));
}

static void
values_are_close_by_the_stated_rule(void **state)
{
    struct fixture *f = *state;
    tn_ctx *ctx = f->ctx;
    int64_t shape[] = {3};
    float *p, *q;
    void *m, *k;
    const tn_expr *a = tn_constant_of(ctx, tn_data_new(ctx, TNB_F32, 1, shape, &m));
    const tn_expr *b = tn_constant_of(ctx, tn_data_new(ctx, TNB_F32, 1, shape, &k));
    p = m;
    q = k;
    p[0] = q[0] = __builtin_nanf("");
    p[1] = q[1] = __builtin_inff();
    p[2] = 1.001f;
    q[2] = 1.0f;
    assert_true(tn_values_close(ctx, a, b, 0.002, 0, NULL));
    tnb_buf why = {0};
    assert_false(tn_values_close(ctx, a, b, 0.0001, 0, &why));
    assert_non_null(strstr(why.s, "element [2] is 1.00"));
    tnb_buf_free(&why);
    q[1] = -q[1];
    assert_false(tn_values_close(ctx, a, b, 0.002, 1e30, NULL));
    assert_false(tn_values_close(ctx, a, tn_i64(ctx, 1), 1, 1, NULL));
    int64_t big = (int64_t)1 << 53;
    assert_false(tn_values_close(ctx, tn_i64(ctx, big), tn_i64(ctx, big + 1), 0, 0.5, NULL));
    assert_true(tn_values_close(ctx, tn_i64(ctx, big), tn_i64(ctx, big + 1), 0, 1, NULL));
    assert_false(tn_values_close(ctx, tn_i64(ctx, INT64_MIN), tn_i64(ctx, INT64_MAX), 1, 0, NULL));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        P(lists_print_as_they_were_read),
        P(hostile_lists_are_refused_with_a_place),
        P(options_are_checked_and_completed),
        P(the_configuration_is_checked_and_completed),
        P(a_broken_pass_is_named),
        P(passes_are_skipped_stopped_and_levelled),
        P(an_ill_formed_input_is_told_before_any_pass),
        P(functions_are_mapped),
        P(compaction_keeps_what_lives),
        P(traces_are_written),
        P(modules_survive_printing_and_reading),
        P(dumps_and_reproducers_can_be_read_again),
        P(an_entry_of_another_size_is_refused),
        P(nothing_of_a_plugin_that_fails_to_start_is_found),
        P(made_up_arguments_fit_and_repeat),
        P(values_are_close_by_the_stated_rule),
    };
    (void)new_ctx;
    (void)free_ctx;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
