/* SPDX-License-Identifier: Apache-2.0 */
/* A simulated device for PTX: memory, modules, launches. README.md says how it executes. One thread at a time may use a machine. */
#ifndef CUDASIM_SIM_H
#define CUDASIM_SIM_H

#include "tenon/base/mem.h"
#include "tenon/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct sim_machine sim_machine;
typedef struct sim_module sim_module;
typedef struct sim_kernel sim_kernel;

typedef struct sim_options {
    uint64_t seed; /* not 0: warps are split at divergences, warps and blocks run in any order */
    bool late;     /* asynchronous copies complete at the last legal moment, else at once */
    bool races;    /* they are looked for */
    bool costs;    /* of launches are counted */
    uint64_t idle; /* warp instructions without an effect until a launch counts as hung; 0: 2^30 */
} sim_options;

/* What a kernel did wrong, beside the message. */
typedef enum sim_fault_kind {
    SIM_NO_FAULT,
    SIM_ADDRESS, /* out of bounds, freed, uninitialized */
    SIM_MISALIGNED,
    SIM_ILLEGAL, /* what PTX leaves undefined; traps; assertions */
    SIM_RACE,
    SIM_HUNG, /* a deadlock, or no progress */
} sim_fault_kind;

sim_machine *
sim_new(const sim_options *o);
void
sim_free(sim_machine *m);

/* ---- memory ---- */

/* Memory of the device, uninitialized. The address means nothing to the host and is never given twice. 0: no memory. */
uint64_t
sim_alloc(sim_machine *m, size_t bytes);
/* An address whose memory comes later, and again after it was given back: for allocations in the order of a stream. */
uint64_t
sim_reserve(sim_machine *m, size_t bytes);
TNB_MUST_CHECK tnb_status
sim_commit(sim_machine *m, uint64_t address, tnb_err *err);
/* Makes memory of the host known under its own address, initialized. */
bool
sim_register(sim_machine *m, void *host, size_t bytes);
/* Gives back what either has made. TNB_INVALID: there is no such memory, or it was given back before. */
TNB_MUST_CHECK tnb_status
sim_release(sim_machine *m, uint64_t address, tnb_err *err);
/* The memory that holds an address: its start and size. False: none. */
bool
sim_find_memory(sim_machine *m, uint64_t address, uint64_t *start, size_t *bytes, bool *is_host);
TNB_MUST_CHECK tnb_status
sim_write(sim_machine *m, uint64_t to, const void *from, size_t bytes, tnb_err *err);
TNB_MUST_CHECK tnb_status
sim_read(sim_machine *m, void *to, uint64_t from, size_t bytes, tnb_err *err);
/* What is uninitialized stays so. */
TNB_MUST_CHECK tnb_status
sim_copy(sim_machine *m, uint64_t to, uint64_t from, size_t bytes, tnb_err *err);
/* Writes n elements of 1, 2 or 4 bytes. */
TNB_MUST_CHECK tnb_status
sim_fill(sim_machine *m, uint64_t to, uint32_t value, uint32_t bytes, size_t n, tnb_err *err);

/* ---- modules and kernels ---- */

TNB_MUST_CHECK tnb_status
sim_load(sim_machine *m, const char *ptx, sim_module **out, tnb_err *err);
void
sim_unload(sim_machine *m, sim_module *module);
int
sim_module_arch(const sim_module *module);
/* NULL: none of this name */
sim_kernel *
sim_find_kernel(sim_module *module, const char *name);
bool
sim_find_variable(sim_module *module, const char *name, uint64_t *address, size_t *bytes);

typedef struct sim_kernel_info {
    const char *name;
    uint32_t n_params, param_bytes;
    uint32_t shared_bytes; /* of variables with a size */
    uint32_t local_bytes;  /* of a thread */
    uint32_t const_bytes;
    uint32_t registers;   /* 32-bit registers that the PTX names: more than ptxas would use */
    uint32_t max_threads; /* 0: not given */
} sim_kernel_info;
sim_kernel_info
sim_info(const sim_kernel *k);
/* Where parameter i lies in the buffer of parameters. */
bool
sim_param(const sim_kernel *k, uint32_t i, uint32_t *offset, uint32_t *bytes);

typedef struct sim_launch_size {
    uint32_t grid[3], block[3];
    uint32_t shared_bytes; /* dynamic */
} sim_launch_size;

/* Runs all threads of a grid. `params`: param_bytes of sim_info. TNB_DEVICE: the kernel did something wrong: the message names
 * kernel, line and instruction of the PTX, and thread; sim_last_fault says of which kind. */
TNB_MUST_CHECK tnb_status
sim_launch(sim_machine *m, sim_kernel *k, const sim_launch_size *size, const void *params,
           tnb_err *err);
sim_fault_kind
sim_last_fault(const sim_machine *m);

/* What the last launch cost (cost.c). */
typedef struct sim_cost {
    uint64_t instructions; /* of warps */
    uint64_t operations;   /* floating-point ones, of threads, and those of matrix units */
    uint64_t matrix, matrix_rows, copies,
        barriers; /* mma; ldmatrix, stmatrix; cp.async; of warps */
    uint64_t global_bytes, global_sectors, global_least; /* asked for; moved; different ones */
    uint64_t shared_passes, shared_least;
} sim_cost;
sim_cost
sim_last_cost(const sim_machine *m);
#endif
