#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Packs the fuzzers of readers so that they run on a machine without this tree or a compiler (run.sh):
#
#     bundle.sh BUILD SRCDIR OUT.tar.xz [TARGET...]
#
# BUILD is a build by `make check-fuzz-cover` (build/fuzz-build). All libraries but those of the C library go along; what
# is packed is stripped of what debuggers read, so keep BUILD for the stacks of what is found. Inputs of earlier runs lie in
# BUILD/fuzz-corpus/TARGET, and how many they executed in BUILD/fuzz-count/TARGET (count/TARGET of run.sh).
set -eu
[ $# -ge 3 ] || { echo "usage: bundle.sh BUILD SRCDIR OUT.tar.xz [TARGET...]" >&2; exit 2; }
build=$(cd "$1" && pwd) src=$(cd "$2" && pwd) packed=$3
shift 3
targets=${*:-gguf safetensors tokenizer_json tokenizer_model tokenizer_gguf tokenizer_bin tokenizer_folder chat_template llama_gguf llama2c huggingface mlc}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
home=$work/fuzz
mkdir -p "$home/bin" "$home/lib" "$home/corpus"
program=$build/tests/fuzz/.libs/fuzz_readers_lf
cp "$program" "$home/bin/"
cp -rL "$build/plugins-stage" "$home/plugins"
cp -r "$src/conf" "$home/conf"
cp -r "$src/tests/fuzz/dictionaries" "$home/dictionaries"
cp "$src/tests/fuzz/farm/run.sh" "$home/fuzz_farm.sh"
chmod +x "$home/fuzz_farm.sh"
printf '%s\n' $targets >"$home/targets"
test ! -d "$build/fuzz-count" || cp -r "$build/fuzz-count" "$home/count"
ours=$(find "$build" -name '*.so*' -path '*/.libs/*' -not -path "*/plugins/*" -exec dirname {} \; | sort -u | tr '\n' ':')
# libraries of the C library must be those of the machine
needed() { LD_LIBRARY_PATH=$ours ldd "$@" 2>/dev/null | sed -n 's/.*=> \(\/[^ ]*\) .*/\1/p' | sort -u; }
for lib in $(needed "$program" $(find "$home/plugins" -name '*.so')); do
    case ${lib##*/} in
    libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | ld-linux*) ;;
    *) test -f "$home/lib/${lib##*/}" || cp -L "$lib" "$home/lib/" ;;
    esac
done
find "$home/bin" "$home/lib" "$home/plugins" -type f \( -name '*.so*' -o -name fuzz_readers_lf \) -exec strip -g {} + 2>/dev/null
(
    cd "$build"
    TENON_PLUGIN_PATH=$build/plugins-stage TENON_SYSCONFDIR=$src/conf TENON_DATADIR=$src/conf/data
    export TENON_PLUGIN_PATH TENON_SYSCONFDIR TENON_DATADIR
    for t in $targets; do
        mkdir -p "$home/corpus/$t"
        tests/fuzz/fuzz_readers "$t" -w "$home/corpus/$t" >/dev/null
        test ! -d "$src/tests/fuzz/readers/$t" || cp "$src/tests/fuzz/readers/$t"/* "$home/corpus/$t/"
        # what an earlier run here came to, the smallest 2,000 inputs
        test ! -d "fuzz-corpus/$t" || find "fuzz-corpus/$t" -type f -size -9 -printf '%s %p\n' | sort -n | head -n 2000 | cut -d' ' -f2- |
            while read -r f; do cp "$f" "$home/corpus/$t/"; done
    done
)
tar -C "$work" -cf - fuzz | xz -6 -T2 >"$packed"
ls -l "$packed"
