# SPDX-License-Identifier: GPL-2.0
"""One topology for several classes of tests, since to build one takes longer than most tests."""

import unittest
from contextlib import contextmanager


class Shared:
    """Before OaeTest among a class's bases: classes of a module that follow each other and have the
    same build() share what the first one's has made. begin_class() is each class's own; what it and the
    tests change, they change back.
    """

    shares = True
    _key, _made, _keeping = None, {}, False

    @classmethod
    def begin_class(cls):
        """What a class does before its first test."""

    @classmethod
    @contextmanager
    def kept(cls):
        """What is made within is there as long as the topology."""
        Shared._keeping = True
        try:
            yield
        finally:
            Shared._keeping = False

    @classmethod
    def addClassCleanup(cls, function, /, *args, **kwargs):     # pylint: disable=arguments-differ
        add = unittest.addModuleCleanup if Shared._keeping else super().addClassCleanup
        add(function, *args, **kwargs)

    @classmethod
    def setUpClass(cls):
        key = cls.__module__, cls.build.__func__, str(cls.params), cls.one_cpu
        if Shared._key != key:
            unittest.doModuleCleanups()
            before = set(vars(cls))
            unittest.addModuleCleanup(cls._forget)
            with cls.kept():
                super().setUpClass()
            Shared._key = key
            Shared._made = {name: value for name, value in vars(cls).items() if name not in before}
        for name, value in Shared._made.items():
            setattr(cls, name, value)
        cls.begin_class()

    @staticmethod
    def _forget():
        Shared._key, Shared._made = None, {}
