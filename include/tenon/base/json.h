/* SPDX-License-Identifier: Apache-2.0 */
/* Reading JSON with jansson. */
#ifndef TENON_BASE_JSON_H
#define TENON_BASE_JSON_H

#include "tenon/base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

struct json_t; /* <jansson.h> */

/* The document that `n` bytes hold, to be released with json_decref; NULL on failure. `flags` are
 * jansson's (JSON_REJECT_DUPLICATES, ...). TNB_FORMAT with the line and what is wrong there,
 * TNB_NO_MEMORY.
 *
 * Use this, not json_loads and its relatives: those write out of bounds, end the process or read a
 * shorter number where memory runs out in a token of more than 15 bytes. The first call puts
 * allocation functions before jansson's present ones (json_set_alloc_funcs), which pass on all that
 * others ask for; an application that sets its own does so before. */
TNB_EXPORT TNB_MUST_CHECK tnb_status
tnb_json_parse(const char *text, size_t n, size_t flags, struct json_t **out, tnb_err *err);

#ifdef __cplusplus
}
#endif
#endif
