/* SPDX-License-Identifier: Apache-2.0 */
/* PTX as a tree, which parse.c makes of a module's text. Everything is in the arena that was given. */
#ifndef CUDASIM_PTX_H
#define CUDASIM_PTX_H

#include "tenon/base/mem.h"
#include "tenon/base/status.h"

#include <stdbool.h>
#include <stdint.h>

enum { PTX_MAX_OPERANDS = 8, PTX_MAX_PARTS = 16, PTX_MAX_VECTOR = 8 };

typedef enum ptx_space {
    PTX_REG,
    PTX_GLOBAL,
    PTX_SHARED,
    PTX_CONST,
    PTX_LOCAL,
    PTX_PARAM,
} ptx_space;

typedef enum ptx_kind {
    PTX_NAME,    /* a register, variable, function or label: `name`, and `offset` of a variable */
    PTX_INT,     /* `bits`, as 64 bits */
    PTX_FLOAT32, /* `bits` */
    PTX_FLOAT64, /* `bits` */
    PTX_ADDRESS, /* [name + offset], [number]: name is NULL */
    PTX_VECTOR,  /* {..} of registers and numbers, or (..) of a call: `items` */
    PTX_SINK,    /* _ */
} ptx_kind;

typedef struct ptx_operand {
    ptx_kind kind;
    bool negated;       /* !%p */
    const char *name;   /* with its %, as "%tid.x" */
    const char *second; /* of a pair %a|%b, else NULL */
    int64_t offset;
    uint64_t bits;
    struct ptx_operand *items;
    uint32_t n_items;
} ptx_operand;

typedef struct ptx_instruction {
    uint32_t line;
    uint32_t scope;    /* of the block in braces that holds it */
    const char *label; /* a label and no instruction */
    const char *guard; /* the predicate's register, or NULL */
    bool guard_negated;
    const char *text;                /* the opcode with its modifiers: "ld.global.f32" */
    const char *part[PTX_MAX_PARTS]; /* the same, split at points */
    uint32_t n_parts;
    ptx_operand operands[PTX_MAX_OPERANDS];
    uint32_t n_operands;
    struct ptx_instruction *next;
} ptx_instruction;

/* A variable of a module, function or block, a parameter, or registers. */
typedef struct ptx_variable {
    uint32_t line, scope;
    ptx_space space;
    const char *name;
    const char *type; /* "f32", "b8", "pred" */
    uint32_t bytes;   /* of an element; 1 for pred */
    uint32_t align;
    uint64_t n; /* elements; registers NAME<n>: how many, 0: one of this name */
    bool is_array;
    bool is_extern;
    ptx_operand *init; /* or NULL */
    uint32_t n_init;
    struct ptx_variable *next;
} ptx_variable;

/* Blocks in braces: 0 is the function's. */
typedef struct ptx_scope {
    uint32_t outer;
} ptx_scope;

/* A list of labels, for brx.idx. */
typedef struct ptx_targets {
    const char *name;
    uint32_t scope;
    const char **labels;
    uint32_t n;
    struct ptx_targets *next;
} ptx_targets;

typedef struct ptx_function {
    uint32_t line;
    const char *name;
    bool is_entry, is_extern;
    ptx_variable *results, *params; /* in order */
    ptx_variable *variables;        /* of the body: registers too */
    ptx_instruction *body;
    ptx_targets *targets;
    ptx_scope *scopes;
    uint32_t n_scopes;
    uint32_t max_threads, required_threads; /* .maxntid and .reqntid; 0: not given */
    struct ptx_function *next;
} ptx_function;

typedef struct ptx_module {
    int version; /* 90 for 9.0 */
    int arch;    /* 80 for sm_80 */
    ptx_variable *variables;
    ptx_function *functions;
} ptx_module;

/* Parses `text`, which ends with a zero. Errors name the line: TNB_FORMAT. */
TNB_MUST_CHECK tnb_status
ptx_parse(tnb_arena *a, const char *text, ptx_module **out, tnb_err *err);

/* Bytes of a type ("u32": 4), 0 if it is none. */
uint32_t
ptx_type_bytes(const char *type);
#endif
