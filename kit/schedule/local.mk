# SPDX-License-Identifier: Apache-2.0
kit_libtenon_kit_la_SOURCES += \
	kit/schedule/apply_default_schedule.c \
	kit/schedule/schedule_private.h
