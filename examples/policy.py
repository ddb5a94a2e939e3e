#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""policy.py: a host and its agent, who always agree on what was said.

Shows: OAE_SWAP_HALF, and what to keep so that it means something after a crash.

A host has a state, and a policy in force. An agent elsewhere looks at states and makes
policies. In each round the host gives its state and takes a policy, and the agent gives
that policy and takes the state, in one step: both have both, or neither has anything.
So no host acts by a policy that its agent believes not to be out, and no agent counts on
one that its host has not got.

    host-1# policy.py host  /var/lib/policy 02:0a:e0:00:00:02 -- cat /proc/loadavg
    host-2# policy.py agent /var/lib/agent  02:0a:e0:00:00:01 -- ./decide

`host` runs its command for a state; `agent` runs its own with the last state on standard
input, nothing in the first round, for a policy. Policies are words for whoever runs at
the host: they find the one in force in DIRECTORY/policy, replaced as a whole. Each round
is a line in DIRECTORY/rounds at both ends:

    {"round": 7, "state": "0.31 0.18 0.11 ...", "in_force": 6, "policy": "batch=4"}

A round that both have written down is the same at both. Killed between the swap and that
line, one end misses a round that the other has; it says so, as "in_force" in its next
state, and goes on with the next round. It never has another one of the same number.
Killed before, the half it had posted is back with it, that is, nobody has seen it; or, if
the peer has it in its hands just then, the peer decides, which is again one of the two.
While one end is away the other waits, with its half posted.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import oae


class Rounds:
    """The file DIRECTORY/rounds: what was swapped, a line a round."""

    def __init__(self, directory):
        directory.mkdir(parents=True, exist_ok=True)
        self.path = directory / "rounds"
        self.path.touch()
        data = self.path.read_bytes()
        lines = data[:data.rfind(b"\n") + 1].splitlines()
        self.last = json.loads(lines[-1]) if lines else {"round": 0, "state": "", "policy": ""}
        # a line that somebody was killed in is none
        os.truncate(self.path, data.rfind(b"\n") + 1)

    def add(self, entry):
        """One more, and return when it is on disk."""
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.last = entry


def write(path, text):
    """A whole file at once, on disk."""
    temporary = path.with_name(path.name + ".new")
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.rename(temporary, path)


def output(command, given):
    """What the command says."""
    return subprocess.run(command, input=given, text=True, check=True,
                          stdout=subprocess.PIPE).stdout.strip()


def exchange(link, mine):
    """Swap halves, and have what both said; None if it came to nothing."""
    try:
        theirs = json.loads(link.swap(json.dumps(mine).encode()))
    except oae.Reversed as error:
        if exchange.why != error.why:
            print(f"policy.py: {error.why}; trying again", file=sys.stderr)
            exchange.why = error.why
        time.sleep(0.1)
        return None
    except oae.Unknown as error:
        # The other end has this round, or has it not; its next half will say how far it is.
        print(f"policy.py: {error.why}", file=sys.stderr)
        return None
    exchange.why = None
    # Who was killed may be behind. Both see both numbers, so both say the same.
    number = max(mine["round"], theirs["round"])
    return {**mine, **theirs, "round": number}


exchange.why = None


def host(args, link):
    """Give states, take policies, put them in force."""
    rounds = Rounds(args.directory)
    in_force = rounds.last["round"]
    while args.rounds is None or rounds.last["round"] < args.rounds:
        said = exchange(link, {"round": rounds.last["round"] + 1,
                               "state": output(args.command, None), "in_force": in_force})
        if said:
            rounds.add(said)
            write(args.directory / "policy", said["policy"] + "\n")
            in_force = said["round"]
            time.sleep(args.every)


def agent(args, link):
    """Take states, give policies."""
    rounds = Rounds(args.directory)
    while args.rounds is None or rounds.last["round"] < args.rounds:
        said = exchange(link, {"round": rounds.last["round"] + 1,
                               "policy": output(args.command, rounds.last["state"])})
        if said:
            if said["in_force"] != rounds.last["round"]:
                print(f"policy.py: round {said['round']}: the host acts by that of round "
                      f"{said['in_force']}", file=sys.stderr)
            rounds.add(said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0],
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     epilog="".join(__doc__.split("\n", maxsplit=1)[1:]))
    commands = parser.add_subparsers(required=True, metavar="host|agent")
    for function in (host, agent):
        command = commands.add_parser(function.__name__, help=function.__doc__)
        command.set_defaults(function=function)
        command.add_argument("--port", default="", help="the net device; default the first")
        command.add_argument("--vc", type=int, default=0, help="virtual channel, default 0")
        command.add_argument("--rounds", type=int, help="end with this round; default never")
        if function is host:
            command.add_argument("--every", type=float, default=1, metavar="SECONDS",
                                 help="between rounds, default 1")
        command.add_argument("directory", type=Path, metavar="DIRECTORY")
        command.add_argument("peer", metavar="PEER", help="the other end's address")
        command.add_argument("command", nargs="+", metavar="COMMAND")
    args = parser.parse_args()
    try:
        with oae.Link(args.peer, args.vc, args.port) as link:
            args.function(args, link)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        sys.exit(f"policy.py: {error.strerror or error}")


if __name__ == "__main__":
    main()
