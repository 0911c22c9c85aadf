/* SPDX-License-Identifier: Apache-2.0 */
/* What a program does with the runtime in its first hour, in C and in C++: an artifact in memory that is not copied, memory and threads of
 * its own, inputs and outputs by name and as tensors of DLPack, calls that are not waited for, two sessions of one runtime, mistakes.
 * tests/tree/embedder.py builds it against an installed tree and runs it with the artifact of examples/digits and a picture of a 7.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenon/base/npy.h>
#include <tenon/rt/plugin.h>
#include <tenon/rt/session.h>

#ifdef EMBED_STATIC
#ifdef __cplusplus
extern "C"
#endif
    extern const tnr_plugin_desc TNR_LINKED(cpu_rt);
#endif
#undef assert
#define assert(x) \
    ((x) ? (void)0 : (fprintf(stderr, "line %d: %s: %s\n", __LINE__, #x, err.message), exit(1)))

static tnb_err err;
static int allocated, given_back, pool_runs, ended;

static void *
own_alloc(void *user, size_t bytes, size_t alignment)
{
    ++*(int *)user;
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

static void
own_free(void *user, void *memory)
{
    (void)user;
    given_back++;
    free(memory);
}

/* All pieces one after another: the simplest pool there is. */
static void
own_run(void *user, void (*part)(void *args, int64_t from, int64_t to, int32_t number), void *args,
        int64_t min, int64_t n, int most)
{
    (void)user;
    pool_runs++;
    for (int i = 0; i < most; i++)
        part(args, min + n * i / most, min + n * (i + 1) / most, i);
}

static void
at_the_end(void *user)
{
    ++*(int *)user;
}

static void *
read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    assert(f);
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    void *p = aligned_alloc(64, (*n + 63) / 64 * 64);
    assert(p && fread(p, 1, *n, f) == *n);
    fclose(f);
    return p;
}

static int
largest(const float *p)
{
    int at = 0;
    for (int i = 1; i < 10; i++)
        at = p[i] > p[at] ? i : at;
    return at;
}

static tnr_binding
named(const char *name, void *data, uint64_t bytes)
{
    tnr_binding b;
    memset(&b, 0, sizeof b);
    b.name = name;
    b.data = data;
    b.bytes = bytes;
    return b;
}

/* By name, into this program's memory, and what is wrong. */
static void
calls(tnr_session *s, void *image)
{
    float p[10] = {0};
    tnr_binding in = named("image", image, 0), out = named("probabilities", p, sizeof p);
    assert(tnr_session_run(s, &in, 1, &out, 1, &err) == TNB_OK && largest(p) == 7);
    assert(out.ndim == 2 && out.dims[0] == 1 && out.dims[1] == 10 && out.bytes == sizeof p);
    in.name = out.name = NULL; /* the first ones */
    memset(p, 0, sizeof p);
    assert(tnr_session_run(s, &in, 1, &out, 1, &err) == TNB_OK && largest(p) == 7);
    in = named("imag", image, 0);
    assert(tnr_session_run(s, &in, 1, &out, 1, &err) == TNB_NOT_FOUND &&
           strstr(err.hint, "'image'"));
    in = named("image", image, 12);
    assert(tnr_session_run(s, &in, 1, &out, 1, &err) == TNB_SHAPE && strstr(err.message, "256"));
    in = named("image", image, 0);
    in.ndim = 3;
    in.dims[0] = 1;
    in.dims[1] = in.dims[2] = 8;
    assert(tnr_session_run(s, &in, 1, &out, 1, &err) == TNB_SHAPE &&
           strstr(err.message, "input 'image' is float32[1, 8, 8]; the model needs "
                               "float32[1, 1, 8, 8]"));
    assert(tnr_session_run(s, NULL, 0, &out, 1, &err) == TNB_INVALID &&
           strstr(err.message, "'image' is not given"));
    in = named("image", image, 0);
    out = named("probabilities", p, 39);
    assert(tnr_session_run(s, &in, 1, &out, 1, &err) == TNB_SHAPE && out.bytes == 40);
    char *odd = (char *)malloc(300); /* not at a multiple of 64 */
    memcpy(odd + 4, image, 256);
    in = named("image", odd + 4, 256);
    out = named("probabilities", p, sizeof p);
    assert(tnr_session_run(s, &in, 1, &out, 1, &err) == TNB_OK && largest(p) == 7);
    free(odd);
}

