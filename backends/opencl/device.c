/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend, device half: which devices there are, opening them, the table.
 *
 * Devices are numbered over all platforms: those that the settings leave first, and of these GPUs and
 * accelerators before processors. The settings of [device opencl]: docs/target-opencl.md, `tenon show devices`.
 */
#include "device.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tenon/base/file.h"
#include "tenon/base/log.h"
#include "tenon/base/num.h"

/* ---- which devices there are ---- */

enum { MAX_PLATFORMS = 64, MAX_DEVICES = 256 };

struct found {
    cl_platform_id platform;
    cl_device_id id;
    cl_device_type type;
    int in_platform; /* number of the platform */
    bool left_out;   /* by the settings */
};
struct devices {
    struct found at[MAX_DEVICES];
    int n, chosen;
    int platforms;
    cl_int error; /* of asking for the platforms */
    tnb_err why;  /* of platforms that are left alone; message "": none is */
};

static int
rank(cl_device_type t)
{
    return t & CL_DEVICE_TYPE_GPU ? 0 : t & CL_DEVICE_TYPE_CPU ? 2 : 1;
}

/* A stable order, as platforms give them. */
static void
insert(struct devices *all, struct found f)
{
    int i = all->n++;
    for (; i && rank(all->at[i - 1].type) > rank(f.type); i--)
        all->at[i] = all->at[i - 1];
    all->at[i] = f;
}

/* ORDER: `at` is emptied first. A platform without devices is passed over, and one that would end
 * the process. */
static void
find_devices(struct devices *all)
{
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint n = 0;
    uint64_t left;
    *all = (struct devices){0};
    if (!opencl_probe(&left, &all->why))
        return;
    all->error = clGetPlatformIDs(MAX_PLATFORMS, platforms, &n);
    all->platforms = all->error == CL_SUCCESS ? (int)(n < MAX_PLATFORMS ? n : MAX_PLATFORMS) : 0;
    for (int p = 0; p < all->platforms; p++) {
        cl_device_id ids[MAX_DEVICES];
        cl_uint k = 0;
        if (left >> p & 1)
            continue;
        cl_int e = clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, ids, &k);
        if (e != CL_SUCCESS && e != CL_DEVICE_NOT_FOUND)
            all->error = e;
        for (cl_uint i = 0; e == CL_SUCCESS && i < k && all->n < MAX_DEVICES; i++) {
            struct found f = {.platform = platforms[p], .id = ids[i], .in_platform = p};
            e = clGetDeviceInfo(ids[i], CL_DEVICE_TYPE, sizeof f.type, &f.type, NULL);
            if (e == CL_SUCCESS)
                insert(all, f);
            else
                all->error = e;
        }
    }
    all->chosen = all->n;
}

static tnb_status
opencl_count(void *self, int *n, tnb_err *err)
{
    struct devices *all = malloc(sizeof *all);
    (void)self;
    *n = 0;
    if (!all)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to look for OpenCL devices");
    find_devices(all);
    *n = all->n;
    if (all->n == 0 && all->why.message[0] && err)
        *err = all->why;
    else if (all->n == 0 && all->error != CL_SUCCESS)
        (void)opencl_fail(NULL, all->error, err, "looking for OpenCL platforms");
    else if (all->n == 0)
        (void)tnb_fail(err, TNB_DEVICE,
                       all->platforms ? "none of the %d OpenCL platforms has a device"
                                      : "no OpenCL platform is installed (%d found)",
                       all->platforms);
    free(all);
    return TNB_OK;
}

/* ---- settings ---- */

static const char *
setting(const tnr_device_options *opt, const char *key)
{
    const char *s = opt && opt->setting ? opt->setting(opt->user, key) : NULL;
    return s && *s ? s : NULL;
}

/* Whether a name holds the text, whatever the case of letters. */
static bool
holds(const char *name, const char *text)
{
    size_t n = strlen(text);
    for (; *name; name++)
        if (strncasecmp(name, text, n) == 0)
            return true;
    return false;
}

