/* SPDX-License-Identifier: Apache-2.0 */
/* What --emit writes: the host's C (kit/aot), the kernels' (the target's code generator), constants and headers; or what a compiler
 * makes of them in a folder of its own. Nothing of the artifact's format is in it: the artifact is where program, constants and
 * signatures are taken from.
 */
#include "driver_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "tenon/base/file.h"
#include "tenon/kit/aot.h"

/* An emission under way. */
typedef struct emission {
    tn_ctx *ctx;
    tnb_arena *arena;
    const tnk_compile_options *opt;
    tnk_build *build;
    const struct driver_variant *v;
    const char *folder;          /* where C files go */
    TNB_VEC(const char *) files; /* of C */
    const uint8_t *metadata, *program, *constants;
    uint64_t metadata_bytes, program_bytes, constant_bytes;
    uint64_t written;
} emission;

/* Records an error; its status. */
#define wrong(ctx, st, ...) (tn_error(ctx, 0, st, __VA_ARGS__), (st))

static tnb_status
refused(tn_ctx *ctx, tnb_status status, const char *message, const char *hint)
{
    tn_error(ctx, 0, status, "%s", message);
    tnb_diag_hint(tn_diags(ctx), "%s", hint);
    return status;
}

tnb_status
driver_emit_check(tn_ctx *ctx, const tnk_compile_options *opt, const tnk_target *target)
{
    const tnk_codegen *cg = target->kind->codegen;
    if (opt->n_targets != 1)
        return refused(ctx, TNB_INVALID,
                       tn_strf(ctx, "C is emitted for one target, not for %u", opt->n_targets),
                       "name one target (-t cpu)");
    if (!cg || !cg->sources || (opt->emit != TNK_EMIT_C && !cg->objects))
        return refused(
            ctx, TNB_UNSUPPORTED,
            tn_strf(ctx, "the code generator of target '%s' does not make C for other programs",
                    target->name),
            "emit for the target cpu; other targets make artifacts, which the runtime runs");
    if (!opt->output)
        return wrong(ctx, TNB_INVALID, "no folder is named for what is emitted");
    const char *prefix = opt->prefix ? opt->prefix : "", *fine = tnk_aot_identifier(ctx, prefix);
    if (!strcmp(prefix, fine))
        return TNB_OK;
    (void)
        wrong(ctx, TNB_INVALID,
              "'%s' cannot name symbols and files: it is no C identifier, or one that Tenon's own "
              "symbols begin with, or a header of the C library",
              prefix);
    tnb_diag_hint(tn_diags(ctx), "'%s' can", fine);
    return TNB_INVALID;
}

static tnb_status
failed(const emission *e, const tnb_err *err)
{
    driver_error(e->ctx, err);
    return err->status;
}

static tnb_status
put_file(emission *e, const char *folder, const char *name, const void *bytes, size_t n)
{
    tnb_err err = {0};
    if (tnb_write_file(tnb_path_join(e->arena, folder, name), bytes, n, &err) != TNB_OK)
        return failed(e, &err);
    if (folder == e->opt->output)
        e->written += n;
    return TNB_OK;
}

static tnb_status
put_c(emission *e, const char *name, const tnb_buf *b)
{
    if (b->failed)
        return wrong(e->ctx, TNB_NO_MEMORY, "no memory for '%s'", name);
    TNB_PUSH(e->arena, e->files, name);
    return put_file(e, e->folder, name, b->s ? b->s : "", b->n);
}

/* ---- the parts ---- */

static void
find_parts(emission *e, const tnb_mapping *m)
{
    tnb_tno_header h;
    memcpy(&h, m->data, sizeof h);
    for (uint32_t i = 0; i < h.n_sections; i++) {
        tnb_tno_section s;
        memcpy(&s, (const uint8_t *)m->data + sizeof h + i * sizeof s, sizeof s);
        const uint8_t *at = (const uint8_t *)m->data + s.offset;
        if (s.kind == TNB_TNO_METADATA)
            e->metadata = at, e->metadata_bytes = s.size;
        else if (s.kind == TNB_TNO_PROGRAM)
            e->program = at, e->program_bytes = s.size;
        else if (s.kind == TNB_TNO_CONSTANTS)
            e->constants = at, e->constant_bytes = s.size;
    }
}

static tnb_status
emit_program(emission *e)
{
    tnb_err err = {0};
    const tn_node *meta =
        tn_value_from_json(e->ctx, (const char *)e->metadata, (size_t)e->metadata_bytes, &err);
    if (!meta)
        return failed(e, &err);
    tnk_aot_input in = {.size = sizeof in,
                        .prefix = e->opt->prefix,
                        .program = e->program,
                        .program_bytes = e->program_bytes,
                        .constant_bytes = e->constant_bytes,
                        .kernels = e->v->kernels,
                        .n_kernels = e->v->n_kernels,
                        .functions = tn_dict_get(meta, "functions")};
    tnb_buf source = {0}, header = {0};
    tnb_status st = tnk_aot_write(e->ctx, &in, &source, &header);
    const char *p = e->opt->prefix;
    if (st == TNB_OK)
        st = put_c(e, tnb_printf(e->arena, "%s.c", p), &source);
    if (st == TNB_OK)
        st = put_file(e, e->folder, tnb_printf(e->arena, "%s.h", p), header.s, header.n);
    tnb_buf_free(&source);
    tnb_buf_free(&header);
    return st;
}

