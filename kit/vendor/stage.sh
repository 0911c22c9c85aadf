#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stages what `tenon new-plugin --from NAME` copies: SHARE/backends/NAME with the sources of a backend, its manifests,
# README.md, the INI file of its target, and backend.ini, which says what is linked of what.
# Usage: stage.sh SRCDIR SHARE VERSION MANIFEST... -- LINE..., a line being
# "module FOLDER/NAME SOURCE..." or "program FOLDER/NAME SOURCE...".
set -e
src=$1 share=$2 version=$3
shift 3
manifests=
while [ "$1" != -- ]; do
    manifests="$manifests $1"
    shift
done
shift
for l in "$@"; do
    case $l in *" "*" "?*) ;; *) echo "stage.sh: ${l% } has no sources" >&2; exit 1 ;; esac
done
rm -rf "$share.tmp" && mkdir -p "$share.tmp/backends"
of() { # the lines of a folder, given as further arguments
    f=$1
    shift
    for l in "$@"; do case ${l#* } in "$f"/*) printf '%s\n' "$l" ;; esac; done
}
folders=$(for l in "$@"; do l=${l#* } && dirname "${l%% *}"; done | LC_ALL=C sort -u)
for folder in $folders; do
    name=$(basename "$folder") to=$share.tmp/backends/$(basename "$folder")
    mkdir -p "$to"
    {
        echo "; What \`tenon new-plugin --from $name\` copies. Made when Tenon was built."
        printf '[backend]\nname = %s\nversion = %s\n' "$name" "$version"
        of "$folder" "$@" | while read -r kind path sources; do
            printf '\n[%s %s]\nsources =' "$kind" "$(basename "$path")"
            for s in $sources; do
                s=${s#"$folder"/}
                mkdir -p "$to/$(dirname "$s")" && cp "$src/$folder/$s" "$to/$s"
                printf ' %s\n   ' "$s"
            done
            echo
        done
        test ! -f "$src/$folder/copy.ini" || { echo && grep -v '^;' "$src/$folder/copy.ini"; }
    } | sed 's/[[:space:]]*$//' >"$to/backend.ini"
    kernels=$(sed -n 's/^kernels *= *[^ ]* *kernels.//p' "$to/backend.ini")
    test -z "$kernels" || { mkdir -p "$to/kernels" && cp "$src/tests/device/$kernels" "$to/kernels/"; }
    test ! -d "$src/$folder/tests" || cp -R "$src/$folder/tests" "$to/"
    test ! -f "$src/$folder/README.md" || cp "$src/$folder/README.md" "$to/README.md"
    test ! -f "$src/conf/targets/$name.ini" || { mkdir -p "$to/targets" && cp "$src/conf/targets/$name.ini" "$to/targets/"; }
    for m in $manifests; do
        test "$(dirname "$m")" = "$folder" || continue
        test -f "$m" || m=$src/$m
        cp "$m" "$to/"
    done
done
find "$share.tmp" -type d -exec chmod 755 {} + && find "$share.tmp" -type f -exec chmod 644 {} +
rm -rf "$share" && mv "$share.tmp" "$share"
