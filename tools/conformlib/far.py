# SPDX-License-Identifier: GPL-2.0
"""The other end's programs, as the tests see them: agent.py behind two pipes."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

AGENT = Path(__file__).resolve().with_name("agent.py")


class FarError(Exception):
    """The agent could not do it; `errno` is the name of an error number, or ""."""

    def __init__(self, text: str, errno: str):
        super().__init__(text)
        self.errno = errno


class Far:
    """Requests to an agent; each method of agent.Agent is one here, with its arguments by name.

    there       the command behind which the agent's is put: "ip netns exec a", "ssh node-02"
    mac         the address of the peer that it opens links to: the test's own
    """

    def __init__(self, there: str, mac: bytes, agent: str = ""):
        command = shlex.split(there) + (shlex.split(agent) or [sys.executable, "-B", str(AGENT)])
        self._process = subprocess.Popen(       # pylint: disable=consider-using-with
            [*command, mac.hex(":")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def end(self) -> None:
        """End the agent."""
        self._process.stdin.close()
        self._process.wait()

    def __getattr__(self, name: str):
        def ask(**words: Any) -> Any:
            """FarError: the agent could not do it, or is gone."""
            self._process.stdin.write(json.dumps({"do": name, **words}) + "\n")
            self._process.stdin.flush()
            answer = json.loads(self._process.stdout.readline() or '{"error": "the agent is gone"}')
            if "error" in answer:
                raise FarError(f"{name}: {answer['error']}", answer.get("errno", ""))
            return answer["ok"]
        return ask
