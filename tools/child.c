/* SPDX-License-Identifier: Apache-2.0 */
/* A copy of the program that does a part of the work, and that does not outlive it. */
#include "config.h"
#include "tool.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

/* SIGTERM: the copy ends its own compilers and removes its folders, as main.c has it. */
long
tnt_fork(void)
{
    pid_t parent = getpid(), pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(TNT_FAILED);
    }
    return pid;
}
