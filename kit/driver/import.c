/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the importer of a model file, and reading the file with it. */
#include "driver_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tenon/base/file.h"
#include "tenon/core/text.h"
#include "tenon/core/walk.h"

enum { HEAD_BYTES = 4096 };

static bool
read_head(tn_ctx *ctx, const char *path, char *head, size_t *n)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool plain = fd >= 0 && fstat(fd, &st) == 0 &&
                 !(S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || S_ISCHR(st.st_mode));
    bool folder = plain && S_ISDIR(st.st_mode); /* which has no bytes */
    ssize_t k = folder ? 0 : plain ? read(fd, head, HEAD_BYTES) : -1;
    int e = errno;
    if (fd >= 0)
        close(fd);
    if (fd >= 0 && !plain) {
        tnb_report(tn_diags(ctx), TNB_ERROR, TNB_IO, (tnb_place){.file = path},
                   "a model is read from a regular file, not from a device, pipe or socket");
        tnb_diag_hint(tn_diags(ctx), "write it to a file first");
        return false;
    }
    if (k < 0) {
        tnb_report(tn_diags(ctx), TNB_ERROR, e == ENOENT ? TNB_NOT_FOUND : TNB_IO,
                   (tnb_place){.file = path}, "cannot be read: %s", strerror(e));
        return false;
    }
    *n = (size_t)k;
    return true;
}

static bool
has_extension(const tnk_importer *imp, const char *path)
{
    for (const char *const *e = imp->extensions; e && *e; e++)
        if (tnb_ends_with(path, *e))
            return true;
    return false;
}

/* The first name that two plugins provide as an importer where no setting decides, as `err` tells; NULL: none. Before they are loaded,
 * as the second of them is refused then. */
static const char *
find_clash(tn_ctx *ctx, tnb_err *err)
{
    const tnb_plugins *p = tn_registry_plugins(tn_ctx_registry(ctx));
    uint32_t n = 0;
    const tnb_provided *all = p ? tnb_plugins_provided(p, tn_scratch(ctx), "importer", &n) : NULL;
    for (uint32_t i = 1; i < n; i++)
        if (strcmp(all[i].name, all[i - 1].name) == 0 &&
            !tnb_plugins_find(p, "importer", all[i].name, err))
            return all[i].name;
    return NULL;
}

/* NULL after recording the error, if the importer is that of the clash. */
static const tnk_importer *
only_provider(tn_ctx *ctx, const tnk_importer *imp, const char *clash, const tnb_err *err)
{
    if (!clash || strcmp(clash, imp->base.name) != 0)
        return imp;
    driver_error(ctx, err);
    return NULL;
}

static bool
recognizes(tn_ctx *ctx, const tnk_importer *imp, const char *path, const char *head, size_t n)
{
    return imp->recognize &&
           TN_WITHIN(ctx, "importer", imp, "recognize", imp->recognize(path, head, n));
}

/* False after an error: a plugin other than that of the importer, which is the i-th, has one that recognizes the file too. */
static bool
alone_recognizes(tn_ctx *ctx, const tnk_importer *imp, uint32_t i, const char *path,
                 const char *head, size_t n)
{
    tn_registry *reg = tn_ctx_registry(ctx);
    const char *of = tn_registry_plugin_of(reg, &imp->base), *other_of;
    const tnk_importer *other;
    while ((other = tn_registry_entry(reg, "importer", ++i))) {
        other_of = tn_registry_plugin_of(reg, &other->base);
        if (!of || !other_of || strcmp(of, other_of) == 0 || !recognizes(ctx, other, path, head, n))
            continue;
        tnb_report(tn_diags(ctx), TNB_ERROR, TNB_INVALID, (tnb_place){.file = path},
                   "is recognized by importer '%s' of plugin '%s' and by importer '%s' of plugin "
                   "'%s'",
                   imp->base.name, of, other->base.name, other_of);
        tnb_diag_hint(tn_diags(ctx), "leave one of the plugins out: plugins = *, -%s in [tenon]",
                      other_of);
        return false;
    }
    return true;
}

/* Files that come in place of models, told by bytes of their head, and where those are of many by the file's extension. The first
 * row that fits counts. */
typedef struct foreign {
    uint32_t at; /* offset of the bytes */
    const char *bytes;
    const char *extensions; /* with blanks around each; NULL: any */
    const char *entry;      /* in the name of a zip archive's first entry; NULL: any */
    const char *what, *hint;
} foreign;

