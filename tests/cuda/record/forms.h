/* SPDX-License-Identifier: Apache-2.0 */
/* The instruction forms that are recorded. Names have alternatives in braces, all combinations of which are forms. */
#ifndef CUDA_RECORD_FORMS_H
#define CUDA_RECORD_FORMS_H

#include <stdbool.h>
#include <stdint.h>

/* An operand is a letter:
 *   p predicate; h, w, d integer of 16, 32, 64 bits; e, f, g float of 16, 32, 64 bits; b bfloat16; E, B two halves, two bfloat16
 *   m, n, N as h, w, d, but positive; l a lane's number; a an angle in [-3, 3]
 *   u, v, t, y as E, B, f, g, but in [-1, 1]: of products, whose sums have no prescribed order
 *   x four floats of 8 bits, e4m3 or e5m2, of at most 1, for products, too
 *   ? as the type in the name says: of a conversion the result's type comes before the operand's
 * Results take the letters of the former two lines. A body has ! for the name, $k for results and #k for operands; registers z, zd (32, 64
 * bits) and zp; addresses sa and sr in shared memory (64 bytes, and 16 bytes, of each thread), ga in global memory, ia of the operands,
 * 8 bytes each. No body: the name, results, operands. */
typedef struct form_row {
    int arch; /* the least that has it */
    const char *name, *results, *operands, *body;
    double
        tolerance; /* relative to the larger of 1 and the value; below 0: to the value; 0: the same bits */
} form_row;

extern const form_row form_rows[];

/* The forms of a row, one by one. False: there is no k-th. */
bool
form_name(const form_row *row, uint32_t k, char *out, uint32_t size);
/* The letters with those for '?' put in. False: the type in the name is not known. */
bool
form_letters(const form_row *row, const char *name, char *results, char *operands, uint32_t size);

#endif
