/* SPDX-License-Identifier: Apache-2.0 */
/* What the files that turn a VM program into C share. */
#ifndef TENON_KIT_AOT_PRIVATE_H
#define TENON_KIT_AOT_PRIVATE_H

#include "tenon/base/tno.h"
#include "tenon/kit/aot.h"

/* What is known of a value when extents are, and elements of tensors are not: how large the workspace is has to follow from it. */
enum {
    AOT_UNKNOWN = 1,  /* a shape or number that depends on elements */
    AOT_ELEMENTS = 2, /* a tensor whose elements are not known */
    AOT_HEAP = 4      /* a tensor of the host, which a dry run reads and writes */
};

/* A function of the program. */
typedef struct aot_function {
    bool reached, analyzed;
    uint8_t *params;  /* facts, by parameter */
    uint8_t result;   /* facts */
    uint8_t *scalars; /* by register: 1: it depends on elements */
    uint8_t *marks;   /* by instruction: 1: a dry run cannot do it, or goes on whatever it says */
    uint32_t *
        sites; /* by instruction: a marked conditional jump to it whose other side ends in front of it, + 1; else 0 */
    uint64_t blocks, items,
        cells; /* most pieces of memory, items of tuples, bytes of host tensors, with those that it calls */
} aot_function;

/* A function that users call. */
typedef enum aot_kind { AOT_KIND_TENSOR, AOT_KIND_INT, AOT_KIND_FLOAT, AOT_KIND_SHAPE } aot_kind;
typedef struct aot_entry {
    uint32_t function;
    const char *symbol;       /* PREFIX_NAME */
    const tn_node *signature; /* Dict of the metadata */
    uint8_t *kinds;           /* aot_kind, by input */
    uint32_t n_inputs, n_outputs;
    bool is_tuple;
} aot_entry;

typedef struct aot_program {
    tn_ctx *ctx;
    tnb_arena *arena; /* scratch */
    const tnk_aot_input *in;
    tnb_tno_view p;
    aot_function *functions;
    aot_entry *entries;
    uint32_t n_entries;
    bool heap_unknown; /* a host tensor holds numbers that depend on elements */
    bool changed, failed;
    int dims;                     /* most dimensions of a value */
    TNB_VEC(const char *) places; /* texts of PREFIX_message; the first is for none */
    tnb_strmap place_of;
} aot_program;

/* ---- packed.c ---- */
/* A packed function of the runtime that has a form in C. */
typedef struct aot_packed {
    const char *name;       /* "vm.builtin.reshape" */
    const char *function;   /* of tenon_aot_run.h */
    int min_args, max_args; /* -1: no limit */
    bool reads;             /* elements of its first argument */
    bool takes;             /* memory */
} aot_packed;
/* NULL: it has none. */
const aot_packed *
aot_packed_find(const char *name);

/* ---- facts.c ---- */
/* Fills `functions`; errors are recorded. */
void
aot_analyze(aot_program *g);
/* Of an instruction: how its fields are used (tenon/base/vmcode.h), in order; and its name. */
enum aot_use {
    AOT_NO,
    AOT_SD,
    AOT_SS,
    AOT_VD,
    AOT_VS,
    AOT_T,
    AOT_FN,
    AOT_PK,
    AOT_KN,
    AOT_CO,
    AOT_ST,
    AOT_DV,
    AOT_IM,
    AOT_L
};
typedef struct aot_op {
    const char *name;
    uint8_t a, b, c;
} aot_op;
extern const aot_op aot_ops[];
/* The instruction to which it may jump, relative to its function; UINT32_MAX: none. */
uint32_t
aot_target(const tnb_vm_insn *in, uint32_t at);
bool
aot_is_conditional(const tnb_vm_insn *in);
/* Records an error at an instruction. */
void
aot_error(aot_program *g, uint32_t function, uint32_t at, tnb_status st, const char *fmt, ...)
    TNB_PRINTF(5, 6);
/* How often a kernel asks for temporary memory. */
uint32_t
aot_asks(const aot_program *g, const char *kernel);

/* ---- function.c ---- */
/* Writes a function. */
void
aot_write_function(aot_program *g, uint32_t function, tnb_buf *out);
/* The number of a text for PREFIX_message. */
uint32_t
aot_place(aot_program *g, const char *text);

#endif
