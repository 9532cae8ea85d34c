# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# What other programs find an installation by.

pkgconfigdir = $(libdir)/pkgconfig
nodist_pkgconfig_DATA = packaging/libcgxpmpi.pc

# A module file's name is the version.
modulefiledir = $(pkgdatadir)/modulefiles/libcgxpmpi
modulefile = packaging/modulefiles/$(PACKAGE_VERSION)
nodist_modulefile_DATA = $(modulefile)
$(modulefile): packaging/modulefile.in Makefile
	$(AM_V_GEN)$(MKDIR_P) packaging/modulefiles && sed -e 's|@bindir[@]|$(bindir)|' \
		-e 's|@mandir[@]|$(mandir)|' -e 's|@pkgconfigdir[@]|$(pkgconfigdir)|' \
		-e 's|@PACKAGE_VERSION[@]|$(PACKAGE_VERSION)|' $(srcdir)/packaging/modulefile.in >$@.tmp \
		&& mv $@.tmp $@
CLEANFILES += $(modulefile)
EXTRA_DIST += packaging/modulefile.in

# For the same MPI as this build.
AM_DISTCHECK_CONFIGURE_FLAGS = MPICC='$(MPICC)' MPIEXEC='$(MPIEXEC)'

EXTRA_DIST += packaging/spack/spack_repo/cgxpmpi/repo.yaml \
	packaging/spack/spack_repo/cgxpmpi/packages/libcgxpmpi/package.py
