/* SPDX-License-Identifier: Apache-2.0 */
/* The cpu backend, compiler half: its descriptor and the attributes of its target. Lists of passes:
 * pipeline.c. */
#include "cpu.h"

#define NAME(kind) #kind,
static const char *const kinds[] = {CPU_KINDS(NAME) NULL};
#undef NAME

static const tn_attr_schema attrs[] = {
    {"mcpu", TN_ATTR_STR, 0, "\"\"",
     "x86-64, x86-64-v2, x86-64-v3, x86-64-v4, generic, or native (resolved to a list of "
     "features); "
     "empty: x86-64-v3 on x86. With an mtriple of another machine what its compiler takes as "
     "-mcpu"},
    {"features", TN_ATTR_STRS, TN_ATTR_OPTIONAL, NULL,
     "further processor features, called as by the compiler (avx2, fma); native: those of this "
     "machine"},
    {"vector_bytes", TN_ATTR_INT, 0, "0",
     "width of vectors in bytes; 0: that of the processor's registers", "0|16|32|64"},
    {"l1_bytes", TN_ATTR_INT, 0, "0",
     "size of a core's first cache for data; 0: that of this machine with native, else 32 KiB",
     "0..1099511627776"},
    {"l2_bytes", TN_ATTR_INT, 0, "0",
     "size of a core's second cache; 0: that of this machine with native, else 512 KiB",
     "0..1099511627776"},
    {"l3_bytes", TN_ATTR_INT, 0, "0",
     "size of the last cache; 0: that of this machine with native, else 32 MiB",
     "0..1099511627776"},
    {"num_threads", TN_ATTR_INT, 0, "0", "threads that schedules are made for; 0: not known",
     "0..4096"},
    {"winograd", TN_ATTR_INT, 0, "1",
     "whether convolutions by 3x3 kernels may take fewer multiplications at a larger error; 0: no",
     "0|1"},
    {"bfloat16", TN_ATTR_INT, 0, "0",
     "1: where the processor multiplies bfloat16, products of float32 are made of operands rounded "
     "to it",
     "0|1"},
    {"block_activations", TN_ATTR_STR, 0, "\"int8\"",
     "what activations are in products with weights in GGUF's blocks: int8, quantized by blocks of "
     "32, or float32",
     "int8|float32"},
    {"attention_rows", TN_ATTR_INT, 0, "16",
     "rows of a sequence for which attention on a paged cache reads each page once; of models with "
     "more than four heads of queries for one of keys a half or a quarter of them",
     "1..64"},
    {"cc_timeout", TN_ATTR_INT, 0, "900",
     "seconds after which a run of the C compiler is given up; 0: never", "0..1000000"},
    {"mtriple", TN_ATTR_STR, 0, "\"\"",
     "the machine as compilers call it (aarch64-linux-gnu), for --emit; empty: this one"},
    {"cc", TN_ATTR_STR, 0, "\"\"", "C compiler command; empty: $CC, or cc, gcc, clang on PATH",
     "program"},
    TNK_ATTR_CHECK_INDICES,
    {0},
};

static const tn_target_kind cpu = {
    .base.size = sizeof(tn_target_kind),
    .base.name = "cpu",
    .base.doc = "Processors, through C source and the system's C compiler.",
    .kinds = kinds,
    .attrs = attrs,
    .library_dispatch = cpu_library_dispatch,
    .legalize = cpu_legalize,
    .finalize = cpu_finalize,
    .lower = cpu_lower,
    .codegen = &cpu_codegen,
    .probe = cpu_probe,
    .device = "cpu",
};
static const tn_target_kind *const targets[] = {&cpu};

static const tn_pass *const passes[] = {&cpu_block_layouts, &cpu_block_products, &cpu_widen_loop};

static const tnk_rule *const rules[] = {
#define CPU_RULE(id) &cpu_rule_##id,
#include "rules.def"
#undef CPU_RULE
};

static const tn_evaluator *const evaluators[] = {&cpu_native};

TN_PLUGIN(cpu, "0.1.0", "Apache-2.0", "processors, through the system's C compiler",
          .targets = targets, .n_targets = 1, .passes = passes,
          .n_passes = sizeof passes / sizeof *passes, .rules = rules,
          .n_rules = sizeof rules / sizeof rules[0], .legalizers = cpu_legalizers,
          .n_legalizers = CPU_N_LEGALIZERS, .tensor_intrins = cpu_tensor_intrins,
          .n_tensor_intrins = CPU_N_TENSOR_INTRINS, .evaluators = evaluators, .n_evaluators = 1);
