/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the simulated device: decoded instructions, warps, blocks, memory. */
#ifndef CUDASIM_MACHINE_H
#define CUDASIM_MACHINE_H

#include "ptx.h"
#include "sim.h"

#include <setjmp.h>

enum {
    SIM_LANES = 32,
    SIM_MAX_GROUPS = SIM_LANES,
    SIM_BARRIERS = 16,
    SIM_MAX_THREADS = 1024,
    SIM_MAX_SHARED = 227 * 1024,
};
#define SIM_ALL UINT32_MAX
#define SIM_NONE UINT32_MAX
#define SIM_NOWHERE UINT64_MAX

/* Generic addresses: windows above what a host has. Below 2^48: memory of the host. */
#define SIM_GLOBAL_BASE (UINT64_C(1) << 48)
#define SIM_SHARED_BASE (UINT64_C(2) << 48)
#define SIM_LOCAL_BASE (UINT64_C(3) << 48)
#define SIM_PARAM_BASE (UINT64_C(4) << 48)
#define SIM_GENERIC ((ptx_space)(PTX_PARAM + 1))

typedef struct sim_warp sim_warp;
typedef struct sim_block sim_block;
typedef struct sim_insn sim_insn;

/* Executes an instruction for the lanes of a mask, which is never empty. */
typedef void (*sim_op)(sim_warp *w, const sim_insn *i, uint32_t mask);

typedef enum sim_flow {
    SIM_PLAIN,
    SIM_BRANCH,
    SIM_TABLE, /* brx.idx */
    SIM_EXIT,
    SIM_BARRIER, /* of a block */
    SIM_MEET,    /* the lanes of a mask wait for each other */
    SIM_YIELD,   /* others get a turn */
} sim_flow;

typedef enum sim_round { SIM_NEAREST, SIM_ZERO, SIM_DOWN, SIM_UP, SIM_AWAY } sim_round;

/* Modifiers that many instructions have; sim_insn.flags. */
enum {
    SIM_FTZ = 1 << 0,
    SIM_SAT = 1 << 1,
    SIM_APPROX = 1 << 2,
    SIM_ROUNDED = 1 << 3,  /* .rn and so on is given: sim_insn.round */
    SIM_INTEGRAL = 1 << 4, /* .rni and so on */
    SIM_NAN = 1 << 5,
    SIM_ALIGNED = 1 << 6, /* all lanes execute it together */
    SIM_RELU = 1 << 7,
    SIM_SIGNED = 1 << 8, /* of a form, not of the text */
    SIM_ABS = 1 << 9,
    SIM_ORDER = 1 << 10,  /* .relaxed, .sys and so on: memory is sequentially consistent here */
    SIM_STRONG = 1 << 12, /* of two strong accesses none is a race */
    SIM_SECOND = 1 << 11, /* of a form: the result may be a pair d|p */
};

struct sim_insn {
    sim_op run;
    uint8_t flow;
    uint8_t round;
    bool guard_negated;
    uint8_t space;
    uint8_t bytes;      /* of an element in memory */
    uint8_t type, from; /* sim_type of result and source */
    uint8_t n_vector;   /* elements of a load or store */
    uint8_t out, n_out; /* operands that are results */
    uint32_t flags;
    uint32_t guard;  /* a reference, or SIM_NONE */
    uint32_t member; /* SIM_MEET: the mask's reference, or SIM_NONE for all lanes */
    uint32_t target; /* a program counter */
    uint32_t n_ref;
    uint32_t *ref;  /* operands in order, vectors one by one */
    uint8_t *width; /* bytes of each */
    int64_t offset; /* of an address; its register is ref[address], or none */
    uint32_t address;
    uint32_t *table, n_table;
    uint32_t text_id; /* equal for equal opcodes */
    const ptx_instruction *ptx;
};

/* A form of instruction: its name without common modifiers, and its operands, a letter each: p predicate, h/w/d/q register of 16, 32,
 * 64, 128 bits, x any; A address; a digit after a letter: a vector of so many. */
typedef struct sim_form {
    const char *name;
    sim_op run;
    const char *operands;
    uint32_t flags;   /* of SIM_SIGNED, SIM_SECOND */
    uint32_t allowed; /* modifiers */
    uint8_t flow;
} sim_form;
extern const sim_form sim_integer_forms[], sim_bit_forms[], sim_float_forms[], sim_warp_forms[],
    sim_half_forms[], sim_carry_forms[];

