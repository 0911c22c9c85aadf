# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# What the Makefile of a plugin of Tenon includes (GNU make):
#
#     PLUGINS = acme acme_rt
#     acme_SOURCES = acme.c codegen.c pipeline.c
#     acme_rt_SOURCES = device.c
#     include $(or $(shell pkg-config --variable=pluginmk tenon),$(error Tenon's pkg-config files are not found: set PKG_CONFIG_PATH))
#
# For each NAME of PLUGINS there is a manifest NAME.plugin; its `kind` decides whether the module is linked with the
# compiler (tenon-kit) or with the runtime (tenon-rt). More variables:
#
#     PROGRAMS          programs that go beside the modules
#     NAME_SOURCES      C and C++ files (.cc, .cpp, .cxx) of a module or program
#     NAME_PKGCONFIG    further pkg-config modules, NAME_CPPFLAGS, NAME_LIBS
#     CONFIG            INI file that names the target and loads the plugin (default: the first plugin's name and .ini)
#     KERNELS           FORMAT FILE: code with the kernel add_f32 for the device conformance suite; FILE.c is made a
#                       shared object of first
#     CHECKS            scripts of the plugin's own that `make check` runs, with TENON and BUILD in the environment
#     CC, CFLAGS, CXX, CXXFLAGS, CPPFLAGS, LDFLAGS, BUILD (folder, default: build), DESTDIR
#     TENON             the program that `make check` runs (default: that of the Tenon that pkg-config finds)
#
# make          the modules with their manifests, all in $(BUILD), for --plugin-path $(BUILD) or --config $(CONFIG)
# make check    tenon check-plugin, the device conformance suite, the operator suite, CHECKS; all with the Tenon that pkg-config
#               finds and its libraries, whatever others the environment names
# make install  into the folders of the installed Tenon
# make clean

PKG_CONFIG ?= pkg-config
BUILD ?= build
CFLAGS ?= -O2 -g -Wall
CXXFLAGS ?= -O2 -g -Wall
# As the shell reads what pkg-config prints: blanks in folders' names have a backslash before them.
tenon_place = $(shell eval "set -- $$($(PKG_CONFIG) --variable=$(1) tenon)"; echo "$$*")
TENON_ABI := $(call tenon_place,abi)
TENON_PLUGINDIR := $(call tenon_place,plugindir)
TENON_CONFDIR := $(call tenon_place,confdir)
TENON_LIBEXECDIR := $(call tenon_place,libexecdir)
TENON_LIBDIR := $(call tenon_place,libdir)
TENON ?= $(call tenon_place,tenon)
tenon_empty :=
# This file, as a prerequisite.
TENON_PLUGINMK := $(subst $(tenon_empty) $(tenon_empty),\ ,$(call tenon_place,pluginmk))
CONFIG ?= $(wildcard $(firstword $(PLUGINS)).ini)
# What every plugin is compiled with, as Tenon itself is.
TENON_FLAGS := -fPIC -fvisibility=hidden -fno-strict-aliasing -ffp-contract=off
TENON_CFLAGS := -std=gnu17 -fno-common $(TENON_FLAGS)
TENON_CXXFLAGS := -std=gnu++20 $(TENON_FLAGS)
TENON_CPPFLAGS := -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64
tenon_value = $(shell sed -n 's/^$(2) *= *//p' $(1).plugin)
# The names after "target:" or "device:" in the manifests.
tenon_provided = $(shell cat $(PLUGINS:%=%.plugin) | sed 's/^[a-z]* *= *//' | tr ',' '\n' | sed -n 's/^ *$(1):\([A-Za-z0-9_.-]*\).*/\1/p')
# An entry that is not read would leave out, in silence, what follows from it.
tenon_kind = $(or $(filter compiler runtime,$(call tenon_value,$(1),kind)),$(error $(1).plugin: `kind = compiler` or `kind = runtime` is missing))
$(foreach p,$(PLUGINS),$(if $(shell grep -s '^provides *=' $(p).plugin),,$(error $(p).plugin: `provides` is missing)))
TARGET ?= $(firstword $(call tenon_provided,target))
DEVICE ?= $(firstword $(call tenon_provided,device))
TENON_MODULES := $(foreach p,$(PLUGINS),$(BUILD)/$(p).so)
TENON_MANIFESTS := $(foreach p,$(PLUGINS),$(BUILD)/$(p).plugin)
TENON_PROGRAMS := $(foreach p,$(PROGRAMS),$(BUILD)/$(p))

