/* SPDX-License-Identifier: Apache-2.0 */
/* The gpu_generic backend, device half: whether a process survives asking for Vulkan devices.
 *
 * Drivers and layers are code of others that runs in this process, and some abort it, or never come back. So the program
 * gpu_generic_probe beside this module asks first; what befalls it is remembered for the life of the process. Vulkan's loader asks all
 * drivers at once: where one breaks, none is used, and the message says how to leave one out.
 *
 * TENON_GPU_GENERIC_PROBE is the number of seconds that the probe may take; 0: nothing is probed.
 */
#include "device.h"

#include <stdio.h>
#include <string.h>
#include "tenon/base/file.h"
#include "tenon/base/log.h"
#include "tenon/base/plugin.h"

enum { USUAL_SECONDS = 30 };

static struct {
    pthread_mutex_t lock;
    char folder[3072]; /* of this module; "": not known */
    bool asked;
    tnb_err why; /* why Vulkan must not be asked */
} state = {.lock = PTHREAD_MUTEX_INITIALIZER};

tnb_status
gpu_generic_init(const tnb_plugin_start *start, tnb_err *err)
{
    (void)err;
    snprintf(state.folder, sizeof state.folder, "%s", start->folder ? start->folder : "");
    return TNB_OK;
}

struct outcome {
    tnb_probe run;
    bool began;
    char call[TNB_PROBE_TEXT]; /* the last one, and whom it asked */
};

static void
out_line(void *user, const char *line)
{
    struct outcome *o = user;
    if (strcmp(line, "began") == 0)
        o->began = true;
    else if (strcmp(line, "done") == 0)
        o->run.done = true;
    else
        snprintf(o->call, sizeof o->call, "%s", line);
}

static void
ask(void)
{
    const tnb_places *p = tnb_places_get();
    char program[4096], who[TNB_PROBE_TEXT + 64];
    long limit = tnb_probe_limit("TENON_GPU_GENERIC_PROBE", USUAL_SECONDS);
    tnb_err err = {0};
    if (limit == 0 || !tnb_probe_find(*state.folder ? state.folder
                                      : p           ? p->plugins
                                                    : NULL,
                                      "gpu_generic_probe", program, sizeof program, &err)) {
        if (err.message[0])
            tnb_log(TNB_LOG_WARN, "Vulkan's drivers are not probed: %s", err.message);
        return;
    }
    struct outcome o = {.run = {.line = out_line, .user = &o}};
    if (!tnb_probe_run(program, NULL, limit, &o.run) || (!o.began && !o.run.late)) {
        tnb_log(TNB_LOG_INFO, "Vulkan's drivers are not probed: %s cannot be run%s%s", program,
                *o.run.said ? ": " : "", o.run.said);
        return;
    }
    if (o.run.done)
        return;
    snprintf(who, sizeof who, "a driver or layer of Vulkan, in %s,",
             *o.call ? o.call : "its start");
    tnb_probe_explain(&o.run, who, limit, &state.why);
    tnb_hint(&state.why,
             "VK_DRIVER_FILES=FILE.json (VK_ICD_FILENAMES for loaders before 1.3.207) names the "
             "drivers that are used%s",
             o.run.late ? "; TENON_GPU_GENERIC_PROBE=SECONDS gives them more time" : "");
}

tnb_status
gpu_generic_probe(tnb_err *err)
{
    pthread_mutex_lock(&state.lock);
    if (!state.asked)
        ask();
    state.asked = true;
    tnb_status st = state.why.status;
    if (st != TNB_OK && err)
        *err = state.why;
    pthread_mutex_unlock(&state.lock);
    return st;
}
