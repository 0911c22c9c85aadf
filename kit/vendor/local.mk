# SPDX-License-Identifier: Apache-2.0
# What vendors build plugins with against an installed Tenon.
tenondata_DATA = kit/vendor/plugin.mk
aclocaldir = $(datadir)/aclocal
dist_aclocal_DATA = kit/vendor/tenon.m4
EXTRA_DIST += kit/vendor/README.md kit/vendor/plugin.mk kit/vendor/stage.sh
