/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * The version of all that is made from this tree: modules, library, command,
 * packages. Nothing else says a number; debian/changelog begins with the same
 * one, which tools/check looks after. What is compatible with what is said
 * elsewhere: on the wire by OAE_VERSION, of the library by its SONAME.
 */
#ifndef OAE_VERSION_H
#define OAE_VERSION_H

#define OAE_RELEASE	"0.1"

#endif /* OAE_VERSION_H */
