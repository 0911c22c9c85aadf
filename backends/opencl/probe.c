/* SPDX-License-Identifier: Apache-2.0 */
/* The opencl backend, device half: whether a process survives asking for OpenCL devices.
 *
 * Drivers are code of others that runs in this process, and some abort it, or never come back, where
 * something that they expect of the system is missing. So the program opencl_probe beside this module asks
 * first; what befalls it is remembered for the life of the process. A platform whose driver ended or held up
 * the probe is left alone, and the probe starts again without it.
 *
 * TENON_OPENCL_PROBE is the number of seconds that the probe may take; 0: nothing is probed.
 */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tenon/base/file.h"
#include "tenon/base/log.h"
#include "tenon/base/plugin.h"

enum { USUAL_SECONDS = 30, PLATFORMS = 64 };

static struct {
    pthread_mutex_t lock;
    char folder[3072]; /* of this module; "": not known */
    bool asked;
    bool nothing;  /* OpenCL must not be asked at all */
    uint64_t left; /* platforms that must not be asked, a bit each */
    tnb_err why;   /* of the last of these */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

tnb_status
opencl_init(const tnb_plugin_start *start, tnb_err *err)
{
    (void)err;
    snprintf(state.folder, sizeof state.folder, "%s", start->folder ? start->folder : "");
    return TNB_OK;
}

/* ---- one run of the probe ---- */

struct outcome {
    tnb_probe run;
    bool began;
    int platform;              /* the last one that was asked; -1: none yet */
    char name[TNB_PROBE_TEXT]; /* its name */
};

static void
out_line(void *user, const char *line)
{
    struct outcome *o = user;
    char *end;
    if (strcmp(line, "began") == 0)
        o->began = true;
    if (strcmp(line, "done") == 0)
        o->run.done = true;
    if (strncmp(line, "platform ", 9) == 0) {
        long n = strtol(line + 9, &end, 10);
        o->platform = n >= 0 && n < PLATFORMS ? (int)n : -1;
        snprintf(o->name, sizeof o->name, "%.*s", (int)sizeof o->name - 1,
                 *end == ' ' ? end + 1 : end);
    }
}

static void
explain(const struct outcome *o, long limit, tnb_err *why)
{
    char who[TNB_PROBE_TEXT + 64] = "a driver or the loader of OpenCL";
    if (o->platform >= 0)
        snprintf(who, sizeof who, "the OpenCL driver of platform %d '%s'", o->platform, o->name);
    tnb_probe_explain(&o->run, who, limit, why);
    if (o->run.late)
        tnb_hint(why, "TENON_OPENCL_PROBE=SECONDS gives it more time; OCL_ICD_VENDORS=DIR, with a "
                      "folder of other drivers' .icd files, leaves it out");
    else
        tnb_hint(why,
                 "drivers need /sys, /proc and /dev of a full system; OCL_ICD_VENDORS=DIR, with a "
                 "folder of other drivers' .icd files, leaves it out%s",
                 o->platform < 0 ? ", and so may OCL_ICD_PLATFORM_SORT=none" : "");
}

static void
ask(void)
{
    const tnb_places *p = tnb_places_get();
    char program[4096], mask[24];
    long limit = tnb_probe_limit("TENON_OPENCL_PROBE", USUAL_SECONDS);
    tnb_err err = {0};
    if (limit == 0 || !tnb_probe_find(*state.folder ? state.folder
                                      : p           ? p->plugins
                                                    : NULL,
                                      "opencl_probe", program, sizeof program, &err)) {
        if (err.message[0])
            tnb_log(TNB_LOG_WARN, "OpenCL drivers are not probed: %s", err.message);
        return;
    }
    for (int i = 0; i <= PLATFORMS; i++) {
        struct outcome o = {.run = {.line = out_line, .user = &o}, .platform = -1};
        snprintf(mask, sizeof mask, "%llx", (unsigned long long)state.left);
        if (!tnb_probe_run(program, mask, limit, &o.run) || (!o.began && !o.run.late)) {
            tnb_log(TNB_LOG_INFO, "OpenCL drivers are not probed: %s cannot be run%s%s", program,
                    *o.run.said ? ": " : "", o.run.said);
            return;
        }
        if (o.run.done)
            return;
        explain(&o, limit, &state.why);
        if (o.platform < 0 || state.left >> o.platform & 1) {
            state.nothing = true;
            return;
        }
        state.left |= UINT64_C(1) << o.platform;
        tnb_log(TNB_LOG_WARN, "%s; its devices are left out", state.why.message);
    }
}

bool
opencl_probe(uint64_t *left, tnb_err *why)
{
    pthread_mutex_lock(&state.lock);
    if (!state.asked)
        ask();
    state.asked = true;
    *left = state.left;
    *why = state.why;
    bool may = !state.nothing;
    pthread_mutex_unlock(&state.lock);
    return may;
}