#define TORCH                                                                              \
    "a file of torch.save, which only Python can read",                                    \
        "export the model in Python with torch.onnx.export; the checkpoint of a language " \
        "model with AutoModelForCausalLM's save_pretrained, which writes safetensors"
#define KERAS                                                                                  \
    "a model of Keras", "convert it in Python: model.export('model.onnx', format='onnx'), or " \
                        "tf2onnx.convert.from_keras"
#define PAGE                              \
    "a page of HTML in place of a model", \
        "download the file itself; sites have another address for it than for the page about it"

static const foreign foreigners[] = {
    {0, "PK\003\004", " .keras ", NULL, KERAS},
    {0, "PK\003\004", " .pt .pth .pt2 .ckpt .bin ", NULL, TORCH},
    {0, "PK\003\004", NULL, "/data.pkl", TORCH},
    {0, "PK\003\004", NULL, NULL, "a zip archive", "unpack it, and name the model's file in it"},
    {0, "\x80\002", NULL, NULL, TORCH},
    {0, "\x80\003", NULL, NULL, TORCH},
    {0, "\x80\004", NULL, NULL, TORCH},
    {0, "\x80\005", NULL, NULL, TORCH},
    {0, "\x89HDF\r\n", NULL, NULL, KERAS},
    {4, "TFL3", NULL, NULL, "a model of TensorFlow Lite",
     "convert it: python3 -m tf2onnx.convert --tflite MODEL --output model.onnx"},
    {4, "ORTM", NULL, NULL, "a model in ONNX Runtime's own format",
     "name the ONNX file that it was made of"},
    {0, "version https://git-lfs", NULL, NULL, "a pointer of Git LFS in place of the file",
     "`git lfs pull` in its repository fetches the file"},
    {0, "\x1f\x8b", NULL, NULL, "compressed by gzip", "unpack it with gunzip"},
    {0, "<!DOCTYPE html", NULL, NULL, PAGE},
    {0, "<!doctype html", NULL, NULL, PAGE},
    {0, "<html", NULL, NULL, PAGE},
    {0, "<?xml", " .xml ", NULL, "a model of OpenVINO, or other XML",
     "name the ONNX file that it was made of"},
};

/* Whether the name of a zip archive's first entry has `part` in it. */
static bool
has_entry(const char *head, size_t n, const char *part)
{
    enum { LENGTH = 26, NAME = 30 };
    if (n < NAME)
        return false;
    size_t length = (uint8_t)head[LENGTH] | (size_t)(uint8_t)head[LENGTH + 1] << 8;
    if (length > n - NAME)
        length = n - NAME;
    const size_t wanted = strlen(part);
    for (size_t i = 0; i + wanted <= length; i++)
        if (memcmp(head + NAME + i, part, wanted) == 0)
            return true;
    return false;
}

static const foreign *
find_foreign(tn_ctx *ctx, const char *path, const char *head, size_t n)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    const char *extension = tn_strf(ctx, " %s ", dot ? dot : "?");
    for (size_t i = 0; i < sizeof foreigners / sizeof *foreigners; i++) {
        const foreign *f = &foreigners[i];
        const size_t length = strlen(f->bytes);
        if (n >= f->at + length && memcmp(head + f->at, f->bytes, length) == 0 &&
            (!f->extensions || strstr(f->extensions, extension)) &&
            (!f->entry || has_entry(head, n, f->entry)))
            return f;
    }
    return NULL;
}

