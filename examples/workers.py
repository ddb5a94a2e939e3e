#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""N workers on one queue: each job goes to one of them, whichever reads first.

    workers.py work PEER N      here: N processes take jobs that PEER puts
    workers.py put PEER JOB...  at PEER: returns when the workers' kernel has them all

Who is slow takes fewer. If a worker is killed, another one gets the job that it had.
"""

import os
import sys
import time

import oae

VC = 21


def work(peer: str, number: int) -> None:
    """One worker: takes a job, does it, says so."""
    with oae.Link(peer, VC, take=True) as link:
        for job in link:        # which says that the one before is done
            time.sleep(0.01)
            print(f"worker {number}: {job.decode()}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["work"]:
        for n in range(int(sys.argv[3])):
            if not os.fork():
                work(sys.argv[2], n)
                os._exit(0)
        for n in range(int(sys.argv[3])):
            os.wait()
        sys.exit()
    with oae.Link(sys.argv[2], VC) as queue:
        for one in sys.argv[3:]:
            queue.send(one.encode())
