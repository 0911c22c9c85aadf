/* SPDX-License-Identifier: Apache-2.0 */
/* What programs see of models that `tenon compile --emit=c|obj|static-lib` made: tensors and the numbers that functions
 * return. The model's own header declares, for each of its functions F,
 *
 *     extern const tenon_tensor MODEL_F_inputs[], MODEL_F_outputs[];     names, dtypes and shapes
 *     size_t MODEL_F_workspace(const tenon_tensor *inputs);              bytes of memory that a call needs; 0: it would fail,
 *                                                                        and returns why, without a workspace too
 *     int MODEL_F(const tenon_tensor *inputs, tenon_tensor *outputs, void *workspace, size_t bytes);
 *     const char *MODEL_message(int code);                               what a code that is not 0 means
 *
 * Nothing is allocated and nothing is kept between calls; calls with workspaces of their own may run at the same time.
 */
#ifndef TENON_AOT_H
#define TENON_AOT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The lowest 8 bits of what a function returns; the others say where it happened. The numbers are those of tnb_status. */
enum {
    TENON_OK = 0,
    TENON_INVALID = 1,     /* a condition of the model does not hold */
    TENON_NO_MEMORY = 2,   /* the workspace is too small */
    TENON_TYPE = 5,        /* an input's dtype or kind */
    TENON_SHAPE = 6,       /* an input's shape, or too little room for an output */
    TENON_UNSUPPORTED = 7, /* the workspace depends on the inputs' elements */
    TENON_BOUNDS = 9       /* an index that came as data, or an extent, is out of range */
};
#define TENON_STATUS(code) ((code)&255)

enum { TENON_MAX_DIMS = 8 };

/* DLPack's numbers. */
enum { TENON_INT = 0, TENON_UINT = 1, TENON_FLOAT = 2, TENON_BFLOAT = 4, TENON_BOOL = 6 };
typedef struct tenon_dtype {
    uint8_t code, bits;
    uint16_t lanes;
} tenon_dtype;

/* Elements lie one after another, the last dimension's first. A scalar argument is a tensor without dimensions (int64, or float64
 * where it is a float), a shape one of one dimension of int64. */
typedef struct tenon_tensor {
    const char *name; /* not looked at */
    void *
        data; /* inputs: read only; one that does not begin at a multiple of 64 is copied into the workspace. Outputs: where
                         elements go, or NULL: set to where they lie in the workspace (stays NULL for numbers and shapes, which do
                         not) */
    size_t bytes; /* outputs: room at `data`; inputs: not looked at */
    tenon_dtype dtype;
    int32_t ndim;
    int64_t shape
        [TENON_MAX_DIMS]; /* in descriptions -1 where an extent differs from call to call; set for outputs */
} tenon_tensor;

#ifdef __cplusplus
}
#endif
#endif
