/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KIT_TABLES_H
#define KIT_TABLES_H

/* Tells the core what the entries of the kit's tables look like (tn_registry_describe). Called when the library is loaded; a program
 * with a static kit has the file that does so because something calls it. */
void
tnk_describe_tables(void);

#endif
