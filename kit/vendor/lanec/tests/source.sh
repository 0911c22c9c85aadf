# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# The dialect is listed with what a plugin offers, kernels come in it with its pragmas, indices and intrinsic, and what they say in C is
# what the model means.
here=$(dirname "$0")
fail() { echo "source.sh: $*"; exit 1; }
show() { "$TENON" show kernel "$here/model.py" "$1" -t lanec --plugin-path "$BUILD" >"$BUILD/$1.c" || fail "show kernel $1"; }
show sums
show tir_exp
for text in '#pragma lanec enable(pipelines)' '#include <lanec.h>' '#pragma lanec pipeline(2)' 'lane_kernel' 'far const float \*' 'lane_id(0)' \
    'group_id(0)' 'halve(' '(LANES == 32)'; do
    grep -q "$text" "$BUILD/sums.c" || { cat "$BUILD/sums.c"; fail "no '$text' in the kernel"; }
done
grep -q pipeline "$BUILD/tir_exp.c" && fail "a kernel without pipelines has the pragma"
for k in sums tir_exp; do
    ${CC:-cc} -std=gnu11 -Wall -Werror -Wno-unknown-pragmas -Wno-unused -I"$here" -c "$BUILD/$k.c" -o "$BUILD/$k.o" || fail "$k is no C"
done
${CC:-cc} "$here/run.c" "$BUILD/sums.o" -lm -o "$BUILD/run" && "$BUILD/run" || fail "the kernel computes something else"
sed 's/"lanec.pipeline": 2/"lanec.pipeline": 9/' "$here/model.py" >"$BUILD/deep.py"
"$TENON" show kernel "$BUILD/deep.py" sums -t lanec --plugin-path "$BUILD" >"$BUILD/log" 2>&1 && fail "a pipeline of depth 9 is taken"
grep -q "deep.py:13:.*kernel 'sums': a pipeline of depth 9; lanec has 1 to 8" "$BUILD/log" || { cat "$BUILD/log"; fail "the error says something else"; }
echo "source.sh: a dialect of a plugin's own, 2 kernels"
