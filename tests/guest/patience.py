# SPDX-License-Identifier: GPL-2.0
"""How long to wait, on a kernel full of instruments longer; and how often to try one's luck."""

import os
import time

SLOW = float(os.environ.get("OAE_SLOW") or 1)      # tools/vm run --debug sets it


TIMES = float(os.environ.get("OAE_TIMES") or 1)    # `make test-long` sets it


def times(number):
    """So often in `make test`; more often where there is time."""
    return int(number * TIMES)


def until(deadline):
    """The moment of time.monotonic() at which a deadline in seconds is over."""
    return time.monotonic() + deadline * SLOW
