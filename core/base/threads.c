/* SPDX-License-Identifier: Apache-2.0 */
/* How many threads to use: the affinity mask and the control group's quota. */
#include "config.h"
#include "tenon/base/threads.h"
#include "tenon/base/file.h"
#include "tenon/base/num.h"
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static uint32_t
from_affinity(void)
{
    /* Machines may have more processors than a fixed cpu_set_t holds. */
    for (int room = 1024; room <= 1 << 18; room *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)room);
        if (!set)
            break;
        size_t size = CPU_ALLOC_SIZE((size_t)room);
        int n = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (n > 0)
            return (uint32_t)n;
    }
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (uint32_t)n : 1;
}

/* Processors that "QUOTA PERIOD" (microseconds; QUOTA may be "max") grants, rounded up; 0: no
 * limit. */
static uint32_t
quota_in(const char *path)
{
    char *text;
    size_t n;
    uint32_t out = 0;
    if (tnb_read_file(path, 256, &text, &n, NULL) != TNB_OK)
        return 0;
    size_t k = strcspn(text, " ");
    if (k < n) {
        const char *period = text + k + 1;
        int64_t q, p;
        if (tnb_read_i64(text, k, &q) && tnb_read_i64(period, strcspn(period, "\n "), &p) &&
            q > 0 && p > 0 && (q + p - 1) / p < UINT32_MAX)
            out = (uint32_t)((q + p - 1) / p);
    }
    free(text);
    return out;
}

/* The smallest quota of our control group (version 2) and those above it. */
static uint32_t
from_quota(void)
{
    char *text, path[4200];
    size_t n;
    uint32_t least = 0;
    if (tnb_read_file("/proc/self/cgroup", 1 << 16, &text, &n, NULL) != TNB_OK)
        return 0;
    for (char *line = text; line && *line;) {
        char *end = strchr(line, '\n');
        if (end)
            *end = 0;
        if (strncmp(line, "0::/", 4) == 0) {
            char *group = line + 3;
            for (;;) {
                snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group[1] ? group : "");
                uint32_t q = quota_in(path);
                if (q && (!least || q < least))
                    least = q;
                char *slash = strrchr(group, '/');
                if (!slash || !group[1])
                    break;
                slash[slash == group] = 0;
            }
        }
        line = end ? end + 1 : NULL;
    }
    free(text);
    return least;
}

uint32_t
tnb_threads_default(void)
{
    uint32_t n = from_affinity(), quota = from_quota();
    if (quota && quota < n)
        n = quota;
    return n ? n : 1;
}
