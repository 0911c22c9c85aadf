#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Operators on the reference interpreter against NumPy: see values.py.
exec "$TESTS_PYTHON" "$top_srcdir/tests/oracle/values.py" interp
