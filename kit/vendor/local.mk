# SPDX-License-Identifier: Apache-2.0
# What vendors build plugins with against an installed Tenon.
tenondata_DATA = kit/vendor/plugin.mk
aclocaldir = $(datadir)/aclocal
dist_aclocal_DATA = kit/vendor/tenon.m4
EXTRA_DIST += kit/vendor/README.md kit/vendor/plugin.mk kit/vendor/stage.sh

# The suites that a vendor runs: for devices, and for operators on any target.
tenonlibexecdir = $(libexecdir)/tenon
tenonlibexec_PROGRAMS = kit/vendor/device-conformance
kit_vendor_device_conformance_SOURCES = tests/device/conformance.c tests/device/conformance.h tests/device/conformance_memory.c \
	tests/device/conformance_modules.c tests/device/conformance_streams.c
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


# What --pass, --from lanec and --from onelib copy; compiled here so that they are known to compile.
VENDOR_TEMPLATES = \
	kit/vendor/lanec/lanec.la \
	kit/vendor/onelib/onelib.la \
	kit/vendor/onelib/onelib_rt.la \
	kit/vendor/onepass/onepass.la
check_LTLIBRARIES += $(VENDOR_TEMPLATES)
kit_vendor_lanec_lanec_la_SOURCES = kit/vendor/lanec/dialect.c kit/vendor/lanec/lanec.c kit/vendor/lanec/lanec.h
kit_vendor_lanec_lanec_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
kit_vendor_lanec_lanec_la_LIBADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)
kit_vendor_onelib_onelib_la_SOURCES = kit/vendor/onelib/compile.c kit/vendor/onelib/onelib.c kit/vendor/onelib/onelib.h
kit_vendor_onelib_onelib_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
kit_vendor_onelib_onelib_la_LIBADD = $(KIT_LIB) $(CORE_LIB) $(BASE_LIB)
kit_vendor_onelib_onelib_rt_la_SOURCES = kit/vendor/onelib/library.c kit/vendor/onelib/library.h kit/vendor/onelib/onelib_rt.c
kit_vendor_onelib_onelib_rt_la_CFLAGS = $(AM_CFLAGS) $(JANSSON_CFLAGS)
kit_vendor_onelib_onelib_rt_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
kit_vendor_onelib_onelib_rt_la_LIBADD = $(RT_LIB) $(BASE_LIB) $(JANSSON_LIBS)
kit_vendor_onepass_onepass_la_SOURCES = kit/vendor/onepass/onepass.c
kit_vendor_onepass_onepass_la_LDFLAGS = $(AM_LDFLAGS) -module -avoid-version -shared -rpath /nowhere
kit_vendor_onepass_onepass_la_LIBADD = $(CORE_LIB) $(BASE_LIB)
EXTRA_DIST += \
	kit/vendor/lanec/README.md \
	kit/vendor/lanec/copy.ini \
	kit/vendor/lanec/lanec.plugin \
	kit/vendor/lanec/tests/lanec.h \
	kit/vendor/lanec/tests/model.py \
	kit/vendor/lanec/tests/run.c \
	kit/vendor/lanec/tests/source.sh \
	kit/vendor/onelib/README.md \
	kit/vendor/onelib/copy.ini \
	kit/vendor/onelib/onelib.plugin \
	kit/vendor/onelib/onelib_rt.plugin \
	kit/vendor/onelib/tests/dispatch.sh \
	kit/vendor/onelib/tests/model.py \
	kit/vendor/onepass/README.md \
	kit/vendor/onepass/copy.ini \
	kit/vendor/onepass/onepass.plugin \
	kit/vendor/onepass/tests/after.py \
	kit/vendor/onepass/tests/before.py \
	kit/vendor/onepass/tests/golden.sh
