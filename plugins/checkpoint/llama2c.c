/* SPDX-License-Identifier: Apache-2.0 */
/* llama2.c's .bin files: version 0 (a header of seven numbers) and version 1 (float32 behind a header of 256 bytes). Tensors stand one
 * behind another, each kind for all layers; RoPE turns neighbours. The tokenizer lies in a file beside it. */
#include "checkpoint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "tenon/base/file.h"

enum { MAGIC = 0x616b3432, HEADER_0 = 28, HEADER_1 = 256 };

/* Of both versions. */
typedef struct header {
    int32_t dim, hidden, layers, heads, kv_heads, vocabulary, context;
    bool shared; /* the output is the table of embeddings */
    int version;
    uint64_t bytes;
} header;

static bool
read_header(const void *bytes, size_t n, header *h)
{
    int32_t v[7];
    uint32_t start[2];
    if (n < HEADER_0)
        return false;
    memcpy(start, bytes, sizeof start);
    h->version = start[0] == MAGIC ? (int)start[1] : 0;
    if (h->version && (h->version != 1 || n < HEADER_1))
        return false;
    memcpy(v, (const char *)bytes + (h->version ? 8 : 0), sizeof v);
    h->dim = v[0], h->hidden = v[1], h->layers = v[2], h->heads = v[3], h->kv_heads = v[4];
    h->vocabulary = v[5] < 0 && v[5] > INT32_MIN ? -v[5] : v[5];
    h->context = v[6];
    h->shared = h->version ? ((const char *)bytes)[36] != 0 : v[5] > 0;
    h->bytes = h->version ? HEADER_1 : HEADER_0;
    return h->dim > 0 && h->hidden > 0 && h->layers > 0 && h->layers <= CHECKPOINT_LAYERS &&
           h->heads > 0 && h->kv_heads > 0 && h->kv_heads <= h->heads && h->vocabulary > 0 &&
           h->context > 0 && h->dim <= CHECKPOINT_EXTENT && h->hidden <= CHECKPOINT_EXTENT &&
           h->dim % h->heads == 0;
}

bool
checkpoint_is_llama2c(const char *path, const void *head, size_t n)
{
    header h;
    uint32_t magic = 0;
    struct stat st;
    if (n >= 4)
        memcpy(&magic, head, 4);
    if (magic == MAGIC)
        return true;
    if (!tnb_ends_with(path, ".bin") || !read_header(head, n, &h) || stat(path, &st) != 0)
        return false;
    /* the table of embeddings and six matrices a layer are the most of such a file */
    double dim = h.dim,
           least = 4 * dim * (h.vocabulary + (double)h.layers * (2 * dim + 3.0 * h.hidden));
    return (double)st.st_size >= least && (double)st.st_size <= 2 * least + 1e9;
}

typedef struct layout {
    checkpoint_model *m;
    uint64_t at;
    bool failed;
} layout;

/* The tensors of one kind, for all layers or one. columns 0: vectors. */
static void
place(layout *l, const char *name, bool layers, int64_t rows, int64_t columns)
{
    checkpoint_model *m = l->m;
    const uint64_t size = m->files.at[0].bytes,
                   bytes = (uint64_t)rows * (uint64_t)(columns ? columns : 1) * 4;
    for (int64_t i = 0; i < (layers ? m->layers : 1) && !l->failed; i++) {
        checkpoint_tensor t = {.name = layers
                                           ? tn_strf(m->ctx, "blk.%" PRId64 ".%s.weight", i, name)
                                           : tn_strf(m->ctx, "%s.weight", name),
                               .dtype = TNB_F32,
                               .ndim = columns ? 2 : 1,
                               .shape = {rows, columns},
                               .offset = l->at,
                               .bytes = bytes};
        t.own = t.name;
        if (l->at > size || bytes > size - l->at) {
            l->failed = true;
            checkpoint_fail(m, t.name, TNB_FORMAT,
                            "the file ends within the tensor: it has %" PRIu64 " bytes, %" PRIu64
                            " more are needed at offset %" PRIu64,
                            size, bytes, l->at);
            return;
        }
        checkpoint_add_tensor(m, &t);
        l->at += bytes;
    }
}

