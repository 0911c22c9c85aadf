# SPDX-License-Identifier: Apache-2.0
kit_libtenon_kit_la_SOURCES += \
	kit/aot/aot_private.h \
	kit/aot/facts.c \
	kit/aot/function.c \
	kit/aot/packed.c \
	kit/aot/write.c
tenonkit_HEADERS += include/tenon/kit/aot.h
# What generated C includes; share-stage/aot has it.
EXTRA_DIST += kit/aot/README.md kit/aot/support/tenon_aot.h kit/aot/support/tenon_aot_run.h kit/aot/support/tenon_aot_packed.h
