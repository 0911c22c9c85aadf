/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are written beside their place, in an open folder (or AT_FDCWD): what tnb_new_file and
 * caches share. */
#ifndef TENON_BASE_NEW_FILE_H
#define TENON_BASE_NEW_FILE_H

#include <stdbool.h>

/* A new file to be `path`: without a name where the file system can do that, else under the name that
 * *temporary gets (from malloc; NULL without memory). -1 with errno. */
int
base_new_open(int dir, const char *path, unsigned mode, char **temporary);
/* Closes it and gives it its place; a link that stands there is replaced, not followed. False with
 * errno, when nothing is left of it. */
bool
base_new_place(int dir, int fd, const char *temporary, const char *path);
/* Closes and removes it. */
void
base_new_drop(int dir, int fd, const char *temporary);

#endif
