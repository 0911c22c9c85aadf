# SPDX-License-Identifier: Apache-2.0
# Settings stay as an administrator changed them: install.sh.
SETTINGS = conf/tenon.ini conf/profiles/llm.ini conf/data/llm/paged_kv.py conf/data/llm/paged_kv_gpu.py \
	conf/data/llm/paged_kv_mla.py conf/data/llm/logit_process.py conf/data/llm/sampling.py \
	conf/data/llm/softmax_with_temperature.py conf/data/llm/spec_decode.py \
	conf/targets/cpu.ini conf/targets/cuda.ini conf/targets/gpu_generic.ini conf/targets/opencl.ini
EXTRA_DIST += conf/install.sh $(SETTINGS)
install_settings = '$(abs_top_srcdir)' "$(DESTDIR)$(confdir)" "$(DESTDIR)$(tenondatadir)/installed-settings" $(SETTINGS)
install-data-local: install-settings
install-settings:
	@$(SHELL) $(srcdir)/conf/install.sh install $(install_settings)
uninstall-local:
	@$(SHELL) $(srcdir)/conf/install.sh uninstall $(install_settings)
.PHONY: install-settings
