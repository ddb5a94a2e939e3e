# SPDX-License-Identifier: GPL-2.0
"""How long to wait: on a kernel full of instruments everything takes longer."""

import os
import time

SLOW = float(os.environ.get("OAE_SLOW") or 1)      # tools/vm run --debug sets it


def until(deadline):
    """The moment of time.monotonic() at which a deadline in seconds is over."""
    return time.monotonic() + deadline * SLOW
