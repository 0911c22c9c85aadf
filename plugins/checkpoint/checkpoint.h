/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the plugin: a checkpoint as its reader hands it to the builder of the module.
 *
 * A reader (gguf.c, huggingface.c, llama2c.c) fills a checkpoint_model: what the architecture's numbers are, and where each
 * tensor lies, under GGUF's name ("blk.0.attn_q.weight"). weights.c makes the list of parameters, module.c and layers.c
 * the functions.
 */
#ifndef TENON_PLUGINS_CHECKPOINT_H
#define TENON_PLUGINS_CHECKPOINT_H

#include "tenon/core/builder.h"
#include "tenon/kit/importer.h"

enum { CHECKPOINT_DIMS = 4, CHECKPOINT_LAYERS = 1 << 16, CHECKPOINT_EXTENT = 1 << 28 };

/* What a parameter is of its tensor. */
typedef enum checkpoint_part {
    CHECKPOINT_WHOLE,
    CHECKPOINT_NUMBERS, /* quantized */
    CHECKPOINT_SCALES
} checkpoint_part;

typedef struct checkpoint_quantization checkpoint_quantization;

/* What a tensor's type in the file is. */
typedef struct checkpoint_tensor {
    const char *name; /* GGUF's */
    const char *own;  /* the file's, for messages */
    tnb_dtype dtype;  /* void: blocks */
    uint32_t blocks;  /* of which type of GGUF's */
    int32_t ndim;
    int64_t shape[CHECKPOINT_DIMS]; /* in elements */
    bool turned;                    /* [in, out], where others are [out, in] */
    uint32_t file;                  /* index among the model's files */
    uint64_t offset, bytes;
    int64_t param;  /* its place among the parameters; -1: none */
    tnb_dtype from; /* where --quantize changes the dtype: what the file has; else void */
    checkpoint_part part;
    struct checkpoint_tensor *scales; /* those of numbers */
} checkpoint_tensor;

typedef struct checkpoint_file {
    const char *path; /* absolute */
    uint64_t bytes;
    const void *data; /* mapped until the import ends */
    uint64_t header;  /* bytes that say what the file holds */
} checkpoint_file;

/* Properties of an architecture that its metadata do not tell. */
enum {
    CHECKPOINT_LAYER_NORM = 1,     /* mean and bias too; else root mean square */
    CHECKPOINT_GELU = 2,           /* the tanh form; else silu */
    CHECKPOINT_PLAIN_MLP = 4,      /* up, activation, down; else gate and up */
    CHECKPOINT_SCALED_EMBED = 8,   /* embeddings times sqrt(hidden) */
    CHECKPOINT_POSITIONS = 16,     /* learned positions instead of RoPE */
    CHECKPOINT_INTERLEAVED = 32,   /* RoPE turns neighbours, not halves */
    CHECKPOINT_NORM_PLUS_ONE = 64, /* scales of norms are stored less one */
    CHECKPOINT_TURNED = 128,       /* matrices are [in, out] */
    CHECKPOINT_POST_NORMS = 256,   /* norms behind attention and the feed-forward part, too */
    CHECKPOINT_QK_NORMS = 512,     /* norms of the heads of q and k */
    CHECKPOINT_LOCAL_ROPE = 1024,  /* layers with a window have a RoPE base of their own */
    CHECKPOINT_TEXT_PART = 2048,   /* the model is a part of one that knows images */
};

typedef struct checkpoint_architecture {
    const char *gguf;        /* general.architecture; NULL: not in GGUF */
    const char *huggingface; /* model_type; NULL: not there */
    uint32_t flags;          /* of both */
    uint32_t gguf_flags, huggingface_flags;
    const char *defaults; /* keys that config.json may lack, as JSON; NULL: none */
    /* what GGUF's metadata may lack: each so many-th layer has no window (0: all have it); the window; limits */
    int64_t period, window;
    double score_cap, logit_cap;
    int64_t
        wide_layers; /* a model of so many layers divides scores by sqrt(hidden / heads), others by sqrt(head_dim) */
} checkpoint_architecture;

