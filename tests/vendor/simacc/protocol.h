/* SPDX-License-Identifier: Apache-2.0 OR MIT-0 */
/* What the host and the process of the simulated accelerator say to each other, over one socket.
 *
 * Commands go one way and are not answered, except those marked. They are
 * done in the order in which they come (streams and events are the host's: queue.h). The host names objects (memory,
 * modules, kernels) by numbers that it chooses; a number is free again behind the command that
 * frees its object. An error in a command that is not answered is the answer to the next one that is.
 */
#ifndef SIMACC_PROTOCOL_H
#define SIMACC_PROTOCOL_H

#include <stdint.h>

/* name; what stands in args, what follows */
enum simacc_op {
    SIMACC_HELLO,  /* answered: SIMACC_VERSION */
    SIMACC_ALLOC,  /* memory, bytes */
    SIMACC_FREE,   /* an object of any kind; what is queued keeps it */
    SIMACC_WRITE,  /* memory, offset; then the bytes */
    SIMACC_READ,   /* memory, offset, bytes; answered with the bytes */
    SIMACC_COPY,   /* to, offset, from, offset, bytes; may overlap */
    SIMACC_ZERO,   /* memory, offset, bytes */
    SIMACC_LOAD,   /* module; then source text; answered */
    SIMACC_KERNEL, /* kernel, module; then a name; answered */
    SIMACC_LAUNCH, /* kernel, n buffers, n scalars; then simacc_buffer[], int64_t[] */
    SIMACC_FENCE,  /* answered when all before it is done */
    SIMACC_N_OPS
};

enum { SIMACC_VERSION = 2, SIMACC_ARGS = 5 };

typedef struct simacc_command {
    uint32_t op;
    uint32_t reserved;
    uint64_t args[SIMACC_ARGS];
    uint64_t bytes; /* that follow */
} simacc_command;

typedef struct simacc_buffer {
    uint64_t mem, offset, bytes, written;
} simacc_buffer;

/* `op` is that of the command; status 0: done, else a text follows that says what went wrong. */
typedef struct simacc_reply {
    uint32_t op, status;
    uint64_t value;
    uint64_t bytes; /* that follow */
} simacc_reply;

#define SIMACC_FORMAT "simacc-c"

#endif
