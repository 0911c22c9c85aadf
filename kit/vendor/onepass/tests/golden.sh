# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# The pass makes of before.py what after.py says, and what the module computes stays the same.
here=$(dirname "$0")
"$TENON" opt "$here/before.py" -p DropEqualOperands --plugin-path "$BUILD" --verify -o "$BUILD/after.py" &&
    "$TENON" diff "$BUILD/after.py" "$here/after.py" || exit 1
