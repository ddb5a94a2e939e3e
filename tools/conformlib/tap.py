# SPDX-License-Identifier: GPL-2.0
"""Tests, and the lines of the Test Anything Protocol that tell of them."""

import time
import traceback
from typing import Callable, List, NamedTuple, Sequence

TESTS: List["Test"] = []


class Failed(AssertionError):
    """What a rule promises has not happened; the text says what has."""


class Skipped(Exception):
    """The test cannot be made here; the text says why."""


class Test(NamedTuple):
    """A test: the section of doc/protocol.md whose rule it is about, what that is, and how."""
    section: str
    says: str
    function: Callable[..., None]

    @property
    def name(self) -> str:
        """As it is printed."""
        return f"{self.section} {self.says}"


def rule(section: str, says: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make the function below a test of that section."""
    def register(function: Callable[..., None]) -> Callable[..., None]:
        TESTS.append(Test(section, says, function))
        return function
    return register


def check(holds: object, *words: object) -> None:
    """Failed with these words unless it holds."""
    if not holds:
        raise Failed(" ".join(str(word) for word in words))


def order(test: Test) -> List[int]:
    """By section, as numbers."""
    return [int(part) for part in test.section.split(".")]


def run(tests: Sequence[Test], call: Callable[[Test], None], say: Callable[[str], None],
        story: Callable[[float], List[str]]) -> int:
    """Call each test and say how it went; the number of those that failed.

    story       has lines about what happened since a time of time.monotonic(), for a test that failed
    """
    failed = 0
    say(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        began = time.monotonic()
        trouble = []
        ending = ""
        try:
            call(test)
        except Skipped as why:
            ending = f" # SKIP {why}"
        except Failed as why:
            trouble = str(why).splitlines()
        except Exception:       # pylint: disable=broad-except
            trouble = traceback.format_exc().splitlines()
        failed += bool(trouble)
        took = int((time.monotonic() - began) * 1000)
        say(f"{'not ok' if trouble else 'ok'} {number} - {test.name}{ending}")
        say(f"# {took} ms")
        for line in trouble + (story(began) if trouble else []):
            say(f"# {line}")
    return failed
