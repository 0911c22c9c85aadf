/* SPDX-License-Identifier: Apache-2.0 */
/* The layout of an artifact (.tno), shared by its writer (kit) and its reader (runtime).
 *
 *     header (64 bytes) · section table · [constant data, page-aligned] · other sections, each aligned to 64
 *
 * All numbers are little-endian; structures have no padding. A reader trusts nothing: sections lie inside the file, do not
 * overlap, and everything inside a section follows from counts that must add up to the section's size exactly. Hashes
 * (XXH3, 64 bits) find damage, not malice.
 *
 *   metadata   JSON: {"tenon": version, "functions": {NAME: {"params": [{"name", "dtype", "shape"}], "results": [...]}},
 *              "variants": [{"name", "target", "device", "format", "features": [...], "packed": [...],
 *              optional "fallback": {"device", "format", "features"}}], "attrs": {...}}.
 *              Extents are integers, or texts where they are symbolic. `variants` is in the order of the sections' numbers.
 *              Of a model with weights in files of their own attrs has "params": {"files": [{"path", "bytes", "header", "hash", optional "sample"}],
 *              "list": [{"name", "dtype", "shape", "file", "offset", "bytes"}]}: the parameter packed_params is a tuple of these, in
 *              order; "hash" is of the file's first "header" bytes, "sample" the whole file's (tnb_hash_sample). attrs "model" describes a language model (docs/llm.md).
 *              A weight may have a "transform": dtype, shape and bytes are then those of what the runtime makes of the file's bytes
 *              from "offset" on, once:
 *              {"kind": "interleave_rows", "rows": R, "block": B, "fields": [[bytes, granule], ...]}: panels of R rows of blocks of B
 *              bytes, whose fields lie one after the other: for each panel, block, field and granule of it the granule of each row.
 *              With "part": [start, bytes] instead of fields, that part of the blocks alone; the first extent of the shape then counts
 *              panels, not rows.
 *              Where the file has fewer rows, "source_rows" of them, bytes of those that the last panel lacks are 0. With "of", a
 *              transform {"kind": "quantize", "part": "blocks", ...} as below, the rows are made first: GGUF's blocks, Q4_0 of 4 bits
 *              and Q8_0 of 8, with the same numbers and float16 scales;
 *              {"kind": "quantize", "part": "numbers" or "scales", "bits": B, "columns": K, "from": DTYPE, "scales": DTYPE, "turned":
 *              BOOL}: rows of K floats, or columns where they are turned, as words with numbers of 4 or 8 bits, or as the scales of
 *              groups of 32;
 *              {"kind": "convert", "from": DTYPE}: floats of another type.
 *              "unused": true beside it says that no function of the artifact reads the weight.
 *   program    per variant: tnb_tno_program and its arrays, in the order of its counts, each array padded to 8 bytes.
 *   code       per variant, optional: the kernels' code in the form that the device's loader takes.
 *   fallback   per variant, optional: the code of kernels for the device that runs what the variant's own does not take.
 *   constants  one for all variants; tensors at offsets that are multiples of 64.
 */
#ifndef TENON_BASE_TNO_H
#define TENON_BASE_TNO_H

#include "tenon/base/param.h"
#include "tenon/base/vmcode.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TNB_TNO_MAGIC "TenonTNO"
enum {
    TNB_TNO_MAJOR = 2,
    TNB_TNO_MINOR = 0, /* a reader takes files whose minor is not newer than its own */
    TNB_TNO_BYTE_ORDER = 0x01020304,
    TNB_TNO_ALIGN = 64,
    TNB_TNO_PAGE = 4096,
    TNB_TNO_MAX_SECTIONS = 4096,
    TNB_TNO_MAX_DIMS = 64,
    TNB_TNO_MAX_SHAPE =
        1 << 16, /* numbers of a shape that is a value: it may be a list of something else */
    /* limits of the metadata */
    TNB_TNO_MAX_TEXTS = 65535,   /* of a variant's features, of its packed functions */
    TNB_TNO_MAX_VALUES = 1 << 20 /* parameters of a function, and results */
};

typedef struct tnb_tno_header {
    char magic[8];
    uint32_t byte_order;
    uint16_t major, minor;
    uint64_t file_size;
    uint32_t n_sections, n_variants;
    uint64_t table_hash;  /* of the section table */
    uint8_t reserved[24]; /* zero */
} tnb_tno_header;

typedef enum tnb_tno_kind {
    TNB_TNO_METADATA = 1,
    TNB_TNO_PROGRAM,
    TNB_TNO_CODE,
    TNB_TNO_CONSTANTS,
    TNB_TNO_FALLBACK_CODE
} tnb_tno_kind;

typedef struct tnb_tno_section {
    uint32_t kind, variant; /* variant: 0 for metadata and constants */
    uint64_t offset, size, hash;
} tnb_tno_section;

/* Counts of the arrays that follow it, in this order. Texts are offsets into `text`, a run of
 * terminated strings. */
