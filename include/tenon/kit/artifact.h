/* SPDX-License-Identifier: Apache-2.0 */
/* Writing artifacts: an assembler of VM programs, and the file around them.
 *
 * Everything is written in the order given, so equal calls make equal bytes. Running out of memory,
 * and a list of more operands than an instruction takes, are kept and reported by the function that
 * writes.
 */
#ifndef TENON_KIT_ARTIFACT_H
#define TENON_KIT_ARTIFACT_H

#include "tenon/base/mem.h"
#include "tenon/base/tno.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a program ---- */
typedef struct tnk_program tnk_program;

TNB_EXPORT tnk_program *
tnk_program_new(tnb_arena *arena);
/* Indices of texts, packed functions and devices; equal ones are shared. */
TNB_EXPORT uint32_t
tnk_program_text(tnk_program *p, const char *s);
TNB_EXPORT uint32_t
tnk_program_packed(tnk_program *p, const char *name);
TNB_EXPORT uint32_t
tnk_program_device(tnk_program *p, const char *driver, uint32_t id, const char *scope);
/* Constants; equal ones are shared. Tensors: `offset` in the constants section (see
 * tnk_artifact_constant). */
TNB_EXPORT uint32_t
tnk_program_tensor(tnk_program *p, tnb_dtype d, const int64_t *shape, uint32_t ndim,
                   uint64_t offset, uint64_t bytes);
/* The same tensor in the memory of a device of the program, as of its scope. */
TNB_EXPORT uint32_t
tnk_program_tensor_on(tnk_program *p, uint32_t constant, uint32_t device);
TNB_EXPORT uint32_t
tnk_program_shape(tnk_program *p, const int64_t *dims, uint32_t n);
TNB_EXPORT uint32_t
tnk_program_value(tnk_program *p, tnb_tno_constant_kind kind, tnb_dtype d,
                  uint64_t data); /* the other kinds */
TNB_EXPORT uint32_t
tnk_program_string(tnk_program *p, const char *s);
/* A tensor map; equal ones are shared. */
TNB_EXPORT uint32_t
tnk_program_map(tnk_program *p, const tnb_tensor_map *map);
/* A kernel; its parameters are copied. `checks`: of one that notes indices that are out of range, a line for each of
 * its checks; else NULL. */
TNB_EXPORT uint32_t
tnk_program_kernel(tnk_program *p, const char *name, uint32_t flags, uint32_t device,
                   const tnb_tno_param *params, uint32_t n_params, const char *checks);
/* Functions: declared first (so that they can call each other), then filled one after the other, in
 * any order. */
TNB_EXPORT uint32_t
tnk_program_function(tnk_program *p, const char *name, uint32_t flags, uint32_t n_params);
TNB_EXPORT void
tnk_program_begin(tnk_program *p, uint32_t function);
TNB_EXPORT uint32_t
tnk_program_value_reg(tnk_program *p);
TNB_EXPORT uint32_t
tnk_program_scalar_reg(tnk_program *p);
/* The index of the instruction within the function. */
TNB_EXPORT uint32_t
tnk_program_emit(tnk_program *p, tnb_vm_op op, uint16_t aux, uint32_t a, uint32_t b, uint32_t c);
/* As above with a list of operands for c. */
TNB_EXPORT uint32_t
tnk_program_emit_list(tnk_program *p, tnb_vm_op op, uint32_t a, uint32_t b,
                      const uint32_t *operands, uint32_t n);
/* The index of the next instruction: a jump target. */
TNB_EXPORT uint32_t
tnk_program_here(tnk_program *p);
/* Makes the jump `insn` go to `target`, or an ADDFIT, SUBFIT, MULFIT or FIT whose result does not fit, when
 * `target` is behind it. */
TNB_EXPORT void
tnk_program_patch(tnk_program *p, uint32_t insn, uint32_t target);
TNB_EXPORT void
tnk_program_end(tnk_program *p);
TNB_EXPORT uint32_t
tnk_program_packed_count(const tnk_program *p);
TNB_EXPORT const char *
tnk_program_packed_name(const tnk_program *p, uint32_t i);
/* The section's bytes. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnk_program_write(const tnk_program *p, tnb_buf *out, tnb_err *err);

/* ---- the file ---- */
typedef struct tnk_artifact tnk_artifact;

/* path NULL: an anonymous file, see tnk_artifact_finish. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnk_artifact_new(const char *path, uint32_t n_variants, tnk_artifact **out, tnb_err *err);
/* Adds constant data (streamed to the file at once) and gives its offset in the constants section;
 * equal bytes are stored once. Before anything but constants was added. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnk_artifact_constant(tnk_artifact *a, const void *bytes, uint64_t n, uint64_t *offset,
                      tnb_err *err);
/* The same for one element of `size` bytes (a power of two, at most 16) repeated up to n bytes,
 * without n bytes of memory; zeros become a hole of the file. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnk_artifact_splat(tnk_artifact *a, const void *elem, size_t size, uint64_t n, uint64_t *offset,
                   tnb_err *err);
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnk_artifact_section(tnk_artifact *a, tnb_tno_kind kind, uint32_t variant, const void *bytes,
                     uint64_t n, tnb_err *err);
/* Writes header and table and renames the file into place; fd: the anonymous file. Frees `a`, also
 * after an error. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnk_artifact_finish(tnk_artifact *a, int *fd, uint64_t *bytes, tnb_err *err);
/* Gives up: nothing is left behind. NULL is fine. */
TNB_EXPORT void
tnk_artifact_abandon(tnk_artifact *a);

#ifdef __cplusplus
}
#endif
#endif
