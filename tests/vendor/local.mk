# SPDX-License-Identifier: Apache-2.0
# Plugins out of tree, built from what is installed. With the sanitizers plugins need their flags too, so the test is left to
# other builds.
VENDOR_PLUGINS = \
	tests/vendor/scale/Makefile \
	tests/vendor/scale/README.md \
	tests/vendor/scale/scale.cc \
	tests/vendor/scale/scale.ini \
	tests/vendor/scale/scale.plugin \
	tests/vendor/scale/scale_rt.cc \
	tests/vendor/scale/scale_rt.plugin \
	tests/vendor/scale/tests/model.py \
	tests/vendor/scale/tests/run.sh \
	tests/vendor/simacc/Makefile \
	tests/vendor/simacc/README.md \
	tests/vendor/simacc/codegen.c \
	tests/vendor/simacc/device.c \
	tests/vendor/simacc/driver.c \
	tests/vendor/simacc/kernels/add.simacc \
	tests/vendor/simacc/link.c \
	tests/vendor/simacc/link.h \
	tests/vendor/simacc/module.c \
	tests/vendor/simacc/module.h \
	tests/vendor/simacc/protocol.h \
	tests/vendor/simacc/queue.c \
	tests/vendor/simacc/queue.h \
	tests/vendor/simacc/simacc.c \
	tests/vendor/simacc/simacc.h \
	tests/vendor/simacc/simacc.ini \
	tests/vendor/simacc/simacc.plugin \
	tests/vendor/simacc/simacc_rt.plugin \
	tests/vendor/simacc/tests/after_cpu.py \
	tests/vendor/simacc/tests/after_null.py \
	tests/vendor/simacc/tests/before.py \
	tests/vendor/simacc/tests/fallback.sh \
	tests/vendor/simacc/tests/faults.sh \
	tests/vendor/simacc/tests/graph.sh \
	tests/vendor/simacc/tests/onnx.sh \
	tests/vendor/simacc/tests/order.sh \
	tests/vendor/simacc/tests/sort.py \
	tests/vendor/swish/Makefile \
	tests/vendor/swish/README.md \
	tests/vendor/swish/swish.c \
	tests/vendor/swish/swish.ini \
	tests/vendor/swish/swish.plugin \
	tests/vendor/swish/tests/after.py \
	tests/vendor/swish/tests/before.py \
	tests/vendor/swish/tests/golden.sh \
	tests/vendor/swish/tests/pipeline.sh \
	tests/vendor/vend/Makefile \
	tests/vendor/vend/README.md \
	tests/vendor/vend/api.c \
	tests/vendor/vend/api.h \
	tests/vendor/vend/lib/libvend.c \
	tests/vendor/vend/lib/vend.h \
	tests/vendor/vend/payload.c \
	tests/vendor/vend/runtime.c \
	tests/vendor/vend/tests/absent.sh \
	tests/vendor/vend/tests/dispatch.sh \
	tests/vendor/vend/tests/errors.sh \
	tests/vendor/vend/tests/mlp.py \
	tests/vendor/vend/vend.c \
	tests/vendor/vend/vend.h \
	tests/vendor/vend/vend.ini \
	tests/vendor/vend/vend.plugin \
	tests/vendor/vend/vend_rt.plugin
if !ASAN
TESTS += tests/vendor/plugins.sh
endif
EXTRA_DIST += tests/vendor/plugins.sh $(VENDOR_PLUGINS)

# As tests/tree/install.log, and before it: to install, libtool links the libraries anew.
tests/vendor/plugins.log: $(filter-out tests/tree/install.log tests/vendor/plugins.log,$(TEST_LOGS))
