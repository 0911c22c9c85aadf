/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes a second of reading a mapped file from memory, on N threads, each a part of its own: the best of five rounds.
 *
 *     cc -O2 -march=native -pthread read_file.c -o read_file
 *     read_file FILE THREADS
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

typedef uint64_t vec __attribute__((vector_size(64)));

enum { MOST_THREADS = 64, ROUNDS = 5, STREAMS = 4 };

typedef struct part {
    const vec *at;
    size_t n;
    vec sum;
} part;

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Several streams: one alone keeps too few lines on the way. */
static void *
read_part(void *data)
{
    part *p = data;
    const size_t each = p->n / STREAMS;
    vec sums[STREAMS] = {0};
    for (size_t i = 0; i < each; i++)
        for (size_t k = 0; k < STREAMS; k++) {
            const vec *from = p->at + k * each + i;
            __builtin_prefetch((const char *)from + 512);
            sums[k] += *from;
        }
    for (size_t k = 0; k < STREAMS; k++)
        p->sum += sums[k];
    return NULL;
}

int
main(int argc, char **argv)
{
    const int threads = argc == 3 ? atoi(argv[2]) : 0;
    struct stat st;
    const int fd = argc == 3 ? open(argv[1], O_RDONLY) : -1;
    if (threads < 1 || threads > MOST_THREADS || fd < 0 || fstat(fd, &st) != 0) {
        fprintf(stderr, "usage: read_file FILE THREADS\n");
        return 2;
    }
    const char *data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
    if (data == MAP_FAILED) {
        perror(argv[1]);
        return 1;
    }
    static part parts[MOST_THREADS];
    const size_t n = (size_t)st.st_size / sizeof(vec) / (size_t)threads;
    double best = 0;
    uint64_t sum = 0;
    for (int r = 0; r < ROUNDS; r++) {
        pthread_t id[MOST_THREADS];
        const double start = now();
        for (int i = 0; i < threads; i++) {
            parts[i] = (part){.at = (const vec *)data + (size_t)i * n, .n = n};
            if (pthread_create(&id[i], NULL, read_part, &parts[i]) != 0)
                return 1;
        }
        for (int i = 0; i < threads; i++)
            pthread_join(id[i], NULL);
        const double rate = (double)(n * sizeof(vec) * (size_t)threads) / (now() - start);
        best = rate > best ? rate : best;
        for (int i = 0; i < threads; i++)
            sum += parts[i].sum[0];
    }
    fprintf(stderr, "sum %llx\n", (unsigned long long)sum); /* so that the loads are made */
    printf("%.0f\n", best);
    return 0;
}
