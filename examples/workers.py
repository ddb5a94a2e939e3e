#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""N workers on one queue: each job goes to one of them, whichever reads first.

    workers.py work PEER N      here: N processes take jobs that PEER puts
    workers.py put PEER JOB...  at PEER: returns when the workers' kernel has them all

Who is slow takes fewer. What nobody has taken yet stays in the queue, whoever dies.
"""

import os
import sys
import time

import oae

VC = 21


def work(peer: str, number: int) -> None:
    """One worker: takes a job, does it, says so."""
    with oae.Link(peer, VC) as link:
        for job in link:
            # The job is this worker's alone. If it is killed here, the job is lost with it: a file
            # opened with TAKE, once there is that, gives it back to the queue for another one.
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
