# SPDX-License-Identifier: Apache-2.0
kit_libtenon_kit_la_SOURCES += \
	kit/tune/database.c \
	kit/tune/keys.c \
	kit/tune/search.c \
	kit/tune/trial.c \
	kit/tune/tune_private.h
EXTRA_DIST += kit/tune/README.md