static tnb_status
emit_kernels(emission *e)
{
    for (uint32_t i = 0; i < e->v->sources.n_texts; i++) {
        tnb_buf b = {0};
        tnb_buf_puts(&b, e->v->sources.texts[i]);
        tnb_status st = put_c(e, tnb_printf(e->arena, "%s_kernels_%u.c", e->opt->prefix, i), &b);
        tnb_buf_free(&b);
        TNB_TRY(st);
    }
    return TNB_OK;
}

enum { LITERAL = 1 << 20, WORDS_A_LINE = 8 };

/* As numbers of 64 bits, which compilers read faster than bytes; of objects, much is taken in by the assembler from a file. */
static tnb_status
emit_constants(emission *e)
{
    tnb_buf b = {0};
    const char *p = e->opt->prefix;
    uint64_t words = (e->constant_bytes + 7) / 8;
    tnb_buf_puts(&b, "/* Made by tenon compile --emit. Numbers as a machine has them that stores "
                     "the lowest byte first. */\n");
    if (e->folder != e->opt->output && e->constant_bytes > LITERAL) {
        const char *name = tnb_printf(e->arena, "%s_constants.bin", p);
        tnb_status st = put_file(e, e->folder, name, e->constants, (size_t)e->constant_bytes);
        if (st != TNB_OK)
            return st;
        tnb_buf_printf(&b,
                       "__asm__(\".section .rodata.%s_constants,\\\"a\\\"\\n\\t.balign "
                       "64\\n\\t.globl %s_constants\\n\"\n"
                       "        \"\\t.hidden %s_constants\\n%s_constants:\\n\\t.incbin "
                       "\\\"%s\\\"\\n\\t.text\\n\");\n",
                       p, p, p, p, name);
    } else {
        tnb_buf_printf(
            &b,
            "#include <stdint.h>\n#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__\n"
            "#error \"the constants are for a machine that stores the lowest byte first\"\n#endif\n"
            "const uint64_t %s_constants[%" PRIu64 "]\n"
            "    __attribute__((aligned(64), visibility(\"hidden\"))) = {\n",
            p, words ? words : 1);
        for (uint64_t i = 0; i < words; i++) {
            uint64_t w = 0, left = e->constant_bytes - 8 * i;
            memcpy(&w, e->constants + 8 * i, left < 8 ? left : 8);
            tnb_buf_printf(&b, w < 10 ? "%" PRIu64 "," : "0x%" PRIx64 "u,", w);
            if (i % WORDS_A_LINE == WORDS_A_LINE - 1)
                tnb_buf_putc(&b, '\n');
        }
        tnb_buf_puts(&b, words ? "\n};\n" : "0};\n");
    }
    tnb_status st = put_c(e, tnb_printf(e->arena, "%s_constants.c", p), &b);
    tnb_buf_free(&b);
    return st;
}

/* ---- headers and options ---- */

static tnb_status
copy_support(emission *e, const char *name)
{
    const tnb_places *p = tnb_places_get();
    if (!p)
        return wrong(e->ctx, TNB_NO_MEMORY, "no memory to find '%s'", name);
    const char *from = p->build_tree ? tnb_path_join(e->arena, tnb_path_dir(e->arena, p->plugins),
                                                     "share-stage/aot")
                                     : tnb_path_join(e->arena, p->data, "aot");
    char *text = NULL;
    size_t n = 0;
    tnb_err err = {0};
    if (tnb_read_file(tnb_path_join(e->arena, from, name), 1 << 20, &text, &n, &err) != TNB_OK)
        return failed(e, &err);
    tnb_status st = put_file(e, e->folder, name, text, n);
    free(text);
    return st;
}

/* A file that gcc and clang read as @PREFIX.flags. */
static tnb_status
emit_flags(emission *e)
{
    tnb_buf b = {0};
    for (uint32_t i = 0; i < e->v->sources.n_flags; i++)
        tnb_buf_printf(&b, "%s\n", e->v->sources.flags[i]);
    tnb_status st =
        put_file(e, e->opt->output, tnb_printf(e->arena, "%s.flags", e->opt->prefix), b.s, b.n);
    tnb_buf_free(&b);
    return st;
}

static tnb_status
emit_c(emission *e)
{
    TNB_TRY(emit_program(e));
    TNB_TRY(emit_kernels(e));
    TNB_TRY(emit_constants(e));
    TNB_TRY(copy_support(e, "tenon_aot_run.h"));
    TNB_TRY(copy_support(e, "tenon_aot_packed.h"));
    return copy_support(e, "tenon_aot.h");
}