static void
dlpack(tnr_session *s, void *image)
{
    float p[10] = {0};
    int64_t in_shape[] = {1, 1, 8, 8}, out_shape[] = {1, 10}, odd_strides[] = {64, 64, 1, 8};
    tnb_dltensor x, y;
    memset(&x, 0, sizeof x);
    x.data = image;
    x.device.type = TNB_CPU;
    x.ndim = 4;
    x.dtype = TNB_F32;
    x.shape = in_shape;
    y = x;
    y.data = p;
    y.ndim = 2;
    y.shape = out_shape;
    tnr_binding in = named("image", NULL, 0), out = named("probabilities", NULL, 0);
    in.dl = &x;
    out.dl = &y;
    assert(tnr_session_run(s, &in, 1, &out, 1, &err) == TNB_OK && largest(p) == 7);
    out_shape[1] = 9;
    assert(tnr_session_run(s, &in, 1, &out, 1, &err) == TNB_SHAPE);
    out_shape[1] = 10;
    y.dtype = TNB_I32;
    assert(tnr_session_run(s, &in, 1, &out, 1, &err) == TNB_TYPE);
    y.dtype = TNB_F32;
    x.dtype = TNB_F64;
    assert(tnr_session_run(s, &in, 1, &out, 1, &err) == TNB_TYPE &&
           strstr(err.message, "input 'image' is float64[1, 1, 8, 8]; the model needs "
                               "float32[1, 1, 8, 8]"));
    x.dtype = TNB_F32;
    x.strides = odd_strides;
    assert(tnr_session_run(s, &in, 1, &out, 1, &err) == TNB_UNSUPPORTED);
}

static void
not_waited_for(tnr_session *s, void *image)
{
    float p[10] = {0};
    tnr_binding in = named("image", image, 0), out = named("probabilities", p, sizeof p);
    assert(tnr_session_wait(s, &err) == TNB_INVALID && tnr_session_done(s));
    for (int i = 0; i < 20; i++) {
        assert(tnr_session_start(s, &in, 1, &out, 1, at_the_end, &ended, &err) == TNB_OK);
        assert(tnr_session_run(s, &in, 1, &out, 1, &err) == TNB_INVALID); /* under way */
        assert(tnr_session_wait(s, &err) == TNB_OK && ended == i + 1 && largest(p) == 7 &&
               tnr_session_done(s));
    }
    in.name = "imag";
    assert(tnr_session_start(s, &in, 1, &out, 1, NULL, NULL, &err) == TNB_OK);
    assert(tnr_session_wait(s, &err) == TNB_NOT_FOUND && strstr(err.message, "imag"));
}

int
main(int argc, char **argv)
{
    assert(argc == 3 && *tnr_version());
    tnb_array image;
    assert(tnb_npy_read(argv[2], &image, &err) == TNB_OK);
    size_t n;
    char *bytes = (char *)read_file(argv[1], &n);

    tnr_allocator allocator = {own_alloc, own_free, &allocated};
    tnr_thread_pool pool = {3, own_run, NULL};
    tnr_runtime_options runtime;
    memset(&runtime, 0, sizeof runtime);
    runtime.size = sizeof runtime;
    runtime.allocator = &allocator;
    runtime.pool = &pool;
    tnr_session_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.options = &runtime;
#ifdef EMBED_STATIC
    static const tnr_plugin_desc *const drivers[] = {&TNR_LINKED(cpu_rt)};
    options.drivers = drivers;
    options.n_drivers = 1;
#endif
    tnr_session *s = NULL, *second = NULL;
    assert(tnr_session_open_memory(bytes + 1, n - 1, &options, &s, &err) == TNB_INVALID && !s);
    assert(tnr_session_open_memory(bytes, n - 1, &options, &s, &err) == TNB_FORMAT && !s);
    assert(tnr_session_open(argv[2], &options, &s, &err) == TNB_FORMAT && !s);
    options.function = "mian";
    assert(tnr_session_open_memory(bytes, n, &options, &s, &err) == TNB_NOT_FOUND &&
           strstr(err.hint, "'main'"));
    options.function = NULL;
    assert(tnr_session_open_memory(bytes, n, &options, &s, &err) == TNB_OK);
    const tnr_signature *sig = tnr_session_signature(s);
    assert(sig->n_params == 1 && sig->n_results == 1 && !strcmp(sig->params[0].name, "image"));
    calls(s, image.data);
    dlpack(s, image.data);
    not_waited_for(s, image.data);
    assert(allocated > 0 && tnr_runtime_threads(tnr_vm_runtime(tnr_session_vm(s))) == 3);

    tnr_session_options shared; /* of one runtime */
    memset(&shared, 0, sizeof shared);
    shared.runtime = tnr_vm_runtime(tnr_session_vm(s));
    assert(tnr_session_open_memory(bytes, n, &shared, &second, &err) == TNB_OK);
    calls(second, image.data);
    tnr_session_close(second);
    tnr_session_close(s);
    tnr_session_close(NULL);
    assert(given_back == allocated);

    uint16_t minor; /* of the format; tenon/base/tno.h */
    memcpy(&minor, bytes + 14, sizeof minor);
    minor++;
    memcpy(bytes + 14, &minor, sizeof minor);
    assert(tnr_session_open_memory(bytes, n, &options, &s, &err) == TNB_ABI);
    assert(strstr(err.message, "format") && strstr(err.hint, "update"));
    tnb_array_free(&image);
    free(bytes);
    printf("%s: %d blocks, %d runs of the pool\n", tnr_version(), allocated, pool_runs);
    return 0;
}
