# SPDX-License-Identifier: Apache-2.0
kit_libtenon_kit_la_SOURCES += \
	kit/driver/check_settings.c \
	kit/driver/compile.c \
	kit/driver/constants.c \
	kit/driver/driver_private.h \
	kit/driver/emit.c \
	kit/driver/external.c \
	kit/driver/fallback.c \
	kit/driver/import.c \
	kit/driver/locks.c \
	kit/driver/metadata.c \
	kit/driver/pipeline.c \
	kit/driver/settings.c \
	kit/driver/target.c \
	kit/driver/verify.c \
	kit/driver/workers.c
EXTRA_DIST += kit/driver/README.md
