// SPDX-License-Identifier: GPL-2.0
/* Addresses from text, and as text. */
#include <errno.h>
#include <string.h>

#include "lib.h"

/* isxdigit() and strtol() heed the locale. */
int oae_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at;

	if (c >= 'A' && c <= 'F')
		c = (char)(c - 'A' + 'a');
	at = c ? strchr(digits, c) : NULL;
	return at ? (int)(at - digits) : -1;
}

int oae_parse_peer(const char *text, unsigned char peer[OAE_PEER_LEN])
{
	unsigned char bytes[OAE_PEER_LEN];
	char between = text[0] && text[1] ? text[2] : '\0';

	if (between != ':' && between != '-')
		goto bad;
	for (int i = 0; i < OAE_PEER_LEN; i++) {
		int high = oae_digit(text[0]);
		int low = high < 0 ? -1 : oae_digit(text[1]);

		if (low < 0 || text[2] != (i == OAE_PEER_LEN - 1 ? '\0' : between))
			goto bad;
		bytes[i] = (unsigned char)(high << 4 | low);
		text += 3;
	}
	memcpy(peer, bytes, sizeof(bytes));
	return 0;
bad:
	errno = EINVAL;
	return -1;
}

char *oae_format_peer(const unsigned char peer[OAE_PEER_LEN], char text[OAE_PEER_TEXT])
{
	static const char digits[] = "0123456789abcdef";

	for (int i = 0; i < OAE_PEER_LEN; i++) {
		text[3 * i] = digits[peer[i] >> 4];
		text[3 * i + 1] = digits[peer[i] & 15];
		text[3 * i + 2] = i == OAE_PEER_LEN - 1 ? '\0' : ':';
	}
	return text;
}
