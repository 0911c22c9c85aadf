/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies pictures of handwritten digits with a compiled network: what a program that deploys a model looks
 * like. It links the runtime only (pkg-config tenon-rt); no compiler is loaded.
 *
 *     digits DIGITS.tno IMAGE.npy...
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tenon/base/conf.h"
#include "tenon/base/npy.h"
#include "tenon/base/plugin.h"
#include "tenon/rt/tensor.h"
#include "tenon/rt/vm.h"

enum { SIDE = 8, CLASSES = 10 };

typedef struct program {
    tnb_conf *conf;
    tnb_plugins *plugins;
    tnr_runtime *runtime;
    tnr_artifact *artifact;
    tnr_vm *vm;
} program;

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static tnb_status
open_program(program *p, const char *path, tnb_err *err)
{
    tnb_diags *diags = tnb_diags_new();
    if (!diags)
        return tnb_fail(err, TNB_NO_MEMORY, "out of memory");
    p->conf = tnb_conf_load(NULL, diags);
    tnb_status st = p->conf ? TNB_OK : tnb_diags_first(diags, err);
    tnb_diags_free(diags);
    TNB_TRY(st);
    TNB_TRY(tnb_plugins_open(p->conf, NULL, &p->plugins, err));
    tnr_runtime_options o = {.plugins = p->plugins, .conf = p->conf};
    TNB_TRY(tnr_runtime_new(&o, &p->runtime, err));
    TNB_TRY(tnr_artifact_open(path, &p->artifact, err));
    uint32_t variant;
    TNB_TRY(tnr_artifact_pick(p->runtime, p->artifact, NULL, &variant, NULL, err));
    return tnr_vm_new(p->runtime, p->artifact, variant, &p->vm, err);
}

static void
close_program(program *p)
{
    tnr_vm_free(p->vm);
    tnr_artifact_close(p->artifact);
    tnr_runtime_free(p->runtime);
    tnb_plugins_close(p->plugins);
    tnb_conf_free(p->conf);
}

/* Two pixels a character, by half blocks of five shades. */
static void
print_row(const float *pixels, int row)
{
    static const char *const shades[] = {"  ", "\xe2\x96\x91\xe2\x96\x91",
                                         "\xe2\x96\x92\xe2\x96\x92", "\xe2\x96\x93\xe2\x96\x93",
                                         "\xe2\x96\x88\xe2\x96\x88"};
    for (int x = 0; x < SIDE; x++) {
        int shade = (int)(pixels[row * SIDE + x] * 4.99f);
        fputs(shades[shade < 0 ? 0 : shade > 4 ? 4 : shade], stdout);
    }
}

/* Runs the network on one image and prints picture and answer. The digit in `answer`. */
static tnb_status
classify(program *p, const char *path, int *answer, double *seconds, tnb_err *err)
{
    tnb_array image = {0};
    TNB_TRY(tnb_npy_read(path, &image, err));
    tnr_value in = tnr_null(), out = tnr_null();
    tnb_status st = TNB_OK;
    if (image.count != SIDE * SIDE || !tnb_dtype_eq(image.dtype, TNB_F32))
        st = tnb_fail(err, TNB_SHAPE, "%s: an image has %d float32 values", path, SIDE * SIDE);
    if (st == TNB_OK)
        st = tnr_tensor_from(tnr_vm_device(p->vm), image.data, (const int64_t[]){1, 1, SIDE, SIDE},
                             4, TNB_F32, &in, err);
    double start = now();
    if (st == TNB_OK)
        st = tnr_vm_call(p->vm, "main", &in, 1, &out, err);
    *seconds = now() - start;
    float probability[CLASSES];
    if (st == TNB_OK && out.tag != TNR_TENSOR)
        st = tnb_fail(err, TNB_TYPE, "the network did not give a tensor");
    if (st == TNB_OK)
        st = tnr_tensor_read(out.u.tensor, probability, sizeof probability, err);
    if (st == TNB_OK) {
        *answer = 0;
        for (int i = 1; i < CLASSES; i++)
            if (probability[i] > probability[*answer])
                *answer = i;
        for (int row = 0; row < SIDE; row++) {
            fputs("    ", stdout);
            print_row(image.data, row);
            if (row == SIDE / 2)
                printf("    this is a %d (%.1f%%)", *answer, 100.0 * (double)probability[*answer]);
            putchar('\n');
        }
        putchar('\n');
    }
    tnr_release(&in);
    tnr_release(&out);
    tnb_array_free(&image);
    return st;
}

int
main(int argc, char **argv)
{
    if (argc < 3) {
        fputs("usage: digits DIGITS.tno IMAGE.npy...\n", stderr);
        return 2;
    }
    program p = {0};
    tnb_err err = {0};
    double start = now();
    tnb_status st = open_program(&p, argv[1], &err);
    double loaded = now() - start, total = 0;
    for (int i = 2; i < argc && st == TNB_OK; i++) {
        int answer;
        double seconds;
        st = classify(&p, argv[i], &answer, &seconds, &err);
        total += seconds;
    }
    close_program(&p);
    if (st != TNB_OK) {
        fprintf(stderr, "digits: %s\n", err.message);
        if (*err.hint)
            fprintf(stderr, "  hint: %s\n", err.hint);
        return 1;
    }
    printf("loaded in %.1f ms; %.3f ms an image\n", 1e3 * loaded, 1e3 * total / (argc - 2));
    return 0;
}
