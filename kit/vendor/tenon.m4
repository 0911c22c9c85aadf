# SPDX-License-Identifier: Apache-2.0 OR MIT-0
# Macros for plugins of Tenon that are built with autotools.
#
# TENON_CHECK([ABI], [ACTION-IF-FOUND], [ACTION-IF-NOT])
#     Looks for an installed Tenon with pkg-config, of this ABI: MAJOR.MINOR, the same major and at least that minor
#     number (default: any). Sets and substitutes TENON_PROGRAM, TENON_ABI, TENON_PLUGINDIR, TENON_CONFDIR,
#     TENON_DATADIR, TENON_LIBEXECDIR, TENON_PLUGIN_MK. Without ACTION-IF-NOT a missing Tenon ends configure.
#
# TENON_PLUGIN([NAME], [compiler|runtime])
#     What the module NAME needs: sets and substitutes NAME_CFLAGS (with the flags that every plugin is compiled with),
#     NAME_LIBS and NAME_LDFLAGS (for libtool: a module that leaves no symbol undefined). In Makefile.am:
#
#         plugindir = $(TENON_PLUGINDIR)
#         plugin_LTLIBRARIES = acme.la
#         acme_la_SOURCES = acme.c pipeline.c
#         acme_la_CFLAGS = $(acme_CFLAGS)
#         acme_la_LDFLAGS = -module $(acme_LDFLAGS)
#         acme_la_LIBADD = $(acme_LIBS)
#         dist_plugin_DATA = acme.plugin
#
#     The manifest's line `abi` has to say $(TENON_ABI): let configure write it (AC_CONFIG_FILES, abi = @TENON_ABI@).

AC_DEFUN([TENON_CHECK], [
AC_REQUIRE([PKG_PROG_PKG_CONFIG])
AC_MSG_CHECKING([for Tenon[]m4_ifval([$1], [ with ABI $1])])
TENON_ABI=`$PKG_CONFIG --variable=abi tenon 2>/dev/null`
tenon_found=no
AS_IF([test -n "$TENON_ABI"], [tenon_found=yes])
tenon_want='m4_default([$1], [0.0])'
AS_IF([test "x$tenon_found" = xyes && test "x$tenon_want" != x0.0], [
    AS_IF([test "${TENON_ABI%%.*}" -ne "${tenon_want%%.*}" || test "${TENON_ABI#*.}" -lt "${tenon_want#*.}"],
        [tenon_found=no])])
AC_MSG_RESULT([$tenon_found${TENON_ABI:+ (ABI $TENON_ABI)}])
AS_IF([test "x$tenon_found" = xyes], [
    TENON_PROGRAM=`$PKG_CONFIG --variable=tenon tenon`
    TENON_PLUGINDIR=`$PKG_CONFIG --variable=plugindir tenon`
    TENON_CONFDIR=`$PKG_CONFIG --variable=confdir tenon`
    TENON_DATADIR=`$PKG_CONFIG --variable=datadir tenon`
    TENON_LIBEXECDIR=`$PKG_CONFIG --variable=libexecdir tenon`
    TENON_PLUGIN_MK=`$PKG_CONFIG --variable=pluginmk tenon`
    m4_default([$2], [:])], [
    m4_default([$3], [AC_MSG_ERROR([Tenon]m4_ifval([$1], [[ with ABI $1]])[ was not found: install its headers (libtenon-dev), or name their folder in PKG_CONFIG_PATH])])])
AC_SUBST([TENON_PROGRAM])
AC_SUBST([TENON_ABI])
AC_SUBST([TENON_PLUGINDIR])
AC_SUBST([TENON_CONFDIR])
AC_SUBST([TENON_DATADIR])
AC_SUBST([TENON_LIBEXECDIR])
AC_SUBST([TENON_PLUGIN_MK])
])

AC_DEFUN([TENON_PLUGIN], [
AC_REQUIRE([PKG_PROG_PKG_CONFIG])
m4_if([$2], [runtime], [PKG_CHECK_MODULES([$1], [tenon-rt])], [PKG_CHECK_MODULES([$1], [tenon-kit])])
$1_CFLAGS="$$1_CFLAGS -D_GNU_SOURCE -std=gnu17 -fvisibility=hidden -fno-common -fno-strict-aliasing -ffp-contract=off"
$1_LDFLAGS="-module -avoid-version -shared -no-undefined -Wl,-z,defs"
AC_SUBST([$1_LDFLAGS])
])
