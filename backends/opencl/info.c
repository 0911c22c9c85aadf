/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend, device half: what a device can, for a person and for the code that wants to
 * run on it. */
#include "device.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tenon/base/mem.h"

/* ---- asking ---- */

enum { SUB_GROUPS = 0x105C }; /* CL_DEVICE_MAX_NUM_SUB_GROUPS, of OpenCL 2.1 */

static void
tidy(char *s)
{
    size_t n = strlen(s);
    while (n && isspace((unsigned char)s[n - 1]))
        s[--n] = '\0';
    size_t blank = strspn(s, " \t\r\n");
    memmove(s, s + blank, n - blank + 1);
    for (; *s; s++)
        if (!isprint((unsigned char)*s))
            *s = ' ';
}

static cl_int
get_text(cl_device_id id, cl_device_info what, char **out)
{
    size_t n = 0;
    cl_int e = clGetDeviceInfo(id, what, 0, NULL, &n);
    char *s = e == CL_SUCCESS && n < 1 << 20 ? calloc(1, n + 1) : NULL;
    if (!s)
        return e == CL_SUCCESS ? CL_OUT_OF_HOST_MEMORY : e;
    if (n)
        e = clGetDeviceInfo(id, what, n, s, NULL);
    if (e != CL_SUCCESS) {
        free(s);
        return e;
    }
    tidy(s);
    *out = s;
    return CL_SUCCESS;
}

static cl_int
get_short(cl_device_id id, cl_device_info what, char out[OPENCL_TEXT])
{
    char *s = NULL;
    cl_int e = get_text(id, what, &s);
    snprintf(out, OPENCL_TEXT, "%s", s ? s : "");
    free(s);
    return e;
}

static cl_int
get_platform(cl_platform_id p, cl_platform_info what, char out[OPENCL_TEXT])
{
    char s[1024] = "";
    cl_int e = clGetPlatformInfo(p, what, sizeof s - 1, s, NULL);
    tidy(s);
    snprintf(out, OPENCL_TEXT, "%.*s", OPENCL_TEXT - 1, e == CL_SUCCESS ? s : "");
    return e;
}

/* "OpenCL 3.0 ..." gives 300. */
static int
version_of(const char *text)
{
    int major = 0, minor = 0;
    return sscanf(text, "OpenCL %d.%d", &major, &minor) == 2 && major > 0 && major < 100 &&
                   minor >= 0 && minor < 10
               ? major * 100 + minor * 10
               : 0;
}

bool
opencl_has_extension(const struct opencl_info *info, const char *name)
{
    size_t n = strlen(name);
    for (const char *s = info->extensions; n && s && (s = strstr(s, name)); s += n)
        if ((s == info->extensions || s[-1] == ' ') && (s[n] == ' ' || s[n] == '\0'))
            return true;
    return false;
}

static cl_int
read_images(cl_device_id id, struct opencl_info *out)
{
    cl_bool images = CL_FALSE;
    cl_int e = clGetDeviceInfo(id, CL_DEVICE_IMAGE_SUPPORT, sizeof images, &images, NULL);
    out->images = images == CL_TRUE;
    if (e != CL_SUCCESS || !out->images)
        return e;
    e = clGetDeviceInfo(id, CL_DEVICE_IMAGE2D_MAX_WIDTH, sizeof(size_t), &out->image_width, NULL);
    if (e == CL_SUCCESS)
        e = clGetDeviceInfo(id, CL_DEVICE_IMAGE2D_MAX_HEIGHT, sizeof(size_t), &out->image_height,
                            NULL);
    if (e == CL_SUCCESS)
        e = clGetDeviceInfo(id, CL_DEVICE_IMAGE_MAX_ARRAY_SIZE, sizeof(size_t), &out->image_layers,
                            NULL);
    return e;
}