const tnk_importer *
tnk_find_importer(tn_ctx *ctx, const char *path)
{
    char head[HEAD_BYTES];
    size_t n;
    if (!read_head(ctx, path, head, &n))
        return NULL;
    tn_registry *reg = tn_ctx_registry(ctx);
    const tnk_importer *imp, *by_name = NULL;
    tnb_err err = {0};
    const char *clash = reg ? find_clash(ctx, &err) : NULL;
    if (reg)
        tn_registry_load_all(reg, "importer");
    for (uint32_t i = 0; reg && (imp = tn_registry_entry(reg, "importer", i)); i++) {
        if (recognizes(ctx, imp, path, head, n))
            return alone_recognizes(ctx, imp, i, path, head, n)
                       ? only_provider(ctx, imp, clash, &err)
                       : NULL;
        if (has_extension(imp, path) && !by_name)
            by_name = imp; /* it will say what is wrong with the file */
    }
    const foreign *f = find_foreign(ctx, path, head, n);
    if (f) {
        tnb_report(tn_diags(ctx), TNB_ERROR, TNB_UNSUPPORTED, (tnb_place){.file = path}, "%s",
                   f->what);
        tnb_diag_hint(tn_diags(ctx), "%s", f->hint);
        return NULL;
    }
    if (by_name)
        return only_provider(ctx, by_name, clash, &err);
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
        access(tnb_path_join(tn_arena(ctx), path, "config.json"), F_OK) != 0) {
        tnb_report(tn_diags(ctx), TNB_ERROR, TNB_UNSUPPORTED, (tnb_place){.file = path},
                   "the folder has no config.json, so it is no checkpoint of transformers");
        const char **names, *gguf = NULL;
        uint32_t n_names = 0;
        if (tnb_list_dir(tn_arena(ctx), path, ".gguf", &names, &n_names, NULL) == TNB_OK && n_names)
            gguf = names[0];
        if (gguf)
            tnb_diag_hint(tn_diags(ctx), "name the GGUF file itself: %s",
                          tnb_path_join(tn_arena(ctx), path, gguf));
        else
            tnb_diag_hint(
                tn_diags(ctx),
                "name the folder that has config.json and safetensors, or a model's file");
        return NULL;
    }
    tnb_report(tn_diags(ctx), TNB_ERROR, TNB_UNSUPPORTED, (tnb_place){.file = path},
               "no importer knows this kind of file");
    const char *kinds = ".py (text)";
    for (uint32_t i = 0; reg && (imp = tn_registry_entry(reg, "importer", i)); i++)
        for (const char *const *e = imp->extensions; e && *e; e++)
            kinds = tn_strf(ctx, "%s, %s (%s)", kinds, *e, imp->base.name);
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    if (reg && dot && tn_note_unusable(ctx, "importer", dot + 1))
        return NULL;
    tnb_diag_hint(tn_diags(ctx),
                  "models are read from %s; tenon list plugins --why tells of importers "
                  "that are not used",
                  kinds);
    return NULL;
}

/* Runs a pass whose option `key` is a dictionary, on the function main where it asks for one. NULL
 * after an error. */
static const tn_module *
run_with(tn_ctx *ctx, const tn_module *m, const char *pass, const char *key, const tn_node *values)
{
    const char *keys[] = {key, "func_name"};
    const tn_node *v[] = {values, tn_string(ctx, "main")};
    tn_pass_item item = {.name = pass, .options = tn_dict_of(ctx, keys, v, 2), .origin = "import"};
    tn_pass_list list = {.at = &item, .n = 1};
    tn_pass_run how = {.no_verify = true};
    return tn_run_passes(ctx, m, &list, &how);
}

/* The symbols of one input's extents, added to `out`; an error node after recording one. */
static const tn_node *
add_symbols(tn_ctx *ctx, const tn_function *f, const tn_pair *p, const tn_node *out)
{
    const tn_list wanted = tn_as_array(p->value)->items;
    const tn_expr *x = NULL;
    tn_list have;
    for (uint32_t i = 0; f && i < f->params.n && !x; i++)
        if (strcmp(tn_var_name(f->params.at[i]), p->key) == 0)
            x = f->params.at[i];
    if (!x)
        return tn_error(ctx, f ? f->base.loc : 0, TNB_NOT_FOUND,
                        "function 'main' has no input '%s' whose extents could be fixed", p->key);
    if (!tn_type_dims(x->type, &have) || have.n != wanted.n)
        return tn_error(ctx, x->loc, TNB_SHAPE, "input '%s' is %s; %u extents are given for it",
                        p->key, tn_text(ctx, x->type), wanted.n);
    for (uint32_t i = 0; i < have.n; i++) {
        int64_t n, k;
        if (!tn_int_value(wanted.at[i], &n))
            return tn_error(ctx, x->loc, TNB_TYPE,
                            "extent %u of input '%s' can be a number, not %s", i, p->key,
                            tn_text(ctx, wanted.at[i]));
        if (tn_int_value(have.at[i], &k) && k == n)
            continue;
        const bool number = tn_is(have.at[i], TN_KIND_INT_IMM);
        if (!number && !tn_is(have.at[i], TN_KIND_VAR))
            return tn_error(ctx, x->loc, TNB_UNSUPPORTED,
                            "extent %u of input '%s' is %s: its symbols are fixed by their names",
                            i, p->key, tn_text(ctx, have.at[i]));
        const char *name = number ? "" : tn_var_name(have.at[i]);
        if (number || (tn_int_value(tn_dict_get(out, name), &k) && k != n))
            return tn_error(ctx, x->loc, TNB_SHAPE,
                            "extent %u of input '%s' is %s%s%" PRId64 ", which cannot be %" PRId64,
                            i, p->key, name, number ? "" : " = ", k, n);
        out = tn_dict_set(ctx, out, name, wanted.at[i]);
    }
    return out;
}

