#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Operators compiled for the cpu target against NumPy: see values.py.
exec "$TESTS_PYTHON" "$top_srcdir/tests/oracle/values.py" cpu
