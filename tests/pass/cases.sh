# SPDX-License-Identifier: Apache-2.0
# All golden cases: tests/pass/PassName/*.py.
exec "$top_builddir/tests/pass/run_cases" "$top_srcdir"/tests/pass/*/*.py
