/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the cpu backend's compiler half share. */
#ifndef TENON_BACKENDS_CPU_H
#define TENON_BACKENDS_CPU_H

#include "tenon/core/eval.h"
#include "tenon/core/pass.h"
#include "tenon/kit/codegen.h"
#include "tenon/kit/rule.h"
#include "tenon/kit/tensor_intrin.h"

/* ---- pipeline.c ---- */
extern const char *const cpu_library_dispatch[], *const cpu_legalize[], *const cpu_finalize[],
                                                                            *const cpu_lower[];

/* ---- attrs.c: what a target asks of the processor ---- */
typedef struct cpu_needs {
    const char *const *names; /* of features, as in features.h */
    uint32_t n;
    const char *march; /* for the compiler: "x86-64-v3"; NULL: none given */
    const char *cpu;  /* the same for machines that are no x86-64: "cortex-a72"; NULL: none given */
    int vector_bytes; /* width of a vector register */
} cpu_needs;
/* From a target's attributes; false after recording an error. */
TNB_MUST_CHECK bool
cpu_needs_of(tn_ctx *ctx, const tn_node *attrs, cpu_needs *out);
/* Fills a target's attributes from the machine: resolves mcpu "native". NULL after recording an error: a processor or a
 * feature is not known. */
const tn_node *
cpu_probe(tn_ctx *ctx, const tn_node *attrs, void *self);
/* Whether kernels for the target's mtriple, which may be none, run on processors like this one. */
bool
cpu_machine_is_here(const tn_node *attrs);
int
cpu_vector_bytes(tn_ctx *ctx, const tn_target *target);
/* Bytes of a core's caches and of the last one, which cores share; usual ones where the target does
 * not tell. Rules choose blocks by them. */
typedef struct cpu_caches {
    int64_t l1, l2, l3;
} cpu_caches;
cpu_caches
cpu_caches_of(const tn_target *target);
/* Whether the target's processors have a feature. */
bool
cpu_has_feature(tn_ctx *ctx, const tn_target *target, const char *name);

/* ---- row_product.c ---- */
/* x times the turned w, an item of a tuple, with rows whose bits depend on nothing beside them; NULL: w is none, or extents are not
 * known. */
const tn_expr *
cpu_row_product(tn_builder *b, const tn_call *call, const tn_expr *w, const tn_target *target);
/* ---- block_layouts.c ---- */
extern const tn_pass cpu_block_layouts;
/* ---- block_product.c ---- */
extern const tn_pass cpu_block_products;
/* ---- widen_loop.c ---- */
extern const tn_pass cpu_widen_loop;

/* Kinds of target that this backend serves. */
#define CPU_KINDS(X) X(cpu) X(llvm) X(c)

/* ---- legalize_matmul.c ---- */
#define CPU_LEGALIZERS_OF(kind) +8
enum { CPU_N_LEGALIZERS = 0 CPU_KINDS(CPU_LEGALIZERS_OF) };
extern const tn_legalizer *const cpu_legalizers[CPU_N_LEGALIZERS];
/* Whether the expression is made of constants, in a few steps. */
bool
cpu_is_constant(tn_builder *b, const tn_expr *e);

/* ---- value_range.c ---- */
/* Bounds of a tensor's integers; false: none are known. */
bool
cpu_value_range(tn_builder *b, const tn_expr *e, int64_t *lo, int64_t *hi);

/* ---- legalize_dot.c ---- */
/* What a convolution or matrix product of int16 summed in int32 becomes; NULL: it is none. */
const tn_expr *
cpu_legalize_dot(tn_builder *b, const tn_call *call, const tn_target *target);

/* Whether a product of int8, uint8 or bfloat16 of so many rows and columns, summed over k elements, is
 * made of the processor's matrix tiles. */
bool
cpu_takes_tiles(tn_ctx *ctx, const tn_target *target, bool floats, int64_t rows, int64_t columns,
                int64_t k);

/* ---- winograd.c ---- */
/* Whether a 2-D convolution, in blocks of channels or not, has the kernel, strides and dilation that
 * cpu_legalize_winograd computes, and the target wants that. */
bool
cpu_has_winograd_form(const tn_call *call, const tn_target *target);
/* What a convolution by a constant 3x3 kernel becomes where that pays; NULL: nothing else. */
const tn_expr *
cpu_legalize_winograd(tn_builder *b, const tn_call *call, const tn_target *target);

/* ---- legalize_attention.c ---- */
/* What attention becomes; NULL: what the operators' own rules make of it. */
const tn_expr *
cpu_legalize_attention(tn_builder *b, const tn_call *call, const tn_target *target, void *self);
/* A product that ends an attention; a permutation of one. */
const tn_expr *
cpu_legalize_products(tn_builder *b, const tn_call *call, const tn_target *target);
const tn_expr *
cpu_legalize_permuted(tn_builder *b, const tn_call *call, const tn_target *target, void *self);

/* ---- sub_pixel.c ---- */
/* A transposed convolution as a convolution; NULL: not of this form. */
const tn_expr *
cpu_legalize_transposed(tn_builder *b, const tn_call *call, const tn_target *target, void *self);

/* ---- unfold.c ---- */
/* A convolution along one axis by a long constant kernel as a product; NULL: not of this form. */
const tn_expr *
cpu_legalize_conv1d(tn_builder *b, const tn_call *call, const tn_target *target, void *self);

