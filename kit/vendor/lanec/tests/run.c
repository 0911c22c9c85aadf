/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The kernel of the model, all its threads, and what it should have computed. */
#include <stdio.h>

enum { GROUPS = 3, THREADS = 32 };
int lane, group;
void
sums(const float *A, float *B);

int
main(void)
{
    float a[GROUPS * THREADS][4], b[GROUPS * THREADS];
    int wrong = 0;
    for (int i = 0; i < GROUPS * THREADS; i++)
        for (int k = 0; k < 4; k++)
            a[i][k] = (float)(i * 4 + k);
    for (group = 0; group < GROUPS; group++)
        for (lane = 0; lane < THREADS; lane++)
            sums(&a[0][0], b);
    for (int i = 0; i < GROUPS * THREADS; i++)
        wrong += b[i] != (float)(8 * i + 3) + 1;
    if (wrong)
        fprintf(stderr, "run.c: %d of %d sums are wrong\n", wrong, GROUPS * THREADS);
    return wrong > 0;
}
