# SPDX-License-Identifier: GPL-2.0
"""The blocks of README.md, by what runs them.

    ```console              typed at node-01 and node-02, and what is said: run in a guest
    ```python, c            a program, run in a guest at node-01; ```python ring the same
    ```sh host              commands for the reader's own host: tests/scripts/test_docs.py
    ```text demo            what `make demo` says: tests/scripts/test_docs.py
    ```text failover        the same of `make demo-failover`

There are no others, and no code that is set off by blanks only: what nothing runs becomes untrue.
"""

import re
from pathlib import Path
from typing import NamedTuple

README = Path(__file__).resolve().parents[2] / "README.md"
KINDS = ("console", "python", "python ring", "c", "sh host", "text demo", "text failover")


class Block(NamedTuple):
    """One of them."""
    kind: str
    number: int             # of its first line, in the file
    lines: list

    @property
    def text(self):
        """All of it."""
        return "".join(line + "\n" for line in self.lines)


class Typed(NamedTuple):
    """A command of a console block."""
    node: str
    command: str
    said: list              # the lines behind it; "..." stands for any


def blocks(text=None):
    """All blocks; ValueError for one that is not known."""
    found, block = [], None
    if text is None:
        text = README.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r"\s*```\s*(.*?)\s*$", line)
        if fence and block:
            found.append(block)
            block = None
        elif fence:
            if fence[1] not in KINDS:
                raise ValueError(f"README.md:{number}: nothing runs a block {fence[1]!r}")
            block = Block(fence[1], number + 1, [])
        elif block:
            block.lines.append(line)
        elif re.match(r"\t| {4}", line):
            raise ValueError(f"README.md:{number}: code without a fence, which nothing runs")
    if block:
        raise ValueError(f"README.md:{block.number}: a block without an end")
    return found


def of_kind(kind, text=None):
    """The blocks of a kind; there must be one."""
    found = [block for block in blocks(text) if block.kind == kind]
    if not found:
        raise ValueError(f"README.md has no block {kind!r}")
    return found


def typed(block):
    """The commands of a console block, and what each says."""
    commands = []
    for number, line in enumerate(block.lines, block.number):
        prompt = re.match(r"(node-\d\d)# (.+)$", line)
        if prompt:
            commands.append(Typed(prompt[1], prompt[2], []))
        elif commands:
            commands[-1].said.append(line)
        else:
            raise ValueError(f"README.md:{number}: said by what?")
    return commands


def pattern(lines):
    """A regular expression of what a command has to say: any times, any blanks between words."""
    words = []
    for line in lines:
        if line.strip() == "...":
            words.append(r"(?:.*\n)*?")
            continue
        line = re.escape(" ".join(line.split())).replace(r"\ ", r" +")
        words.append(re.sub(r"\d[\d\\.]*( \+)(ns|us|ms|s)\b", r"[\\d.]+ +[num]?s", line) + r" *\n")
    return "".join(words)
