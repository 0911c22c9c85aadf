/* SPDX-License-Identifier: Apache-2.0 */
/* Calls a function that `tenon compile --emit` made, with nothing but libc: what tests/aot/aot.py compiles for each model.
 *
 *     call STEM SKIP [SHAPE:FILE...]
 *
 * FILE holds the elements of an input, SHAPE its extents ("1,3,8"; "-" for none); the dtype is the described one. Results go to STEM0,
 * STEM1, ..., and their shapes to standard output, behind the bytes of the workspace. SKIP: inputs begin so many bytes behind a
 * multiple of 64. Everything is called twice, the second time for good, with a byte behind each piece of memory that may not change.
 */
#include MODEL_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PASTE(a, b) a##b
#define JOIN(a, b) PASTE(a, b)
enum { MOST = 64, GUARD = 0x5a };

static size_t
bytes_of(const tenon_tensor *t)
{
    size_t n = (size_t)(t->dtype.code == TENON_BOOL ? 8 : t->dtype.bits) * t->dtype.lanes;
    for (int i = 0; i < t->ndim; i++)
        n *= (size_t)t->shape[i];
    return (n + 7) / 8;
}

static char *
guarded(size_t bytes, size_t skip)
{
    char *p = aligned_alloc(64, (bytes + skip + 128) / 64 * 64);
    if (!p)
        exit(3);
    p[skip + bytes] = GUARD;
    return p + skip;
}

static int
read_input(tenon_tensor *t, char *arg, size_t skip)
{
    char *file = strchr(arg, ':');
    if (!file)
        return 0;
    *file++ = 0;
    t->ndim = 0;
    for (char *c = arg; *c && *c != '-';) {
        t->shape[t->ndim++] = strtoll(c, &c, 10);
        c += *c == ',';
    }
    size_t n = bytes_of(t);
    t->data = guarded(n, skip);
    FILE *f = fopen(file, "rb");
    return f && fread(t->data, 1, n, f) == n && fclose(f) == 0;
}

static int
failed(int code)
{
    fprintf(stderr, "status %d: %s\n", TENON_STATUS(code), JOIN(MODEL, _message)(code));
    return 1;
}

int
main(int argc, char **argv)
{
    static tenon_tensor in[MOST], out[MOST];
    const int n_in = sizeof JOIN(FUNCTION, _inputs) / sizeof *in,
              n_out = sizeof JOIN(FUNCTION, _outputs) / sizeof *out;
    if (argc < 3 || n_in > MOST || n_out > MOST)
        return 2;
    memcpy(in, JOIN(FUNCTION, _inputs), sizeof JOIN(FUNCTION, _inputs));
    for (int i = 0; i < n_in && i + 3 < argc; i++)
        if (!read_input(&in[i], argv[i + 3], (size_t)atoi(argv[2])))
            return 2;
    size_t need = JOIN(FUNCTION, _workspace)(in);
    if (!need)
        return failed(FUNCTION(in, out, NULL, 0));
    char *workspace = guarded(need, 1);
    int code = FUNCTION(in, out, workspace,
                        need); /* results stay in the workspace, and tell how large they are */
    if (code)
        return failed(code);
    char *kept[MOST];
    for (int i = 0; i < n_out; i++)
        out[i].data = kept[i] = guarded(out[i].bytes, 4);
    code = FUNCTION(in, out, workspace, need);
    if (code || workspace[need] != GUARD)
        return code ? failed(code) : 4;
    printf("%zu\n", need);
    for (int i = 0; i < n_out; i++) {
        char name[512];
        if (kept[i][out[i].bytes] != GUARD)
            return 4;
        snprintf(name, sizeof name, "%s%d", argv[1], i);
        FILE *f = fopen(name, "wb");
        if (!f || fwrite(out[i].data, 1, out[i].bytes, f) != out[i].bytes || fclose(f))
            return 3;
        for (int k = 0; k < out[i].ndim; k++)
            printf("%s%lld", k ? "," : "", (long long)out[i].shape[k]);
        puts("");
    }
    return 0;
}
