/* SPDX-License-Identifier: Apache-2.0 */
/* One-line messages. */
#include "tenon/base/log.h"
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static atomic_int shown = TNB_LOG_WARN;
static tnb_log_sink sink;
static void *sink_user;

static const char *const levels[] = {"error", "warn", "info", "debug"};

void
tnb_log(tnb_log_level level, const char *fmt, ...)
{
    if (!tnb_log_on(level))
        return;
    char line[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (sink)
        sink(sink_user, level, line);
    else
        fprintf(stderr, "tenon: %s%s\n", level == TNB_LOG_WARN ? "warning: " : "", line);
}

bool
tnb_log_on(tnb_log_level level)
{
    return (int)level <= atomic_load_explicit(&shown, memory_order_relaxed);
}

void
tnb_log_set_level(tnb_log_level level)
{
    atomic_store_explicit(&shown, (int)level, memory_order_relaxed);
}

bool
tnb_log_parse_level(const char *s, tnb_log_level *out)
{
    for (int i = 0; i < 4; i++)
        if (strcmp(s, levels[i]) == 0) {
            *out = (tnb_log_level)i;
            return true;
        }
    return false;
}

void
tnb_log_set_sink(tnb_log_sink s, void *user)
{
    sink = s;
    sink_user = user;
}
