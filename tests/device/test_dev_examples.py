# SPDX-License-Identifier: GPL-2.0
"""The programs of examples/, two hosts each, with bad cables and kill -9 where they say they live.

Build first: make -C examples.

    n1 e1 ---- e2 n2
"""

import contextlib
import fcntl
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import oaedev
import oaetest
from oaetest import REPO, forget_links, meanwhile
from patience import SLOW
from shared import Shared
from topology import OneCable

BUILT = REPO / "build" / "examples"
EXAMPLES = REPO / "examples"


def wait_for(condition, what, deadline=60):
    """As in oaetest, but leave the processor to the programs."""
    return oaetest.wait_for(condition, what, deadline, interval=0.05)


class Program:
    """A program at a host; its output is read a line at a time, or left alone."""

    def __init__(self, host, *command, stdin=None, stdout=subprocess.PIPE, stderr=None):
        with host:
            self._process = subprocess.Popen(       # pylint: disable=consider-using-with
                [str(word) for word in command], stdin=stdin, stdout=stdout, stderr=stderr,
                text=True, start_new_session=True,
                env={**os.environ, "PYTHONPATH": str(REPO / "lib"), "PYTHONDONTWRITEBYTECODE": "1"})
        self.pid = self._process.pid

    def line(self):
        """The next line of its output, or "" at the end."""
        return self._process.stdout.readline().rstrip("\n")

    def say(self, text):
        """A line of its input."""
        self._process.stdin.write(text + "\n")
        self._process.stdin.flush()

    @property
    def status(self):
        """Its exit status, None while it runs."""
        return self._process.poll()

    def wait(self, timeout=90):
        """Wait for its end; its status."""
        return self._process.wait(timeout * SLOW)

    def kill(self):
        """kill -9, and wait for it."""
        self._process.kill()
        self._process.wait()
        for file in (self._process.stdin, self._process.stdout, self._process.stderr):
            if file:
                try:
                    file.close()
                except BrokenPipeError:
                    pass


class ExamplesTest(Shared, OneCable):
    """Two hosts and a cable that loses some."""

    patience = 200
    names, devices = ("n1", "n2"), ("e1", "e2")

    @classmethod
    def build(cls):
        oaedev.node()
        super().build()
        for host in cls.n1, cls.n2:
            host.knobs(dead_ms=1000)

    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()      # pylint: disable=consider-using-with
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.programs, self.sessions = [], []
        self.addCleanup(self.forget)
        self.dice = random.Random(5)

    def forget(self):
        """All programs end, and theirs. What they have left unread is not for those of the next test."""
        for program in self.programs:
            program.kill()
        for session in self.sessions:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(session, signal.SIGKILL)
        forget_links(self.n1, self.n2)
        for host in self.n1, self.n2:
            host.knob("shutdown", 0)

    def start(self, host, *command, **options):
        """A program that is killed at the end."""
        program = Program(host, *command, **options)
        self.programs.append(program)
        self.sessions.append(program.pid)
        return program

    def kill(self, program):
        """Now."""
        self.programs.remove(program)
        program.kill()

    def bad_cable(self):
        """One that loses, doubles and delays."""
        self.cable.netem("loss 3% duplicate 2% delay 1ms 1ms")
        self.addCleanup(self.cable.netem, None)

    def cut(self, seconds):
        """Cut the cable for a time."""
        self.cable.cut()
        threading.Event().wait(seconds)
        self.cable.mend()


class Help(ExamplesTest):
    """All of them say what they are."""

    def test_help(self):
        for command in ([BUILT / "counter"], [BUILT / "lock"], [EXAMPLES / "policy.py"],
                        [EXAMPLES / "workqueue.py", "work"]):
            done = subprocess.run([*command, "--help"], text=True, check=False, timeout=20 * SLOW,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  env={**os.environ, "PYTHONPATH": str(REPO / "lib")})
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("usage: ", done.stdout)