typedef enum sim_type {
    SIM_B8,
    SIM_B16,
    SIM_B32,
    SIM_B64,
    SIM_B128,
    SIM_U8,
    SIM_U16,
    SIM_U32,
    SIM_U64,
    SIM_S8,
    SIM_S16,
    SIM_S32,
    SIM_S64,
    SIM_F16,
    SIM_BF16,
    SIM_F32,
    SIM_F64,
    SIM_F16X2,
    SIM_BF16X2,
    SIM_TF32,
    SIM_N_TYPES
} sim_type;
/* SIM_N_TYPES: not known */
sim_type
sim_type_of(const char *name);
uint32_t
sim_type_bytes(sim_type t);

/* ---- programs ---- */

typedef struct sim_cost_kind sim_cost_kind;

struct sim_kernel {
    sim_module *module;
    sim_cost_kind *kinds; /* of each instruction, where costs are counted */
    const ptx_function *ptx;
    sim_insn *code;
    uint32_t n_code;
    uint8_t *pool; /* values for all lanes, 8 or 4 or 2 bytes each */
    uint32_t pool_bytes;
    uint32_t register_bytes; /* of a warp */
    uint32_t n_registers;
    uint32_t special[64]; /* reference of each special register that is used, or SIM_NONE */
    uint32_t shared_bytes, dynamic_at, local_bytes, param_bytes, n_params;
    uint32_t *param_at, *param_size;
    sim_kernel *next;
};

struct sim_module {
    tnb_arena *arena;
    ptx_module *ptx;
    sim_machine *machine;
    tnb_strmap variables; /* name to sim_global */
    uint32_t const_bytes;
    sim_kernel *kernels;
    sim_module *next;
};

typedef struct sim_global {
    const ptx_variable *ptx;
    uint64_t address;
    size_t bytes;
} sim_global;

/* Decodes a function that is an entry. */
TNB_MUST_CHECK tnb_status
sim_decode(sim_machine *m, sim_module *module, const ptx_function *f, sim_kernel **out,
           tnb_err *err);

/* The special registers: ORDER SPECIAL */
enum {
    SIM_TID_X,
    SIM_TID_Y,
    SIM_TID_Z,
    SIM_NTID_X,
    SIM_NTID_Y,
    SIM_NTID_Z,
    SIM_CTAID_X,
    SIM_CTAID_Y,
    SIM_CTAID_Z,
    SIM_NCTAID_X,
    SIM_NCTAID_Y,
    SIM_NCTAID_Z,
    SIM_LANEID,
    SIM_WARPID,
    SIM_NWARPID,
    SIM_SMID,
    SIM_NSMID,
    SIM_LANEMASK_EQ,
    SIM_LANEMASK_LE,
    SIM_LANEMASK_LT,
    SIM_LANEMASK_GE,
    SIM_LANEMASK_GT,
    SIM_DYNAMIC_SMEM,
    SIM_TOTAL_SMEM,
    SIM_CLOCK,
    SIM_CLOCK64,
    SIM_GLOBALTIMER,
    SIM_N_SPECIAL
};

/* ---- memory ---- */

typedef struct sim_cell sim_cell; /* what race.c knows of 4 bytes */

typedef struct sim_memory {
    uint64_t start;
    size_t bytes;
    uint8_t *host;   /* NULL: given back */
    uint8_t *known;  /* a bit a byte: initialized. NULL: all */
    sim_cell *cells; /* NULL: not yet */
    uint32_t *
        touched; /* by which launch each sector was loaded, then stored last (cost.c). NULL: not yet */
    bool is_host;
} sim_memory;

/* The memory that holds an address, one given back too, or NULL. */
sim_memory *
sim_memory_at(sim_machine *m, uint64_t address);
/* What is wrong with [address, address + bytes), for a message. */
void
sim_describe(sim_machine *m, uint64_t address, char *out, size_t size);
void
sim_know(uint8_t *known, size_t at, size_t bytes);
bool
sim_is_known(const uint8_t *known, size_t at, size_t bytes);

/* ---- execution ---- */

typedef enum sim_state { SIM_RUNS, SIM_AT_BARRIER, SIM_AT_MEETING } sim_state;

/* Lanes of a warp that execute together. */
typedef struct sim_group {
    uint32_t mask, pc;
    uint8_t state;
    uint8_t barrier;
    uint32_t members; /* SIM_AT_MEETING */
} sim_group;

