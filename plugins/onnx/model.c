/* SPDX-License-Identifier: Apache-2.0 */
/* Opening a model: mapping, checking and unpacking; mapping the files that hold external data. */
#include <stdlib.h>
#include "model.h"

static void
unmap(void *p)
{
    tnb_unmap(p);
    free(p);
}

/* Gives a mapping to the context. */
static const tnb_mapping *
keep(tn_ctx *ctx, tnb_mapping map, tnb_err *err)
{
    tnb_mapping *held = malloc(sizeof *held);
    if (!held) {
        tnb_unmap(&map);
        tnb_fail(err, TNB_NO_MEMORY, "no memory to keep a mapped file");
        return NULL;
    }
    *held = map;
    tn_ctx_own(ctx, held, unmap);
    return held;
}

const tnb_mapping *
onnx_model_external(onnx_model *m, const char *location, size_t n, const char **path, tnb_err *err)
{
    tnb_mapping map = {0};
    const char *rel = tn_strn(m->ctx, location, n);
    const char *dir = tnb_path_dir(tn_arena(m->ctx), m->path);
    if (strlen(rel) != n) {
        tnb_fail(err, TNB_FORMAT, "the location of external data holds a zero byte");
        return NULL;
    }
    *path = tn_str(m->ctx, tnb_path_join(tn_arena(m->ctx), dir, rel));
    const tnb_mapping *held = tnb_ptrmap_get(&m->external, *path);
    if (held)
        return held;
    if (tnb_map_below(dir, rel, 0, &map, err) != TNB_OK) {
        tnb_err_prefix(err, "external data '%s'", rel);
        return NULL;
    }
    held = keep(m->ctx, map, err);
    if (held)
        tnb_ptrmap_set(&m->external, *path, held);
    return held;
}

const uint8_t *
onnx_model_tensor(const onnx_model *m, const Onnx__TensorProto *t, size_t *n)
{
    /* the skeleton's writer put both numbers in range */
    if (t->n_dims != 2 || (uint64_t)t->dims[0] > m->n ||
        (uint64_t)t->dims[1] > m->n - (uint64_t)t->dims[0]) {
        *n = 0;
        return m->bytes;
    }
    *n = (size_t)t->dims[1];
    return m->bytes + t->dims[0];
}

static bool
unpack(onnx_model *m)
{
    tnb_diags *diags = tn_diags(m->ctx);
    tnb_place place = {.file = m->file};
    tnb_buf skeleton = {0};
    bool ok = onnx_check_message(m->ctx, m->file, m->bytes, m->n, &skeleton);
    if (ok) {
        m->proto = onnx__model_proto__unpack(NULL, skeleton.n,
                                             (const uint8_t *)(skeleton.s ? skeleton.s : ""));
        if (!m->proto)
            tnb_report(diags, TNB_ERROR, TNB_FORMAT, place, "the file is not an ONNX model");
    }
    tnb_buf_free(&skeleton);
    if (m->proto && !m->proto->graph) {
        tnb_report(diags, TNB_ERROR, TNB_FORMAT, place, "the model has no graph");
        tnb_diag_hint(diags, "the file is damaged or is no ONNX model");
        onnx_model_close(m);
    }
    return m->proto != NULL;
}

bool
onnx_model_open(tn_ctx *ctx, const char *path, onnx_model *out)
{
    tnb_err err = {0};
    tnb_mapping map = {0};
    *out = (onnx_model){.ctx = ctx,
                        .path = tn_str(ctx, path),
                        .file = tn_str(ctx, tnb_path_name(path))};
    tnb_ptrmap_init(&out->external, tn_arena(ctx));
    tnb_place place = {.file = out->file};
    if (tnb_map_file(path, 0, &map, &err) != TNB_OK) {
        tnb_report(tn_diags(ctx), TNB_ERROR, err.status, (tnb_place){0}, "%s", err.message);
        return false;
    }
    const tnb_mapping *held = keep(ctx, map, &err);
    if (!held || !held->size) {
        tnb_report(tn_diags(ctx), TNB_ERROR, held ? TNB_FORMAT : TNB_NO_MEMORY, place,
                   held ? "the file is empty" : "no memory to read the model");
        return false;
    }
    out->bytes = held->data;
    out->n = (size_t)held->size;
    return unpack(out);
}

void
onnx_model_close(onnx_model *m)
{
    if (m->proto)
        onnx__model_proto__free_unpacked(m->proto, NULL);
    m->proto = NULL;
}
