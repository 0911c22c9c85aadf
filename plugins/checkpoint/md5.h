/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TENON_PLUGINS_CHECKPOINT_MD5_H
#define TENON_PLUGINS_CHECKPOINT_MD5_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* The MD5 of n bytes in hexadecimal digits, with a terminator. */
void
checkpoint_md5(const void *data, uint64_t n, char out[33]);

#endif