/* A setting that is a number: its value, else -1. */
static long
number_of(const char *s)
{
    char *end;
    errno = 0;
    long v = isdigit((unsigned char)*s) ? strtol(s, &end, 10) : -1;
    return v >= 0 && errno == 0 && *end == '\0' ? v : -1;
}

static tnb_status
wanted_type(const char *s, cl_device_type *out, tnb_err *err)
{
    static const struct {
        const char *name;
        cl_device_type type;
    } known[] = {{"any", CL_DEVICE_TYPE_ALL},
                 {"gpu", CL_DEVICE_TYPE_GPU},
                 {"cpu", CL_DEVICE_TYPE_CPU},
                 {"accelerator", CL_DEVICE_TYPE_ACCELERATOR}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!s || strcmp(s, known[i].name) == 0) {
            *out = known[i].type;
            return TNB_OK;
        }
    return tnb_fail(err, TNB_INVALID,
                    "[device opencl] type = %.60s: it is any, gpu, cpu or accelerator", s);
}

static void
name_of(const struct found *f, char platform[OPENCL_TEXT], char device[OPENCL_TEXT])
{
    platform[0] = device[0] = '\0';
    (void)clGetPlatformInfo(f->platform, CL_PLATFORM_NAME, OPENCL_TEXT - 1, platform, NULL);
    (void)clGetDeviceInfo(f->id, CL_DEVICE_NAME, OPENCL_TEXT - 1, device, NULL);
    platform[OPENCL_TEXT - 1] = device[OPENCL_TEXT - 1] = '\0';
}

/* Puts the devices that the settings leave before the others. */
static tnb_status
choose(struct devices *all, const tnr_device_options *opt, tnb_err *err)
{
    const char *platform = setting(opt, "platform"), *device = setting(opt, "device");
    cl_device_type type = CL_DEVICE_TYPE_ALL;
    TNB_TRY(wanted_type(setting(opt, "type"), &type, err));
    long platform_number = platform ? number_of(platform) : -1;
    long device_number = device ? number_of(device) : -1, seen = 0;
    for (int i = 0; i < all->n; i++) {
        struct found *f = &all->at[i];
        char its_platform[OPENCL_TEXT], its_name[OPENCL_TEXT];
        name_of(f, its_platform, its_name);
        f->left_out = !(f->type & type) && type != CL_DEVICE_TYPE_ALL;
        if (platform)
            f->left_out |= platform_number >= 0 ? f->in_platform != platform_number
                                                : !holds(its_platform, platform);
        if (device && device_number < 0)
            f->left_out |= !holds(its_name, device);
        if (device_number >= 0 && !f->left_out)
            f->left_out = seen++ != device_number;
    }
    struct found *sorted = malloc(sizeof all->at);
    if (!sorted)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to look for OpenCL devices");
    int k = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < all->n; i++)
            if (all->at[i].left_out == (pass == 1))
                sorted[k++] = all->at[i];
        if (pass == 0)
            all->chosen = k;
    }
    memcpy(all->at, sorted, (size_t)k * sizeof *sorted);
    free(sorted);
    return TNB_OK;
}

static tnb_status
left_out(const struct found *f, const tnr_device_options *opt, tnb_err *err)
{
    static const char *const keys[] = {"platform", "device", "type"};
    char platform[OPENCL_TEXT], name[OPENCL_TEXT], text[256] = "";
    size_t at = 0;
    name_of(f, platform, name);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (setting(opt, keys[i]) && at < sizeof text)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%s = %s", at ? ", " : "",
                                   keys[i], setting(opt, keys[i]));
    (void)tnb_fail(err, TNB_DEVICE, "%s / %s is left out by [device opencl] %s", platform, name,
                   text);
    tnb_hint(err, "tenon list devices shows all");
    return TNB_DEVICE;
}

static const char *const booleans[] = {"rounded_division", "profiling", "cache", "clml_tune",
                                       "clml_onchip"};

