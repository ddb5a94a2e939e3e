# SPDX-License-Identifier: GPL-2.0
"""Rings while memory lacks: made, links put on and taken off, traffic, programs that die."""

import os
import signal

import oaedev
import oaering as ring
from devtest import exit_code, in_process
from oaedev import OaeFile
from oaering import RawRing
from starving import Ledger, Scene, patiently

TAKEN_MS = 1500                 # what has memory has ended by then


class Program:
    """The program of a file's rings: what it put, and what came, by link."""

    def __init__(self, scene, rings):
        self.scene, self.rings = scene, rings
        self._out = []
        self._came = {}                 # handle -> where to

    def link(self, came, handle=None):
        """What comes of a link goes to a list."""
        self._came[self.rings.link if handle is None else handle] = came

    def put(self, ledger, *sizes, link=None):
        """Put and publish messages."""
        for size in sizes:
            data = Ledger.payload(size)
            self._out.append((self.rings.put(data, link), ledger, data))
        self.rings.publish()

    def ended(self, timeout_ms):
        """Has all ended within that time?"""
        self.rings.bell(ring.ENDED_AT, timeout_ms, ended=self.rings.published)
        return self.rings.word(ring.ENDED_TO) == self.rings.published

    def passes(self):
        """Take all that is there."""
        while self.rings.word(ring.FILLED_TO) != self.rings.passed:
            chunk, data, _ = self.rings.next()
            self._came[chunk.link].append(data)
        self.rings.pass_all()

    def told(self):
        """There is memory: the outcome of each. What was committed is in its ledger."""
        patiently(lambda: self.ended(1000), "all chunks to end", 20)
        for position, ledger, data in self._out:
            result, error = self.rings.outcome(position)
            if result == oaedev.COMMITTED:
                ledger.committed.append(data)
            else:
                self.scene.refused[f"chunk {os.strerror(error)}"] += 1
        self._out.clear()


