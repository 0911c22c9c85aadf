# SPDX-License-Identifier: Apache-2.0
# Tests over whole models. models.sh says where they are.
if BUILD_CPU
check_PROGRAMS += tests/models/stages
tests_models_stages_SOURCES = tests/models/stages.c
tests_models_stages_LDADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)
TESTS += tests/models/stages.sh tests/models/verify.sh
endif
EXTRA_DIST += tests/models/models.sh tests/models/stages.sh tests/models/verify.sh