static tnb_status
opencl_check_setting(void *self, const char *key, const char *value, tnb_err *err)
{
    cl_device_type type;
    (void)self;
    if (strcmp(key, "type") == 0)
        return wanted_type(value, &type, err);
    if (strcmp(key, "cache_size") == 0 && (number_of(value) < 0 || number_of(value) > 1 << 30))
        return tnb_fail(
            err, TNB_INVALID,
            "[device opencl] cache_size = %.60s: it is a number of MiB, 0 for the usual", value);
    for (size_t i = 0; i < sizeof booleans / sizeof *booleans; i++)
        if (strcmp(key, booleans[i]) == 0 && strcmp(value, "yes") != 0 && strcmp(value, "no") != 0)
            return tnb_fail(err, TNB_INVALID, "[device opencl] %s = %.60s: it is yes or no", key,
                            value);
    return TNB_OK;
}

static tnb_status
boolean_setting(const tnr_device_options *opt, const char *key, bool usual, bool *out, tnb_err *err)
{
    const char *s = setting(opt, key);
    *out = s ? *s == 'y' : usual;
    return s ? opencl_check_setting(NULL, key, s, err) : TNB_OK;
}

/* PoCL keeps what it compiles by itself, each kernel when it is launched; asked for the program, it
 * compiles every kernel another time, for groups of any size. */
static bool
keeps_its_own(const struct opencl_device *d)
{
    return strcmp(d->info.platform, "Portable Computing Language") == 0;
}

/* The variables are those that other callers of the extension read. */
static tnb_status
read_tuning(struct opencl_device *d, const tnr_device_options *opt, tnb_err *err)
{
    const char *file = setting(opt, "clml_tuning"), *run = tnb_env("CLML_IS_TUNING_RUN");
    file = file ? file : tnb_env("CLML_TUNING_CACHE");
    TNB_TRY(boolean_setting(opt, "clml_tune", run && file && strcmp(run, "0") != 0, &d->clml_tune,
                            err));
    TNB_TRY(boolean_setting(opt, "clml_onchip", true, &d->clml_onchip, err));
    if (d->clml_tune && !file)
        return tnb_fail(err, TNB_INVALID,
                        "[device opencl] clml_tune = yes: clml_tuning has to name a file");
    d->clml_tuning = file ? strdup(file) : NULL;
    return file && !d->clml_tuning ? tnb_fail(err, TNB_NO_MEMORY, "no memory for a file's name")
                                   : TNB_OK;
}

/* The settings' options for the driver's compiler. Without the first of them OpenCL allows quotients
 * that are 2.5 units in the last place off, which changes what quantization rounds to. */
static tnb_status
read_build_options(struct opencl_device *d, const tnr_device_options *opt, tnb_err *err)
{
    const char *options = setting(opt, "build_options");
    bool rounded;
    TNB_TRY(boolean_setting(opt, "rounded_division", true, &rounded, err));
    const char *division =
        rounded && d->info.rounds_division ? "-cl-fp32-correctly-rounded-divide-sqrt " : "";
    size_t n = strlen(division) + (options ? strlen(options) : 0) + 1;
    d->build_options = malloc(n);
    if (!d->build_options)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to open an OpenCL device");
    snprintf(d->build_options, n, "%s%s", division, options ? options : "");
    return TNB_OK;
}

static tnb_status
read_settings(struct opencl_device *d, const tnr_device_options *opt, tnb_err *err)
{
    const char *size = setting(opt, "cache_size");
    bool profiling, cached;
    TNB_TRY(boolean_setting(opt, "profiling", true, &profiling, err));
    TNB_TRY(boolean_setting(opt, "cache", !keeps_its_own(d), &cached, err));
    if (size)
        TNB_TRY(opencl_check_setting(NULL, "cache_size", size, err));
    long mib = size ? number_of(size) : 0;
    d->properties = profiling ? CL_QUEUE_PROFILING_ENABLE : 0;
    TNB_TRY(read_build_options(d, opt, err));
    d->arena = tnb_arena_new();
    if (!d->arena)
        return tnb_fail(err, TNB_NO_MEMORY, "no memory to open an OpenCL device");
    TNB_TRY(read_tuning(d, opt, err));
    const char *dir = setting(opt, "cache_dir");
    if (!dir && opt)
        dir = opt->cache_dir;
    tnb_err why = {0};
    if (tnb_cache_open(d->arena,
                       !cached ? NULL
                       : dir   ? dir
                               : "",
                       ".opencl", (uint64_t)mib << 20, &d->cache, &why) != TNB_OK)
        tnb_log(TNB_LOG_WARN, "compiled programs are not kept: %s", why.message);
    return TNB_OK;
}

