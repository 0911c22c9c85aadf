# SPDX-License-Identifier: Apache-2.0
LM_INCLUDES = \
	include/tenon/lm/chat.h \
	include/tenon/lm/generate.h \
	include/tenon/lm/sample.h \
	include/tenon/lm/tokenizer.h
if BUILD_LM
lib_LTLIBRARIES += lm/libtenon-lm.la
tenonlm_HEADERS += $(LM_INCLUDES)
endif
lm_libtenon_lm_la_SOURCES = \
	lm/chat.c \
	lm/decode.c \
	lm/encode.c \
	lm/generate.c \
	lm/jinja.h \
	lm/jinja_call.c \
	lm/jinja_eval.c \
	lm/jinja_parse.c \
	lm/jinja_text.c \
	lm/merge.c \
	lm/model.c \
	lm/normalize.c \
	lm/read_gguf.c \
	lm/read_json.c \
	lm/read_model.c \
	lm/regex.c \
	lm/sample.c \
	lm/split.c \
	lm/table.c \
	lm/tokenizer.c \
	lm/tokenizer.h \
	lm/unigram.c \
	lm/utf8.c
lm_libtenon_lm_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS) $(PCRE2_CFLAGS) $(UTF8PROC_CFLAGS)
lm_libtenon_lm_la_LDFLAGS = $(LIBRARY_LDFLAGS) -Wl,--version-script=$(srcdir)/lm/libtenon-lm.map
EXTRA_lm_libtenon_lm_la_DEPENDENCIES = lm/libtenon-lm.map
lm_libtenon_lm_la_LIBADD = $(RT_LIB) $(BASE_LIB) $(JANSSON_LIBS) $(PCRE2_LIBS) $(UTF8PROC_LIBS) -lm
EXTRA_DIST += lm/libtenon-lm.map lm/README.md
