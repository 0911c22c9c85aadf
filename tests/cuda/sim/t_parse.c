/* SPDX-License-Identifier: Apache-2.0 */
/* What parse.c reads from PTX, and where it says that text is wrong. */
#include "config.h"

#include "ptx.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char text[] = ".version 9.0\n"
                           ".target sm_80\n"
                           ".address_size 64\n"
                           "/* two\n lines */ // and one\n"
                           ".extern .shared .align 16 .b8 dynamic[];\n"
                           ".const .align 4 .b32 table[2][2] = {{1, -2}, {0x10, 3}};\n"
                           ".global .align 8 .u64 where = generic(table) + 8;\n"
                           ".func (.param .b32 result) twice(.param .b32 x) { ret; }\n"
                           ".visible .entry kernel(\n"
                           "    .param .u64 .ptr .global .align 4 kernel_param_0,\n"
                           "    .param .align 8 .b8 kernel_param_1[24]\n"
                           ")\n"
                           ".maxntid 32, 4, 1\n"
                           "{\n"
                           "    .reg .pred %p<3>;\n"
                           "    .reg .f32 %f<9>, %g;\n"
                           "    .loc 1 2 3\n"
                           "    @!%p1 bra $L_end;\n"
                           "    ld.global.nc.v2.f32 {%f1, _}, [%rd1+-16];\n"
                           "    shfl.sync.down.b32 %r1|%p2, %r2, 16, 31, -1;\n"
                           "    fma.rn.f32 %f2, 0f3F800000, 0dBFF0000000000000, 1.5;\n"
                           "    { .reg .b32 t; mov.u32 t, %tid.x;\n"
                           "      call.uni (result), twice, (t); }\n"
                           "targets: .branchtargets $L_end, $L_end;\n"
                           "    mbarrier.init.shared::cta.b64 [dynamic+8], 7;\n"
                           "$L_end:\n"
                           "    ret;\n"
                           "}\n";

static ptx_module *
parsed(tnb_arena *a, const char *s)
{
    tnb_err err = {0};
    ptx_module *m = NULL;
    if (ptx_parse(a, s, &m, &err) != TNB_OK)
        fail_msg("%s", err.message);
    return m;
}

static void
module_has_its_variables(void **state)
{
    (void)state;
    tnb_arena *a = tnb_arena_new();
    ptx_module *m = parsed(a, text);
    assert_int_equal(m->version, 90);
    assert_int_equal(m->arch, 80);
    ptx_variable *v = m->variables;
    assert_string_equal(v->name, "dynamic");
    assert_int_equal(v->space, PTX_SHARED);
    assert_true(v->is_extern && v->is_array && v->n == 0 && v->align == 16 && v->line == 6);
    v = v->next;
    assert_int_equal(v->space, PTX_CONST);
    assert_true(v->n == 4 && v->bytes == 4 && v->n_init == 4);
    assert_true(v->init[1].bits == (uint64_t)-2 && v->init[2].bits == 16);
    v = v->next;
    assert_string_equal(v->init[0].name, "table");
    assert_int_equal(v->init[0].offset, 8);
    assert_null(v->next);
    tnb_arena_free(a);
}

static void
functions_have_parameters_and_limits(void **state)
{
    (void)state;
    tnb_arena *a = tnb_arena_new();
    ptx_function *f = parsed(a, text)->functions;
    assert_string_equal(f->name, "twice");
    assert_false(f->is_entry);
    assert_string_equal(f->results->name, "result");
    f = f->next;
    assert_string_equal(f->name, "kernel");
    assert_true(f->is_entry && f->max_threads == 128);
    assert_string_equal(f->params->name, "kernel_param_0");
    assert_int_equal(f->params->align, 8);
    assert_true(f->params->next->n == 24 && f->params->next->align == 8);
    assert_true(f->variables->n == 3 && strcmp(f->variables->type, "pred") == 0);
    ptx_variable *g = f->variables->next->next;
    assert_string_equal(g->name, "%g");
    assert_int_equal(g->n, 0);
    assert_string_equal(g->next->name, "t");
    assert_int_equal(g->next->scope, 1);
    assert_int_equal(f->n_scopes, 2);
    assert_int_equal(f->targets->n, 2);
    tnb_arena_free(a);
}

