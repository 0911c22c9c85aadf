/* SPDX-License-Identifier: Apache-2.0 */
/* The processor's features, for both halves of the backend. */
#ifndef TENON_CPU_FEATURES_H
#define TENON_CPU_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

enum { CPU_MAX_FEATURES = 64 };

/* Names of the features that this machine has, in a fixed order; how many. */
uint32_t
cpu_features(const char **out, uint32_t max);
/* Whether the name is one that this file can tell about, on this machine's architecture. */
bool
cpu_feature_known(const char *name);

/* Bytes of this machine's cache of a level, 1 (for data) to 3; 0: there is none, or not known. */
int64_t
cpu_host_cache(int level);

#endif
