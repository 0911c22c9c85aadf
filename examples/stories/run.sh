#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Compiles the language model and lets it write a paragraph.
#     run.sh BUILD_DIR      with the programs of a build tree
#     run.sh                with the installed ones
set -eu
here=$(cd "$(dirname "$0")" && pwd)
tenon=tenon
if [ $# -gt 0 ]; then
    tenon=$1/tools/tenon
fi
if ! "$tenon" generate --help >/dev/null 2>&1; then
    echo "$tenon was built without libtenon-lm, which needs pcre2 and utf8proc: no text is written"
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$tenon" compile "$here" -o "$work/stories.tno" --timing
prompt='It was'
printf '\n%s' "$prompt"
"$tenon" generate "$work/stories.tno" --prompt "$prompt" --temperature 0.6 --top-p 0.9 --seed 1 --max-tokens 120 --stop '
'
echo
