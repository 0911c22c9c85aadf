# SPDX-License-Identifier: Apache-2.0
# What vendors build plugins with against an installed Tenon.
tenondata_DATA = kit/vendor/plugin.mk
aclocaldir = $(datadir)/aclocal
dist_aclocal_DATA = kit/vendor/tenon.m4
EXTRA_DIST += kit/vendor/README.md kit/vendor/plugin.mk kit/vendor/stage.sh

# The suites that a vendor runs: for devices, and for operators on any target.
tenonlibexecdir = $(libexecdir)/tenon
tenonlibexec_PROGRAMS = kit/vendor/device-conformance
kit_vendor_device_conformance_SOURCES = tests/device/conformance.c
kit_vendor_device_conformance_LDFLAGS = $(AM_LDFLAGS) '-Wl,-rpath,$$ORIGIN/@TENON_LIB_FROM_LIBEXEC@'
kit_vendor_device_conformance_LDADD = $(RT_LIB) $(BASE_LIB)
dist_tenonlibexec_SCRIPTS = kit/vendor/operator-suite
tenonoperatorsdir = $(tenondatadir)/operators
dist_tenonoperators_DATA = \
	kit/vendor/operators/activation.py \
	kit/vendor/operators/broadcast.py \
	kit/vendor/operators/convolution.py \
	kit/vendor/operators/dynamic.py \
	kit/vendor/operators/elementwise.py \
	kit/vendor/operators/half.py \
	kit/vendor/operators/integers.py \
	kit/vendor/operators/layout.py \
	kit/vendor/operators/matmul.py \
	kit/vendor/operators/network.py \
	kit/vendor/operators/normalization.py \
	kit/vendor/operators/pooling.py \
	kit/vendor/operators/reduction.py


# What --pass copies; compiled here so that it is known to compile.
check_LTLIBRARIES += kit/vendor/onepass/onepass.la
kit_vendor_onepass_onepass_la_SOURCES = kit/vendor/onepass/onepass.c
kit_vendor_onepass_onepass_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
kit_vendor_onepass_onepass_la_LIBADD = $(CORE_LIB) $(BASE_LIB)
EXTRA_DIST += \
	kit/vendor/onepass/README.md \
	kit/vendor/onepass/copy.ini \
	kit/vendor/onepass/onepass.plugin \
	kit/vendor/onepass/tests/after.py \
	kit/vendor/onepass/tests/before.py \
	kit/vendor/onepass/tests/golden.sh
