/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The release version of everything built from this tree: modules, library,
 * commands and packages. It is defined here only. debian/changelog begins with
 * the same version and the manual pages name it, which tools/check verifies.
 * Compatibility has versions of its own: OAE_VERSION on the wire, the SONAME of
 * the library.
 */
#ifndef OAE_VERSION_H
#define OAE_VERSION_H

#define OAE_RELEASE	"0.1"

#endif /* OAE_VERSION_H */