typedef struct tnb_tno_program {
    uint32_t n_functions; /* tnb_tno_function */
    uint32_t n_insns;     /* tnb_vm_insn */
    uint32_t n_operands;  /* uint32_t */
    uint32_t n_kernels;   /* tnb_tno_kernel */
    uint32_t n_params;    /* tnb_tno_param */
    uint32_t n_maps;      /* tnb_tensor_map */
    uint32_t n_constants; /* tnb_tno_constant */
    uint32_t n_dims;      /* int64_t */
    uint32_t n_packed;    /* uint32_t: text */
    uint32_t n_devices;   /* tnb_tno_device */
    uint32_t n_text;      /* char; the last one is 0 */
    uint32_t reserved;
} tnb_tno_program;

enum { TNB_TNO_PUBLIC = 1 };
typedef struct tnb_tno_function {
    uint32_t name, flags;
    uint32_t first_insn, n_insns; /* functions follow each other without gaps; the last instruction
                                     never falls through */
    uint32_t n_params, n_values, n_scalars;
    uint32_t reserved;
} tnb_tno_function;

/* Of kernels. GRID: launched with grid and block, which all others but CHECKED need. */
enum {
    TNB_TNO_GRID = 1,
    TNB_TNO_CLUSTER = 2,     /* blocks come in clusters */
    TNB_TNO_SHARED = 4,      /* a launch says how many bytes of shared memory a block has */
    TNB_TNO_COOPERATIVE = 8, /* all blocks run at the same time */
    TNB_TNO_PROGRAMMATIC =
        16, /* may begin before the kernel in front of it ends, and waits for it itself */
    TNB_TNO_CHECKED = 32 /* refuses indices that are out of range: has a parameter REFUSED */
};
typedef struct tnb_tno_kernel {
    uint32_t name, flags, device;
    uint32_t first_param, n_params;
    uint32_t checks; /* of checked ones: text, a line for each check; else 0 */
    uint32_t reserved[2];
} tnb_tno_kernel;

enum { TNB_TNO_WRITTEN = 1 }; /* of parameters that are memory */
/* A parameter of a kernel, and what a launch checks of it. */
typedef struct tnb_tno_param {
    uint8_t kind; /* tnb_param_kind */
    uint8_t flags;
    int16_t ndim;    /* of memory, -1: not checked; of tensor maps the rank; else 0 */
    tnb_dtype dtype; /* of scalars, of memory (void: not checked), of tensor maps void */
    uint32_t map;    /* of tensor maps: which */
} tnb_tno_param;
/* Operands that a LAUNCH has for it. */
static inline uint32_t
tnb_tno_operands(const tnb_tno_param *p)
{
    if (p->kind == TNB_PARAM_TENSOR_MAP)
        return 2 * (uint32_t)p->ndim;
    return p->kind == TNB_PARAM_REFUSED || p->kind == TNB_PARAM_TAG ? 0 : 1;
}

typedef enum tnb_tno_constant_kind {
    TNB_TNO_TENSOR =
        1,          /* data: offset in the constants section, aligned to 64; bytes: size there */
    TNB_TNO_STRING, /* data: text */
    TNB_TNO_DTYPE,
    TNB_TNO_SHAPE,
    TNB_TNO_INT,   /* data: the value */
    TNB_TNO_FLOAT, /* data: the double's bits */
    TNB_TNO_BOOL,
    TNB_TNO_FUNCTION, /* data: index; a closure without captured values */
    TNB_TNO_NULL
} tnb_tno_constant_kind;
typedef struct tnb_tno_constant {
    uint16_t kind;
    uint16_t device; /* of tensors: where they lie; 0, the variant's device, for other kinds */
    tnb_dtype dtype;
    uint32_t first_dim, n_dims;
    uint64_t data, bytes;
} tnb_tno_constant;

typedef struct tnb_tno_device {
    uint32_t driver, scope; /* texts: "cpu", "global" */
    uint32_t id;
    uint32_t reserved;
} tnb_tno_device;

/* The arrays of a program, in its bytes. */
typedef struct tnb_tno_view {
    tnb_tno_program head;
    const tnb_tno_function *functions;
    const tnb_vm_insn *insns;
    const uint32_t *operands;
    const tnb_tno_kernel *kernels;
    const tnb_tno_param *params;
    const tnb_tensor_map *maps;
    const tnb_tno_constant *constants;
    const int64_t *dims;
    const uint32_t *packed;
    const tnb_tno_device *devices;
    const char *text;
} tnb_tno_view;
/* Checks every count, index, jump target, register and operand of a program section, beside
 * `constants_bytes` of constants, and gives its arrays. `bytes` are aligned to 8 and stay where they
 * are. Whoever writes a program asks this, too, so that none is written that nobody reads. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_tno_verify(const void *bytes, uint64_t n, uint64_t constants_bytes, tnb_tno_view *out,
               tnb_err *err);

#ifdef __cplusplus
}
#endif
#endif
