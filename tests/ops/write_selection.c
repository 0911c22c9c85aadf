/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the random cases of selection.h as files:
 *
 *     write_selection DIR
 *
 * DIR/NAME.py is the operator with symbolic extents, DIR/NAME-SEED/in-I.npy and out-I.npy what it
 * takes and has to give.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "selection.h"

#include "tenon/base/file.h"
#include "tenon/base/npy.h"
#include "tenon/core/text.h"

/* A variable of the extents that a word like "bn4" says; letters are symbols shared by a call. */
static const tn_expr *
parameter(tops *t, const char *word, tnb_dtype d, const tn_expr **symbols)
{
    const tn_node *dims[8];
    uint32_t n = 0;
    for (; word[n]; n++) {
        const tn_expr **v = &symbols[(unsigned char)word[n]];
        if (word[n] >= '0' && word[n] <= '9')
            dims[n] = tn_i64(t->ctx, word[n] - '0');
        else
            dims[n] =
                *v ? *v : (*v = tn_var_dtype(t->ctx, tn_strf(t->ctx, "%c", word[n]), TNB_I64));
    }
    return tn_var_new(t->ctx, "x", tn_ty_tensor_dims(t->ctx, tn_list_of(t->ctx, dims, n), d));
}

static bool
write_module(tops *t, const selection *s, const char *dir)
{
    const tn_expr *symbols[256] = {NULL}, *tensors[SELECTION_MAX], *args[SELECTION_MAX + 5];
    for (int i = 0; s->args[i]; i++)
        tensors[i] = parameter(t, s->args[i], s->dtypes[i], symbols);
    uint32_t n = selection_args(t, s, tensors, args);
    const tn_module *m = tops_module(t, s->op, s->attrs ? s->attrs(t->ctx) : NULL, args, n);
    tnb_buf text = {0};
    tnb_err err = {0};
    bool ok = m && tn_print(t->ctx, TN_NODE(m), NULL, &text) == TNB_OK;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.py", dir, s->name);
    ok = ok && tnb_write_file(path, text.s, text.n, &err) == TNB_OK;
    tnb_buf_free(&text);
    return ok;
}

static bool
write_array(const array *a, const char *dir, const char *what, int i)
{
    uint64_t n = 1;
    tnb_err err = {0};
    char path[4096];
    for (int k = 0; k < a->ndim; k++)
        n *= (uint64_t)a->dim[k];
    void *bytes = calloc(n + 1, 8);
    for (uint64_t k = 0; bytes && k < n; k++) {
        if (tnb_dtype_is_float(a->dtype))
            tnb_store_f64(bytes, a->dtype, k, a->v[k]);
        else
            tnb_store_i64(bytes, a->dtype, k, (int64_t)a->v[k]);
    }
    snprintf(path, sizeof path, "%s/%s-%d.npy", dir, what, i);
    bool ok = bytes && tnb_npy_write(path, a->dtype, a->ndim, a->dim, bytes, &err) == TNB_OK;
    free(bytes);
    return ok;
}

static bool
write_draw(const selection *s, uint64_t seed, const char *dir)
{
    array in[SELECTION_MAX], out[SELECTION_MAX];
    char path[2048];
    int n_out = s->draw(s, seed, in, out), n_in = 0;
    snprintf(path, sizeof path, "%s/%s-%d", dir, s->name, (int)seed);
    bool ok = mkdir(path, 0777) == 0;
    for (; s->args[n_in]; n_in++)
        ok = ok && write_array(&in[n_in], path, "in", n_in);
    for (int i = 0; i < n_out; i++)
        ok = ok && write_array(&out[i], path, "out", i);
    selection_free(in, n_in);
    selection_free(out, n_out);
    return ok;
}

int
main(int argc, char **argv)
{
    tops t;
    bool ok = argc == 2 && tops_open(&t);
    if (!ok)
        return 2;
    for (int i = 0; ok && i < n_selections; i++) {
        ok = write_module(&t, &selections[i], argv[1]);
        for (uint64_t seed = 0; ok && seed < SELECTION_DRAWS; seed++)
            ok = write_draw(&selections[i], seed, argv[1]);
        if (!ok)
            fprintf(stderr, "cannot write the cases of %s\n", selections[i].name);
    }
    tops_close(&t);
    return ok ? 0 : 1;
}