.DEFAULT_GOAL := all
.PHONY: all check install uninstall clean
all: $(TENON_MODULES) $(TENON_MANIFESTS) $(TENON_PROGRAMS)

define tenon_cxx_rule
$(BUILD)/obj/$(1)/%.o: %.$(2) $(firstword $(MAKEFILE_LIST))
	@mkdir -p $$(@D)
	$$(CXX) $$(TENON_CPPFLAGS) $$($(1)_CPPFLAGS) $$(CPPFLAGS) $$($(1)_PC_CFLAGS) $$(TENON_CXXFLAGS) $$(CXXFLAGS) -MMD -MP -c $$< -o $$@

endef
# objects of NAME, compiled with flags of its own: $(1) NAME, $(2) pkg-config modules
define tenon_objects
$(1)_CXX := $$(filter %.cc %.cpp %.cxx,$$($(1)_SOURCES))
$(1)_OBJECTS := $$(patsubst %,$(BUILD)/obj/$(1)/%.o,$$(basename $$(filter %.c,$$($(1)_SOURCES)) $$($(1)_CXX)))
$(1)_LINK = $$(if $$($(1)_CXX),$$(CXX) $$(CXXFLAGS),$$(CC) $$(CFLAGS))
$(1)_PC_CFLAGS := $$(shell $$(PKG_CONFIG) --cflags $(2) $$($(1)_PKGCONFIG))
$(1)_PC_LIBS := $$(shell $$(PKG_CONFIG) --libs $(2) $$($(1)_PKGCONFIG))
$(BUILD)/obj/$(1)/%.o: %.c $(firstword $(MAKEFILE_LIST))
	@mkdir -p $$(@D)
	$$(CC) $$(TENON_CPPFLAGS) $$($(1)_CPPFLAGS) $$(CPPFLAGS) $$($(1)_PC_CFLAGS) $$(TENON_CFLAGS) $$(CFLAGS) -MMD -MP -c $$< -o $$@
$(foreach x,cc cpp cxx,$(call tenon_cxx_rule,$(1),$(x)))
-include $$($(1)_OBJECTS:.o=.d)
endef
# A module or manifest that others may write to is refused, so the group's right is taken away.
define tenon_plugin
$(call tenon_objects,$(1),$(if $(filter runtime,$(call tenon_kind,$(1))),tenon-rt,tenon-kit))
$(BUILD)/$(1).so: $$($(1)_OBJECTS)
	$$($(1)_LINK) -shared -Wl,-z,defs -Wl,--as-needed $$(LDFLAGS) $$^ -o $$@ $$($(1)_LIBS) $$($(1)_PC_LIBS) -lm
	@chmod go-w $$@ $$(@D)
$(BUILD)/$(1).plugin: $(1).plugin $(TENON_PLUGINMK)
	@mkdir -p $$(@D)
	sed 's/@ABI@/$(TENON_ABI)/' $$< >$$@ && chmod go-w $$@ $$(@D)
endef
define tenon_program
$(call tenon_objects,$(1),$(if $($(1)_PKGCONFIG),,tenon-base))
$(BUILD)/$(1): $$($(1)_OBJECTS)
	$$($(1)_LINK) -Wl,--as-needed $$(LDFLAGS) $$^ -o $$@ $$($(1)_LIBS) $$($(1)_PC_LIBS) -lm
endef
$(foreach p,$(PLUGINS),$(eval $(call tenon_plugin,$(p))))
$(foreach p,$(PROGRAMS),$(eval $(call tenon_program,$(p))))

