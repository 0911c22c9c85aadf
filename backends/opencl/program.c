/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend, device half: programs from source or from the cache on disk, and what their
 * compiler says.
 *
 * Code of format "opencl-c" is the text of one program. What the driver's compiler makes of it is
 * kept by the hash of all that it depends on: text, options, device, driver. A program from the
 * cache that the driver does not take is built from its text again.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include "device.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tenon/base/hash.h"
#include "tenon/base/log.h"

enum { MAX_SOURCE = 1 << 28, MAX_BINARY = 1 << 30, MAX_LOG = 1 << 16 };

/* ---- what the compiler says ---- */

/* At most MAX_LOG bytes of it, from malloc; NULL when there is none. */
static char *
build_log(struct opencl_device *d, cl_program p)
{
    size_t n = 0;
    if (clGetProgramBuildInfo(p, d->id, CL_PROGRAM_BUILD_LOG, 0, NULL, &n) != CL_SUCCESS || n < 2 ||
        n > 1 << 28)
        return NULL;
    char *s = calloc(1, n + 1);
    if (s && clGetProgramBuildInfo(p, d->id, CL_PROGRAM_BUILD_LOG, n, s, NULL) != CL_SUCCESS) {
        free(s);
        return NULL;
    }
    if (s && n > MAX_LOG)
        s[MAX_LOG] = '\0';
    for (char *c = s; c && *c; c++)
        if (!isprint((unsigned char)*c) && *c != '\n')
            *c = ' ';
    for (size_t k = s ? strlen(s) : 0; k && (s[k - 1] == ' ' || s[k - 1] == '\n');)
        s[--k] = '\0';
    size_t blank = s ? strspn(s, " \n") : 0;
    if (!s || !s[blank]) {
        free(s);
        return NULL;
    }
    return s;
}

/* The first number between colons in a line of the log, as in "FILE:LINE:COLUMN: error: ...",
 * "1:LINE:COLUMN: error: ..." and "error: FILE:LINE:COLUMN: ..."; 0: none. */
static unsigned long
line_of(const char *s)
{
    for (; *s && *s != '\n'; s++) {
        size_t n = *s == ':' ? strspn(s + 1, "0123456789") : 0;
        if (n && s[1 + n] == ':')
            return strtoul(s + 1, NULL, 10);
    }
    return 0;
}

/* The name of the kernel in which a line of the text lies: of the last one that begins before. */
static size_t
kernel_at(const char *text, size_t size, unsigned long line, const char **name)
{
    size_t n = 0;
    const char *end = text + size;
    for (const char *s = text; s < end && line; s++) {
        line -= *s == '\n';
        if (end - s < 7 || memcmp(s, "kernel ", 7) != 0)
            continue;
        const char *open = memchr(s, '\n', (size_t)(end - s));
        const char *v = memmem(s, (size_t)((open ? open : end) - s), "void ", 5);
        size_t k = 0;
        for (v = v ? v + 5 : end; v + k < end && (isalnum((unsigned char)v[k]) || v[k] == '_');)
            k++;
        if (k) {
            *name = v;
            n = k;
        }
    }
    return n;
}

static tnb_status
build_failure(struct opencl_device *d, cl_program p, cl_int code, const char *text, size_t size,
              tnb_err *err)
{
    char *log = build_log(d, p), number[16];
    const char *at = log ? strstr(log, "error") : NULL, *name = "", *from = log;
    while (at && at > log && at[-1] != '\n')
        at--;
    size_t n = at ? kernel_at(text, size, line_of(at), &name) : 0;
    from = at ? at : log;
    if (code != CL_BUILD_PROGRAM_FAILURE && !log)
        (void)opencl_fail(d, code, err, "building a program for device '%s'", d->info.name);
    else
        (void)tnb_fail(err, TNB_BUILD,
                       "%s%.*s%sthe compiler of device '%s' refused it (%s)%s%.600s",
                       n ? "kernel '" : "", (int)(n < 128 ? n : 128), name, n ? "': " : "",
                       d->info.name, opencl_error_name(code, number), from ? ": " : "",
                       from ? from : "; it does not say why");
    if (log) {
        tnb_hint(err, "%sthe compiler's whole log is shown with --log=info",
                 code == CL_INVALID_BUILD_OPTIONS ? "see 'build_options' of [device opencl]; "
                                                  : "");
        tnb_log(TNB_LOG_INFO, "%s", log);
    }
    free(log);
    return err ? err->status : TNB_BUILD;
}

/* ---- building ---- */

/* The settings' options, from malloc. Functions of sub-groups are no part of OpenCL C 1.2, which drivers compile unless told
 * otherwise. */