static void
instructions_have_operands(void **state)
{
    (void)state;
    tnb_arena *a = tnb_arena_new();
    ptx_instruction *i = parsed(a, text)->functions->next->body;
    assert_true(i->guard_negated && i->line == 19);
    assert_string_equal(i->guard, "%p1");
    i = i->next; /* ld */
    assert_string_equal(i->part[3], "v2");
    assert_int_equal(i->operands[0].n_items, 2);
    assert_int_equal(i->operands[0].items[1].kind, PTX_SINK);
    assert_int_equal(i->operands[1].kind, PTX_ADDRESS);
    assert_int_equal(i->operands[1].offset, -16);
    i = i->next; /* shfl */
    assert_string_equal(i->operands[0].second, "%p2");
    assert_int_equal(i->n_operands, 5);
    i = i->next; /* fma */
    assert_true(i->operands[1].kind == PTX_FLOAT32 && i->operands[1].bits == 0x3f800000);
    assert_true(i->operands[2].kind == PTX_FLOAT64 && i->operands[2].bits == 0xbff0ull << 48);
    assert_true(i->operands[3].kind == PTX_FLOAT64 && i->operands[3].bits == 0x3ff8ull << 48);
    i = i->next; /* mov */
    assert_string_equal(i->operands[1].name, "%tid.x");
    assert_int_equal(i->scope, 1);
    i = i->next; /* call */
    assert_string_equal(i->operands[1].name, "twice");
    assert_int_equal(i->operands[2].kind, PTX_VECTOR);
    i = i->next; /* mbarrier */
    assert_string_equal(i->part[2], "shared::cta");
    assert_true(i->scope == 0 && i->operands[0].offset == 8);
    assert_string_equal(i->next->label, "$L_end");
    assert_string_equal(i->next->next->text, "ret");
    assert_null(i->next->next->next);
    tnb_arena_free(a);
}

static void
errors_name_the_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *line, *what;
    } cases[] = {
        {"", "line 1", "empty"},
        {"\x7f"
         "ELF",
         "line 1", "no PTX"},
        {".version 9.0\n.address_size 32\n", "line 2", "32 bits"},
        {".version 9.0\n.func f() {\n add.s32 %r1, %r2\n}\n", "line 4", "';' is expected"},
        {".version 9.0\n.func f() {\n\n ret;\n", "line 5", "'f' does not end"},
        {".version 9.0\n.global .b7 x;\n", "line 2", ".b7"},
        {".version nine\n", "line 1", "version 'nine"},
        {".version 9.0\n.nonsense\n", "line 2", ".nonsense"},
        {".version 9.0\n/* \n", "line 3", "comment"},
        {".version 9.0\n.global .b8 x[1099511627776][9];\n", "line 2", "'x' has more"},
        {".version 9.0\n.func f() { mov.f32 %f1, 0f; }\n", "line 2", "a number"},
        {".version 9.0\n.func f() { mov.b32 a, {{{{{b}}}}}; }\n", "line 2", "deeper"},
        {".version 9.0\n.func f() { tex a, [b, c]; }\n", "line 2", "textures"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tnb_arena *a = tnb_arena_new();
        tnb_err err = {0};
        ptx_module *m = NULL;
        assert_int_equal(ptx_parse(a, cases[i].text, &m, &err), TNB_FORMAT);
        if (!strstr(err.message, cases[i].line) || !strstr(err.message, cases[i].what))
            fail_msg("case %zu: %s", i, err.message);
        tnb_arena_free(a);
    }
}

/* Cut off or damaged anywhere, the text is refused or read, and nothing else happens. */
static void
damaged_text_is_survived(void **state)
{
    (void)state;
    size_t n = sizeof text - 1;
    for (size_t i = 0; i < n; i++)
        for (int how = 0; how < 2; how++) {
            tnb_arena *a = tnb_arena_new();
            tnb_err err = {0};
            ptx_module *m = NULL;
            char *copy = strdup(text);
            copy[i] = "\0{"[how];
            tnb_status st = ptx_parse(a, copy, &m, &err);
            assert_true(st == TNB_OK ? m != NULL : strstr(err.message, "PTX line") != NULL);
            free(copy);
            tnb_arena_free(a);
        }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(module_has_its_variables),
        cmocka_unit_test(functions_have_parameters_and_limits),
        cmocka_unit_test(instructions_have_operands),
        cmocka_unit_test(errors_name_the_line),
        cmocka_unit_test(damaged_text_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