class Rings:
    """The scenes of Links that have rings."""

    def _ends(self):
        return (self.a, self.cable.mac_b), (self.b, self.cable.mac_a)

    def _program(self, scene, host, peer, vc):
        """A program whose file has rings, or None."""
        file = self._file(scene, host, peer, vc)
        rings = scene.attempt(RawRing, file) if file else None
        if rings:
            return Program(scene, rings)
        if file:
            file.close()
        return None

    def _added(self, scene, programs, vc):
        """Another link, put on the rings of both: files, and handles or None."""
        files = [self._file(scene, host, peer, vc) for host, peer in self._ends()]
        handles = [scene.attempt(program.rings.add, file) if file else None
                   for program, file in zip(programs, files)]
        return files, handles

    def rings(self):
        """Two programs with rings, both ways, by one link and by one that is added."""
        scene, vcs = Scene(), [next(self._vcs), next(self._vcs)]
        ways = [(Ledger(scene), Ledger(scene)) for _ in vcs]
        files, programs = [], []
        for vc in vcs:
            self._clear(vc)
        yield scene
        try:
            programs = [self._program(scene, host, peer, vcs[0]) for host, peer in self._ends()]
            if all(programs):
                files, handles = self._added(scene, programs, vcs[1])
                self._through(scene, programs, ways, handles)
            yield scene
            if all(programs):
                for program in programs:
                    program.told()

                def all_there():
                    for program in programs:
                        program.passes()
                    return all(len(ledger.came) >= len(ledger.committed)
                               for way in ways for ledger in way)
                patiently(all_there, "what was committed to come")
                for ledger in (ledger for way in ways for ledger in way):
                    ledger.check()
        finally:
            for file in filter(None, files):
                file.close()
            for program in filter(None, programs):
                program.rings.close()
        for vc in vcs:
            self._closed(vc)

    @staticmethod
    def _through(scene, programs, ways, handles):
        """Messages of all lengths, several in a pack, by each link that both ends have."""
        links = [None, *handles[:1]] if all(handles) else [None]
        for n, program in enumerate(programs):
            program.link(ways[0][1 - n].came)
            if handles[n]:
                program.link(ways[1][1 - n].came, handles[n])
        for link, way in enumerate(ways[:len(links)]):
            for n, program in enumerate(programs):
                program.put(way[n], 100, 3000, 20000, *[200] * 8,
                            link=handles[n] if link else None)
        for program in programs:
            if not scene.attempt(program.ended, TAKEN_MS):
                scene.refused["not taken"] += 1
            program.passes()

    def left(self):
        """What a program that was killed had not passed: the next rings have it, then a reader."""
        scene, vc = Scene(), next(self._vcs)
        ledger, file, end, program = Ledger(scene), None, None, None
        self._clear(vc)
        yield scene
        try:
            file = self._file(scene, self.a, self.cable.mac_b, vc)
            if file and scene.attempt(self._kills, vc, lambda: [
                    ledger.send(file.write, size) for size in (100, 20000, 3000, 200)]):
                end = self._file(scene, self.b, self.cable.mac_a, vc)
                rings = scene.attempt(RawRing, end) if end else None
                if rings:
                    # Their messages are left a second time, in part.
                    program = Program(scene, rings)
                    program.link(ledger.came)
                    self._fills(scene, rings, ledger)
                    if rings.word(ring.FILLED_TO):
                        ledger.came.append(rings.recv()[0])
                    program, end = None, None
                    rings.close()
                    end = self._file(scene, self.b, self.cable.mac_a, vc)
                if end:
                    self._reads(scene, end, ledger, 2)
            yield scene
            if file:
                end = end or OaeFile.to(self.b, self.cable.mac_a, vc=vc)
                self._collect(ledger, end.read_each)
        finally:
            for opened in filter(None, (file, end)):
                opened.close()
        self._closed(vc)

    @staticmethod
    def _fills(scene, rings, ledger):
        """Wait until all that is unread is in rings, as long as there is memory."""
        size = sum(ring.size_of(len(data)) for data in ledger.committed)
        try:
            patiently(lambda: rings.word(ring.FILLED_TO) == size, "rings to be filled in",
                      TAKEN_MS / 1000)
        except AssertionError:
            scene.refused["not filled in"] += 1

    @staticmethod
    def _reads(scene, end, ledger, most):
        """Read some of what is unread."""
        for _ in range(most):
            data = end.unread() and scene.attempt(end.read)
            if data:
                ledger.came.append(data)

    def _kills(self, vc, meanwhile):
        """A program with rings at b, which passes nothing, until meanwhile() is over."""
        out, ready = os.pipe()

        def program():
            rings = RawRing(OaeFile.to(self.b, self.cable.mac_a, vc=vc))
            os.write(ready, b"r")
            while True:
                signal.pause()
                rings.bell()
        child = in_process(program)
        os.close(ready)
        try:
            if os.read(out, 1):
                meanwhile()
        finally:
            os.close(out)
            os.kill(child, signal.SIGKILL)
            code = exit_code(child)
        if code > 0:
            raise OSError(code, os.strerror(code))
        return True

    def packed(self):
        """Several messages in a pack, each as long as no spare skb; a reader of one at a time."""
        scene, vc = Scene(), next(self._vcs)
        ledger = Ledger(scene)
        self._clear(vc)
        yield scene
        files = [self._file(scene, host, peer, vc) for host, peer in self._ends()]
        if all(files):
            self.a.up("va", False)
            queued = self._queue(files[0], ledger, 20, 1200)
            self.a.up("va")
            self._ended(files[0], ledger, queued)
            self._reads(scene, files[1], ledger, 20)
        yield scene
        if all(files):
            self._collect(ledger, files[1].read_each)
        for file in filter(None, files):
            file.close()
        self._closed(vc)


__all__ = ["Rings"]
