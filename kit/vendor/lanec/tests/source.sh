# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# The dialect is listed with what a plugin offers, kernels come in it with its pragmas, indices and intrinsic, and what they say in C is
# what the model means.
here=$(dirname "$0")
fail() { echo "source.sh: $*"; exit 1; }
show() { "$TENON" show kernel "$here/model.py" "$1" -t lanec --plugin-path "$BUILD" >"$BUILD/$1.c" || fail "show kernel $1"; }
show sums
show places
show tir_exp
for text in '#pragma lanec enable(pipelines)' '#include <lanec.h>' '#pragma lanec pipeline(2)' 'lane_kernel' 'far const float \*' 'lane_id(0)' \
    'group_id(0)' 'halve(' '(LANES == 32)'; do
    grep -q "$text" "$BUILD/sums.c" || { cat "$BUILD/sums.c"; fail "no '$text' in the kernel"; }
done
grep -q pipeline "$BUILD/tir_exp.c" && fail "a kernel without pipelines has the pragma"
for k in sums places tir_exp; do
    ${CC:-cc} -std=gnu11 -Wall -Werror -Wno-unknown-pragmas -Wno-unused -I"$here" -c "$BUILD/$k.c" -o "$BUILD/$k.o" || fail "$k is no C"
done
${CC:-cc} "$here/run.c" "$BUILD/sums.o" "$BUILD/places.o" -lm -o "$BUILD/run" && "$BUILD/run" || fail "the kernels compute something else"
refused() { # NAME EDIT TEXT: the edited model is an error that says so
    sed "$2" "$here/model.py" >"$BUILD/$1.py"
    "$TENON" show kernel "$BUILD/$1.py" sums -t lanec --plugin-path "$BUILD" >"$BUILD/log" 2>&1 && fail "$1 is taken"
    grep -q "$1.py:$3" "$BUILD/log" || { cat "$BUILD/log"; fail "the error says something else"; }
}
refused deep 's/"lanec.pipeline": 2/"lanec.pipeline": 9/' "13:.*kernel 'sums': a pipeline of depth 9; lanec has 1 to 8"
refused parallel 's/T.serial(4, annotations/T.parallel(4, annotations/' \
    "13:.*kernel 'sums': a pipeline of a loop that is not serial"
echo "source.sh: a dialect of a plugin's own, 3 kernels"
