# SPDX-License-Identifier: GPL-2.0
"""Runs tests as `python3 -m unittest` does, but says at once why one failed, and again at the end."""

import unittest


class Result(unittest.TextTestResult):
    """Of a guest that is stopped before the end, the log tells what had failed."""

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.stream.writeln(self.failures[-1][1])

    def addError(self, test, err):
        super().addError(test, err)
        self.stream.writeln(self.errors[-1][1])

    def addSubTest(self, test, subtest, err):
        before = len(self.failures) + len(self.errors)
        super().addSubTest(test, subtest, err)
        if err and len(self.failures) + len(self.errors) > before:
            last = self.failures if issubclass(err[0], test.failureException) else self.errors
            self.stream.writeln(last[-1][1])


class Runner(unittest.TextTestRunner):
    """That of unittest, with those results."""

    resultclass = Result


unittest.main(module=None, testRunner=Runner)
