# SPDX-License-Identifier: Apache-2.0
# The text reader on the corpus, and on a few mutations of it.
exec tests/fuzz/fuzz_text -r 500 "$top_srcdir/tests/text/cases" "$top_srcdir/tests/fuzz/text"
