# SPDX-License-Identifier: Apache-2.0
kit_libtenon_kit_la_SOURCES += \
	kit/pattern/build.c \
	kit/pattern/composites.c \
	kit/pattern/graph.c \
	kit/pattern/match.c \
	kit/pattern/parse.c \
	kit/pattern/pattern_private.h \
	kit/pattern/put_back.c
EXTRA_DIST += kit/pattern/README.md
