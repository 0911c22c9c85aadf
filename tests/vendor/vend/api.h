/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* libvend, loaded when it is needed. */
#ifndef VEND_PLUGIN_API_H
#define VEND_PLUGIN_API_H

#include "lib/vend.h"
#include "tenon/base/status.h"

typedef struct vend_api {
    int (*version)(void);
    const char *(*error_name)(vend_status s);
    const char *(*error_text)(vend_status s);
    vend_status (*queue_new)(vend_queue **out);
    void (*queue_free)(vend_queue *q);
    vend_status (*submit)(vend_queue *q, const vend_dense *job, vend_done done, void *user);
    vend_status (*fence)(vend_queue *q, int timeout_ms);
    void (*abort)(vend_queue *q);
} vend_api;

/* It stays loaded. */
TNB_MUST_CHECK tnb_status
vend_api_load(vend_api *out, tnb_err *err);

#endif
