# SPDX-License-Identifier: Apache-2.0
# Operators against NumPy: random cases, wrong attributes, documentation.
EXTRA_DIST += tests/oracle/attributes.py tests/oracle/coverage.py tests/oracle/cpu.sh tests/oracle/README.md tests/oracle/docs.sh tests/oracle/interp.sh tests/oracle/oracle.py tests/oracle/special.py tests/oracle/values.py \
	tests/oracle/formulas_elementwise.py tests/oracle/formulas_image.py tests/oracle/formulas_index.py \
	tests/oracle/formulas_nn.py tests/oracle/formulas_recurrent.py tests/oracle/formulas_vision.py tests/oracle/formulas_reduce.py tests/oracle/formulas_shape.py
if BUILD_CPU
check_PROGRAMS += tests/oracle/run_cases
tests_oracle_run_cases_SOURCES = tests/oracle/cases.c tests/oracle/cases.h tests/oracle/run_cases.c
tests_oracle_run_cases_LDADD = $(KIT_LIB) $(CORE_LIB) $(RT_LIB) $(BASE_LIB) -lm
TESTS += tests/oracle/cpu.sh tests/oracle/interp.sh
endif
TESTS += tests/oracle/attributes.py tests/oracle/coverage.py tests/oracle/docs.sh tests/oracle/special.py
