#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The site's settings belong to its administrator: installing keeps what was changed since and puts the new file beside it
# (NAME.new), uninstalling keeps it too. What was installed is remembered in a folder of its own, which nobody reads.
# Usage: install.sh install|uninstall SOURCES SETTINGS REMEMBERED conf/FILE...      (below SOURCES)
what=$1 sources=$2 settings=$3 remembered=$4
shift 4
umask 022
# Whole or not at all, whatever was there.
put() {
    mkdir -p "$(dirname "$2")" && cp "$1" "$2.tmp" && chmod 644 "$2.tmp" && mv -f "$2.tmp" "$2"
}
for f; do
    new=$sources/$f old=$settings/${f#conf/} was=$remembered/${f#conf/}
    case $what in
    install)
        if [ ! -e "$old" ] || cmp -s "$old" "$new" || { [ -e "$was" ] && cmp -s "$old" "$was"; }; then
            put "$new" "$old" && rm -f "$old.new" || exit 1
        elif [ -e "$was" ] && cmp -s "$new" "$was"; then
            echo "tenon: $old stays as it was changed"
        else
            put "$new" "$old.new" || exit 1
            echo "tenon: $old stays as it was changed; the new one is $old.new"
        fi
        put "$new" "$was" || exit 1
        ;;
    uninstall)
        if [ -e "$old" ] && cmp -s "$old" "$was"; then
            rm -f "$old"
        elif [ -e "$old" ]; then
            echo "tenon: $old was changed and stays"
        fi
        rm -f "$old.new" "$was"
        ;;
    *) exit 2 ;;
    esac
done
[ "$what" = install ] || for d in "$settings" "$remembered"; do
    test ! -d "$d" || find "$d" -depth -type d -empty -delete
done
exit 0
