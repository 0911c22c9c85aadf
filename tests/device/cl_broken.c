/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL driver for tests that breaks the process it is asked in. CL_BROKEN says how:
 *
 *     abort, hang         when platforms are asked for
 *     none                it has no platform
 *     devices-abort, devices-segv, devices-hang, devices-exit
 *                         it has the platform "Broken", and that is asked for its devices
 *
 * Every process in which it is asked for platforms adds its number to the file CL_BROKEN_LOG.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl_icd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

struct _cl_platform_id {
    const cl_icd_dispatch *dispatch;
};

static const char *
how(void)
{
    const char *s = getenv("CL_BROKEN");
    return s ? s : "none";
}

static void
hang(void)
{
    for (;;)
        pause();
}

static CL_API_ENTRY cl_int CL_API_CALL
get_devices(cl_platform_id p, cl_device_type type, cl_uint n, cl_device_id *out, cl_uint *k)
{
    (void)p, (void)type, (void)n, (void)out;
    if (strcmp(how(), "devices-abort") == 0) {
        fputs("broken: cannot find the topology\n", stderr);
        abort();
    }
    if (strcmp(how(), "devices-segv") == 0) {
        (void)signal(SIGSEGV, SIG_DFL); /* of a sanitizer */
        (void)raise(SIGSEGV);
    }
    if (strcmp(how(), "devices-hang") == 0)
        hang();
    if (strcmp(how(), "devices-exit") == 0)
        _exit(3);
    if (k)
        *k = 0;
    return CL_DEVICE_NOT_FOUND;
}

static CL_API_ENTRY cl_int CL_API_CALL
get_platform_info(cl_platform_id p, cl_platform_info what, size_t n, void *value, size_t *size)
{
    const char *s = what == CL_PLATFORM_PROFILE          ? "FULL_PROFILE"
                    : what == CL_PLATFORM_VERSION        ? "OpenCL 1.2 broken"
                    : what == CL_PLATFORM_NAME           ? "Broken"
                    : what == CL_PLATFORM_EXTENSIONS     ? "cl_khr_icd"
                    : what == CL_PLATFORM_ICD_SUFFIX_KHR ? "BRK"
                                                         : "nobody";
    (void)p;
    if (value && n <= strlen(s))
        return CL_INVALID_VALUE;
    if (value)
        strcpy(value, s);
    if (size)
        *size = strlen(s) + 1;
    return CL_SUCCESS;
}

static cl_icd_dispatch table;
static struct _cl_platform_id platform = {&table};

static CL_API_ENTRY cl_int CL_API_CALL
get_platforms(cl_uint n, cl_platform_id *out, cl_uint *k)
{
    const char *log = getenv("CL_BROKEN_LOG");
    FILE *f = log ? fopen(log, "a") : NULL;
    if (f) {
        fprintf(f, "%ld\n", (long)getpid());
        fclose(f);
    }
    if (strcmp(how(), "abort") == 0) {
        fputs("broken: no /sys here\n", stderr);
        abort();
    }
    if (strcmp(how(), "hang") == 0)
        hang();
    if (strcmp(how(), "none") == 0) {
        if (k)
            *k = 0;
        return CL_PLATFORM_NOT_FOUND_KHR;
    }
    table.clGetPlatformIDs = get_platforms;
    table.clGetPlatformInfo = get_platform_info;
    table.clGetDeviceIDs = get_devices;
    if (out && n)
        *out = &platform;
    if (k)
        *k = 1;
    return CL_SUCCESS;
}

EXPORT CL_API_ENTRY void *CL_API_CALL
clGetExtensionFunctionAddress(const char *name)
{
    if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0)
        return (void *)get_platforms;
    if (strcmp(name, "clGetPlatformInfo") == 0)
        return (void *)get_platform_info;
    return NULL;
}
EXPORT CL_API_ENTRY cl_int CL_API_CALL
clIcdGetPlatformIDsKHR(cl_uint n, cl_platform_id *out, cl_uint *k)
{
    return get_platforms(n, out, k);
}
EXPORT CL_API_ENTRY cl_int CL_API_CALL
clGetPlatformInfo(cl_platform_id p, cl_platform_info what, size_t n, void *value, size_t *size)
{
    return get_platform_info(p, what, n, value, size);
}
