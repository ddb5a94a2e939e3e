#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""workqueue.py: work for another host, each job taken exactly once.

Shows: messages and their outcomes, what must be on disk at either end, and what an
atomic link does not do for you.

    host-1$ workqueue.py put  /var/spool/jobs < list    each line is a job
    host-1# workqueue.py send /var/spool/jobs 02:0a:e0:00:00:02
    host-2# workqueue.py work /var/spool/work 02:0a:e0:00:00:01 COMMAND...
    host-2$ workqueue.py show /var/spool/work

COMMAND gets a job on its standard input; what it prints becomes the file results/N in
the spool of `work`, or results/N.failed if it fails. Start `send` and `work` in any
order, kill either, reboot either host, pull the cable: go on where they were.

What is on disk, each line or rename of it synced before anybody is told:
    put     jobs        a line a job, numbered
    send    have        the last job that the other end has on disk
    work    taken       a line a job
            results/N   it is done

What is not lost, what is not doubled:
  - the link loses and doubles nothing, cut or not; a job that is reversed is sent again.
  - `send` is killed before it has written down what was committed: it sends that again,
    and `work` knows the number.
  - `work` is killed with a job in its hands that is not on disk yet: it says how far it
    got when it starts, and `send` goes back to there.
  So each job is taken exactly once, in order, and there is exactly one results/N.
And what cannot be had:
  - COMMAND is killed in the middle (with `work`, or its host): it is run again. What it
    prints counts once, being renamed into place; what else it did it has done so far.
    With --never-again it is not run again, and results/N.failed says so.
  - Disks that die, or lie about fsync.
