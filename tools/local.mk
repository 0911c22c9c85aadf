# SPDX-License-Identifier: Apache-2.0
bin_PROGRAMS += tools/tenon
tools_tenon_SOURCES = \
	tools/auto_target.c \
	tools/bench.c \
	tools/check_driver.c \
	tools/check_plugin.c \
	tools/check_config.c \
	tools/check_tables.c \
	tools/child.c \
	tools/compile.c \
	tools/completion.c \
	tools/diff.c \
	tools/doctor.c \
	tools/help.c \
	tools/inputs.c \
	tools/list.c \
	tools/list_legalizers.c \
	tools/main.c \
	tools/new_plugin.c \
	tools/new_plugin.h \
	tools/new_plugin_files.c \
	tools/onnx_test.c \
	tools/opt.c \
	tools/options.c \
	tools/plugin.c \
	tools/rename.c \
	tools/rename.h \
	tools/results.c \
	tools/run.c \
	tools/session.c \
	tools/show.c \
	tools/show_json.c \
	tools/show_op.c \
	tools/show_cost.c \
	tools/show_placement.c \
	tools/show_pages.c \
	tools/targets.c \
	tools/tool.h \
	tools/tune.c \
	tools/tune.h \
	tools/tune_point.c \
	tools/values.c \
	tools/waiting.c
if BUILD_LM
tools_tenon_SOURCES += tools/bench_language.c tools/chat.c tools/generate.c tools/language.c tools/language.h
LM_COMMANDS = chat generate
LM_LINK = $(LM_LIB)
endif
nodist_tools_tenon_SOURCES = tools/static_plugins.c
EXTRA_tools_tenon_DEPENDENCIES = $(STATIC_PLUGINS)
tools_tenon_LDFLAGS = $(AM_LDFLAGS) '-Wl,-rpath,$$ORIGIN/@TENON_LIB_FROM_BIN@'
tools_tenon_LDADD = $(STATIC_PLUGIN_LIBS) $(LM_LINK) $(KIT_LIB) $(CORE_LIB) $(RT_LIB) $(BASE_LIB)

# The plugins that configure's --with-static-plugins names.
CLEANFILES += tools/static_plugins.c
EXTRA_DIST += tools/static_plugins.sh tools/README.md
tools/static_plugins.c: tools/static_plugins.sh $(PLUGIN_MANIFESTS) Makefile
	$(AM_V_GEN)$(MKDIR_P) tools && $(SHELL) $(srcdir)/tools/static_plugins.sh '$(srcdir)' '$(PACKAGE_VERSION)' \
	    '$(TENON_ABI_MAJOR).$(TENON_ABI_MINOR)' $(STATIC_PLUGINS) > $@.tmp && mv $@.tmp $@

# Manual pages and shell completion come from the tables of options: made by the program itself.
TENON_COMMANDS = bench check check-config check-plugin compile diff doctor help list new-plugin plugin onnx-test opt run show tune $(LM_COMMANDS)
TENON_MANUALS = tools/man/tenon.1 $(TENON_COMMANDS:%=tools/man/tenon-%.1)
man1_MANS = $(TENON_MANUALS)
completiondir = $(datadir)/bash-completion/completions
completion_DATA = tools/completion/tenon
zshcompletiondir = $(datadir)/zsh/site-functions
zshcompletion_DATA = tools/completion/_tenon
fishcompletiondir = $(datadir)/fish/vendor_completions.d
fishcompletion_DATA = tools/completion/tenon.fish
TENON_COMPLETIONS = $(completion_DATA) $(zshcompletion_DATA) $(fishcompletion_DATA)
CLEANFILES += $(TENON_MANUALS) $(TENON_COMPLETIONS)

$(TENON_MANUALS): tools/tenon$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) tools/man; \
	case $@ in \
	*/tenon.1) TENON_SYSCONFDIR='$(confdir)' TENON_DATADIR='$(tenondatadir)' tools/tenon$(EXEEXT) help --man > $@.tmp ;; \
	*) tools/tenon$(EXEEXT) help `basename $@ .1 | $(SED) 's/^tenon-//'` --man > $@.tmp ;; \
	esac && mv $@.tmp $@

$(TENON_COMPLETIONS): tools/tenon$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) tools/completion; \
	case $@ in */_tenon) shell=zsh ;; *.fish) shell=fish ;; *) shell=bash ;; esac; \
	tools/tenon$(EXEEXT) help --completion $$shell > $@.tmp && mv $@.tmp $@