/* ---- opening ---- */

static tnb_status
check_usable(const struct opencl_device *d, tnb_err *err)
{
    cl_bool available = CL_FALSE, compiler = CL_FALSE, little = CL_FALSE;
    cl_int e = clGetDeviceInfo(d->id, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL);
    if (e == CL_SUCCESS)
        e = clGetDeviceInfo(d->id, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler, NULL);
    if (e == CL_SUCCESS)
        e = clGetDeviceInfo(d->id, CL_DEVICE_ENDIAN_LITTLE, sizeof little, &little, NULL);
    if (e != CL_SUCCESS)
        return opencl_fail(NULL, e, err, "asking device '%s'", d->info.name);
    const char *why = !available              ? "it is not available now"
                      : !compiler             ? "it has no compiler of OpenCL C"
                      : d->info.version < 120 ? "it is older than OpenCL 1.2"
                      : !little               ? "its byte order is not this machine's"
                                              : NULL;
    if (!why)
        return TNB_OK;
    return tnb_fail(err, TNB_DEVICE, "%s / %s (%s) cannot be used: %s", d->info.platform,
                    d->info.name, d->info.version_text, why);
}

static void
opencl_close(void *dev)
{
    struct opencl_device *d = dev;
    if (d->queue)
        (void)clReleaseCommandQueue(d->queue);
    if (d->context)
        (void)clReleaseContext(d->context);
    tnb_arena_free(d->arena);
    free(d->build_options);
    free(d->clml_tuning);
    free(d->info.extensions);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

static void CL_CALLBACK
driver_says(const char *text, const void *more, size_t n, void *user)
{
    (void)more, (void)n, (void)user;
    tnb_log(TNB_LOG_INFO, "OpenCL: %.1000s", text ? text : "");
}

static tnb_status
open_found(struct opencl_device *d, const struct found *f, const tnr_device_options *opt,
           tnb_err *err)
{
    cl_int e;
    d->platform = f->platform;
    d->id = f->id;
    d->native = f->type & CL_DEVICE_TYPE_CPU;
    TNB_TRY(opencl_info_read(f->platform, f->id, &d->info, err));
    TNB_TRY(check_usable(d, err));
    TNB_TRY(read_settings(d, opt, err));
    const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM,
                                                (cl_context_properties)d->platform, 0};
    d->context = clCreateContext(properties, 1, &d->id, driver_says, NULL, &e);
    if (e != CL_SUCCESS) {
        d->context = NULL;
        return opencl_fail(NULL, e, err, "opening device '%s'", d->info.name);
    }
    tnb_status st = opencl_queue_new(d, &d->queue, err);
    if (st != TNB_OK)
        d->queue = NULL;
    return st;
}

static tnb_status
opencl_open(void *self, int id, const tnr_device_options *opt, void **dev, tnb_err *err)
{
    struct opencl_device *d = calloc(1, sizeof *d);
    struct devices *all = malloc(sizeof *all);
    tnb_status st = TNB_OK;
    (void)self;
    if (d)
        pthread_mutex_init(&d->lock, NULL);
    if (!d || !all)
        st = tnb_fail(err, TNB_NO_MEMORY, "no memory to open an OpenCL device");
    if (st == TNB_OK) {
        find_devices(all);
        st = choose(all, opt, err);
    }
    if (st == TNB_OK && all->n == 0 && all->why.message[0]) {
        st = all->why.status;
        if (err)
            *err = all->why;
    }
    if (st == TNB_OK && (id < 0 || id >= all->n))
        st = tnb_fail(err, TNB_DEVICE, "there is no OpenCL device %d any more, but %d in all", id,
                      all->n);
    if (st == TNB_OK)
        st = id < all->chosen ? open_found(d, &all->at[id], opt, err)
                              : left_out(&all->at[id], opt, err);
    free(all);
    if (st != TNB_OK) {
        if (d)
            opencl_close(d);
        return st;
    }
    *dev = d;
    return TNB_OK;
}