/* ---- rules/finished.c ---- */
#define CPU_FINISHED "cpu.finished" /* annotation of a block that needs no schedule */

/* ---- dot_intrin.c ---- */
enum { CPU_N_TENSOR_INTRINS = 15 };
extern const tnk_tensor_intrin *const cpu_tensor_intrins[CPU_N_TENSOR_INTRINS];

/* ---- tile_intrin.c ---- */
enum { CPU_N_TILE_INTRINS = 6 };
extern const tnk_tensor_intrin cpu_tile_intrins[CPU_N_TILE_INTRINS];

/* ---- rules/gemm.c ---- */
/* Columns of a panel that constant right operands of matrix products are packed into. */
int64_t
cpu_panel_width(tn_ctx *ctx, const tn_target *target);

/* ---- codegen.c ---- */
extern const tnk_codegen cpu_codegen;
/* What the code generator does, with more options for the compiler (NULL-terminated; NULL: none).
 */
TNB_MUST_CHECK tnb_status
cpu_build(tnk_build *b, tnk_kernel *kernels, uint32_t n, const char *const *more_flags,
          tnk_code *out);

/* What the code generator tells the compiler; NULL-terminated. */
const char *const *
cpu_flags(tn_ctx *ctx, const tn_node *attrs, const cpu_needs *needs, const char *const *more);
/* Further ones that gcc wants and clang does not know; ends with NULL. */
extern const char *const cpu_gcc_flags[];
/* The kernels as C for other programs: tnk_codegen.sources. */
TNB_MUST_CHECK tnb_status
cpu_sources(void *self, tnk_build *b, tnk_kernel *kernels, uint32_t n, tnk_c_sources *out);
/* What went wrong at a compiler's run is recorded: `what` it was doing and for whom ("" for nobody), and what it wrote. */
typedef struct cpu_job cpu_job;
tnb_status
cpu_job_error(tn_ctx *ctx, const char *what, const char *whom, const cpu_job *job, const char *log,
              int64_t seconds);

/* ---- objects.c ---- */
/* tnk_codegen.objects */
TNB_MUST_CHECK tnb_status
cpu_objects(void *self, tnk_build *b, const char *folder, const char *const *files, uint32_t n,
            const char *archive);

/* ---- native.c ---- */
extern const tn_evaluator cpu_native;

/* ---- toolchain.c: the system's compiler ---- */
typedef struct cpu_toolchain {
    const char **command; /* words of the compiler command, n of them */
    uint32_t n;
    const char *identity; /* what distinguishes it from another compiler */
    bool is_clang;
} cpu_toolchain;
/* The compiler: attribute `cc`, $CC, or the first of cc, gcc, clang on PATH. */
TNB_MUST_CHECK tnb_status
cpu_toolchain_find(tn_ctx *ctx, const tn_node *attrs, cpu_toolchain *out);
/* Standard output of a short program, with `errors` what it writes to standard error, too; NULL: it did not start. `ok`: its exit
 * status was 0, in time. */
char *
cpu_output_of(tn_ctx *ctx, const char *const *argv, bool errors, bool *ok);
/* The words of the compiler command in a row. */
const char *
cpu_words(tn_ctx *ctx, const cpu_toolchain *cc);

/* ---- machine.c: the machine that an mtriple names ---- */
/* Whether the mtriple among the attributes names a machine, and the machine's compiler, where there is one, takes the cpu (NULL: none
 * given); false after recording an error. */
TNB_MUST_CHECK bool
cpu_machine_check(tn_ctx *ctx, const tn_node *attrs, const char *cpu);
/* Warns of a cpu that no compiler is there for to tell whether it is one. */
void
cpu_machine_unchecked(tn_ctx *ctx, const tn_node *attrs, const char *cpu);
/* Whether the compiler finds the headers of a C library for the machine; an error is recorded. */
TNB_MUST_CHECK tnb_status
cpu_machine_headers(tn_ctx *ctx, const tn_node *attrs, const cpu_toolchain *cc);
/* What the machine's compiler calls the option for its processors: "-mcpu=" or "-march=". */
const char *
cpu_machine_option(tn_ctx *ctx, const char *triple);
/* Debian's package with a cross compiler. */
const char *
cpu_machine_package(tn_ctx *ctx, const char *triple);

/* In produced.c. Whether this is a shared object of this machine that defines all kernels. */
TNB_MUST_CHECK tnb_status
cpu_produced_check(tnb_arena *a, const void *code, size_t n, const char *const *kernels,
                   uint32_t n_kernels, tnb_err *err);
/* A program running in a folder; its standard error goes to a file there. */
struct cpu_job {
    const char *const *argv;
    const char *log;   /* file name in the folder */
    const char *makes; /* the same; NULL: not looked at */
    int status;        /* exit status; -1: did not run */
    int signal;        /* that ended it; 0: none */
    bool late;         /* it was ended since it took too long */
    bool missing;      /* it ended with status 0, and what it makes is not there */
    long pid;
    double until; /* by the clock; 0: it has any time */
};
/* Runs all jobs, at most `at_once` at a time, each for so many seconds (0: any number). False when one
 * could not be started. */
bool
cpu_run_jobs(const char *folder, cpu_job *jobs, uint32_t n, int at_once, double seconds,
             void (*done)(void *user, uint32_t n), void *user);

/* ---- rules ---- */
#define CPU_RULE(id) extern const tnk_rule cpu_rule_##id;
#include "rules.def"
#undef CPU_RULE

#endif
