/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a compiled model from a program of one's own: docs/embedding.md goes through it.
 *
 *     embed MODEL.tno [INPUT.npy...]
 *
 * Prints what the function `main` takes and gives, calls it with the inputs given, or with zeros, and
 * prints the first elements of each result. Links the runtime only: pkg-config --cflags --libs tenon-rt.
 */
#include <stdio.h>
#include <stdlib.h>

#include <tenon/base/conf.h>
#include <tenon/base/npy.h>
#include <tenon/base/plugin.h>
#include <tenon/base/scalar.h>
#include <tenon/rt/tensor.h>
#include <tenon/rt/vm.h>

enum { MOST_INPUTS = 16, SHOWN = 4 };

typedef struct model {
    tnb_conf *conf;         /* settings of the site and the user: where plugins lie, devices */
    tnb_plugins *plugins;   /* which there are; each is loaded when it is first needed */
    tnr_runtime *runtime;   /* opened devices; one for the whole program */
    tnr_artifact *artifact; /* the file, mapped; machines share it */
    tnr_vm *vm;             /* one for each thread that calls the model */
} model;

static tnb_status
model_open(model *m, const char *path, tnb_err *err)
{
    tnb_diags *diags = tnb_diags_new();
    if (!diags)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for messages");
    m->conf = tnb_conf_load(NULL, diags);
    tnb_status st = m->conf ? TNB_OK : tnb_diags_first(diags, err);
    tnb_diags_free(diags);
    TNB_TRY(st);
    TNB_TRY(tnb_plugins_open(m->conf, NULL, &m->plugins, err));
    tnr_runtime_options options = {.size = sizeof options, .plugins = m->plugins, .conf = m->conf};
    TNB_TRY(tnr_runtime_new(&options, &m->runtime, err));
    TNB_TRY(tnr_artifact_open(path, &m->artifact, err));
    uint32_t variant; /* the first one that this machine can run */
    TNB_TRY(tnr_artifact_pick(m->runtime, m->artifact, NULL, &variant, NULL, err));
    return tnr_vm_new(m->runtime, m->artifact, variant, &m->vm, err);
}

/* In the reverse order; what was not opened is NULL. */
static void
model_close(model *m)
{
    tnr_vm_free(m->vm);
    tnr_artifact_close(m->artifact);
    tnr_runtime_free(m->runtime);
    tnb_plugins_close(m->plugins);
    tnb_conf_free(m->conf);
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

/* The input from a file, or zeros in a shape that the function takes. */
static tnb_status
make_input(const model *m, const tnr_signature *sig, uint32_t i, const char *file, tnr_value *out,
           tnb_err *err)
{
    const tnr_io *io = &sig->params[i];
    tnr_device *device = tnr_vm_device(m->vm);
    if (file) {
        tnb_array a;
        TNB_TRY(tnb_npy_read(file, &a, err));
        tnb_status st =
            tnr_tensor_from(device, a.data, a.shape, (uint32_t)a.ndim, a.dtype, out, err);
        tnb_array_free(&a);
        return st;
    }
    if (io->ndim < 0 || io->ndim > TNB_NPY_MAX_DIMS || tnb_dtype_is_void(io->dtype))
        return tnb_fail(err, TNB_UNSUPPORTED, "input '%s' has no known rank and type: give a file",
                        io->name);
    int64_t shape[TNB_NPY_MAX_DIMS];
    for (int32_t k = 0; k < io->ndim; k++)
        shape[k] = io->dims[k] >= 0      ? io->dims[k]
                   : sig->example_shapes ? sig->example_shapes[i][k]
                                         : 1;
    uint64_t count, bytes;
    TNB_TRY(tnb_shape_bytes(io->dtype, io->ndim, shape, &count, &bytes, err));
    void *zeros = calloc(1, bytes ? bytes : 1);
    if (!zeros)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory for input '%s'", io->name);
    tnb_status st = tnr_tensor_from(device, zeros, shape, (uint32_t)io->ndim, io->dtype, out, err);
    free(zeros);
    return st;
}

static tnb_status
print_result(const char *name, tnr_value v, tnb_err *err)
{
    char text[160];
    tnr_describe(v, text, sizeof text);
    printf("%s: %s", name, text);
    if (v.tag == TNR_TENSOR) {
        const tnr_tensor *t = v.u.tensor;
        void *host = malloc(t->n_bytes ? t->n_bytes : 1);
        if (!host)
            return tnb_fail(err, TNB_NO_MEMORY, "no memory for a result");
        tnb_status st = tnr_tensor_read(t, host, t->n_bytes, err); /* waits for the device */
        double x;
        for (uint64_t i = 0; st == TNB_OK && i < t->n_elems && i < SHOWN; i++)
            if (tnb_load_f64(host, t->dl.dtype, i, &x))
                printf(" %.4f", x);
        free(host);
        TNB_TRY(st);
    }
    puts("");
    return TNB_OK;
}

static tnb_status
run(const model *m, char *const *files, uint32_t n_files, tnb_err *err)
{
    const tnr_signature *sig = tnr_artifact_function(m->artifact, "main");
    tnr_value args[MOST_INPUTS] = {0}, result = tnr_null();
    tnb_status st = TNB_OK;
    if (!sig || sig->n_params > MOST_INPUTS || n_files > sig->n_params)
        return tnb_fail(err, TNB_INVALID, "the model has no function main for these inputs");
    for (uint32_t i = 0; i < sig->n_params; i++)
        print_io("takes", &sig->params[i]);
    for (uint32_t i = 0; i < sig->n_results; i++)
        print_io("gives", &sig->results[i]);
    for (uint32_t i = 0; i < sig->n_params && st == TNB_OK; i++)
        st = make_input(m, sig, i, i < n_files ? files[i] : NULL, &args[i], err);
    if (st == TNB_OK)
        st = tnr_vm_call(m->vm, "main", args, sig->n_params, &result, err);
    for (uint32_t i = 0; i < sig->n_results && st == TNB_OK; i++)
        st = print_result(sig->results[i].name,
                          sig->tuple_result ? result.u.tuple->items[i] : result, err);
    for (uint32_t i = 0; i < sig->n_params; i++)
        tnr_release(&args[i]);
    tnr_release(&result);
    return st;
}

int
main(int argc, char **argv)
{
    if (argc < 2) {
        fputs("usage: embed MODEL.tno [INPUT.npy...]\n", stderr);
        return 2;
    }
    model m = {0};
    tnb_err err = {0};
    tnb_status st = model_open(&m, argv[1], &err);
    if (st == TNB_OK)
        st = run(&m, argv + 2, (uint32_t)(argc - 2), &err);
    model_close(&m);
    fflush(stdout);
    if (st != TNB_OK)
        fprintf(stderr, "embed: %s: %s\n%s%s%s", tnb_status_name(st), err.message,
                err.hint[0] ? "  hint: " : "", err.hint, err.hint[0] ? "\n" : "");
    return st == TNB_OK ? 0 : 1;
}
