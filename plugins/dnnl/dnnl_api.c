/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN of versions 2 and 3 as one (dnnl_api.h). */
#include "dnnl_api.h"

#include <string.h>

#if DNNL_VERSION_MAJOR < 3

dnnl_status_t
dnnl_md_copy(dnnl_md *out, dnnl_const_md md)
{
    *out = malloc(sizeof **out);
    if (!*out)
        return dnnl_out_of_memory;
    **out = *md;
    return dnnl_success;
}

dnnl_status_t
dnnl_md_new(dnnl_md *out, int rank, const dnnl_dims_t dims, const dnnl_dims_t strides)
{
    dnnl_memory_desc_t md;
    dnnl_status_t s =
        strides ? dnnl_memory_desc_init_by_strides(&md, rank, dims, dnnl_f32, strides)
                : dnnl_memory_desc_init_by_tag(&md, rank, dims, dnnl_f32, dnnl_format_tag_any);
    return s == dnnl_success ? dnnl_md_copy(out, &md) : s;
}

void
dnnl_md_free(dnnl_md md)
{
    free(md);
}

int
dnnl_md_dims(dnnl_const_md md, dnnl_dims_t dims)
{
#if DNNL_VERSION_MAJOR < 3
    memcpy(dims, md->dims, sizeof(dnnl_dims_t));
    return md->ndims;
#else
    int rank = 0;
    dnnl_dims_t *its = NULL;
    if (dnnl_memory_desc_query(md, dnnl_query_ndims_s32, &rank) != dnnl_success ||
        dnnl_memory_desc_query(md, dnnl_query_dims, &its) != dnnl_success)
        return 0;
    memcpy(dims, *its, sizeof(dnnl_dims_t));
    return rank;
#endif
}

size_t
dnnl_md_bytes(dnnl_const_md md)
{
    return dnnl_memory_desc_get_size(md);
}

bool
dnnl_md_equal(dnnl_const_md a, dnnl_const_md b)
{
    return dnnl_memory_desc_equal(a, b);
}

static dnnl_status_t
described(dnnl_status_t s, dnnl_pd *out, const_dnnl_op_desc_t d, const_dnnl_primitive_attr_t attr,
          dnnl_engine_t e)
{
    return s == dnnl_success ? dnnl_primitive_desc_create(out, d, attr, e, NULL) : s;
}

dnnl_status_t
dnnl_describe_convolution(dnnl_pd *out, dnnl_engine_t e, bool transposed, dnnl_const_md src,
                          dnnl_const_md weights, dnnl_const_md bias, dnnl_const_md dst,
                          const dnnl_window *w, const_dnnl_primitive_attr_t attr)
{
    dnnl_convolution_desc_t d;
    dnnl_status_t s =
        transposed ? dnnl_dilated_deconvolution_forward_desc_init(&d, dnnl_forward_inference,
                                                                  dnnl_deconvolution_direct, src,
                                                                  weights, bias, dst, w->strides,
                                                                  w->dilates, w->before, w->after)
                   : dnnl_dilated_convolution_forward_desc_init(&d, dnnl_forward_inference,
                                                                dnnl_convolution_direct, src,
                                                                weights, bias, dst, w->strides,
                                                                w->dilates, w->before, w->after);
    return described(s, out, &d, attr, e);
}

dnnl_status_t
dnnl_describe_matmul(dnnl_pd *out, dnnl_engine_t e, dnnl_const_md src, dnnl_const_md weights,
                     dnnl_const_md bias, dnnl_const_md dst, const_dnnl_primitive_attr_t attr)
{
    dnnl_matmul_desc_t d;
    return described(dnnl_matmul_desc_init(&d, src, weights, bias, dst), out, &d, attr, e);
}

dnnl_status_t
dnnl_describe_pool(dnnl_pd *out, dnnl_engine_t e, dnnl_alg_kind_t how, dnnl_const_md src,
                   dnnl_const_md dst, const dnnl_window *w)
{
    dnnl_pooling_v2_desc_t d;
    return described(dnnl_pooling_v2_forward_desc_init(&d, dnnl_forward_inference, how, src, dst,
                                                       w->strides, w->size, w->dilates, w->before,
                                                       w->after),
                     out, &d, NULL, e);
}

