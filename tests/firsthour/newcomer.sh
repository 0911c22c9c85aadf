#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A newcomer's first hour with an installed Tenon, away from its sources: what is typed, and that the answer helps.
# Usage: newcomer.sh PREFIX EXAMPLES        (EXAMPLES: the folder of examples/digits)
prefix=$(cd "$1" && pwd -P) digits=$(cd "$2" && pwd -P) status=0
unset TENON_PLUGIN_PATH TENON_SYSCONFDIR TENON_DATADIR TENON_CONFIG LD_LIBRARY_PATH TERM
work=$(mktemp -d "${TMPDIR:-/tmp}/tenon newcomer, XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
HOME=$work XDG_CACHE_HOME=$work/cache XDG_CONFIG_HOME=$work/config XDG_DATA_HOME=$work/data
export HOME XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME
PATH=$prefix/bin:$PATH
cp "$digits/digits.onnx" "$digits/digit7.npy" .
fail() { echo "newcomer.sh: $*"; sed 's/^/    /' out err; status=1; }
# try STATUS TEXT... -- COMMAND: exit status and texts that the answer has to hold
try() {
    want=$1; shift
    texts=
    while [ "$1" != -- ]; do texts="$texts$1
"; shift; done
    shift
    "$@" >out 2>err </dev/null
    got=$?
    [ "$got" = "$want" ] || fail "$*: status $got, not $want"
    printf '%s' "$texts" | while IFS= read -r t; do
        cat out err | grep -qF -e "$t" || { echo "$t"; break; }
    done >lacks
    [ ! -s lacks ] || fail "$*: the answer lacks '$(cat lacks)'"
    echo "ok   $*"
}

# what is there
try 0 "Subcommands:" compile run bench check-config -- tenon --help
try 0 "Usage: tenon run" --input --mcpu -- tenon run --help
try 2 "did you mean 'tenon compile'" -- tenon comple digits.onnx
try 0 "cpu" "compiles and runs here" -- tenon list targets
try 0 "target cpu, served by cpu: compiles and runs here" -- tenon doctor
# a model
try 0 "input  image" "float32" "output probabilities" "relax.nn.conv2d" -- tenon show model digits.onnx
try 0 "random inputs (seed 0)" "probabilities: float32[1, 10]" -- tenon run digits.onnx
try 0 "top [7]" -- tenon run digits.onnx -i image=digit7.npy
try 0 "wrote results/0-probabilities.npy (float32[1, 10])" -- tenon run digits.onnx -i image=digit7.npy -o results
[ -s results/0-probabilities.npy ] || fail "run -o writes nothing"
# what goes wrong
try 1 "no-such.onnx" -- tenon run no-such.onnx
echo text >notes.txt
try 1 "no importer knows this kind of file" ".onnx" -- tenon run notes.txt
head -c 300 digits.onnx >broken.onnx
try 1 "broken.onnx" -- tenon run broken.onnx
npy() { # FILE SHAPE NUMBER OF FLOATS
    header="{'descr': '<f4', 'fortran_order': False, 'shape': ($2), }"
    { printf '\223NUMPY\001\000\166\000'; printf '%-117s\n' "$header"; head -c $((4 * $3)) /dev/zero; } >"$1"
}
npy nhwc.npy "1, 8, 8, 1" 64
try 1 "input 'image' is float32[1, 8, 8, 1]; the model needs float32[1, 1, 8, 8]" "numpy.transpose(x, (0, 3, 1, 2))" -- tenon run digits.onnx -i image=nhwc.npy
npy flat.npy "1, 8, 8" 64
try 1 "the first axis is missing" -- tenon run digits.onnx -i image=flat.npy
try 1 "no input named 'imag'" "'image'" -- tenon run digits.onnx -i imag=digit7.npy
try 2 "did you mean '--threads'" -- tenon run digits.onnx --thread 1
try 1 "did you mean 'cpu'" "tenon list targets" -- tenon run digits.onnx -t cpuu
try 1 "did you mean 'gpu_generic'" -- tenon run digits.onnx -t gpu
try 1 "no dynamic dimension and no input 'batch'" -- tenon run digits.onnx --dim batch=2
# how fast; and without the compiler
try 0 "target cpu (native" "median" -- tenon bench digits.onnx --runs 3
try 0 '"target": "cpu"' -- tenon bench digits.onnx --runs 3 --json
try 2 ".tno" -- tenon compile digits.onnx -o digits.so
[ ! -e digits.so ] || fail "digits.so is written"
try 0 "wrote digits.tno" -- tenon compile digits.onnx
try 0 "top [7]" -- tenon run digits.tno -i image=digit7.npy
try 0 "variant 0, cpu" "constants: checksum ok" -- tenon show model digits.tno
try 2 "is already compiled" "tenon compile" -- tenon run digits.tno --dim n=2
try 1 "is already compiled" "tenon run" -- tenon compile digits.tno -o again.tno
try 1 "input 'image' is float32[1, 8, 8]" -- tenon run digits.tno -i image=flat.npy
try 0 "" -- tenon run digits.onnx -q
[ ! -s err ] || fail "run -q is not silent"
try 0 "every pass" -- tenon compile --help
try 0 "complete -F _tenon tenon" -- tenon help --completion bash
# complete SHELL: every line, typed so far, and what has to be offered
lines="tenon comp|compile;tenon run digits.onnx --target cp|cpu;tenon show pass FuseO|FuseOps;tenon list pl|plugins;tenon run dig|digits.onnx
tenon compile --log=de|debug;tenon check-c|check-config;tenon compile --emit=st|static-lib;tenon plugin dis|disable;tenon plugin disable op|ops
tenon help comp|compile;tenon list legalizers cp|cpu;tenon show model dig|digits.onnx"
if command -v fish >/dev/null; then
    tenon help --completion fish >completion
    echo "$lines" | tr ';' '\n' | while IFS='|' read -r typed want; do
        fish -c "source completion; complete -C '$typed'" 2>err | sed 's/\t.*//; s/^--[a-z]*=//' >out
        grep -qx -e "$want" out || echo "fish: completion of '$typed' lacks '$want'"
    done >lacks
    [ ! -s lacks ] || fail "$(cat lacks)"
fi
if command -v bash >/dev/null; then
    echo "$lines" | tr ';' '\n' >typed
    while IFS='|' read -r typed want; do
        tenon help --completion bash >completion
        bash -c '. ./completion; COMP_LINE=$1; COMP_WORDBREAKS=" ="; read -ra COMP_WORDS <<<"${1//=/ = }"; COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _tenon; printf "%s\n" "${COMPREPLY[@]}"' \
            bash "$typed" >out 2>err
        grep -qx -e "$want" out || fail "completion of '$typed' lacks '$want'"
    done <typed
fi
for shell in zsh fish; do
    tenon help --completion $shell >completion 2>err || fail "no completion for $shell"
    ! command -v $shell >/dev/null || $shell -n completion 2>err || fail "the completion for $shell is no script of it"
done
grep -rlE 'SYSCONFDIR/|DATADIR/' "$prefix"/share/man 2>/dev/null >out && fail "a manual page names a variable in place of a folder"
exit $status
