/* SPDX-License-Identifier: Apache-2.0 */
/* Renders a chat template for tests in other languages: `render TEMPLATE NOW` reads variables from standard input, a line of JSON each, and
 * writes for each a line: what the template gives in hexadecimal, or "! " and the message. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include "tenon/base/file.h"
#include "tenon/lm/chat.h"

int
main(int argc, char **argv)
{
    tnb_err err = {0};
    char *text, *line = NULL;
    size_t n, room = 0;
    ssize_t length;
    tnl_template *t;
    if (argc != 3)
        return 2;
    if (tnb_read_file(argv[1], 0, &text, &n, &err) != TNB_OK ||
        tnl_template_new(text, n, "template", &t, &err) != TNB_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    free(text);
    while ((length = getline(&line, &room, stdin)) > 0) {
        tnb_buf b = {0};
        if (tnl_template_render(t, line, (size_t)length, atoll(argv[2]), &b, &err) != TNB_OK)
            printf("! %s", err.message);
        for (size_t i = 0; i < b.n; i++)
            printf("%02x", (unsigned char)b.s[i]);
        putchar('\n');
        tnb_buf_free(&b);
    }
    free(line);
    tnl_template_free(t);
    return 0;
}
