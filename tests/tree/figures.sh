#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The table of figures in README.md is what the newest result file of bench/cpu gives.
exec "${TESTS_PYTHON:-python3}" -B "${top_srcdir:-$(dirname "$0")/../..}/bench/cpu/readme.py" --check
