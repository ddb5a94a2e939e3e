# SPDX-License-Identifier: GPL-2.0
"""One topology for several classes of tests, since to build one takes longer than most tests."""

import unittest

from oaetest import OaeTest

TOPOLOGY = "params", "one_cpu", "names", "devices", "mtu", "ports", "targets"


class Shared(OaeTest):
    """Classes of a file that follow each other and ask for the same topology share one.

    A class of its own has the topology, and what is cleaned up with it. begin_class() is each
    class's own; what it and the tests change, they change back.
    """

    shares = True
    _standing = None        # what was asked for, and the class that has it

    @classmethod
    def begin_class(cls):
        """What a class does before its first test."""

    @staticmethod
    def topology():
        """The class that has the topology: what is made by it is there as long."""
        return Shared._standing[1]

    @classmethod
    def setUpClass(cls):
        asked = [getattr(cls, name, None) for name in TOPOLOGY]
        asked.append(getattr(cls.build, "__func__"))
        if Shared._standing and Shared._standing[0] != asked:
            cls._fall()
        if not Shared._standing:
            owner = type(cls.__name__, (cls,), {})
            Shared._standing = asked, owner
            unittest.addModuleCleanup(cls._fall)
            try:
                super(Shared, owner).setUpClass()
            except BaseException:
                cls._fall()
                raise
        for name, value in vars(cls.topology()).items():
            if not name.startswith("_"):
                setattr(cls, name, value)
        cls.begin_class()

    @staticmethod
    def _fall():
        """It goes, if one stands."""
        if Shared._standing:
            owner, Shared._standing = Shared._standing[1], None
            owner.doClassCleanups()
            for _, error, trace in owner.tearDown_exceptions:
                raise error.with_traceback(trace)
