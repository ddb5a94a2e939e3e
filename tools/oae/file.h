/* SPDX-License-Identifier: GPL-2.0 */
/* A file of any length to a peer, and from one: there it is whole at its name, or not at all. */
#ifndef OAE_FILE_H
#define OAE_FILE_H

#include "peer.h"

/* Each returns an exit code. @wait_ms: for each step; 0: however long. */
int file_send(struct peer *p, const char *file, unsigned int wait_ms, bool quiet);
int file_recv(struct peer *p, const char *file, unsigned int wait_ms);

#endif /* OAE_FILE_H */