/* Drivers for processors compile the text of kernels to code of the host and run it in this
 * process. */
static bool
opencl_native(void *dev)
{
    return ((const struct opencl_device *)dev)->native;
}

static const char *const opencl_formats[] = {"opencl-c", NULL};

static const tnr_setting opencl_settings[] = {
    {"platform", NULL, "the platform to use: a part of its name, or its number"},
    {"device", NULL,
     "the device to use: a part of its name, or its number among those that the other settings "
     "leave"},
    {"type", "any", "gpu, cpu, accelerator or any"},
    {"build_options", NULL, "given to the driver's compiler, as -cl-denorms-are-zero"},
    {"rounded_division", "yes",
     "quotients and square roots of float32 are correctly rounded where the device can do that; "
     "no: "
     "as fast as the driver likes"},
    {"profiling", "yes",
     "no: queues take no times, launches may be faster; --profile-kernels then goes by the host's "
     "clock"},
    {"cache", NULL,
     "whether compiled programs are kept: usually yes, with PoCL, which does that itself, no"},
    {"cache_dir", NULL, "the folder that they are kept in: usually that of [tenon] cache_dir"},
    {"cache_size", "0", "MiB of them that are kept; 0: as many as of kernels"},
    {"clml_tuning", NULL, "CLML: the file of measured kernels that is read"},
    {"clml_tune", "no", "CLML: yes measures, and writes that file"},
    {"clml_onchip", "yes", "CLML: no leaves the device's own memory to others"},
    {0},
};

static const tnr_driver opencl_driver = {
    .base.size = sizeof(tnr_driver),
    .base.name = "opencl",
    .base.doc = "GPUs, processors and accelerators through OpenCL 1.2 and newer",
    .takes = TNR_TAKES_IMAGES | TNR_TAKES_SHARED,
    .type = TNB_OPENCL,
    .alignment = 128,
    .count = opencl_count,
    .open = opencl_open,
    .close = opencl_close,
    .describe = opencl_describe,
    .check_features = opencl_check_features,
    .alloc = opencl_alloc,
    .free = opencl_free,
    .copy = opencl_copy,
    .zero = opencl_zero,
    .sync = opencl_sync,
    .stream_new = opencl_stream_new,
    .stream_free = opencl_stream_free,
    .event_new = opencl_event_new,
    .event_free = opencl_event_free,
    .event_record = opencl_event_record,
    .event_wait = opencl_event_wait,
    .event_seconds = opencl_event_seconds,
    .event_done = opencl_event_done,
    .event_sync = opencl_event_sync,
    .copy_start = opencl_copy_start,
    .formats = opencl_formats,
    .module_load = opencl_module_load,
    .module_free = opencl_module_free,
    .module_kernel = opencl_module_kernel,
    .launch = opencl_launch,
    .settings = opencl_settings,
    .check_setting = opencl_check_setting,
    .native = opencl_native,
    .properties = opencl_facts,
};
static const tnr_driver *const opencl_drivers[] = {&opencl_driver};

#ifdef OPENCL_CLML
static const tnr_loader *const opencl_loaders[] = {&opencl_clml, &opencl_clml5};
#define LOADERS .loaders = opencl_loaders, .n_loaders = 2
#else
#define LOADERS .n_loaders = 0
#endif

TNR_PLUGIN(opencl_rt, "0.1.0", "Apache-2.0", "runs kernels on OpenCL devices",
           .drivers = opencl_drivers, .n_drivers = 1, .init = opencl_init, LOADERS);