class Counter(ExamplesTest):
    """counter: no value twice, none that was told is lost."""

    def counter(self, host):
        """One that has told its first value."""
        owner = host is self.n1
        program = self.start(host, BUILT / "counter", *(["--owner"] if owner else []),
                             self.cable.mac_b if owner else self.cable.mac_a,
                             stdin=subprocess.PIPE)
        return program

    def test_both_add(self):
        self.bad_cable()
        away, owner = self.counter(self.n2), self.counter(self.n1)
        self.assertEqual((owner.line(), away.line()), ("0", "0"))
        values = []

        def add(program):
            for _ in range(40):
                program.say("1")
                values.append(int(program.line()))
        threads = [threading.Thread(target=add, args=[program]) for program in (owner, away)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(values), list(range(1, 81)))
        for program in owner, away:
            program.say("")
            self.assertEqual(program.line(), "80")
        away.say("-1")
        away.say("1000")
        self.assertEqual(away.line(), "1080")

    def test_owner_killed(self):
        """The away end goes on adding; what it and every owner was told is all there."""
        self.bad_cable()
        away = self.counter(self.n2)
        values, owners_told = [], 0

        def add():
            for _ in range(120):
                away.say("1")
                values.append(int(away.line()))
        owner = self.counter(self.n1)
        away.line()
        thread = threading.Thread(target=add)
        thread.start()
        posted = 0
        for goal in (30, 60, 90):
            self.assertLessEqual(posted, int(owner.line()))
            wait_for(lambda: len(values) > goal // 2, "some additions")
            owner.say("1")
            posted += 1
            value = int(owner.line())
            owners_told += 1
            self.assertNotIn(value, values)
            values.append(value)
            wait_for(lambda goal=goal: len(values) >= goal, "more additions")
            self.kill(owner)
            owner = self.counter(self.n1)
        thread.join()
        self.assertEqual(len(values), 120 + owners_told)
        self.assertEqual(len(set(values)), len(values))
        last = int(owner.line())
        owner.say("")
        self.assertEqual(int(owner.line()), 120 + owners_told, last)

    def test_away_killed(self):
        """It comes back with what the owner knows, and that owner may die then."""
        away, owner = self.counter(self.n2), self.counter(self.n1)
        owner.line()
        for n in range(1, 11):
            owner.say("1")
            self.assertEqual(owner.line(), str(n))
        self.kill(away)
        owner.say("1")                          # told when the other end has it
        away = self.counter(self.n2)
        # The first says what the owner had when it was asked, perhaps before that addition.
        self.assertIn(away.line(), ("10", "11"))
        self.assertEqual(owner.line(), "11")
        self.kill(owner)
        owner = self.counter(self.n1)
        self.assertEqual(owner.line(), "11")


class Lock(ExamplesTest):
    """lock: one at a time, whoever is killed."""

    def agent(self, host, *options):
        """An agent, ready or about to be."""
        home = host is self.n1
        return self.start(host, BUILT / "lock", "agent", *(["--home"] if home else []), *options,
                          self.folder / host.name,
                          self.cable.mac_b if home else self.cable.mac_a)

    def run_locked(self, host, *command, **options):
        """lock run."""
        return self.start(host, BUILT / "lock", "run", self.folder / host.name, *command,
                          **options)

    def inside(self, name, seconds=0):
        """A command that notices company, and writes down that it ran."""
        log = self.folder / "log"
        return ("sh", "-c", f"exec 9>{self.folder / 'busy'}; flock -n 9 || echo {name} TWO >>{log}; "
                f"echo {name} >>{log}; sleep {seconds}")

    def ran(self):
        """Who ran."""
        path = self.folder / "log"
        return path.read_text("ascii").splitlines() if path.exists() else []

    def test_turns(self):
        """Both hosts, many at a time."""
        for host in self.n1, self.n2:
            self.assertEqual(self.agent(host).line(), "ready")
        runs = [self.run_locked(host, *self.inside(host.name, 0.02))
                for _ in range(4) for host in (self.n1, self.n2)]
        self.assertEqual([run.wait() for run in runs], [0] * 8)
        self.assertEqual(sorted(self.ran()), ["n1"] * 4 + ["n2"] * 4)
        self.assertEqual(self.run_locked(self.n2, "sh", "-c", "exit 7").wait(), 7)
        # it is handed on in turn, not at the end
        self.assertGreater(sum(a != b for a, b in zip(self.ran(), self.ran()[1:])), 1)

    def test_command_killed(self):
        """It, or `run`, or what it started: held until the last of them has gone."""
        for host in self.n1, self.n2:
            self.agent(host).line()
        sleeper = self.run_locked(self.n2, "sh", "-c", "echo $$; exec sleep 1000")
        pid = int(sleeper.line())
        waiting = self.run_locked(self.n1, *self.inside("n1"))
        self.kill(sleeper)                      # only `run`: the command goes on
        with self.assertRaises(subprocess.TimeoutExpired):
            waiting.wait(0.5)
        os.kill(pid, 9)
        self.assertEqual(waiting.wait(), 0)
        self.assertEqual(self.ran(), ["n1"])
        # one that waits is killed: the lock does not stay with it
        sleeper = self.run_locked(self.n1, "sh", "-c", "echo held; exec sleep 1")
        self.assertEqual(sleeper.line(), "held")
        gone = self.run_locked(self.n2, "true")
        with self.assertRaises(subprocess.TimeoutExpired):
            gone.wait(0.2)
        self.kill(gone)
        self.assertEqual(sleeper.wait(), 0)
        self.assertEqual(self.run_locked(self.n1, "true").wait(), 0)

    def test_agents_killed(self):
        """Both agents again and again, at any time, with commands running on."""
        agents = {host: self.agent(host) for host in (self.n1, self.n2)}
        for agent in agents.values():
            self.assertEqual(agent.line(), "ready")
        ran = {self.n1: 0, self.n2: 0}

        def users(stop, host):
            while not stop.is_set():
                # 1: the agent had gone, and the command did not run
                program = Program(host, BUILT / "lock", "run", self.folder / host.name,
                                  *self.inside(host.name, 0.01), stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL)
                ran[host] += program.wait() == 0
        with meanwhile(users, [self.n1], [self.n2]):
            for n in range(4):
                before = dict(ran)
                wait_for(lambda before=before: all(ran[host] > before[host] for host in ran),
                         f"both to have had a turn after {n} kills", 30)
                host = (self.n1, self.n2)[self.dice.randrange(2)]
                self.kill(agents[host])
                agents[host] = self.agent(host)
        self.assertNotIn("TWO", " ".join(self.ran()))
        self.assertGreater(len(self.ran()), 8)

    def test_cut(self):
        """Who has it has it, cable or not; who waits for it waits."""
        for host in self.n1, self.n2:
            self.agent(host).line()
        holder = self.run_locked(self.n2, *self.inside("n2", 1))
        wait_for(self.ran, "the command to run")
        self.cable.cut()
        waiting = self.run_locked(self.n1, *self.inside("n1"))
        self.assertEqual(holder.wait(), 0)
        with self.assertRaises(subprocess.TimeoutExpired):
            waiting.wait(0.5)
        self.cable.mend()
        self.assertEqual(waiting.wait(), 0)
        self.assertEqual(self.ran(), ["n2", "n1"])


class WorkQueue(ExamplesTest):
    """workqueue.py: each job is taken once, whatever is killed, rebooted or cut."""

    JOBS = 20

    def queue(self, host, what, *command):
        """`send` at n1, `work` at n2."""
        return self.start(host, sys.executable, EXAMPLES / "workqueue.py", what,
                          self.folder / what, self.cable.mac_b if host is self.n1 else
                          self.cable.mac_a, *command, stderr=self.said(what))

    def said(self, what):
        """Where it complains."""
        file = open(self.folder / f"{what}.said", "a", encoding="utf-8")
        self.addCleanup(file.close)
        return file

    def done(self, goal):
        """Wait for so many results; say what both programs complained of, and how they stand."""
        try:
            wait_for(lambda: len(self.results()) >= goal, f"{goal} results")
        except AssertionError as error:
            said = [path.read_text("utf-8") for path in self.folder.glob("*.said")]
            ends = [host.tag() for host in (self.n1, self.n2)]
            status = [program.status for program in self.programs]
            have = [path.read_text("utf-8") for name in ("send/have", "work/taken")
                    for path in self.folder.glob(name)]
            raise AssertionError(f"{error}; {sorted(self.results())}; {have}; {said}; {status}; {ends}") from error

    def put(self, jobs):
        """Jobs for `send`."""
        done = subprocess.run([sys.executable, EXAMPLES / "workqueue.py", "put",
                               self.folder / "send"], input="\n".join(jobs) + "\n", text=True,
                              check=True, env={**os.environ, "PYTHONPATH": str(REPO / "lib")},
                              stdout=subprocess.PIPE)
        return done.stdout

    def results(self):
        """What is done: number -> text."""
        return {int(path.name): path.read_text("ascii")
                for path in (self.folder / "work" / "results").glob("[0-9]*")
                if path.name.isdigit()}

    def test_kills(self):
        ran = self.folder / "ran"
        command = ("sh", "-c", f"read job; echo $job >> {ran}; echo done $job")
        self.put([f"job-{n}" for n in range(1, 11)])
        self.bad_cable()
        programs = {"send": self.queue(self.n1, "send"), "work": self.queue(self.n2, "work",
                                                                          *command)}
        kills = 0
        for goal in range(5, self.JOBS, 9):
            first = self._put_so_far() + 1
            self.put([f"job-{n}" for n in range(first, min(first + 9, self.JOBS + 1))])
            self.done(goal)
            what = "work" if goal == 5 else "send"
            self.kill(programs[what])
            kills += what == "work"
            if goal % 2:
                self.cut(0.1)
            host = self.n1 if what == "send" else self.n2
            programs[what] = self.queue(host, what, *(command if what == "work" else ()))
        self.done(self.JOBS)
        self.assertEqual(self.results(),
                         {n: f"done job-{n}\n" for n in range(1, self.JOBS + 1)})
        # taken once each, in order
        with open(self.folder / "work" / "taken", encoding="ascii") as file:
            taken = [json.loads(line) for line in file]
        self.assertEqual([job["id"] for job in taken], list(range(1, self.JOBS + 1)))
        # and run once, but for the one that a kill of `work` met
        runs = ran.read_text("ascii").split()
        self.assertEqual(set(runs), {f"job-{n}" for n in range(1, self.JOBS + 1)})
        self.assertLessEqual(len(runs), self.JOBS + kills)
        wait_for(lambda: (self.folder / "send" / "have").read_text("ascii") == f"{self.JOBS}\n",
                 "the sender to know")
        shown = subprocess.run([sys.executable, EXAMPLES / "workqueue.py", "show",
                                self.folder / "work"], text=True, check=True,
                               env={**os.environ, "PYTHONPATH": str(REPO / "lib")},
                               stdout=subprocess.PIPE).stdout.split()
        self.assertEqual(shown, ["taken", str(self.JOBS), "done", str(self.JOBS)])

    def _put_so_far(self):
        with open(self.folder / "send" / "jobs", encoding="ascii") as file:
            return len(file.readlines())

    def test_killed_in_a_job(self):
        """The command was running: with --never-again it is not run again, and that is said."""
        self.put(["slow", "next"])
        self.queue(self.n1, "send")
        mark = self.folder / "mark"
        command = ("--never-again", self.cable.mac_a, "sh", "-c",
                   f"read job; [ $job = next ] || {{ echo $$ > {mark}; exec sleep 100; }}; echo $job")

        def worker():
            return self.start(self.n2, sys.executable, EXAMPLES / "workqueue.py", "work",
                              self.folder / "work", *command)
        first = worker()
        pid = int(wait_for(lambda: mark.exists() and mark.read_text("ascii"), "the job to run", 20))
        self.kill(first)
        os.kill(pid, 9)
        worker()
        wait_for(lambda: self.results() == {2: "next\n"}, "the next job")
        self.assertTrue((self.folder / "work" / "results" / "1.failed").exists())

    def test_torn_line(self):
        """A journal whose last line was being written: it is no line, and the next is whole."""
        self.put(["a", "b"])
        with open(self.folder / "send" / "jobs", "a", encoding="ascii") as file:
            file.write('{"id": 3, "jo')
        self.assertIn("the last is number 3", self.put(["c"]))
        self.queue(self.n1, "send")
        self.queue(self.n2, "work", "cat")
        wait_for(lambda: self.results() == {1: "a\n", 2: "b\n", 3: "c\n"}, "three results")

    def test_one_of_each(self):
        """Two that work on one spool would both be wrong."""
        self.put(["a"])
        with open(self.folder / "send" / "send.lock", "w", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            self.assertEqual(self.queue(self.n1, "send").wait(), 1)
        self.assertIsNone(self.queue(self.n1, "send").status)


def children_of(pid):
    """The processes that this one has begun."""
    children = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):      # it may end just now
            stat = path.read_text("ascii", "replace")
            if int(stat.rpartition(")")[2].split()[1]) == pid:
                children.append(int(stat.split()[0]))
    return children


class Workers(ExamplesTest):
    """workers.py: several on one queue, each job goes to one of them."""

    def test_each_once(self):
        workers = self.start(self.n2, sys.executable, EXAMPLES / "workers.py", "work", self.cable.mac_a, 3)
        jobs = [f"job {n}" for n in range(24)]
        put = self.start(self.n1, sys.executable, EXAMPLES / "workers.py", "put", self.cable.mac_b, *jobs)
        self.assertEqual(put.wait(), 0)
        done = [workers.line().split(": ") for _ in jobs]
        self.assertEqual(sorted(job for _, job in done), sorted(jobs))
        self.assertGreater(len({worker for worker, _ in done}), 1)

    def test_killed(self):
        """The job of a worker that is killed goes to another; what was done before may be done twice."""
        workers = self.start(self.n2, sys.executable, EXAMPLES / "workers.py", "work", self.cable.mac_a, 3)
        wait_for(lambda: len(children_of(workers.pid)) == 3, "the workers", 20)
        jobs = {f"job {n}" for n in range(24)}
        put = self.start(self.n1, sys.executable, EXAMPLES / "workers.py", "put", self.cable.mac_b, *jobs)
        done = {workers.line().split(": ")[1] for _ in range(6)}
        for worker in children_of(workers.pid)[:2]:
            os.kill(worker, signal.SIGKILL)
        self.assertEqual(put.wait(), 0)
        while done != jobs:
            done.add(workers.line().split(": ")[1])


class Policy(ExamplesTest):
    """policy.py: both ends write down the same rounds."""

    def end(self, host, *options):
        """host at n1, agent at n2."""
        if host is self.n1:
            words = ("host", "--every", "0.01", *options, self.folder / "host", self.cable.mac_b,
                     "--", "sh", "-c", "echo state $$")
        else:
            words = ("agent", *options, self.folder / "agent", self.cable.mac_a, "--",
                     "sh", "-c", "echo policy for $(cat)")
        return self.start(host, sys.executable, EXAMPLES / "policy.py", *words,
                          stderr=subprocess.DEVNULL)

    def rounds(self, name):
        """What an end has written down: number -> entry."""
        path = self.folder / name / "rounds"
        if not path.exists():
            return {}
        lines = [json.loads(line) for line in path.read_text("ascii").splitlines(True)
                 if line.endswith("\n")]
        numbers = [entry["round"] for entry in lines]
        self.assertEqual(numbers, sorted(set(numbers)), "a round twice")
        return {entry["round"]: entry for entry in lines}

    def test_rounds(self):
        self.bad_cable()
        ends = [self.end(self.n1, "--rounds", "8"), self.end(self.n2, "--rounds", "8")]
        self.assertEqual([end.wait() for end in ends], [0, 0])
        host, agent = self.rounds("host"), self.rounds("agent")
        self.assertEqual(host, agent)
        self.assertEqual(list(host), list(range(1, 9)))
        # a policy is for the state of the round before, and the last is in force
        for n in range(2, 9):
            self.assertEqual(host[n]["policy"], f"policy for {host[n - 1]['state']}")
            self.assertEqual(host[n]["in_force"], n - 1)
        self.assertEqual((self.folder / "host" / "policy").read_text("ascii"),
                         host[8]["policy"] + "\n")

    def test_kills(self):
        self.bad_cable()
        ends = {self.n1: self.end(self.n1), self.n2: self.end(self.n2)}
        for n, host in enumerate((self.n2, self.n1)):
            wait_for(lambda n=n: min(len(self.rounds("host")), len(self.rounds("agent"))) > 5 * n,
                     "more rounds")
            self.kill(ends[host])
            if n == 1:
                self.cut(0.2)
            ends[host] = self.end(host)
        last = max(self.rounds("host"), default=0)
        wait_for(lambda: min(max(self.rounds("host")), max(self.rounds("agent"))) > last + 3,
                 "rounds after the last kill")
        for end in list(ends.values()):
            self.kill(end)
        host, agent = self.rounds("host"), self.rounds("agent")
        both = set(host) & set(agent)
        for n in both:
            self.assertEqual(host[n], agent[n])
        # one end misses a round for each kill, at most; 2 here, and 2 to end it
        self.assertLessEqual(len(set(host) ^ set(agent)), 4)
        self.assertGreater(len(both), 5)
