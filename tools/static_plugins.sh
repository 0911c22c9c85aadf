#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The C file that names the plugins linked into the program (configure --with-static-plugins), with the text of
# their manifests:   static_plugins.sh SRCDIR VERSION ABI DIR/NAME.la...
# A manifest comes from the build tree where the build makes it, else from SRCDIR.
srcdir=$1 version=$2 abi=$3
shift 3
manifest() {
    m=${1%.la}.plugin
    test -f "$m" || m=$srcdir/$m
    sed -e "s|@VE[R]SION@|$version|g" -e "s|@AB[I]@|$abi|g" "$m"
}
head_of() {
    symbol=tn_plugin
    ! manifest "$1" | grep -q '^kind *= *runtime' || symbol=tnr_plugin
    echo "$(basename "$1" .la)_LTX_$symbol"
}
cat <<'END'
/* The plugins linked into the program. Made by the build. */
#include "tenon/base/plugin.h"

extern const tnb_static_plugin tnt_static_plugins[];
END
for la; do
    manifest "$la" | grep -q '^provides' || { echo "$la: its manifest is missing, or provides nothing" >&2; exit 1; }
    echo "extern const tnb_plugin_head $(head_of "$la");"
done
echo 'const tnb_static_plugin tnt_static_plugins[] = {'
for la; do
    echo "    {\"$(basename "$la" .la)\","
    manifest "$la" | sed -e 's/[\\"]/\\&/g' -e 's/^/     "/' -e 's/$/\\n"/'
    echo "     , &$(head_of "$la")},"
done
echo '    {0}};'
