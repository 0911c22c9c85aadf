# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# The pass makes of before.py what after.py says, what the module computes stays the same, and a second run finds nothing.
here=$(dirname "$0")
"$TENON" opt "$here/before.py" -p FindSwish --plugin-path "$BUILD" --verify -o "$BUILD/after.py" &&
    "$TENON" diff "$BUILD/after.py" "$here/after.py" &&
    "$TENON" opt "$BUILD/after.py" -p FindSwish --plugin-path "$BUILD" -o "$BUILD/again.py" &&
    "$TENON" diff "$BUILD/again.py" "$here/after.py" || exit 1
echo "golden.sh: the pass, twice"
