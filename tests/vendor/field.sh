#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# An engineer in the field has an installed Tenon with its pages, an empty folder, and no sources. The tutorials of the installed
# documentation (pages with a section "Where it is") are typed line by line (tutorial.py): what they say is built, chosen by INI files, and
# run, and prints what they quote. What was built may name no file of the sources or of the build.
# Usage: field.sh PREFIX [PAGE]...     (without PAGE: all tutorials). Exits with 77 if nothing could be tried.
prefix=$(cd "$1" && pwd -P) || exit 99
shift
folder=$(dirname "$(find "$prefix/share" -path '*/doc/*/own-language.md' | head -n 1)")
[ -d "$folder" ] || { echo "field.sh: the pages are not installed"; exit 1; }
[ $# -gt 0 ] || set -- $(cd "$folder" && grep -l '^## Where it is' *.md)
[ $# -gt 0 ] || { echo "field.sh: no tutorial is installed"; exit 1; }
status=77
for page; do
    "${PYTHON:-${TESTS_PYTHON:-python3}}" "$(dirname "$0")/tutorial.py" "$folder/$page" "$prefix"
    case $? in
    0) [ "$status" = 1 ] || status=0 ;;
    77) ;;
    *) echo "field.sh: $page does not hold"; status=1 ;;
    esac
done
exit $status
