/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* The kernels of the model, all their threads, and what they should have computed. */
#include <stdio.h>

enum { ROWS = 96, COLUMNS = 4, N = ROWS * COLUMNS };
int lane[2], group[2];
void
sums(const float *A, float *B);
void
places(const float *C, float *D);

/* All threads of a launch, one after the other: a third index is in the upper half of the second. */
static void
launch(void (*kernel)(const float *, float *), const int grid[3], const int block[3],
       const float *in, float *out)
{
    for (int g = 0; g < grid[0] * grid[1] * grid[2]; g++)
        for (int t = 0; t < block[0] * block[1] * block[2]; t++) {
            group[0] = g % grid[0];
            group[1] = g / grid[0] % grid[1] | g / grid[0] / grid[1] << 16;
            lane[0] = t % block[0];
            lane[1] = t / block[0] % block[1] | t / block[0] / block[1] << 16;
            kernel(in, out);
        }
}

int
main(void)
{
    static const int groups[2][3] = {{3, 1, 1}, {2, 4, 3}}, lanes[2][3] = {{32, 1, 1}, {2, 4, 2}};
    float a[N], b[ROWS], d[N] = {0};
    int wrong = 0;
    for (int i = 0; i < N; i++)
        a[i] = (float)i;
    launch(sums, groups[0], lanes[0], a, b);
    launch(places, groups[1], lanes[1], a, d);
    for (int i = 0; i < ROWS; i++)
        wrong += b[i] != (float)(8 * i + 3) + 1;
    for (int i = 0; i < N; i++)
        wrong += d[i] != (float)i + 1;
    if (wrong)
        fprintf(stderr, "run.c: %d of %d results are wrong\n", wrong, ROWS + N);
    return wrong > 0;
}