static bool
place_all(checkpoint_model *m, const header *h)
{
    layout l = {.m = m, .at = h->bytes};
    const int64_t d = m->hidden, n = m->intermediate, kv = d / m->heads * m->kv_heads;
    /* version 1 has the norms first */
    if (h->version == 1) {
        place(&l, "attn_norm", true, d, 0);
        place(&l, "ffn_norm", true, d, 0);
        place(&l, "output_norm", false, d, 0);
    }
    place(&l, "token_embd", false, m->vocabulary, d);
    if (h->version == 0)
        place(&l, "attn_norm", true, d, 0);
    place(&l, "attn_q", true, d, d);
    place(&l, "attn_k", true, kv, d);
    place(&l, "attn_v", true, kv, d);
    place(&l, "attn_output", true, d, d);
    if (h->version == 0)
        place(&l, "ffn_norm", true, d, 0);
    place(&l, "ffn_gate", true, n, d);
    place(&l, "ffn_down", true, d, n);
    place(&l, "ffn_up", true, n, d);
    if (h->version == 0) {
        place(&l, "output_norm", false, d, 0);
        l.at += (uint64_t)m->context * (uint64_t)(d / m->heads) * 4; /* tables of RoPE */
    }
    if (!h->shared)
        place(&l, "output", false, m->vocabulary, d);
    return !l.failed;
}

/* The file that llama2.c's own tools put beside it: tok512.bin for 512 tokens, else tokenizer.bin, whether it is there or not. */
static const char *
find_tokenizer(checkpoint_model *m, const char *path)
{
    struct stat st;
    const char *folder = tnb_path_dir(tn_arena(m->ctx), path);
    const char *own = tnb_path_join(tn_arena(m->ctx), folder,
                                    tn_strf(m->ctx, "tok%" PRId64 ".bin", m->vocabulary));
    if (stat(own, &st) == 0)
        return own;
    return tnb_path_join(tn_arena(m->ctx), folder, "tokenizer.bin");
}

static bool
read_model(checkpoint_model *m, const tnb_mapping *map)
{
    header h = {0};
    if (!read_header(map->data, map->size, &h)) {
        checkpoint_fail(m, NULL, TNB_FORMAT,
                        h.version > 1 ? "llama2.c's format of version %d is not supported"
                                      : "the numbers of llama2.c's header make no model",
                        h.version);
        tnb_diag_hint(tn_diags(m->ctx), "export it as version 0 or 1 (float32)");
        return false;
    }
    checkpoint_file file = {.path = checkpoint_absolute(m->ctx, m->path),
                            .bytes = map->size,
                            .data = map->data,
                            .header = h.bytes};
    TNB_PUSH(tn_arena(m->ctx), m->files, file);
    m->architecture = checkpoint_find_architecture(m, "llama", false);
    if (!m->architecture)
        return false;
    m->layers = h.layers, m->hidden = h.dim, m->heads = h.heads, m->kv_heads = h.kv_heads;
    m->intermediate = h.hidden, m->vocabulary = h.vocabulary, m->context = h.context;
    m->epsilon = 1e-5;
    m->rope_theta = 10000;
    /* llama2.c's tokenizers have these */
    static const int64_t begin = 1, end = 2;
    m->bos = begin < m->vocabulary ? begin : -1;
    if (begin < m->vocabulary)
        TNB_PUSH(tn_arena(m->ctx), m->stop, begin);
    if (end < m->vocabulary)
        TNB_PUSH(tn_arena(m->ctx), m->stop, end);
    m->tokenizer_format = "llama2c";
    m->tokenizer_path = find_tokenizer(m, file.path);
    return place_all(m, &h);
}

tnb_status
checkpoint_import_llama2c(void *self, tn_ctx *ctx, const char *path, const tnk_import_options *opt,
                          tnk_model *out)
{
    (void)self;
    tnb_err err;
    tnb_mapping map = {0};
    checkpoint_model m;
    checkpoint_start(&m, ctx, path);
    tnb_status st = tnb_map_file(path, 0, &map, &err);
    if (st != TNB_OK) {
        tnb_report(tn_diags(ctx), TNB_ERROR, st, (tnb_place){0}, "%s", err.message);
        return st;
    }
    st = read_model(&m, &map) ? checkpoint_finish(&m, opt, out) : TNB_INVALID;
    tnb_unmap(&map);
    return st;
}