/* `dims` with the symbols of inputs whose extents are given as INPUT=[N, ...]. NULL after recording an error. */
static const tn_node *
symbols_of(tn_ctx *ctx, const tn_module *m, const tn_node *dims)
{
    const tn_dict *d = tn_as_dict(dims);
    const tn_node *out = tn_dict_of(ctx, NULL, NULL, 0);
    for (uint32_t i = 0; i < d->items.n; i++) { /* symbols that are named, then inputs */
        const tn_pair *p = (const tn_pair *)d->items.at[i];
        if (!tn_as_array(p->value))
            out = tn_dict_set(ctx, out, p->key, p->value);
    }
    for (uint32_t i = 0; i < d->items.n && out && !tn_is_error(out); i++) {
        const tn_pair *p = (const tn_pair *)d->items.at[i];
        if (tn_as_array(p->value))
            out = add_symbols(ctx, tn_as_function(tn_module_get(m, "main")), p, out);
    }
    return tn_is_error(out) ? NULL : out;
}

/* A module as text: inputs of main that are to be constants, and dimensions to be numbers. */
static tnb_status
import_module(tn_ctx *ctx, const char *path, const tnk_import_options *opt, tnk_model *out)
{
    const tn_module *m = tn_read_module_file(ctx, path);
    if (!m)
        return TNB_FORMAT;
    if (tn_verify_reads(ctx, m))
        return TNB_INVALID;
    const tn_node *dims = opt->dims ? symbols_of(ctx, m, opt->dims) : NULL;
    if (opt->dims && !dims)
        return TNB_INVALID;
    if (dims && tn_as_dict(dims)->items.n &&
        !(m = run_with(ctx, m, "BindSymbolicVars", "binding_map", dims)))
        return TNB_INVALID;
    if (opt->inputs && !(m = run_with(ctx, m, "BindParams", "params", opt->inputs)))
        return TNB_INVALID;
    out->module = m;
    return TNB_OK;
}

/* Whether models of this importer (NULL: as text) can be quantized so. */
static bool
can_quantize(tn_ctx *ctx, const char *path, const tnk_importer *imp, const char *name)
{
    const char *const *known = imp ? imp->quantizations : NULL, *list = "";
    uint32_t n = 0;
    for (; known && known[n]; n++) {
        if (strcmp(known[n], name) == 0)
            return true;
        list = tn_strf(ctx, "%s%s%s", list, n ? ", " : "", known[n]);
    }
    tnb_report(tn_diags(ctx), TNB_ERROR, TNB_UNSUPPORTED, (tnb_place){.file = path},
               n ? "weights cannot be quantized as '%.64s'"
                 : "weights of models in this format are not quantized (--quantize %.64s)",
               name);
    const char *near = n ? tnb_nearest(name, known, n) : NULL;
    if (n)
        tnb_diag_hint(tn_diags(ctx), "%s%s%sthere are %s", near ? "did you mean '" : "",
                      near ? near : "", near ? "'? " : "", list);
    else
        tnb_diag_hint(tn_diags(ctx), "checkpoints of language models are");
    return false;
}

tnb_status
tnk_import(tn_ctx *ctx, const char *path, const tnk_import_options *opt, tnk_model *out)
{
    static const tnk_import_options none;
    memset(out, 0, sizeof *out);
    opt = opt ? opt : &none;
    const bool text = tnb_ends_with(path, ".py");
    const tnk_importer *imp = text ? NULL : tnk_find_importer(ctx, path);
    if (!text && !imp)
        return TNB_NOT_FOUND;
    if (opt->quantize && !can_quantize(ctx, path, imp, opt->quantize))
        return TNB_UNSUPPORTED;
    if (text)
        return import_module(ctx, path, opt, out);
    uint32_t errors = tnb_diags_errors(tn_diags(ctx));
    tnb_status st =
        TN_WITHIN(ctx, "importer", imp, "import", imp->import(imp->self, ctx, path, opt, out));
    return st == TNB_OK ? st
                        : tn_need_reason(ctx, errors, st, "importer", imp->base.name, "import");
}
