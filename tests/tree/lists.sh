#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Lists that the build makes of files fail where nothing is found to put into them: a manifest without a pass would leave the pass out
# of Tenon without a word.
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 99
status=0
fails() { # what is said, command...
    said=$1
    shift
    if "$@" >out 2>&1; then
        echo "FAIL it succeeds: $*"
        status=1
    fi
    grep -q "$said" out || { echo "FAIL not said: $said"; cat out; status=1; }
}
provides="sh $top_srcdir/plugins/provides.sh"
names='s|^    \.base\.name = "\(.*\)",$|    pass:\1|p'
printf 'const tn_pass a = {\n    .base.name = "One",\n};\n' >one.c
printf 'const tn_pass b = {\n    .base = {.name = "Two"},\n};\n' >two.c
[ "$($provides . "$names" one.c)" = "provides =
    pass:One" ] || { echo "FAIL the list of one file"; status=1; }
fails 'two.c: no name' $provides . "$names" one.c two.c
fails 'three.c' $provides . "$names" one.c three.c
fails 'no files' $provides . "$names"
fails 'module backends/a/a has no sources' sh "$top_srcdir/kit/vendor/stage.sh" "$top_srcdir" share 0 -- 'module backends/a/a '
fails 'a.la: its manifest is missing' sh "$top_srcdir/tools/static_plugins.sh" . 0 0.1 a.la
# of a plugin out of tree
printf '[plugin]\nname = a\nprovides = pass:A\n' >a.plugin
printf 'PLUGINS = a\na_SOURCES = one.c\ninclude %s\n' "$top_srcdir/kit/vendor/plugin.mk" >Makefile
fails 'a.plugin: `kind' "${MAKE:-make}" -n
printf '[plugin]\nname = a\nkind = compiler\n' >a.plugin
fails 'a.plugin: `provides' "${MAKE:-make}" -n
# which is tried with a Tenon of another ABI than the one that pkg-config finds
printf '[plugin]\nname = a\nkind = compiler\nprovides = pass:A\n' >a.plugin
printf 'int a;\n' >one.c
printf '#!/bin/sh\ncase $1 in *=abi) echo 0.1 ;; *=pluginmk) ;; --variable*) echo /nonexistent ;; esac\n' >pkg-config
printf '#!/bin/sh\necho "tenon 9.0 (ABI 9.0)"\n' >tenon
chmod +x pkg-config tenon
fails "is tenon 9.0 (ABI 9.0), and the plugin is built for ABI 0.1" "${MAKE:-make}" -s check PKG_CONFIG=./pkg-config TENON=./tenon CC="${CC:-cc}"
[ -f build/a.so ] || { echo "FAIL the plugin is not built"; cat out; status=1; }
# and installed: no file without settings, changed settings stay with the new ones beside them
printf '#!/bin/sh\ncase $1 in *=abi) echo 0.1 ;; *=plugindir) echo /plugins ;; *=confdir) echo /etc ;; esac\n' >pkg-config
made() {
    "${MAKE:-make}" -s "$@" PKG_CONFIG=./pkg-config CC="${CC:-cc}" DESTDIR="$tmp/to" >out 2>&1 || { echo "FAIL make $*"; cat out; status=1; }
}
holds() { # what, FILE, text
    grep -qxF -e "$3" "$2" 2>/dev/null || { echo "FAIL $1: $2 has no '$3'"; status=1; }
}
printf '[tenon]\nplugin_path = build\n' >a.ini
made install
[ -f to/plugins/a.so ] && [ ! -e to/etc/targets/a.ini ] || { echo "FAIL an INI file without a setting is installed"; status=1; }
printf '[tenon]\nplugin_path = build\n\n[target a]\nkind = a\n' >a.ini
made install
holds "the settings" to/etc/targets/a.ini 'kind = a'
grep -q plugin_path to/etc/targets/a.ini && { echo "FAIL the folder of the build is installed"; status=1; }
echo '; of the site' >>to/etc/targets/a.ini
sed 's/kind = a/kind = b/' a.ini >new && mv new a.ini
made install
holds "what the site wrote" to/etc/targets/a.ini '; of the site'
holds "the new settings" to/etc/targets/a.ini.new 'kind = b'
made uninstall
holds "what the site wrote, after uninstall" to/etc/targets/a.ini '; of the site'
[ ! -e to/plugins/a.so ] || { echo "FAIL uninstall leaves the plugin"; status=1; }
exit $status
