/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN of versions 2 and 3 as one: descriptions of memory are made and freed, and each kind of primitive
 * is described by one call. All functions give oneDNN's status.
 */
#ifndef TENON_PLUGINS_DNNL_DNNL_API_H
#define TENON_PLUGINS_DNNL_DNNL_API_H

#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_debug.h>
#include <stdbool.h>
#include <stdlib.h>

#if DNNL_VERSION_MAJOR < 3
typedef dnnl_memory_desc_t *dnnl_md;
typedef const dnnl_memory_desc_t *dnnl_const_md;
#else
typedef dnnl_memory_desc_t dnnl_md;
typedef const_dnnl_memory_desc_t dnnl_const_md;
#endif
typedef dnnl_primitive_desc_t dnnl_pd;

/* A new description of float32 memory; strides NULL: of any layout. */
dnnl_status_t
dnnl_md_new(dnnl_md *out, int rank, const dnnl_dims_t dims, const dnnl_dims_t strides);
dnnl_status_t
dnnl_md_copy(dnnl_md *out, dnnl_const_md md);
void
dnnl_md_free(dnnl_md md);
size_t
dnnl_md_bytes(dnnl_const_md md);
/* The rank; `dims` gets the extents. */
int
dnnl_md_dims(dnnl_const_md md, dnnl_dims_t dims);
bool
dnnl_md_equal(dnnl_const_md a, dnnl_const_md b);

/* Strides, dilation (0: dense), padding before and after, and a window's extents where there is one. */
typedef struct dnnl_window {
    dnnl_dims_t strides, dilates, before, after, size;
} dnnl_window;

/* bias: NULL for none. */
dnnl_status_t
dnnl_describe_convolution(dnnl_pd *out, dnnl_engine_t e, bool transposed, dnnl_const_md src,
                          dnnl_const_md weights, dnnl_const_md bias, dnnl_const_md dst,
                          const dnnl_window *w, const_dnnl_primitive_attr_t attr);
dnnl_status_t
dnnl_describe_matmul(dnnl_pd *out, dnnl_engine_t e, dnnl_const_md src, dnnl_const_md weights,
                     dnnl_const_md bias, dnnl_const_md dst, const_dnnl_primitive_attr_t attr);
dnnl_status_t
dnnl_describe_pool(dnnl_pd *out, dnnl_engine_t e, dnnl_alg_kind_t how, dnnl_const_md src,
                   dnnl_const_md dst, const dnnl_window *w);
dnnl_status_t
dnnl_describe_layer_norm(dnnl_pd *out, dnnl_engine_t e, dnnl_const_md data, float epsilon);
dnnl_status_t
dnnl_describe_batch_norm(dnnl_pd *out, dnnl_engine_t e, dnnl_const_md data, float epsilon,
                         bool relu);
dnnl_status_t
dnnl_describe_softmax(dnnl_pd *out, dnnl_engine_t e, dnnl_const_md data, int axis);
dnnl_status_t
dnnl_describe_eltwise(dnnl_pd *out, dnnl_engine_t e, dnnl_alg_kind_t how, dnnl_const_md data,
                      float alpha, float beta);
dnnl_status_t
dnnl_describe_binary(dnnl_pd *out, dnnl_engine_t e, dnnl_alg_kind_t how, dnnl_const_md a,
                     dnnl_const_md b, dnnl_const_md dst);
dnnl_status_t
dnnl_describe_concat(dnnl_pd *out, dnnl_engine_t e, int n, int axis, const dnnl_md *src);
dnnl_status_t
dnnl_describe_reorder(dnnl_pd *out, dnnl_engine_t e, dnnl_const_md src, dnnl_const_md dst);
dnnl_status_t
dnnl_add_eltwise(dnnl_post_ops_t ops, dnnl_alg_kind_t how, float alpha, float beta);

#endif
