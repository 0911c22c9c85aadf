/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a compiled model from a program of one's own, in C or C++: docs/embedding.md goes through it.
 *
 *     embed MODEL.tno [INPUT.npy...]
 *
 * Prints what the function `main` takes and gives, calls it with the inputs given, or with zeros, and
 * prints the first elements of each result. Links the runtime only: pkg-config --cflags --libs tenon-rt, or with EMBED_STATIC the
 * static library with the cpu's device in it: pkg-config --cflags --libs tenon-rt-cpu.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenon/base/npy.h>
#include <tenon/base/scalar.h>
#include <tenon/rt/plugin.h>
#include <tenon/rt/session.h>

enum { MOST = 16, SHOWN = 4 };

#ifdef EMBED_STATIC
#ifdef __cplusplus
extern "C"
#endif
    extern const tnr_plugin_desc TNR_LINKED(cpu_rt);
#endif

static tnb_status
open_model(const char *path, tnr_session **s, tnb_err *err)
{
#ifdef EMBED_STATIC /* no settings are read, and no plugin is looked for */
    static const tnr_plugin_desc *const drivers[] = {&TNR_LINKED(cpu_rt)};
    tnr_session_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.drivers = drivers;
    options.n_drivers = 1;
    return tnr_session_open(path, &options, s, err);
#else
    return tnr_session_open(path, NULL, s, err);
#endif
}

static void
print_io(const char *what, const tnr_io *io)
{
    printf("%s %s: %s[", what, io->name, tnb_dtype_print(io->dtype).s);
    for (int32_t k = 0; k < io->ndim; k++)
        if (io->dims[k] >= 0)
            printf("%s%lld", k ? ", " : "", (long long)io->dims[k]);
        else
            printf("%s%s", k ? ", " : "", io->symbols[k]);
    puts("]");
}

/* From a file; the array keeps the elements. */
static tnb_status
read_input(const char *file, tnb_array *a, tnr_binding *b, tnb_err *err)
{
    TNB_TRY(tnb_npy_read(file, a, err));
    if (a->ndim > TNR_BINDING_DIMS)
        return tnb_fail(err, TNB_SHAPE, "%s: %d dimensions", file, (int)a->ndim);
    b->data = a->data;
    b->dtype = a->dtype;
    b->ndim = (int32_t)a->ndim;
    for (int32_t i = 0; i < b->ndim; i++)
        b->dims[i] = a->shape[i];
    return TNB_OK;
}

/* Zeros in a shape that the function takes. */
static tnb_status
make_input(const tnr_signature *sig, uint32_t i, tnb_array *a, tnr_binding *b, tnb_err *err)
{
    const tnr_io *io = &sig->params[i];
    uint64_t count;
    if (io->ndim < 0 || io->ndim > TNR_BINDING_DIMS || tnb_dtype_is_void(io->dtype))
        return tnb_fail(err, TNB_UNSUPPORTED, "input '%s' has no known rank and type: give a file",
                        io->name);
    b->dtype = io->dtype;
    b->ndim = io->ndim;
    for (int32_t k = 0; k < io->ndim; k++)
        b->dims[k] = io->dims[k] >= 0      ? io->dims[k]
                     : sig->example_shapes ? sig->example_shapes[i][k]
                                           : 1;
    TNB_TRY(tnb_shape_bytes(b->dtype, b->ndim, b->dims, &count, &b->bytes, err));
    b->data = a->data = (char *)calloc(1, b->bytes ? b->bytes : 1);
    return a->data ? TNB_OK : tnb_fail(err, TNB_NO_MEMORY, "no memory for input '%s'", io->name);
}

/* Results go to memory of this program's. How large they are, a call without memory for them says. */
static tnb_status
call(tnr_session *s, const tnr_binding *in, uint32_t n_in, tnr_binding *out, uint32_t n_out,
     tnb_err *err)
{
    TNB_TRY(tnr_session_run(s, in, n_in, out, n_out, err));
    for (uint32_t i = 0; i < n_out; i++) {
        out[i].data = malloc(out[i].bytes ? out[i].bytes : 1);
        if (!out[i].data)
            return tnb_fail(err, TNB_NO_MEMORY, "no memory for a result");
    }
    return tnr_session_run(s, in, n_in, out, n_out, err);
}

static void
print_result(const char *name, const tnr_binding *b)
{
    uint64_t count = 1;
    double x;
    printf("%s: tensor %s[", name, tnb_dtype_print(b->dtype).s);
    for (int32_t k = 0; k < b->ndim; k++) {
        printf("%s%lld", k ? ", " : "", (long long)b->dims[k]);
        count *= (uint64_t)b->dims[k];
    }
    printf("]");
    for (uint64_t i = 0; i < count && i < SHOWN; i++)
        if (tnb_load_f64(b->data, b->dtype, i, &x))
            printf(" %.4f", x);
    puts("");
}

static tnb_status
run(tnr_session *s, char *const *files, uint32_t n_files, tnb_err *err)
{
    const tnr_signature *sig = tnr_session_signature(s);
    static tnr_binding in[MOST], out[MOST];
    static tnb_array arrays[MOST];
    tnb_status st = TNB_OK;
    if (sig->n_params > MOST || sig->n_results > MOST || n_files > sig->n_params)
        return tnb_fail(err, TNB_INVALID, "the function main does not take these inputs");
    for (uint32_t i = 0; i < sig->n_params; i++)
        print_io("takes", &sig->params[i]);
    for (uint32_t i = 0; i < sig->n_results; i++)
        print_io("gives", &sig->results[i]);
    for (uint32_t i = 0; i < sig->n_params && st == TNB_OK; i++) {
        in[i].name = sig->params[i].name;
        st = i < n_files ? read_input(files[i], &arrays[i], &in[i], err)
                         : make_input(sig, i, &arrays[i], &in[i], err);
    }
    if (st == TNB_OK)
        st = call(s, in, sig->n_params, out, sig->n_results, err);
    for (uint32_t i = 0; i < sig->n_results && st == TNB_OK; i++)
        print_result(sig->results[i].name, &out[i]);
    for (uint32_t i = 0; i < sig->n_params; i++)
        tnb_array_free(&arrays[i]);
    for (uint32_t i = 0; i < sig->n_results; i++)
        free(out[i].data);
    return st;
}

int
main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("usage: embed MODEL.tno [INPUT.npy...]\n", stderr);
        return 2;
    }
    tnr_session *session = NULL;
    tnb_err err;
    memset(&err, 0, sizeof err);
    tnb_status st = open_model(argv[1], &session, &err);
    if (st == TNB_OK)
        st = run(session, argv + 2, (uint32_t)(argc - 2), &err);
    tnr_session_close(session);
    fflush(stdout);
    if (st != TNB_OK)
        fprintf(stderr, "embed: %s: %s\n%s%s%s", tnb_status_name(st), err.message,
                err.hint[0] ? "  hint: " : "", err.hint, err.hint[0] ? "\n" : "");
    return st == TNB_OK ? 0 : 1;
}
