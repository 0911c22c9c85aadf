# SPDX-License-Identifier: Apache-2.0
noinst_PROGRAMS += examples/digits/digits examples/embed/embed
examples_embed_embed_SOURCES = examples/embed/embed.c
examples_embed_embed_LDADD = $(RT_LIB) $(BASE_LIB)
# What docs/embedding.md goes through, to be copied.
embedexampledir = $(docdir)/examples/embed
dist_embedexample_DATA = examples/embed/README.md examples/embed/Makefile examples/embed/embed.c
examples_digits_digits_SOURCES = examples/digits/digits.c
examples_digits_digits_LDADD = $(RT_LIB) $(BASE_LIB)
digitsexampledir = $(docdir)/examples/digits
dist_digitsexample_DATA = \
	examples/digits/digit0.npy \
	examples/digits/digit1.npy \
	examples/digits/digit2.npy \
	examples/digits/digit3.npy \
	examples/digits/digit4.npy \
	examples/digits/digit5.npy \
	examples/digits/digit6.npy \
	examples/digits/digit7.npy \
	examples/digits/digits.onnx
EXTRA_DIST += \
	examples/digits/README.md \
	examples/digits/run.sh \
	examples/digits/train.py \
	examples/stories/README.md \
	examples/stories/config.json \
	examples/stories/model.safetensors \
	examples/stories/reference.npz \
	examples/stories/run.sh \
	examples/stories/tokenizer.json \
	examples/stories/train.py \
	examples/stories/written.txt