/* Asynchronous copies of a warp that are not complete, in order (ops_async.c). */
typedef struct sim_copies {
    void *at;
    uint32_t n, cap;
    uint32_t groups[SIM_LANES]; /* that each lane has committed */
} sim_copies;

/* Lanes of a register whose value is uninitialized, and what loaded it (taint.c). */
typedef struct sim_taint {
    uint32_t mask;
    const sim_insn *from;
} sim_taint;
enum {
    SIM_SLOT = 64
}; /* the least bytes of a register of a warp, and a divisor of where it lies */

/* Bytes of memory of which some are initialized, those with a bit. */
typedef struct sim_partly {
    uint8_t *known;
    size_t at;
    uint32_t bits;
} sim_partly;

struct sim_warp {
    uint8_t *base[2]; /* registers, pool */
    sim_block *block;
    sim_machine *machine;
    const sim_kernel *kernel;
    uint32_t index;  /* in its block */
    uint32_t exited; /* lanes, those that never were too */
    uint32_t n_groups;
    sim_group groups[SIM_MAX_GROUPS];
    /* of a meeting: what each lane brings, and who is there */
    uint64_t brought[SIM_LANES];
    uint32_t present;
    bool is_split;     /* lanes come from several instructions: bring, then take */
    uint8_t phase;     /* 1: bring, 2: take, 3: both */
    sim_taint *taints; /* of each slot of registers */
    bool is_tainted;   /* one of them is marked */
    /* what happened before (race.c): all until then; what each lane knows of others, and the warp of other warps */
    uint32_t era;
    uint32_t knows_lanes[SIM_LANES][SIM_LANES];
    uint32_t knows_warps[SIM_LANES];
    const void *storing;      /* the value of a store, or NULL */
    uint32_t unknown;         /* lanes whose last load was of bytes that nobody wrote */
    sim_partly partly;        /* of one that is an atomic operation */
    uint32_t brought_unknown; /* of the lanes of a meeting */
    uint32_t carry;           /* a bit a lane */
    sim_copies copies;
    uint64_t waits_at,
        waits_for; /* a barrier in shared memory whose phase has not ended, and its value, or SIM_NOWHERE */
    sim_memory *last; /* where the last access was */
};

typedef struct sim_barrier {
    uint32_t arrived, expected, count, all;
    uint32_t knows[SIM_LANES]; /* of warps, by those that arrived */
    bool any;
} sim_barrier;

struct sim_block {
    uint32_t number; /* counted over all launches, from 1 */
    uint32_t era;
    bool is_behind_all; /* other blocks */
    sim_cell *cells;    /* of shared memory */
    uint32_t id[3];
    uint32_t n_warps, n_live, n_threads; /* n_live: threads that have not exited */
    sim_warp *warps;
    uint8_t *shared, *shared_known;
    uint32_t shared_bytes;
    uint8_t *local, *local_known; /* of each thread */
    sim_barrier barriers[SIM_BARRIERS];
    void *registers;
    sim_taint *taints;
};

struct sim_machine {
    sim_options options;
    uint64_t random;
    /* memory, in the order of addresses: the device's, then the host's */
    sim_memory *memories[2];
    uint32_t n_memories[2], cap_memories[2];
    uint64_t next_address;
    sim_module *modules;
    tnb_arena *arena; /* of the forms' table */
    tnb_strmap forms;
    /* of the launch */
    const sim_kernel *kernel;
    const sim_launch_size *size;
    const uint8_t *params;
    uint64_t executed, last_effect;
    uint32_t first_block, n_blocks; /* of this launch; of all */
    uint32_t time;                  /* of what orders accesses (race.c) */
    uint32_t n_launches;
    sim_cost cost; /* of the launch */
    sim_fault_kind fault;
    tnb_err *err;
    jmp_buf failed;
};

/* Ends the launch. `lane`: of the thread that did it. */
_Noreturn void
sim_fault(sim_warp *w, const sim_insn *i, uint32_t lane, sim_fault_kind kind, const char *fmt, ...)
    TNB_PRINTF(5, 6);
