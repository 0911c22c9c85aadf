#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An engineer in the field has an installed Tenon with its pages, an empty folder, and no sources: with nothing but what the page
# own-language.md says a language for kernels, an intrinsic in it and a schedule rule are made, built, chosen by an INI file, and run. The
# page is the installed one, whose lines are typed as they stand (tutorial.py), so that page and test cannot differ; what was built may
# name no file of the sources or of the build.
# Usage: field.sh PREFIX [PAGE]
prefix=$(cd "$1" && pwd -P) || exit 99
name=${2:-own-language.md}
page=$(find "$prefix/share" -path "*/doc/*/$name" | head -n 1)
[ -f "$page" ] || { echo "field.sh: $name is not installed"; exit 1; }
exec "${PYTHON:-${TESTS_PYTHON:-python3}}" "$(dirname "$0")/tutorial.py" "$page" "$prefix"
