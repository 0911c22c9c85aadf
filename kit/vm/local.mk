# SPDX-License-Identifier: Apache-2.0
kit_libtenon_kit_la_SOURCES += \
	kit/vm/build.c \
	kit/vm/graph.c \
	kit/vm/host.c \
	kit/vm/scalar.c \
	kit/vm/vm_private.h
tenonkit_HEADERS += include/tenon/kit/vm.h
