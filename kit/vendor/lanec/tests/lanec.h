/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* What makes C of Lane C: one thread at a time. */
#include <math.h>
#include <stdint.h>

typedef int64_t i64;
typedef uint64_t u64;
typedef int32_t i32;
typedef uint32_t u32;
typedef int16_t i16;
typedef uint16_t u16;
typedef int8_t i8;
typedef uint8_t u8;
#define lane_kernel void
#define far
#define near static
#define LANES 32
extern int lane[2], group[2];
#define lane_id(d) lane[d]
#define group_id(d) group[d]
#define halve(x) ((x) / 2)