TENON_KERNELS := $(if $(KERNELS),$(firstword $(KERNELS)) $(patsubst %.c,$(BUILD)/%.so,$(lastword $(KERNELS))))
$(BUILD)/kernels/%.so: kernels/%.c
	@mkdir -p $(@D)
	$(CC) $(shell $(PKG_CONFIG) --cflags tenon-base) $(TENON_CFLAGS) $(CFLAGS) -shared $< -o $@

# Plugins are tried before they are trusted with anything; a device that this machine lacks is no failure (status 77).
# Names of another Tenon in the environment would have its settings, plugins or libraries take part.
tenon_alone = unset TENON_CONFIG TENON_PLUGIN_PATH TENON_SYSCONFDIR TENON_DATADIR; \
    export LD_LIBRARY_PATH="$(TENON_LIBDIR)$${LD_LIBRARY_PATH:+:$$LD_LIBRARY_PATH}";
check: all $(filter $(BUILD)/%,$(TENON_KERNELS))
	@$(tenon_alone) v=$$('$(TENON)' --version) && case $$v in *"(ABI $(TENON_ABI))"*) ;; *) \
	    echo "'$(TENON)' is $$v, and the plugin is built for ABI $(TENON_ABI): TENON names another one, or PKG_CONFIG_PATH" >&2; exit 1 ;; esac
	$(tenon_alone) for p in $(PLUGINS); do '$(TENON)' check-plugin "$(BUILD)/$$p.so" || exit 1; done
	$(if $(DEVICE),$(tenon_alone) TENON_PLUGIN_PATH='$(BUILD)' TENON_CONFIG='$(CONFIG)' '$(TENON_LIBEXECDIR)/device-conformance' $(DEVICE) \
	    $(if $(KERNELS),--module $(TENON_KERNELS)) || test $$? = 77)
	$(if $(TARGET),$(tenon_alone) TENON='$(TENON)' '$(TENON_LIBEXECDIR)/operator-suite' $(TARGET) --plugin-path '$(BUILD)' $(CONFIG:%=--config %))
	$(tenon_alone) for c in $(CHECKS); do echo "$$c" && TENON='$(TENON)' BUILD='$(BUILD)' sh "$$c" || exit 1; done

# The INI file without its section [tenon], which names the folder of the build.
tenon_cut := sed '/^\[tenon\]/,/^$$/d'
install: all
	mkdir -p '$(DESTDIR)$(TENON_PLUGINDIR)' '$(DESTDIR)$(TENON_CONFDIR)/targets'
	install -m 755 $(TENON_MODULES) $(TENON_PROGRAMS) '$(DESTDIR)$(TENON_PLUGINDIR)/'
	install -m 644 $(TENON_MANIFESTS) '$(DESTDIR)$(TENON_PLUGINDIR)/'
	$(if $(CONFIG),$(tenon_install_config))

# Settings that an administrator changed stay; the new ones are written beside them (.new). Without a setting there is no file.
tenon_ini = '$(DESTDIR)$(TENON_CONFDIR)/targets/$(notdir $(CONFIG))'
define tenon_install_config
@$(tenon_cut) '$(CONFIG)' >'$(BUILD)/installed.ini'; if ! grep -q '^\[' '$(BUILD)/installed.ini'; then :; \
elif [ ! -e $(tenon_ini) ] || cmp -s '$(BUILD)/installed.ini' $(tenon_ini); then install -m 644 '$(BUILD)/installed.ini' $(tenon_ini); \
else install -m 644 '$(BUILD)/installed.ini' $(tenon_ini).new && echo $(tenon_ini)' stays as it is; the new settings are beside it (.new)'; fi
endef

uninstall:
	cd '$(DESTDIR)$(TENON_PLUGINDIR)' && rm -f $(PLUGINS:%=%.so) $(PLUGINS:%=%.plugin) $(PROGRAMS)
	$(if $(CONFIG),@$(tenon_cut) '$(CONFIG)' | cmp -s - $(tenon_ini) && rm -f $(tenon_ini) $(tenon_ini).new || test ! -e $(tenon_ini) || echo $(tenon_ini)' was changed and stays')

clean:
	rm -rf '$(BUILD)'
