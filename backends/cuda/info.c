/* SPDX-License-Identifier: Apache-2.0 */
/* The cuda backend, device half: what a device says about itself, in numbers, in one line for a person, as features that code asks
 * for, and as attributes of the target.
 */
#include "device.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tnb_status
cuda_info_read(const struct cuda_api *api, CUdevice gpu, struct cuda_info *out, tnb_err *err)
{
    const struct {
        int attribute, *to;
    } all[] = {
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &out->major},
        {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &out->minor},
        {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &out->units},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, &out->clock_khz},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, &out->warp},
        {CU_DEVICE_ATTRIBUTE_INTEGRATED, &out->integrated},
        {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, &out->pools},
        {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, &out->cooperative},
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &out->threads},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, &out->block[0]},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + 1, &out->block[1]},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X + 2, &out->block[2]},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, &out->grid[0]},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + 1, &out->grid[1]},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X + 2, &out->grid[2]},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &out->shared},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &out->shared_most},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, &out->registers},
        {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, &out->l2},
    };
    *out = (struct cuda_info){0};
    CUresult r = api->DeviceGetName(out->name, CUDA_TEXT, gpu);
    if (r != CUDA_SUCCESS)
        return cuda_fail(NULL, api, r, "cuDeviceGetName", err, "asking a GPU");
    out->name[CUDA_TEXT - 1] = '\0';
    r = api->DeviceTotalMem(&out->memory, gpu);
    if (r != CUDA_SUCCESS)
        return cuda_fail(NULL, api, r, "cuDeviceTotalMem", err, "asking device '%s'", out->name);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        r = api->DeviceGetAttribute(all[i].to, all[i].attribute, gpu);
        if (r != CUDA_SUCCESS)
            return cuda_fail(NULL, api, r, "cuDeviceGetAttribute", err,
                             "asking device '%s' for attribute %d", out->name, all[i].attribute);
    }
    return TNB_OK;
}

void
cuda_describe(void *dev, char *out, size_t n)
{
    const struct cuda_device *d = dev;
    const struct cuda_info *i = &d->info;
    snprintf(out, n,
             "%s, sm_%d%d, driver for CUDA %d.%d; %zu MiB, %d multiprocessors; blocks of %d "
             "threads, %d KiB shared",
             i->name, i->major, i->minor, d->api->version / 1000, d->api->version % 1000 / 10,
             i->memory >> 20, i->units, i->threads, i->shared_most >> 10);
}

/* ---- architectures ---- */

/* "sm_90a" as 90 and 'a'; 'a': this one alone, 'f': this one and later ones of its family, 0: none of these. */
static bool
parse(const char *arch, int *version, char *suffix)
{
    char *end;
    if (strncmp(arch, "sm_", 3) != 0)
        return false;
    long v = strtol(arch + 3, &end, 10);
    *version = (int)v;
    *suffix = *end;
    return end != arch + 3 && v >= 10 && v < 1000 &&
           (*end == '\0' || ((*end == 'a' || *end == 'f') && end[1] == '\0'));
}

bool
cuda_runs_cubin(const struct cuda_info *i, const char *arch)
{
    int v;
    char suffix;
    if (!parse(arch, &v, &suffix) || v / 10 != i->major)
        return false;
    return suffix == 'a' ? v % 10 == i->minor : v % 10 <= i->minor;
}

bool
cuda_runs_ptx(const struct cuda_info *i, const char *arch)
{
    int v;
    char suffix;
    if (!parse(arch, &v, &suffix))
        return false;
    return suffix ? cuda_runs_cubin(i, arch) : v <= i->major * 10 + i->minor;
}

/* Code asks for the architecture it was made for. */
tnb_status
cuda_check_features(void *dev, const char *const *features, uint32_t n, tnb_err *err)
{
    const struct cuda_info *i = &((const struct cuda_device *)dev)->info;
    for (uint32_t k = 0; k < n; k++) {
        if (cuda_runs_cubin(i, features[k]) || cuda_runs_ptx(i, features[k]))
            continue;
        (void)tnb_fail(err, TNB_UNSUPPORTED,
                       "device '%s' is sm_%d%d, the code needs [%.40s], which it is not", i->name,
                       i->major, i->minor, features[k]);
        tnb_hint(err,
                 "compile the model for the device: -t cuda:auto where it is present, or "
                 "--set target.cuda.arch=sm_%d%d",
                 i->major, i->minor);
        return TNB_UNSUPPORTED;
    }
    return TNB_OK;
}

/* ---- properties and attributes ---- */

const tnr_property *
cuda_facts(void *dev, uint32_t *n)
{
    struct cuda_device *d = dev;
    const struct cuda_info *i = &d->info;
#define INT(name_, value, doc_)                                            \
    {                                                                      \
        .name = name_, .type = TNR_PROPERTY_INT, .u.i = value, .doc = doc_ \
    }
    const tnr_property all[] = {
        INT("memory_bytes", (int64_t)i->memory, NULL),
        INT("units", i->units, NULL),
        INT("threads_per_block", i->threads, NULL),
        INT("warp", i->warp, NULL),
        INT("shared_bytes", i->shared_most, NULL),
        {.name = "clock_hz", .type = TNR_PROPERTY_FLOAT, .u.f = 1e3 * i->clock_khz},
        {.name = "unified_memory", .type = TNR_PROPERTY_BOOL, .u.b = i->integrated},
        {.name = "vendor", .type = TNR_PROPERTY_TEXT, .u.text = "NVIDIA"},
        {.name = "driver_version", .type = TNR_PROPERTY_TEXT, .u.text = d->version_text},
        INT("cuda.compute_capability", i->major * 10 + i->minor, "90 for sm_90"),
        INT("cuda.l2_cache_bytes", i->l2, "second-level cache"),
        INT("cuda.launches", (int64_t)atomic_load(&d->launches), "kernels launched so far"),
        INT("cuda.captures", (int64_t)atomic_load(&d->captures), "graphs captured so far"),
        INT("cuda.updates", (int64_t)atomic_load(&d->updates), "graphs updated so far"),
    };
#undef INT
    _Static_assert(sizeof all == sizeof d->properties, "CUDA_PROPERTIES is their number");
    memcpy(d->properties, all, sizeof all);
    *n = CUDA_PROPERTIES;
    return d->properties;
}

/* A kernel declares no more shared memory than the usual size; a launch may give it more. */
tnb_status
cuda_target_of(void *dev, char *out, size_t n, tnb_err *err)
{
    const struct cuda_info *i = &((const struct cuda_device *)dev)->info;
    int at = snprintf(out, n,
                      "\"arch\": \"sm_%d%d\", \"max_threads_per_block\": %d, "
                      "\"max_shared_memory_per_block\": %d, "
                      "\"max_dynamic_shared_memory_per_block\": %d, \"thread_warp_size\": %d, "
                      "\"registers_per_block\": %d, \"l2_cache_size_bytes\": %d",
                      i->major, i->minor, i->threads, i->shared, i->shared_most, i->warp,
                      i->registers, i->l2);
    if (at < 0 || (size_t)at >= n)
        return tnb_fail(err, TNB_NO_MEMORY, "the attributes of device '%s' need %d bytes", i->name,
                        at + 1);
    return TNB_OK;
}
