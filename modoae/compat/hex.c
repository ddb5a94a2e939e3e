// SPDX-License-Identifier: GPL-2.0
/* 6.12: hex.h declares mac_pton(); kernel.h stopped including it later. */
#if OAE_FORM
#include <linux/hex.h>
#else
#include <linux/kernel.h>
#endif

static bool __maybe_unused test(const char *text, u8 *mac)
{
	return mac_pton(text, mac);
}