dnnl_status_t
dnnl_describe_layer_norm(dnnl_pd *out, dnnl_engine_t e, dnnl_const_md data, float epsilon)
{
    dnnl_layer_normalization_desc_t d;
    return described(dnnl_layer_normalization_forward_desc_init(&d, dnnl_forward_inference, data,
                                                                NULL, epsilon,
                                                                (unsigned)dnnl_use_scale |
                                                                    (unsigned)dnnl_use_shift),
                     out, &d, NULL, e);
}

dnnl_status_t
dnnl_describe_batch_norm(dnnl_pd *out, dnnl_engine_t e, dnnl_const_md data, float epsilon,
                         bool relu)
{
    dnnl_batch_normalization_desc_t d;
    unsigned flags = (unsigned)dnnl_use_scale | (unsigned)dnnl_use_shift |
                     (unsigned)dnnl_use_global_stats | (relu ? (unsigned)dnnl_fuse_norm_relu : 0U);
    return described(dnnl_batch_normalization_forward_desc_init(&d, dnnl_forward_inference, data,
                                                                epsilon, flags),
                     out, &d, NULL, e);
}

dnnl_status_t
dnnl_describe_softmax(dnnl_pd *out, dnnl_engine_t e, dnnl_const_md data, int axis)
{
    dnnl_softmax_v2_desc_t d;
    return described(dnnl_softmax_v2_forward_desc_init(&d, dnnl_forward_inference,
                                                       dnnl_softmax_accurate, data, data, axis),
                     out, &d, NULL, e);
}

dnnl_status_t
dnnl_describe_eltwise(dnnl_pd *out, dnnl_engine_t e, dnnl_alg_kind_t how, dnnl_const_md data,
                      float alpha, float beta)
{
    dnnl_eltwise_desc_t d;
    return described(dnnl_eltwise_forward_desc_init(&d, dnnl_forward_inference, how, data, alpha,
                                                    beta),
                     out, &d, NULL, e);
}

dnnl_status_t
dnnl_describe_binary(dnnl_pd *out, dnnl_engine_t e, dnnl_alg_kind_t how, dnnl_const_md a,
                     dnnl_const_md b, dnnl_const_md dst)
{
    dnnl_binary_desc_t d;
    return described(dnnl_binary_desc_init(&d, how, a, b, dst), out, &d, NULL, e);
}

dnnl_status_t
dnnl_describe_concat(dnnl_pd *out, dnnl_engine_t e, int n, int axis, const dnnl_md *src)
{
    dnnl_memory_desc_t list[8];
    if (n > 8)
        return dnnl_invalid_arguments;
    for (int i = 0; i < n; i++)
        list[i] = *src[i];
    return dnnl_concat_primitive_desc_create(out, NULL, n, axis, list, NULL, e);
}

dnnl_status_t
dnnl_describe_reorder(dnnl_pd *out, dnnl_engine_t e, dnnl_const_md src, dnnl_const_md dst)
{
    return dnnl_reorder_primitive_desc_create(out, src, e, dst, e, NULL);
}

dnnl_status_t
dnnl_add_eltwise(dnnl_post_ops_t ops, dnnl_alg_kind_t how, float alpha, float beta)
{
    return dnnl_post_ops_append_eltwise(ops, 1, how, alpha, beta);
}

#else

dnnl_status_t
dnnl_md_copy(dnnl_md *out, dnnl_const_md md)
{
    return dnnl_memory_desc_clone(out, md);
}

dnnl_status_t
dnnl_md_new(dnnl_md *out, int rank, const dnnl_dims_t dims, const dnnl_dims_t strides)
{
    return strides
               ? dnnl_memory_desc_create_with_strides(out, rank, dims, dnnl_f32, strides)
               : dnnl_memory_desc_create_with_tag(out, rank, dims, dnnl_f32, dnnl_format_tag_any);
}

void
dnnl_md_free(dnnl_md md)
{
    (void)dnnl_memory_desc_destroy(md);
}

size_t
dnnl_md_bytes(dnnl_const_md md)
{
    return dnnl_memory_desc_get_size(md);
}

bool
dnnl_md_equal(dnnl_const_md a, dnnl_const_md b)
{
    return dnnl_memory_desc_equal(a, b);
}