static cl_int
read_texts(cl_platform_id platform, cl_device_id id, struct opencl_info *out)
{
    cl_int e = get_platform(platform, CL_PLATFORM_NAME, out->platform);
    if (e == CL_SUCCESS)
        e = get_platform(platform, CL_PLATFORM_VERSION, out->platform_version);
    if (e == CL_SUCCESS)
        e = get_short(id, CL_DEVICE_NAME, out->name);
    if (e == CL_SUCCESS)
        e = get_short(id, CL_DEVICE_VENDOR, out->vendor);
    if (e == CL_SUCCESS)
        e = get_short(id, CL_DRIVER_VERSION, out->driver);
    if (e == CL_SUCCESS)
        e = get_short(id, CL_DEVICE_VERSION, out->version_text);
    if (e == CL_SUCCESS)
        e = get_text(id, CL_DEVICE_EXTENSIONS, &out->extensions);
    out->version = version_of(out->version_text);
    return e;
}

static cl_int
read_sizes(cl_device_id id, struct opencl_info *out)
{
    const struct {
        cl_device_info what;
        size_t n;
        void *to;
    } facts[] = {
        {CL_DEVICE_TYPE, sizeof out->type, &out->type},
        {CL_DEVICE_GLOBAL_MEM_SIZE, sizeof out->memory, &out->memory},
        {CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof out->largest, &out->largest},
        {CL_DEVICE_LOCAL_MEM_SIZE, sizeof out->local, &out->local},
        {CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof out->group, &out->group},
        {CL_DEVICE_MAX_COMPUTE_UNITS, sizeof out->units, &out->units},
    };
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        cl_int e = clGetDeviceInfo(id, facts[i].what, facts[i].n, facts[i].to, NULL);
        if (e != CL_SUCCESS)
            return e;
    }
    size_t n = 0, items[16] = {0};
    cl_int e = clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof items, items, &n);
    for (size_t i = 0; i < 3; i++)
        out->items[i] = i < n / sizeof *items && items[i] ? items[i] : 1;
    return e;
}

