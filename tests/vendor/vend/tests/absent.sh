# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# Without the library: an error that names it, or what the target itself can do where the configuration allows it.
here=$(dirname "$0")
out=$(mktemp -d) || exit 99
trap 'rm -rf "$out"' EXIT
fail() { echo "absent.sh: $*"; cat "$out/log"; exit 1; }
said() { grep -q "$1" "$out/log" || fail "not said: $1"; }
missing="the vendor's library is missing: libvend.so.1: cannot open"
dispatch="--config vend.ini --set pipeline.cpu.library_dispatch=VendDispatch"
# a site's target of the kind cpu that dispatches, in front of one that does not
both="--config vend.ini --set target.withvend.kind=cpu --set pipeline.withvend.library_dispatch=VendDispatch"
"$TENON" compile "$here/mlp.py" -t cpu $dispatch -o "$out/one.tno" >"$out/log" 2>&1 || fail "does not compile"
"$TENON" compile "$here/mlp.py" -t withvend,cpu $both -o "$out/two.tno" >"$out/log" 2>&1 || fail "does not compile for two"
"$TENON" run "$out/two.tno" --log info --config vend.ini >"$out/log" 2>&1 || fail "the first of two does not run"
grep -q "$missing" "$out/log" && fail "it is there"
unset LD_LIBRARY_PATH

"$TENON" compile "$here/mlp.py" -t cpu $dispatch -o "$out/no.tno" >"$out/log" 2>&1 && fail "compiled without the library"
said "$missing"
said "hint: install libvend 3, .*; or leave its work to the target: \[tenon\] fallback = true"
"$TENON" diff "$here/mlp.py" --exec -t cpu $dispatch --set tenon.fallback=true >"$out/log" 2>&1 || fail "falls back to other results"
said "warning: nothing is given to vend: $missing"
said '^3 functions run, [1-9][0-9]* elements compared, .* 0 differ'
"$TENON" run "$out/one.tno" --config vend.ini >"$out/log" 2>&1 && fail "runs without the library"
said "$missing"
"$TENON" run "$out/two.tno" --log info --config vend.ini >"$out/log" 2>&1 || fail "the second variant is not taken"
said "$missing"
"$TENON" check-plugin "$BUILD/vend_rt.so" --config vend.ini >"$out/log" 2>&1 && fail "the plugin is taken without its library"
said "$missing"
"$TENON" check-plugin "$BUILD/vend.so" --config vend.ini >"$out/log" 2>&1 || fail "the compiler half needs no library"
echo "absent.sh: an error by name, a fallback that is allowed, another variant of the artifact"