/* Takes a file over from the folder where the compiler worked. */
static tnb_status
take(emission *e, const char *name)
{
    tnb_mapping m = {0};
    tnb_err err = {0};
    if (tnb_map_file(tnb_path_join(e->arena, e->folder, name), 0, &m, &err) != TNB_OK)
        return failed(e, &err);
    tnb_status st = put_file(e, e->opt->output, name, m.data, (size_t)m.size);
    tnb_unmap(&m);
    return st;
}

/* Removes PREFIX`part`.c and .o unless this emission has them; whether there was one. */
static bool
remove_part(const emission *e, const char *part)
{
    const char *base = tnb_printf(e->arena, "%s%s", e->opt->prefix, part);
    const char *source = tnb_printf(e->arena, "%s.c", base);
    const char *object = tnb_printf(e->arena, "%s.o", base);
    bool there = false;
    for (uint32_t i = 0; i < e->files.n; i++)
        there |= strcmp(e->files.at[i], source) == 0;
    if (!(there && e->opt->emit == TNK_EMIT_C))
        there |= unlink(tnb_path_join(e->arena, e->opt->output, source)) == 0;
    if (!(there && e->opt->emit == TNK_EMIT_OBJECTS))
        there |= unlink(tnb_path_join(e->arena, e->opt->output, object)) == 0;
    return there;
}

/* What an earlier version of the model left under the same prefix: `*.c` and `*.o` would take it along. */
static void
remove_earlier(const emission *e)
{
    (void)remove_part(e, "");
    (void)remove_part(e, "_constants");
    for (uint32_t i = 0;
         remove_part(e, tnb_printf(e->arena, "_kernels_%u", i)) || i < e->v->sources.n_texts; i++)
        ;
    if (e->opt->emit != TNK_EMIT_C)
        (void)unlink(tnb_path_join(e->arena, e->opt->output,
                                   tnb_printf(e->arena, "%s.flags", e->opt->prefix)));
    if (e->opt->emit != TNK_EMIT_STATIC_LIBRARY)
        (void)unlink(tnb_path_join(e->arena, e->opt->output,
                                   tnb_printf(e->arena, "lib%s.a", e->opt->prefix)));
}

/* The caller's folder changes when everything is made: headers beside objects of an earlier version would describe what those are not. */
static tnb_status
emit_objects(emission *e)
{
    const tnk_codegen *cg = e->v->target.kind->codegen;
    bool library = e->opt->emit == TNK_EMIT_STATIC_LIBRARY;
    const char *archive = library ? tnb_printf(e->arena, "lib%s.a", e->opt->prefix) : NULL;
    char folder[TNB_TEMPORARY_PATH];
    tnb_err err = {0};
    if (tnb_temporary_dir(folder, &err) != TNB_OK)
        return failed(e, &err);
    e->folder = folder;
    tnb_status st = emit_c(e);
    uint32_t errors = tnb_diags_errors(tn_diags(e->build->ctx));
    if (st == TNB_OK) {
        st = TN_WITHIN(e->build->ctx, "target", e->v->target.kind, "objects",
                       cg->objects(cg->self, e->build, folder, e->files.at, e->files.n, archive));
        if (st != TNB_OK)
            (void)tn_need_reason(e->build->ctx, errors, st, "target", e->v->target.name, "objects");
    }
    if (st == TNB_OK && library)
        st = take(e, archive);
    if (st == TNB_OK)
        remove_earlier(e);
    for (uint32_t i = 0; st == TNB_OK && !library && i < e->files.n; i++)
        st = take(e,
                  tnb_printf(e->arena, "%.*s.o", (int)strlen(e->files.at[i]) - 2, e->files.at[i]));
    if (st == TNB_OK)
        st = take(e, tnb_printf(e->arena, "%s.h", e->opt->prefix));
    if (st == TNB_OK)
        st = take(e, "tenon_aot.h");
    tnb_temporary_remove(folder);
    return st;
}

tnb_status
driver_emit(tn_ctx *ctx, const tnk_compile_options *opt, tnk_build *b,
            const struct driver_variant *v, int artifact, uint64_t *bytes)
{
    emission e = {
        .ctx = ctx, .arena = tn_arena(ctx), .opt = opt, .build = b, .v = v, .folder = opt->output};
    tnb_mapping m = {0};
    tnb_err err = {0};
    if (tnb_make_dirs(opt->output, 0777, &err) != TNB_OK ||
        tnb_map_fd(artifact, "artifact", 0, &m, &err) != TNB_OK)
        return failed(&e, &err);
    find_parts(&e, &m);
    tnb_status st = opt->emit == TNK_EMIT_C ? emit_c(&e) : emit_objects(&e);
    if (st == TNB_OK && opt->emit == TNK_EMIT_C) {
        remove_earlier(&e);
        st = emit_flags(&e);
    }
    tnb_unmap(&m);
    *bytes = e.written;
    return st;
}