uint64_t
sim_random(sim_machine *m);
/* Before a warp with marked registers executes an instruction: marks its results. */
void
sim_taint_move(sim_warp *w, const sim_insn *i, uint32_t mask);
void
sim_taint_guard(sim_warp *w, const sim_insn *i, uint32_t mask);
/* Faults if an operand of one of the lanes is marked. */
void
sim_taint_refuse(sim_warp *w, const sim_insn *i, uint32_t operand, uint32_t mask, const char *what);
void
sim_taint_set(sim_warp *w, uint32_t ref, uint32_t mask, uint32_t value, const sim_insn *from);
/* Notes an access, and faults if it races with another. `changes`: it stores another value. */
void
sim_race(sim_warp *w, const sim_insn *i, uint32_t lane, uint64_t address, sim_cell *cells,
         size_t at, uint32_t bytes, bool reads, bool writes, bool changes);
/* The loads of a warp, of which cells begin at the address `start`. */
void
sim_race_loads(sim_warp *w, const sim_insn *i, uint32_t mask, const uint64_t *address,
               uint64_t start, sim_cell *cells, uint32_t bytes);
/* Costs, where they are asked for: before a kernel is launched, and of each instruction for the lanes of a mask. */
void
sim_cost_prepare(sim_kernel *k);
void
sim_count(sim_warp *w, const sim_insn *i, uint32_t mask);
sim_cell *
sim_new_cells(size_t bytes);
/* Numbers of blocks begin anew. */
void
sim_forget_accesses(sim_machine *m);
/* Lanes have waited for each other; warps arrive at a barrier of some warps and leave it. */
void
sim_order_lanes(sim_warp *w, uint32_t mask);
void
sim_order_arrive(sim_warp *w, sim_barrier *b);
void
sim_order_leave(sim_warp *w, const sim_barrier *b);
uint32_t
sim_taint_mask(const sim_warp *w, uint32_t ref);
/* The results are initialized. */
void
sim_taint_clear(sim_warp *w, const sim_insn *i, uint32_t mask);
/* Completes the asynchronous copies of lanes that end. */
void
sim_complete_copies(sim_warp *w, uint32_t lanes);
/* "; the barrier ... waits for ...", or "", for a message. */
void
sim_describe_wait(const sim_warp *w, char *out, size_t size);
/* Makes bytes of shared memory uninitialized. */
void
sim_forget_shared(sim_block *b, uint64_t at, uint32_t bytes);
void
sim_add_group(sim_warp *w, uint32_t mask, uint32_t pc);
/* Executes at most so many instructions of a warp. */
void
sim_run_warp(sim_warp *w, uint32_t turn);

/* Memory for one lane's access: checked for bounds and alignment, and, if it is read, for uninitialized bytes. */
uint8_t *
sim_access(sim_warp *w, const sim_insn *i, uint32_t lane, ptx_space space, uint64_t address,
           uint32_t bytes, bool reads, bool writes);
/* The address of a lane's operand. */
uint64_t
sim_address(const sim_warp *w, const sim_insn *i, uint32_t lane);

static inline void *
sim_at(const sim_warp *w, uint32_t ref)
{
    return w->base[ref >> 31] + (ref & INT32_MAX);
}
#define SIM_POOL (UINT32_C(1) << 31)
static inline void
sim_set_predicate(const sim_warp *w, uint32_t ref, uint32_t mask, uint32_t value)
{
    uint32_t *p = sim_at(w, ref);
    *p = (*p & ~mask) | (value & mask);
}

/* A statement for each lane of a mask; the loop over all lanes is one that compilers vectorize: lanes do not depend on each other. */
#if defined(__GNUC__) && !defined(__clang__)
#define SIM_INDEPENDENT _Pragma("GCC ivdep")
#else
#define SIM_INDEPENDENT
#endif
#define SIM_EACH(mask, l, ...)                                         \
    do {                                                               \
        if ((mask) == SIM_ALL) {                                       \
            SIM_INDEPENDENT                                            \
            for (uint32_t l = 0; l < SIM_LANES; l++) {                 \
                __VA_ARGS__;                                           \
            }                                                          \
        } else {                                                       \
            for (uint32_t left_ = (mask); left_; left_ &= left_ - 1) { \
                uint32_t l = (uint32_t)__builtin_ctz(left_);           \
                __VA_ARGS__;                                           \
            }                                                          \
        }                                                              \
    } while (0)

/* Handlers are compiled for speed however the tests are: a launch runs millions. */
#if defined(__GNUC__) && !defined(__clang__)
#define SIM_FAST_CODE _Pragma("GCC optimize(\"O3\")")
#else
#define SIM_FAST_CODE
#endif

#endif
