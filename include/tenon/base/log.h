/* SPDX-License-Identifier: Apache-2.0 */
/* Messages for the person who runs a program: one line each, to standard error unless a program
 * sets a sink of its own. Results never go here. */
#ifndef TENON_BASE_LOG_H
#define TENON_BASE_LOG_H

#include <stdbool.h>
#include "tenon/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tnb_log_level {
    TNB_LOG_ERROR = 0,
    TNB_LOG_WARN = 1, /* the default: errors and warnings are shown */
    TNB_LOG_INFO = 2,
    TNB_LOG_DEBUG = 3
} tnb_log_level;

typedef void (*tnb_log_sink)(void *user, tnb_log_level level, const char *line);

TNB_EXPORT void
tnb_log(tnb_log_level level, const char *fmt, ...) TNB_PRINTF(2, 3);
/* True when messages of the level are shown; to skip costly preparation. */
TNB_EXPORT bool
tnb_log_on(tnb_log_level level);
TNB_EXPORT void
tnb_log_set_level(tnb_log_level level);
/* "error", "warn", "info", "debug". */
TNB_EXPORT bool
tnb_log_parse_level(const char *s, tnb_log_level *out);
/* NULL: standard error. To be set before threads start. */
TNB_EXPORT void
tnb_log_set_sink(tnb_log_sink sink, void *user);

/* A bar on standard error while long work runs. Draws only when standard error is a terminal and
 * the work lasts longer than a moment; may be stepped by several threads. */
typedef struct tnb_progress tnb_progress;
/* NULL when nothing would be drawn; every function below takes NULL. `what` stays the caller's, and stays. `total` 0: the amount of
 * work is not known; a thread shows the seconds that have passed, and steps count for nothing. */
TNB_EXPORT tnb_progress *
tnb_progress_start(const char *what, uint64_t total);
/* `item` (may be NULL) is shown behind the bar. */
TNB_EXPORT void
tnb_progress_step(tnb_progress *p, uint64_t by, const char *item);
/* Clears the bar and frees. */
TNB_EXPORT void
tnb_progress_end(tnb_progress *p);

#ifdef __cplusplus
}
#endif
#endif