static char *
options_for(const struct opencl_device *d, const char *text, size_t n)
{
    bool groups = memmem(text, n, "sub_group", 9) && !strstr(d->build_options, "-cl-std=");
    const char *version = !groups                  ? ""
                          : d->info.version >= 300 ? " -cl-std=CL3.0"
                          : d->info.version >= 200 ? " -cl-std=CL2.0"
                                                   : "";
    size_t size = strlen(d->build_options) + strlen(version) + 1;
    char *out = malloc(size);
    if (out)
        snprintf(out, size, "%s%s", d->build_options, version);
    return out;
}

static tnb_status
build_source(struct opencl_device *d, const char *text, size_t n, cl_program *out, tnb_err *err)
{
    cl_int e;
    cl_program p = clCreateProgramWithSource(d->context, 1, &text, &n, &e);
    if (e != CL_SUCCESS)
        return opencl_fail(d, e, err, "making a program");
    char *options = options_for(d, text, n);
    e = options ? clBuildProgram(p, 1, &d->id, options, NULL, NULL) : CL_OUT_OF_HOST_MEMORY;
    free(options);
    if (e != CL_SUCCESS) {
        tnb_status st = build_failure(d, p, e, text, n, err);
        (void)clReleaseProgram(p);
        return st;
    }
    size_t kernels = 0;
    e = clGetProgramInfo(p, CL_PROGRAM_NUM_KERNELS, sizeof kernels, &kernels, NULL);
    if (e != CL_SUCCESS || kernels == 0) {
        (void)clReleaseProgram(p);
        return e != CL_SUCCESS
                   ? opencl_fail(d, e, err, "asking for the kernels of a program")
                   : tnb_fail(err, TNB_FORMAT, "the program of %zu bytes has no kernel", n);
    }
    char *log = tnb_log_on(TNB_LOG_DEBUG) ? build_log(d, p) : NULL;
    if (log)
        tnb_log(TNB_LOG_DEBUG, "%s", log);
    free(log);
    *out = p;
    return TNB_OK;
}

/* NULL when the driver does not take it. */
static cl_program
build_binary(struct opencl_device *d, const void *binary, size_t n)
{
    const unsigned char *bytes = binary;
    cl_int e, each = CL_SUCCESS;
    cl_program p = clCreateProgramWithBinary(d->context, 1, &d->id, &n, &bytes, &each, &e);
    if (e == CL_SUCCESS && each == CL_SUCCESS &&
        clBuildProgram(p, 1, &d->id, d->build_options, NULL, NULL) == CL_SUCCESS)
        return p;
    if (e == CL_SUCCESS)
        (void)clReleaseProgram(p);
    return NULL;
}

/* ---- the cache ---- */

static void
tell_once(struct opencl_device *d, const char *why)
{
    if (!atomic_exchange(&d->cache_told, true))
        tnb_log(TNB_LOG_WARN, "compiled programs are not kept: %s", why);
}

static bool
key_of(const struct opencl_device *d, const char *text, size_t n, tnb_hash_text *out)
{
    const struct opencl_info *i = &d->info;
    const char *const parts[] = {"opencl program 1", i->platform,     i->platform_version, i->name,
                                 i->driver,          i->version_text, d->build_options};
    tnb_hasher *h = tnb_hasher_new();
    if (!h)
        return false;
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
        tnb_hasher_put(h, parts[k], strlen(parts[k]) + 1);
    tnb_hasher_put(h, text, n);
    *out = tnb_hash_print(tnb_hasher_get(h));
    tnb_hasher_free(h);
    return true;
}

static void
keep(struct opencl_device *d, tnb_arena *a, const char *key, cl_program p)
{
    size_t n = 0;
    tnb_err err = {0};
    if (clGetProgramInfo(p, CL_PROGRAM_BINARY_SIZES, sizeof n, &n, NULL) != CL_SUCCESS || n == 0 ||
        n > MAX_BINARY)
        return; /* the driver gives none: nothing to keep */
    unsigned char *binary = malloc(n);
    if (binary &&
        clGetProgramInfo(p, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) == CL_SUCCESS &&
        tnb_cache_put(a, &d->cache, key, binary, n, &err) != TNB_OK)
        tell_once(d, err.message);
    free(binary);
}

static tnb_status
program_of(struct opencl_device *d, const char *text, size_t n, cl_program *out, tnb_err *err)
{
    tnb_hash_text key;
    tnb_arena *a = d->cache.dir ? tnb_arena_new() : NULL;
    if (!a || !key_of(d, text, n, &key)) {
        tnb_arena_free(a);
        return build_source(d, text, n, out, err);
    }
    size_t size = 0;
    const void *binary = tnb_cache_get(a, &d->cache, key.s, &size);
    tnb_status st = TNB_OK;
    *out = binary ? build_binary(d, binary, size) : NULL;
    if (!*out) {
        if (binary)
            tnb_cache_drop(a, &d->cache, key.s);
        st = build_source(d, text, n, out, err);
        if (st == TNB_OK)
            keep(d, a, key.s, *out);
    }
    tnb_arena_free(a);
    return st;
}