"""

import argparse
import fcntl
import json
import os
import select
import subprocess
import sys
from pathlib import Path

import oae


class Journal:
    """A file of jobs, a line each, that only grows; what was written half is no line."""

    def __init__(self, path):
        self.path = path
        self.path.touch()

    def read(self, after=0):
        """The jobs numbered higher than `after`."""
        with open(self.path, encoding="utf-8") as file:
            jobs = [json.loads(line) for line in file if line.endswith("\n")]
        return [job for job in jobs if job["id"] > after]

    def last(self):
        """The number of the last job, or 0."""
        return max((job["id"] for job in self.read()), default=0)

    def add(self, jobs):
        """Add jobs, and return when they are on disk."""
        with open(self.path, "r+b") as file:
            data = file.read()
            file.seek(data.rfind(b"\n") + 1)
            file.truncate()         # a line that somebody was killed in
            file.write(b"".join(json.dumps(job).encode() + b"\n" for job in jobs))
            file.flush()
            os.fsync(file.fileno())


def write(path, text):
    """A whole file at once, on disk."""
    temporary = path.with_name(path.name + ".new")
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    rename(temporary, path)


def rename(old, new):
    """Rename a file, on disk."""
    os.rename(old, new)
    folder = os.open(new.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def lock(spool, name, wait=True):
    """Only one program at a time does this to a spool; until the file is closed."""
    spool.mkdir(parents=True, exist_ok=True)
    file = open(spool / name, "w", encoding="utf-8")    # pylint: disable=consider-using-with
    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        sys.exit(f"workqueue.py: another one works on {spool}")
    return file


def readable(link, seconds):
    """Wait for a message, so long at most."""
    poll = select.poll()
    poll.register(link, select.POLLIN)
    events = dict(poll.poll(seconds * 1000)).get(link.fileno(), 0)
    if events & select.POLLHUP:
        sys.exit("workqueue.py: the port is gone")
    return events & select.POLLIN


def put(args):
    """Number the lines of the input, and keep them."""
    with lock(args.spool, "put.lock"):
        journal = Journal(args.spool / "jobs")
        last = journal.last()
        jobs = [{"id": last + n, "job": line.rstrip("\n")}
                for n, line in enumerate(sys.stdin, 1)]
        journal.add(jobs)
        print(f"{len(jobs)} jobs, the last is number {last + len(jobs)}")


def post(link, message):
    """Send one; False if it is reversed, or nobody knows: then it is to be sent again."""
    try:
        link.send(json.dumps(message).encode())
        return True
    except (oae.Reversed, oae.Unknown) as error:
        if post.why != error.why:
            print(f"workqueue.py: {error.why}", file=sys.stderr)
            post.why = error.why
        return False


post.why = None


def send(args):
    """Send jobs as they come, as far as the other end says that it has them."""
    with lock(args.spool, "send.lock", wait=False), \
            oae.Link(args.peer, args.vc, args.port) as link:
        journal = Journal(args.spool / "jobs")
        kept = args.spool / "have"
        have = int(kept.read_text()) if kept.exists() else 0
        sent, jobs = have, []
        link.set_options(deadline_ms=2000)      # so as to hear what it says meanwhile
        while True:
            jobs = [job for job in jobs if job["id"] > sent] or journal.read(sent)
            if jobs and post(link, jobs[0]):
                sent = jobs[0]["id"]
            while readable(link, 0 if jobs else 0.2):
                said = json.loads(link.recv())
                if said["taken"] > have:
                    have = said["taken"]
                    write(kept, f"{have}\n")
                if said["start"]:       # it has forgotten what was not on disk
                    sent, jobs = have, []


def work(args):
    """Take jobs, and do them."""
    with lock(args.spool, "work.lock", wait=False), \
            oae.Link(args.peer, args.vc, args.port) as link:
        journal = Journal(args.spool / "taken")
        results = args.spool / "results"
        results.mkdir(exist_ok=True)
        link.set_options(deadline_ms=2000)
        taken = journal.last()
        for job in journal.read():
            do(args, results, job, again=True)
        told, start = taken, True
        while True:
            # What it is told counts for all before: one that is reversed is no loss.
            if (start or told < taken) and post(link, {"taken": taken, "start": start}):
                told, start = taken, False
            if not readable(link, 1):
                continue
            job = json.loads(link.recv())
            # A lower one is known. A higher one was sent before it heard where to begin.
            if job["id"] == taken + 1:
                journal.add([job])
                taken = job["id"]
                do(args, results, job)


def do(args, results, job, again=False):
    """Run the command for a job, unless that is done."""
    done, failed = results / str(job["id"]), results / f"{job['id']}.failed"
    if done.exists() or failed.exists():
        return
    begun = results / f"{job['id']}.begun"
    if args.never_again:
        if again and begun.exists():
            rename(begun, failed)
            return
        write(begun, "")
    with open(begun, "w", encoding="utf-8") as output:
        status = subprocess.run(args.command, input=job["job"] + "\n", text=True, check=False,
                                stdout=output).returncode
        output.flush()
        os.fsync(output.fileno())
    rename(begun, failed if status else done)


def show(args):
    """Numbers of a spool, whichever end it is of."""
    def count(name):
        return Journal(args.spool / name).last() if (args.spool / name).exists() else None

    results = [path.name for path in args.spool.glob("results/*")]
    kept = args.spool / "have"
    for what, number in (("jobs put", count("jobs")),
                         ("at the other end", int(kept.read_text()) if kept.exists() else None),
                         ("taken", count("taken")),
                         ("done", sum(name.isdigit() for name in results) if results else None),
                         ("failed", sum(name.endswith(".failed") for name in results) or None)):
        if number is not None:
            print(f"{what:<17} {number:>8}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="".join(__doc__.split("\n", maxsplit=1)[1:]))
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for function in (put, send, work, show):
        command = commands.add_parser(function.__name__, help=function.__doc__)
        command.set_defaults(function=function)
        command.add_argument("spool", type=Path, metavar="SPOOL", help="a directory")
        if function in (send, work):
            command.add_argument("--port", default="", help="the net device; default the first")
            command.add_argument("--vc", type=int, default=0, help="virtual channel, default 0")
        if function is work:
            command.add_argument("--never-again", action="store_true",
                                 help="do not run a command again that was killed")
        if function in (send, work):
            command.add_argument("peer", metavar="PEER", help="the other host's address")
        if function is work:
            command.add_argument("command", nargs=argparse.REMAINDER, metavar="COMMAND...")
    args = parser.parse_args()
    if args.function is work and not args.command:
        parser.error("work: what is the COMMAND?")
    try:
        args.function(args)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        sys.exit(f"workqueue.py: {error.filename or error.strerror}"
                 + (f": {error.strerror}" if error.filename else ""))


if __name__ == "__main__":
    main()
