/* SPDX-License-Identifier: Apache-2.0 */
/* Shared objects of kernels in memory, for both halves of the backend. */
#ifndef TENON_CPU_OBJECT_H
#define TENON_CPU_OBJECT_H

#include "tenon/base/kernel_abi.h"
#include "tenon/base/status.h"

/* Loads the n bytes of a shared object. */
TNB_MUST_CHECK tnb_status
cpu_object_open(const void *code, size_t n, void **object, tnb_err *err);
TNB_MUST_CHECK tnb_status
cpu_object_kernel(void *object, const char *name, void **kernel, tnb_err *err);
void
cpu_object_close(void *object); /* NULL is fine */

#endif
