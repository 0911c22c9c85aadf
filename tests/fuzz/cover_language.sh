# SPDX-License-Identifier: Apache-2.0
# libFuzzer over each reader of language models' files, in a build of its own: 10 million executions each, of the importers, which make and
# verify a module each time, 200,000 (EXECUTIONS, IMPORTS), split by SHARD. `make check-long` runs it; it is skipped without clang.
command -v "${FUZZ_CLANG:-clang}" >/dev/null 2>&1 || { echo "no clang here"; exit 77; }
readers='gguf safetensors tokenizer_json tokenizer_model tokenizer_gguf tokenizer_bin tokenizer_folder chat_template'
importers='llama_gguf llama2c huggingface mlc'
shards=${SHARD:-1/1}
shards=${shards#*/}
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
cover() {
    "${MAKE:-make}" -s -C "$top_builddir" check-fuzz-cover T=0 EXECUTIONS=$(($1 / shards)) FUZZ_TARGETS="$2"
}
cover "${EXECUTIONS:-10000000}" "$readers" && cover "${IMPORTS:-200000}" "$importers"
