/* SPDX-License-Identifier: Apache-2.0 */
/* tenon check-config: reads every setting, uses none. */
#include "tool.h"

static int
run(tnt_session *none, const tnt_args *a)
{
    tnt_session s = {0};
    uint32_t faults = 0;
    (void)none;
    int status = tnt_session_check(a, &s, &faults);
    if (status == TNT_OK && !faults)
        tnt_remark(a, "tenon: every setting is understood\n");
    else if (faults)
        fprintf(stderr, "tenon: %u of the settings %s wrong\n", faults, faults == 1 ? "is" : "are");
    tnt_session_close(&s);
    return status == TNT_OK && faults ? TNT_FAILED : status;
}

const tnt_command tnt_command_check_config = {
    .name = "check-config",
    .operands = "",
    .summary = "read every setting and say what is wrong",
    .details = "Reads the configuration as every command does, and looks at each setting, whether "
               "something would use it or not: sections, keys and values, names of plugins, "
               "passes, targets and devices, pass lists and options, folders and files. Nothing is "
               "compiled or run. Each fault is told with file and line, and with the nearest name "
               "where one is not known. Exit status 1: there is one.",
    .max_operands = 0,
    .bare = true,
    .examples = (const char *const[]){"tenon check-config", "after a change in /etc",
                                      "tenon check-config --config new.ini",
                                      "a file before it is put in its place", NULL},
    .ignores = "debug",
    .run = run,
};