tnb_status
opencl_info_read(cl_platform_id platform, cl_device_id id, struct opencl_info *out, tnb_err *err)
{
    *out = (struct opencl_info){0};
    cl_int e = read_texts(platform, id, out);
    if (e == CL_SUCCESS)
        e = read_sizes(id, out);
    if (e == CL_SUCCESS)
        e = read_images(id, out);
    if (e != CL_SUCCESS)
        return opencl_fail(NULL, e, err, "asking device '%s' of platform '%s'", out->name,
                           out->platform);
    cl_device_fp_config config = 0;
    cl_uint groups = 0;
    out->doubles = opencl_has_extension(out, "cl_khr_fp64") ||
                   (clGetDeviceInfo(id, CL_DEVICE_DOUBLE_FP_CONFIG, sizeof config, &config, NULL) ==
                        CL_SUCCESS &&
                    config);
    config = 0;
    (void)clGetDeviceInfo(id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof config, &config, NULL);
    out->rounds_division = (config & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
    out->halves = opencl_has_extension(out, "cl_khr_fp16");
    out->subgroups =
        opencl_has_extension(out, "cl_khr_subgroups") ||
        (out->version >= 210 &&
         clGetDeviceInfo(id, SUB_GROUPS, sizeof groups, &groups, NULL) == CL_SUCCESS && groups > 0);
    return TNB_OK;
}

/* ---- telling ---- */

static const char *
mebibytes(cl_ulong n, char out[32])
{
    snprintf(out, 32, n >= 1 << 20 ? "%" PRIu64 " MiB" : "%" PRIu64 " KiB",
             (uint64_t)(n >= 1 << 20 ? n >> 20 : n >> 10));
    return out;
}

static void
add_int(struct opencl_device *d, const char *name, uint64_t value, const char *doc)
{
    d->facts[d->n_facts++] =
        (tnr_property){.name = name, .type = TNR_PROPERTY_INT, .u.i = (int64_t)value, .doc = doc};
}

static void
add_text(struct opencl_device *d, const char *name, const char *value)
{
    d->facts[d->n_facts++] =
        (tnr_property){.name = name, .type = TNR_PROPERTY_TEXT, .u.text = value};
}

/* Asked for first, the table is filled. */
const tnr_property *
opencl_facts(void *dev, uint32_t *n)
{
    struct opencl_device *d = dev;
    const struct opencl_info *o = &d->info;
    pthread_mutex_lock(&d->lock);
    if (!d->n_facts) {
        cl_uint mhz = 0;
        cl_bool unified = CL_FALSE;
        add_int(d, "memory_bytes", o->memory, "global memory");
        add_int(d, "units", o->units, "compute units");
        add_int(d, "threads_per_block", o->group, "work items of a work group");
        add_int(d, "shared_bytes", o->local, "local memory of a work group");
        add_text(d, "vendor", o->vendor);
        add_text(d, "driver_version", o->driver);
        add_int(d, "opencl.buffer_bytes", o->largest, "the largest buffer");
        add_int(d, "opencl.version", (uint64_t)o->version, "300: OpenCL 3.0");
        if (o->images)
            add_int(d, "opencl.image_width", o->image_width, "of an image of two dimensions");
        if (clGetDeviceInfo(d->id, CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof mhz, &mhz, NULL) ==
                CL_SUCCESS &&
            mhz)
            d->facts[d->n_facts++] =
                (tnr_property){.name = "clock_hz", .type = TNR_PROPERTY_FLOAT, .u.f = mhz * 1e6};
        if (clGetDeviceInfo(d->id, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof unified, &unified, NULL) ==
            CL_SUCCESS)
            d->facts[d->n_facts++] = (tnr_property){.name = "unified_memory",
                                                    .type = TNR_PROPERTY_BOOL,
                                                    .u.b = unified == CL_TRUE};
    }
    *n = d->n_facts;
    pthread_mutex_unlock(&d->lock);
    return d->facts;
}

void
opencl_describe(void *dev, char *out, size_t n)
{
    const struct opencl_info *i = &((const struct opencl_device *)dev)->info;
    char all[32], one[32], local[32];
    snprintf(out, n,
             "%s / %s, driver %s; OpenCL %d.%d; %s, %s a buffer, %s local; groups of %zu; "
             "%u units;%s%s%s%s",
             i->platform, i->name, i->driver, i->version / 100, i->version / 10 % 10,
             mebibytes(i->memory, all), mebibytes(i->largest, one), mebibytes(i->local, local),
             i->group, (unsigned)i->units, i->halves ? " fp16" : "", i->doubles ? " fp64" : "",
             i->subgroups ? " subgroups" : "", i->images ? " images" : "");
}

/* ---- features ---- */
/* What code may ask for: a word, an extension's name, or QUANTITY>=NUMBER. */

static const char *
quantity(const struct opencl_info *i, const char *name, size_t n, uint64_t *value)
{
    const struct {
        const char *name;
        uint64_t value;
    } known[] = {
        {"opencl", (uint64_t)i->version},  {"local_memory", i->local},
        {"group_size", i->group},          {"buffer_bytes", i->largest},
        {"image_width", i->image_width},   {"image_height", i->image_height},
        {"image_layers", i->image_layers},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        if (strlen(known[k].name) == n && memcmp(known[k].name, name, n) == 0) {
            *value = known[k].value;
            return known[k].name;
        }
    return NULL;
}

static bool
has_word(const struct opencl_info *i, const char *word)
{
    if (strcmp(word, "fp16") == 0)
        return i->halves;
    if (strcmp(word, "fp64") == 0)
        return i->doubles;
    if (strcmp(word, "subgroups") == 0)
        return i->subgroups;
    if (strcmp(word, "images") == 0)
        return i->images;
    if (strcmp(word, "clml") == 0) {
#ifdef OPENCL_CLML
        return opencl_has_clml(i);
#else
        return false;
#endif
    }
    return strncmp(word, "cl_", 3) == 0 && opencl_has_extension(i, word);
}

static uint64_t
clml_version(struct opencl_device *d)
{
#ifdef OPENCL_CLML
    return opencl_has_clml(&d->info) ? (uint64_t)opencl_clml_version(d) : 0;
#else
    (void)d;
    return 0;
#endif
}

/* Whether a feature QUANTITY>=NUMBER, whose ">=" is at `at`, is about this quantity. */
static bool
is_quantity(const char *f, const char *at, const char *name)
{
    return at && strlen(name) == (size_t)(at - f) && memcmp(f, name, strlen(name)) == 0;
}

static bool
has_feature(struct opencl_device *d, const char *f)
{
    const struct opencl_info *i = &d->info;
    const char *at = strstr(f, ">=");
    uint64_t have = 0;
    if (!at)
        return has_word(i, f);
    if (is_quantity(f, at, "clml"))
        return (have = clml_version(d)) && isdigit((unsigned char)at[2]) && !at[3] &&
               have >= (uint64_t)(at[2] - '0');
    if (!quantity(i, f, (size_t)(at - f), &have) || !isdigit((unsigned char)at[2]))
        return false;
    if (is_quantity(f, at, "opencl")) { /* 2.0 */
        int major = 0, minor = 0, end = 0;
        return sscanf(at + 2, "%3d.%1d%n", &major, &minor, &end) == 2 && at[2 + end] == '\0' &&
               have >= (uint64_t)(major * 100 + minor * 10);
    }
    char *end;
    unsigned long long want = strtoull(at + 2, &end, 10);
    return *end == '\0' && have >= want;
}

tnb_status
opencl_check_features(void *dev, const char *const *wanted, uint32_t n, tnb_err *err)
{
    struct opencl_device *d = dev;
    const struct opencl_info *i = &d->info;
    const char *missing = NULL;
    char need[256] = "";
    size_t at = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (!missing && !has_feature(d, wanted[k]))
            missing = wanted[k];
        if (at < sizeof need)
            at += (size_t)snprintf(need + at, sizeof need - at, "%s%s", k ? " " : "", wanted[k]);
    }
    if (!missing)
        return TNB_OK;
    char have[320];
    snprintf(have, sizeof have,
             "%s%s%s%sopencl>=%d.%d local_memory>=%" PRIu64
             " group_size>=%zu buffer_bytes>=%" PRIu64
             " image_width>=%zu image_height>=%zu image_layers>=%zu",
             i->halves ? "fp16 " : "", i->doubles ? "fp64 " : "", i->subgroups ? "subgroups " : "",
             i->images ? "images " : "", i->version / 100, i->version / 10 % 10, (uint64_t)i->local,
             i->group, (uint64_t)i->largest, i->image_width, i->image_height, i->image_layers);
#ifndef OPENCL_CLML
    if (strcmp(missing, "clml") == 0 || is_quantity(missing, strstr(missing, ">="), "clml")) {
        (void)tnb_fail(err, TNB_UNSUPPORTED,
                       "the code needs Qualcomm's OpenCL ML extension, which this Tenon was built "
                       "without");
        tnb_hint(err, "configure it with --with-clml=DIR, or compile the model for a target "
                      "without the key clml");
        return TNB_UNSUPPORTED;
    }
#endif
    if (is_quantity(missing, strstr(missing, ">="), "clml") && clml_version(d)) {
        (void)
            tnb_fail(err, TNB_UNSUPPORTED,
                     "the code needs version %s of Qualcomm's OpenCL ML extension, device '%s' has "
                     "version %d with this Tenon",
                     strstr(missing, ">=") + 2, i->name, (int)clml_version(d));
        tnb_hint(err, "dispatch for it with CLMLDispatch{version=%d}", (int)clml_version(d));
        return TNB_UNSUPPORTED;
    }
    (void)tnb_fail(err, TNB_UNSUPPORTED,
                   "device '%s' lacks '%s': the code needs [%s], the device has [%s]%s", i->name,
                   missing, need, have,
                   strncmp(missing, "cl_", 3) == 0 ? " and extensions, of which this is none" : "");
    tnb_hint(err, "compile the model for the device: its limits are attributes of the target "
                  "(tenon show target opencl)");
    return TNB_UNSUPPORTED;
}
