/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a model of one input, whose shape has symbols, with many shapes in one session:
 *
 *     shapes MODEL.tno
 *
 * A line for each run: the elements of the result, and the device's counts of launches and pipelines behind it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/rt/session.h"
#include "tenon/rt/vm.h"

enum { MOST = 40 };

static int64_t
count(tnr_session *s, const char *name, tnb_err *err)
{
    const tnr_property *p =
        tnr_device_property(tnr_vm_device(tnr_session_vm(s)), name, TNR_PROPERTY_INT, err);
    return p ? p->u.i : -1;
}

static tnb_status
run(tnr_session *s, int64_t rows, int64_t columns, tnb_err *err)
{
    static float x[MOST * MOST], y[MOST * MOST];
    for (int64_t i = 0; i < rows * columns; i++)
        x[i] = (float)(i % 7);
    tnr_binding in = {.data = x, .ndim = 2, .dims = {rows, columns}},
                out = {.data = y, .bytes = sizeof y};
    uint32_t n;
    TNB_TRY(tnr_session_run(s, &in, 1, &out, 1, err));
    (void)tnr_device_properties(tnr_vm_device(tnr_session_vm(s)), &n); /* numbers of now */
    printf("%d %d: %d x %d, launches %lld, pipelines %lld\n", (int)rows, (int)columns,
           (int)out.dims[0], (int)out.dims[1], (long long)count(s, "gpu_generic.launches", err),
           (long long)count(s, "gpu_generic.pipelines", err));
    return TNB_OK;
}

int
main(int argc, char **argv)
{
    tnb_err err = {0};
    tnr_session *s = NULL;
    tnb_status st = argc == 2 ? tnr_session_open(argv[1], NULL, &s, &err) : TNB_INVALID;
    for (int64_t i = 1; i <= MOST && st == TNB_OK; i++)
        st = run(s, i, MOST + 1 - i, &err);
    tnr_session_close(s);
    if (st != TNB_OK)
        fprintf(stderr, "shapes: %s\n", err.message);
    return st == TNB_OK ? 0 : 1;
}
