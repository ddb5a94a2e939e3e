// SPDX-License-Identifier: GPL-2.0
/* 6.0: iov_iter_ubuf() needs no iovec beside it. */
#include <linux/uio.h>

static void __maybe_unused test(struct iov_iter *iter, struct iovec *iov,
				void __user *buf, size_t len)
{
#if OAE_FORM
	iov_iter_ubuf(iter, READ, buf, len);
#else
	iov_iter_init(iter, READ, iov, 1, len);
#endif
}
