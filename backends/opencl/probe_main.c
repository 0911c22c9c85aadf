/* SPDX-License-Identifier: Apache-2.0 */
/* opencl_probe MASK: asks all OpenCL platforms but those in MASK (bits, hexadecimal) for their devices.
 *
 * probe.c starts it to learn whether drivers let a process live. It says "began", "platform N NAME"
 * before each platform is asked, and "done".
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PLATFORMS = 64, DEVICES = 256 };

static void
say(const char *text)
{
    puts(text);
    fflush(stdout);
}

static void
ask(cl_platform_id platform)
{
    cl_device_id ids[DEVICES];
    cl_uint n = 0;
    if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, DEVICES, ids, &n) != CL_SUCCESS)
        return;
    for (cl_uint i = 0; i < n && i < DEVICES; i++) {
        char name[256];
        cl_device_type type;
        (void)clGetDeviceInfo(ids[i], CL_DEVICE_TYPE, sizeof type, &type, NULL);
        (void)clGetDeviceInfo(ids[i], CL_DEVICE_NAME, sizeof name, name, NULL);
    }
}

int
main(int argc, char **argv)
{
    cl_platform_id platforms[PLATFORMS];
    cl_uint n = 0;
    unsigned long long left = argc > 1 ? strtoull(argv[1], NULL, 16) : 0;
    (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    say("began");
    if (clGetPlatformIDs(PLATFORMS, platforms, &n) != CL_SUCCESS)
        n = 0;
    for (cl_uint i = 0; i < n && i < PLATFORMS; i++) {
        char line[256], name[200] = "";
        if (left >> i & 1)
            continue;
        snprintf(line, sizeof line, "platform %u ", (unsigned)i);
        say(line);
        (void)clGetPlatformInfo(platforms[i], CL_PLATFORM_NAME, sizeof name - 1, name, NULL);
        snprintf(line, sizeof line, "platform %u %s", (unsigned)i, name);
        say(line);
        ask(platforms[i]);
    }
    say("done");
    _exit(0); /* what drivers do at the end of a process is not asked for */
}