dnnl_status_t
dnnl_describe_convolution(dnnl_pd *out, dnnl_engine_t e, bool transposed, dnnl_const_md src,
                          dnnl_const_md weights, dnnl_const_md bias, dnnl_const_md dst,
                          const dnnl_window *w, const_dnnl_primitive_attr_t attr)
{
    return transposed
               ? dnnl_deconvolution_forward_primitive_desc_create(out, e, dnnl_forward_inference,
                                                                  dnnl_deconvolution_direct, src,
                                                                  weights, bias, dst, w->strides,
                                                                  w->dilates, w->before, w->after,
                                                                  attr)
               : dnnl_convolution_forward_primitive_desc_create(out, e, dnnl_forward_inference,
                                                                dnnl_convolution_direct, src,
                                                                weights, bias, dst, w->strides,
                                                                w->dilates, w->before, w->after,
                                                                attr);
}

dnnl_status_t
dnnl_describe_matmul(dnnl_pd *out, dnnl_engine_t e, dnnl_const_md src, dnnl_const_md weights,
                     dnnl_const_md bias, dnnl_const_md dst, const_dnnl_primitive_attr_t attr)
{
    return dnnl_matmul_primitive_desc_create(out, e, src, weights, bias, dst, attr);
}

dnnl_status_t
dnnl_describe_pool(dnnl_pd *out, dnnl_engine_t e, dnnl_alg_kind_t how, dnnl_const_md src,
                   dnnl_const_md dst, const dnnl_window *w)
{
    return dnnl_pooling_forward_primitive_desc_create(out, e, dnnl_forward_inference, how, src, dst,
                                                      w->strides, w->size, w->dilates, w->before,
                                                      w->after, NULL);
}

dnnl_status_t
dnnl_describe_layer_norm(dnnl_pd *out, dnnl_engine_t e, dnnl_const_md data, float epsilon)
{
    return dnnl_layer_normalization_forward_primitive_desc_create(out, e, dnnl_forward_inference,
                                                                  data, data, NULL, epsilon,
                                                                  (unsigned)dnnl_use_scale |
                                                                      (unsigned)dnnl_use_shift,
                                                                  NULL);
}

dnnl_status_t
dnnl_describe_batch_norm(dnnl_pd *out, dnnl_engine_t e, dnnl_const_md data, float epsilon,
                         bool relu)
{
    return dnnl_batch_normalization_forward_primitive_desc_create(
        out, e, dnnl_forward_inference, data, data, epsilon,
        (unsigned)dnnl_use_scale | (unsigned)dnnl_use_shift | (unsigned)dnnl_use_global_stats |
            (relu ? (unsigned)dnnl_fuse_norm_relu : 0U),
        NULL);
}

dnnl_status_t
dnnl_describe_softmax(dnnl_pd *out, dnnl_engine_t e, dnnl_const_md data, int axis)
{
    return dnnl_softmax_forward_primitive_desc_create(out, e, dnnl_forward_inference,
                                                      dnnl_softmax_accurate, data, data, axis,
                                                      NULL);
}

dnnl_status_t
dnnl_describe_eltwise(dnnl_pd *out, dnnl_engine_t e, dnnl_alg_kind_t how, dnnl_const_md data,
                      float alpha, float beta)
{
    return dnnl_eltwise_forward_primitive_desc_create(out, e, dnnl_forward_inference, how, data,
                                                      data, alpha, beta, NULL);
}

dnnl_status_t
dnnl_describe_binary(dnnl_pd *out, dnnl_engine_t e, dnnl_alg_kind_t how, dnnl_const_md a,
                     dnnl_const_md b, dnnl_const_md dst)
{
    return dnnl_binary_primitive_desc_create(out, e, how, a, b, dst, NULL);
}

dnnl_status_t
dnnl_describe_concat(dnnl_pd *out, dnnl_engine_t e, int n, int axis, const dnnl_md *src)
{
    dnnl_const_md list[8];
    if (n > 8)
        return dnnl_invalid_arguments;
    for (int i = 0; i < n; i++)
        list[i] = src[i];
    return dnnl_concat_primitive_desc_create(out, e, NULL, n, axis, list, NULL);
}

dnnl_status_t
dnnl_describe_reorder(dnnl_pd *out, dnnl_engine_t e, dnnl_const_md src, dnnl_const_md dst)
{
    return dnnl_reorder_primitive_desc_create(out, src, e, dst, e, NULL);
}

dnnl_status_t
dnnl_add_eltwise(dnnl_post_ops_t ops, dnnl_alg_kind_t how, float alpha, float beta)
{
    return dnnl_post_ops_append_eltwise(ops, how, alpha, beta);
}

#endif