typedef struct checkpoint_model {
    tn_ctx *ctx;
    const char *path; /* as the user named it */
    const checkpoint_architecture *architecture;
    const char *name; /* the model's own; NULL */
    uint32_t flags;
    int64_t layers, hidden, heads, kv_heads, head_dim, intermediate, vocabulary, context;
    int64_t window;     /* of sliding attention; 0: none */
    int64_t sinks;      /* first tokens that stay in the window of a whole sequence */
    bool *full;         /* by layer: it has no window though others have; NULL: all have it */
    int64_t rotary_dim; /* leading elements of a head that RoPE turns */
    double epsilon, rope_theta, rope_scale;
    double score_scale;          /* of products of q and k; 0: 1 / sqrt(head_dim) */
    double score_cap, logit_cap; /* x becomes cap * tanh(x / cap); 0: none */
    const char *rope_scaling;    /* JSON, upstream's keys; NULL: none */
    const float *
        rope_factors; /* that go with it, rotary_dim of them: of long texts, then of short ones; NULL */
    int64_t bos;      /* -1: none */
    TNB_VEC(int64_t) stop; /* ids that end a text */
    const tn_node
        *generation; /* Dict of how its makers draw tokens (generation_config.json's keys); NULL */
    const char *tokenizer_format, *tokenizer_path;
    TNB_VEC(checkpoint_file) files;
    TNB_VEC(checkpoint_tensor *) tensors;
    tnb_strmap by_name;
    /* made by weights.c */
    TNB_VEC(checkpoint_tensor *) params;
    const tn_type *packed;                       /* the type of packed_params */
    const checkpoint_quantization *quantization; /* of matrices; NULL: they stay as they are */
} checkpoint_model;

/* Records an error at the checkpoint; tensor (may be NULL) is named as the place. Returns false. */
bool
checkpoint_fail(checkpoint_model *m, const char *tensor, tnb_status status, const char *fmt, ...)
    TNB_PRINTF(4, 5);
/* The row of an architecture's name in GGUF or in Hugging Face's config.json; NULL after recording an error that lists
 * those that there are. */
const checkpoint_architecture *
checkpoint_find_architecture(checkpoint_model *m, const char *name, bool huggingface);
/* Whether the layer has the window that some have. */
bool
checkpoint_is_sliding(const checkpoint_model *m, int64_t layer);
/* Says which layers have a window: all but each period-th; 0: all. */
void
checkpoint_set_period(checkpoint_model *m, int64_t period);
/* Checks the numbers against one another and fills in those that follow from others. */
bool
checkpoint_check_numbers(checkpoint_model *m);

void
checkpoint_add_tensor(checkpoint_model *m, const checkpoint_tensor *t);
/* "blk.LAYER.NAME.SUFFIX", or "NAME.SUFFIX" where the layer is below 0. NULL: none. */
checkpoint_tensor *
checkpoint_find(checkpoint_model *m, int64_t layer, const char *name, const char *suffix);
/* Records the error of a tensor that the model has no use for, by its own name. Returns false. */
bool
checkpoint_unknown(checkpoint_model *m, const char *own);
/* The list of parameters: every tensor has its place in the model, and the shape that its numbers give. False after errors. */
bool
checkpoint_collect(checkpoint_model *m);
/* The module attributes `model` and `params` (tenon/base/tno.h). */
const tn_node *
checkpoint_attributes(checkpoint_model *m);

/* A function under construction. */
typedef struct checkpoint_function {
    checkpoint_model *m;
    tn_ctx *ctx;
    tn_builder *b;
    const tn_expr *packed, *cache;
    const tn_expr *batch, *length; /* extents of the activations */
    const tn_expr **weights;       /* by parameter; NULL: not fetched yet */
} checkpoint_function;

/* Whether weights in blocks of that type of GGUF's can be used. */
bool
checkpoint_knows_blocks(uint32_t type);
/* Rows of blocks, uint8 [n, bytes], as float32 [n, columns]. */
const tn_expr *
checkpoint_dequantize(tn_builder *b, const tn_expr *rows, uint32_t type, int64_t columns);
/* x, float32 [batch, length, columns], times the turned matrix of blocks: [batch, length, n]. */
const tn_expr *
checkpoint_block_product(tn_builder *b, const tn_expr *x, const tn_expr *rows, uint32_t type,
                         int64_t columns);
/* Blocks in panels of rows: each part of a block is a tensor of its own, [panels, blocks of a row, rows of a panel, n], so that what
 * threads of neighbouring rows read lies side by side, in words. */
enum { CHECKPOINT_PANEL_PARTS = 4 };
typedef struct checkpoint_panels {
    uint32_t type; /* GGUF's */
    uint32_t n;
    struct {
        int64_t start, bytes; /* of the block; in order */
        bool half; /* float16, as their bits, so that all parts are codes; else words of 32 bits */
    } part[CHECKPOINT_PANEL_PARTS];
} checkpoint_panels;
/* NULL: there are none of that type. */
const checkpoint_panels *
checkpoint_panels_of(uint32_t type);
/* The matrix as float32 [rows, columns]: a call, which is not emitted. */
const tn_expr *
checkpoint_panels_dequantize(tn_builder *b, const tn_expr *const *parts, const checkpoint_panels *p,
                             int64_t rows, int64_t columns);