/* ---- modules ---- */

static tnb_status
check_source(const char *format, const char *text, size_t n, tnb_err *err)
{
    if (strcmp(format, "opencl-c") != 0)
        return tnb_fail(err, TNB_UNSUPPORTED,
                        "the opencl device takes code of format 'opencl-c', not '%s'", format);
    if (n == 0 || n > MAX_SOURCE)
        return tnb_fail(err, TNB_FORMAT, "a program of %zu bytes; 1 to %d are possible", n,
                        MAX_SOURCE);
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] >= 127 ||
            (!isprint((unsigned char)text[i]) && !isspace((unsigned char)text[i])))
            return tnb_fail(err, TNB_FORMAT,
                            "byte %zu of the program is 0x%02x: this is no text of OpenCL C", i,
                            (unsigned char)text[i]);
    return TNB_OK;
}

tnb_status
opencl_module_load(void *dev, const char *format, const void *code, size_t n, void **module,
                   tnb_err *err)
{
    struct opencl_device *d = dev;
    tnb_err own = {0};
    err = err ? err : &own;
    TNB_TRY(opencl_alive(d, err));
    TNB_TRY(check_source(format, code, n, err));
    struct opencl_module *m = calloc(1, sizeof *m);
    if (!m)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to load kernels");
    tnb_status st = program_of(d, code, n, &m->program, err);
    if (st != TNB_OK) {
        free(m);
        return st;
    }
    pthread_mutex_init(&m->lock, NULL);
    *module = m;
    return TNB_OK;
}

static void
free_kernel(struct opencl_kernel *k)
{
    while (k->n_idle)
        (void)clReleaseKernel(k->idle[--k->n_idle]);
    pthread_mutex_destroy(&k->lock);
    free(k);
}

void
opencl_module_free(void *dev, void *module)
{
    struct opencl_module *m = module;
    (void)dev;
    if (!m)
        return;
    while (m->kernels) {
        struct opencl_kernel *next = m->kernels->next;
        free_kernel(m->kernels);
        m->kernels = next;
    }
    (void)clReleaseProgram(m->program);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

/* ---- kernels ---- */

static cl_int
ask_kernel(const struct opencl_device *d, cl_kernel c, struct opencl_kernel *k)
{
    cl_int e = clGetKernelInfo(c, CL_KERNEL_NUM_ARGS, sizeof k->n_args, &k->n_args, NULL);
    if (e == CL_SUCCESS)
        e = clGetKernelWorkGroupInfo(c, d->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof k->group,
                                     &k->group, NULL);
    if (e == CL_SUCCESS)
        e = clGetKernelWorkGroupInfo(c, d->id, CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                     sizeof k->required, k->required, NULL);
    if (e == CL_SUCCESS)
        e = clGetKernelWorkGroupInfo(c, d->id, CL_KERNEL_LOCAL_MEM_SIZE, sizeof k->local, &k->local,
                                     NULL);
    return e;
}

tnb_status
opencl_module_kernel(void *dev, void *module, const char *name, void **kernel, tnb_err *err)
{
    struct opencl_device *d = dev;
    struct opencl_module *m = module;
    cl_int e;
    TNB_TRY(opencl_alive(d, err));
    pthread_mutex_lock(&m->lock);
    struct opencl_kernel *k = m->kernels;
    while (k && strcmp(k->name, name) != 0)
        k = k->next;
    pthread_mutex_unlock(&m->lock);
    if (k) {
        *kernel = k;
        return TNB_OK;
    }
    cl_kernel c = clCreateKernel(m->program, name, &e);
    if (e != CL_SUCCESS)
        return opencl_fail(d, e, err, "kernel '%s'", name);
    k = calloc(1, sizeof *k + strlen(name) + 1);
    e = k ? ask_kernel(d, c, k) : CL_OUT_OF_HOST_MEMORY;
    if (e != CL_SUCCESS) {
        (void)clReleaseKernel(c);
        free(k);
        return opencl_fail(d, e, err, "asking for kernel '%s'", name);
    }
    strcpy(k->name, name);
    k->module = m;
    k->idle[k->n_idle++] = c;
    pthread_mutex_init(&k->lock, NULL);
    pthread_mutex_lock(&m->lock);
    k->next = m->kernels;
    m->kernels = k;
    pthread_mutex_unlock(&m->lock);
    *kernel = k;
    return TNB_OK;
}
