# SPDX-License-Identifier: Apache-2.0
PLUGIN_MODULES += plugins/checkpoint/checkpoint.la
PLUGIN_MANIFESTS += plugins/checkpoint/checkpoint.plugin
noinst_LTLIBRARIES += plugins/checkpoint/checkpoint.la
plugins_checkpoint_checkpoint_la_SOURCES = \
	plugins/checkpoint/architectures.c \
	plugins/checkpoint/block_panels.c \
	plugins/checkpoint/blocks.c \
	plugins/checkpoint/checkpoint.h \
	plugins/checkpoint/gguf.c \
	plugins/checkpoint/huggingface.c \
	plugins/checkpoint/layers.c \
	plugins/checkpoint/llama2c.c \
	plugins/checkpoint/md5.c \
	plugins/checkpoint/md5.h \
	plugins/checkpoint/mlc.c \
	plugins/checkpoint/module.c \
	plugins/checkpoint/plugin.c \
	plugins/checkpoint/product.c \
	plugins/checkpoint/quantized.c \
	plugins/checkpoint/quantized_product.c \
	plugins/checkpoint/weights.c
plugins_checkpoint_checkpoint_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
plugins_checkpoint_checkpoint_la_LDFLAGS = $(PLUGIN_LDFLAGS)
plugins_checkpoint_checkpoint_la_LIBADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB) $(JANSSON_LIBS)
EXTRA_DIST += plugins/checkpoint/README.md plugins/checkpoint/checkpoint.plugin
