/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime half of testext: runs what its code generator took, matmul of matrices with or
 * without bias and relu, on the host. TESTEXT_LOG=FILE keeps a line for each module and call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/rt/plugin.h"
#include "tenon/rt/tensor.h"

typedef struct module {
    const tnr_external *desc;
    int inputs;
} module;

static void
note(const char *what, const tnr_external *d)
{
    const char *path = getenv("TESTEXT_LOG");
    FILE *f = path ? fopen(path, "a") : NULL;
    if (!f)
        return;
    fprintf(f, "%s %s, constants", what, d->symbol);
    for (uint32_t i = 0; i < d->n_constants; i++)
        fprintf(f, " %u", d->constants[i]);
    fprintf(f, "\n");
    fclose(f);
}

static tnb_status
open_module(void *self, const tnr_external *desc, tnr_device *dev, void **out, tnb_err *err)
{
    (void)self;
    const char *params = strstr(desc->payload, "\"params\":");
    int n = params ? atoi(params + 9) : 0;
    if (!tnr_device_is_host(dev))
        return tnb_fail(err, TNB_UNSUPPORTED, "testext runs on the host");
    if (n != 2 && n != 3)
        return tnb_fail(err, TNB_FORMAT, "testext made no such payload: %s", desc->payload);
    module *m = malloc(sizeof *m);
    if (!m)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory");
    *m = (module){desc, n};
    note("open", desc);
    *out = m;
    return TNB_OK;
}

static tnb_status
call(void *self, const tnr_value *args, int n, tnb_err *err)
{
    const module *m = self;
    const float *in[3] = {0};
    if (n != m->inputs + 1)
        return tnb_fail(err, TNB_INVALID, "%d arguments, expected %d", n, m->inputs + 1);
    for (int i = 0; i < n; i++)
        if (args[i].tag != TNR_TENSOR || !tnr_tensor_data(args[i].u.tensor))
            return tnb_fail(err, TNB_INVALID, "argument %d is no tensor of the host", i);
    for (int i = 0; i < m->inputs; i++)
        in[i] = tnr_tensor_data(args[i].u.tensor);
    float *out = tnr_tensor_data(args[n - 1].u.tensor);
    int64_t rows = args[0].u.tensor->dims[0], k = args[0].u.tensor->dims[1],
            cols = args[1].u.tensor->dims[1];
    for (int64_t i = 0; i < rows * cols; i++) {
        float sum = 0;
        for (int64_t j = 0; j < k; j++)
            sum += in[0][i / cols * k + j] * in[1][j * cols + i % cols];
        if (in[2])
            sum = sum + in[2][i % cols] < 0 ? 0 : sum + in[2][i % cols];
        out[i] = sum;
    }
    note("call", m->desc);
    return TNB_OK;
}

static const tnr_loader loader = {
    .base.size = sizeof(tnr_loader),
    .base.name = "testext",
    .base.doc = "for tests",
    .open = open_module,
    .call = call,
    .close = free,
};
static const tnr_loader *const loaders[] = {&loader};

TNR_PLUGIN(testext_rt, "0.1.0", "Apache-2.0", "runs what testext took", .loaders = loaders,
           .n_loaders = 1);
