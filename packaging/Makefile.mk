# SPDX-FileCopyrightText: the libcgxpmpi developers
# SPDX-License-Identifier: BSD-3-Clause

# What other programs find an installation by, and packages of it.

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

# A wheel of what 'make install' installs, in the build directory.
wheel: all
	rm -rf packaging/root
	$(MAKE) install-strip DESTDIR='$(abs_top_builddir)/packaging/root' >/dev/null
	$(srcdir)/packaging/build-wheel packaging/root '$(prefix)' '$(PACKAGE_VERSION)' .
	rm -rf packaging/root
EXTRA_DIST += packaging/build-wheel packaging/wheel/cgxpmpi/__init__.py packaging/wheel/cgxpmpi/__main__.py \
	packaging/wheel/cgxpmpi/_job.py packaging/wheel/cgxpmpi/torch.py

# Debian's source and binary packages of what 'make dist' packs, in packaging/deb, with the kernels of this build.
if !CUDA
deb_profiles = pkg.libcgxpmpi.nocuda
endif
deb: dist
	CUDA_ARCHITECTURES='$(CUDA_ARCHITECTURES)' CUDA_HOME='$(cgx_cuda_home)' NVCC='$(NVCC)' \
		DEB_BUILD_PROFILES="$$DEB_BUILD_PROFILES $(deb_profiles)" \
		$(srcdir)/packaging/build-deb $(distdir).tar.gz packaging/deb
EXTRA_DIST += packaging/build-deb packaging/debian/changelog packaging/debian/control \
	packaging/debian/copyright packaging/debian/rules packaging/debian/source/format

# Folders that are empty now go too, but not those that a system has anyway.
uninstall-hook:
	for folder in $(reportdir) $(modulefiledir) $(pkgdatadir)/modulefiles $(pkgdatadir) $(exampledir) $(docdir) \
		$(man1dir) $(man5dir) $(man7dir) $(pkgconfigdir) $(if $(filter /usr /usr/local,$(prefix)),,\
		$(mandir) $(datarootdir)/doc $(datarootdir) $(bindir) $(libdir)); do \
		! test -d "$(DESTDIR)$$folder" || rmdir --ignore-fail-on-non-empty "$(DESTDIR)$$folder"; done

# All that is published of a version, with checksums, in release. The steps are made one after the other, since
# two of them make the tarball.
release:
	rm -f cgxpmpi-*.whl
	$(MAKE) wheel
	$(MAKE) deb
	$(srcdir)/packaging/release '$(PACKAGE_VERSION)' release $(distdir).tar.gz \
		cgxpmpi-$(PACKAGE_VERSION)-*.whl packaging/deb/*.deb packaging/deb/*.dsc packaging/deb/*.debian.tar.* packaging/deb/*.orig.tar.gz
EXTRA_DIST += packaging/release

mostlyclean-local:
	rm -rf packaging/deb packaging/root release cgxpmpi-*.whl

EXTRA_DIST += packaging/spack/spack_repo/cgxpmpi/repo.yaml \
	packaging/spack/spack_repo/cgxpmpi/packages/libcgxpmpi/package.py