/* x, float32 [batch, length, columns], times the turned matrix: a call, which is not emitted. */
const tn_expr *
checkpoint_panels_product(tn_builder *b, const tn_expr *x, const tn_expr *const *parts,
                          const checkpoint_panels *p, int64_t rows, int64_t columns);
/* BlockPanels: weights of R.gguf_matmul in panels, where the target wants them so. */
extern const tn_pass checkpoint_block_panels;
/* The type of blocks of that name; UINT32_MAX: none that products take. */
uint32_t
checkpoint_type_of_name(const char *name);

/* x times the turned matrix `rows` of floats. */
const tn_expr *
checkpoint_turned_product(tn_builder *b, const tn_expr *x, const tn_expr *rows);
/* R.gguf_matmul: the same as an operator, of which a target may make something else. */
extern const tn_op checkpoint_gguf_matmul;

/* The names of --quantize, ending in NULL, and what they are; NULL: no such one. */
extern const char *const checkpoint_quantizations[];
const checkpoint_quantization *
checkpoint_find_quantization(const char *name);
/* Makes a matrix, the last of the parameters, one of quantized numbers and of their scales, which follow it, or of other floats.
 * False after an error. */
bool
checkpoint_quantize(checkpoint_model *m, checkpoint_tensor *t);
/* The type of a parameter that is numbers or scales. */
const tn_type *
checkpoint_quantized_type(checkpoint_model *m, const checkpoint_tensor *t);
/* What the runtime makes of the tensor when it opens the model; NULL: nothing. */
const tn_node *
checkpoint_transform(checkpoint_model *m, const checkpoint_tensor *t);
/* The format with numbers of so many bits and such scales; NULL: none. */
const char *
checkpoint_quantization_name(int64_t bits, tnb_dtype scales);
/* Of a number; 0: the format's weights are floats. */
int
checkpoint_quantization_bits(const checkpoint_quantization *q);
/* Rows of a quantized matrix as float32 [n, columns]. */
const tn_expr *
checkpoint_quantized_values(tn_builder *b, const tn_expr *words, const tn_expr *scales, int bits,
                            int64_t columns);
/* R.quantized_matmul: a product with such a matrix, of which a target may make something else. */
extern const tn_op checkpoint_quantized_matmul;

/* Tokens to embeddings, [n] to [n, hidden]. */
const tn_expr *
checkpoint_embed(checkpoint_function *f, const tn_expr *ids);
/* Embeddings through all layers, [batch, length, hidden]. */
const tn_expr *
checkpoint_layers(checkpoint_function *f, const tn_expr *x);
/* The last norm and the product with the vocabulary: [batch, n, hidden] to float32 [batch, n, vocabulary]. */
const tn_expr *
checkpoint_logits(checkpoint_function *f, const tn_expr *x);
/* NULL after recording errors. */
const tn_module *
checkpoint_build(checkpoint_model *m);

tnb_status
checkpoint_import_gguf(void *self, tn_ctx *ctx, const char *path, const tnk_import_options *opt,
                       tnk_model *out);
tnb_status
checkpoint_import_huggingface(void *self, tn_ctx *ctx, const char *path,
                              const tnk_import_options *opt, tnk_model *out);
tnb_status
checkpoint_import_llama2c(void *self, tn_ctx *ctx, const char *path, const tnk_import_options *opt,
                          tnk_model *out);
tnb_status
checkpoint_import_mlc(void *self, tn_ctx *ctx, const char *path, const tnk_import_options *opt,
                      tnk_model *out);
bool
checkpoint_is_llama2c(const char *path, const void *head, size_t n);

/* For the readers: makes the module of a model whose numbers and tensors are there. */
tnb_status
checkpoint_finish(checkpoint_model *m, const tnk_import_options *opt, tnk_model *out);
/* Whether there are no options that a checkpoint does not take; else records an error. */
bool
checkpoint_takes_options(checkpoint_model *m, const tnk_import_options *opt);
/* A file of the folder as JSON, to be released with json_decref; NULL after an error, or where it is not there and need not be. */
struct json_t *
checkpoint_load(checkpoint_model *m, const char *folder, const char *name, bool needed);
/* Adds an id, or a list of ids, that end a text. */
void
checkpoint_add_stops(checkpoint_model *m, const struct json_t *v);
void
checkpoint_start(checkpoint_model *m, tn_ctx *ctx, const char *path);
/* An absolute path, links as they are. */
const char *
checkpoint_absolute(tn_ctx *ctx, const char *path);

#endif
