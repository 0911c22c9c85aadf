/* SPDX-License-Identifier: Apache-2.0 */
/* Plugins for check_plugin.py: one source, a macro for what is wrong with each. */
#include "tenon/core/registry.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef WRONG_MAJOR
#undef TNB_ABI_MAJOR
#define TNB_ABI_MAJOR 7
#endif
#ifdef NEWER_MINOR
#undef TNB_ABI_MINOR
#define TNB_ABI_MINOR 77
#endif

#if defined(MISSING_LIBRARY)
int
candidate_elsewhere(void);
#elif defined(UNRESOLVED)
int
candidate_nowhere(void);
#endif

/* Shows that code of the module ran. */
__attribute__((constructor)) static void
ran(void)
{
    const char *file = getenv("CANDIDATE_FILE");
    int fd = file ? open(file, O_WRONLY | O_CREAT, 0644) : -1;
    if (fd >= 0)
        close(fd);
#ifdef CRASH_EARLY
    *(volatile int *)0 = 1;
#endif
}

static tnb_status
start(tn_registry *r, const tnb_plugin_start *given, tnb_err *err)
{
    (void)r, (void)given, (void)err;
#if defined(CRASH)
    *(volatile int *)0 = 1;
#elif defined(ABORT)
    abort();
#elif defined(HANG)
    for (;;)
        pause();
#elif defined(BUSY)
    for (volatile int i = 0;; i++)
        ;
#elif defined(EXITS)
    exit(0);
#elif defined(FAILS)
    tnb_fail(err, TNB_DEVICE, "the dongle is not plugged in");
    tnb_hint(err, "plug it in");
    return TNB_DEVICE;
#elif defined(MISSING_LIBRARY)
    return (tnb_status)candidate_elsewhere();
#elif defined(UNRESOLVED)
    return (tnb_status)candidate_nowhere();
#endif
    return TNB_OK;
}

static const tn_module *
candidate_run(const tn_pass_ctx *pc, const tn_module *m)
{
    (void)pc;
#ifdef CRASH_IN_PASS
    *(volatile int *)0 = 1;
#endif
    return m;
}

#ifdef OTHER_ENTRY
#define PASS_SIZE (sizeof(tn_pass) - 8)
#else
#define PASS_SIZE sizeof(tn_pass)
#endif
static const tn_pass pass = {.base.size = PASS_SIZE,
                             .base.name = "CandidatePass",
                             .base.doc = "leaves everything as it is",
                             .run = candidate_run};
static const tn_pass *const passes[] = {&pass};

#if defined(MISSPELT)
/* A device without pointers and 64-bit integers, if the names were right. */
static const char *const kinds[] = {"candidate", NULL};
static const tn_attr_schema attrs[] = {
    {"suports_pointers", TN_ATTR_BOOL, 0, "False", "addresses of elements", NULL},
#ifdef OTHER_TYPE
    {"supports_int64", TN_ATTR_STR, 0, "\"no\"", "arithmetic on int64", NULL},
#else
    {"supports_int64", TN_ATTR_BOOL, 0, "False", "arithmetic on int64", NULL},
#endif
    {"supports_tensor_cores", TN_ATTR_BOOL, 0, "False", "a matter of the plugin's own", NULL},
    {0},
};
static const char *const list[] = {NULL};
static const tn_target_kind kind = {.base = {sizeof kind, "candidate", "for tests"},
                                    .kinds = kinds,
                                    .attrs = attrs,
                                    .library_dispatch = list,
                                    .legalize = list,
                                    .finalize = list,
                                    .lower = list,
                                    .device = "cpu"};
static const tn_target_kind *const targets[] = {&kind};
#endif

#ifdef OTHER_DESCRIPTOR
/* As other headers, in which the descriptor ended here, would have made it. */
#undef TNB_PLUGIN_HEAD
#define TNB_PLUGIN_HEAD(T, kind_, name_, version_, licence_, summary_)                            \
    {                                                                                             \
        TNB_PLUGIN_MAGIC, (uint32_t)offsetof(T, init), TNB_ABI_MAJOR, TNB_ABI_MINOR,              \
            TNB_BUILD_BITS, TNB_CPU_BITS, (kind_), 0, (name_), (version_), (licence_), (summary_) \
    }
#endif
TN_PLUGIN(candidate, "1.0", "MIT-0", "for tests", .passes = passes, .n_passes = 1, .init = start
#ifdef MISSPELT
          ,
          .targets = targets, .n_targets = 1
#endif
);
