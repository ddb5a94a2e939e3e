#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""One manner: what oae and oaesim take, what --help, manual and completions say of it.

    tests/command/manner.py OAE [OAESIM]      needs no module; of `make -C tools/oae check`

Files in a directory stand for those of the modules, so that what is wrong is found before
the modules are asked.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OAE, OAESIM = (*sys.argv[1:], *("build/oae-check/oae", "tools/oaesim")[len(sys.argv) - 1:])
DONE, USAGE, NOT_LOADED, OUTPUT = 0, 64, 69, 74

# A letter means the same in every command: its long option, and the value that it takes.
LETTERS = {
    "a": ("all", None), "b": ("batch", None), "c": ("count", "N"), "e": ("express", None),
    "i": ("interval", "SECONDS"), "j": ("json", None), "n": ("netns", "NETNS"),
    "o": ("output", "FILE"), "p": ("processes", None), "P": ("perm", "LIST"),
    "q": ("quiet", None), "r": ("raw", None), "R": ("region", "N"), "s": ("size", "BYTES"),
    "v": ("vc", "N"), "V": ("version", None), "w": ("wait", "SECONDS"), "x": ("hex", None),
    "z": ("zeros", None), "?": ("help", None)}

# Older words, which the manual names once and --help does not.
OLDER = {"--deadline", "--timeout"}

# Wrong usage, and what the one line has to say of it.
WRONG = (
    ("", "which command"), ("nonsense", "no command nonsense; `oae --help`"),
    ("shwo", "no command shwo; did you mean show?"), ("re", "did you mean recv or read?"),
    ("--jsn show", "no option --jsn; did you mean --json?"), ("-n b/a show", '"b/a"'),
    ("-n nowhere-at-all show", '"nowhere-at-all".*ip netns'), ("-n", "needs a value: --netns=NETNS"),
    ("show prot", '"prot" is none of .*did you mean port\\?'), ("show vc 256", '"256"'),
    ("show peer", "peer: which one"), ("show --colour", "no option --colour"),
    ("show -x", "no option -x"), ("show -px", "no option -x"), ("show peer nobody", '"nobody"'),
    ("show state opne", '"opne" is none of open, .*did you mean open\\?'),
    ("show links zones", "links or zones"), ("show -p zones", "links have"), ("show paths state open", "that is of links"),
    ("show --json=yes", "--json takes no value"), ("monitor kind rvc", '"rvc".*did you mean rcv'),
    ("monitor kind", "kind: which one"), ("monitor -c few", '"few"'),
    ("monitor port va", '"port" is none of peer, vc, kind'), ("top -i x", '"x".*seconds'),
    ("top -i 0", "0.01"), ("top --intreval 2", "did you mean --interval"),
    ("port add", "which device"), ("port up va", '"up" is none of add, del, show'),
    ("port add a,b", '"a,b"'), ("port add sixteen-letters-", '"sixteen-letters-".*1 to 15'),
    ("port show va", "no device"), ("metrics x", '"x"'), ("set", "KNOB=VALUE"),
    ("set verbose", '"verbose".*KNOB=VALUE'), ("set =1", '"=1"'), ("get verbose=1", '"verbose=1"'),
    ("path", "which path"), ("path show", '"show" is none of set'), ("path set eth1", "which path"),
    ("path set eth1 best peer 2", '"best" is none of preferred, normal, avoid'),
    ("path set eth1 avoid", "to whom"), ("path set eth1 avoid peer", "peer: which one"),
    ("path set eth1 avoid peer 2 to", "to: which one"), ("path set eth1 avoid peer 2 to 3", '"3" is not a MAC'),
    ("path set eth1 avoid state open", '"state" is none of port, peer, vc, to'),
    ("close", "whom"), ("close x", '"x".*MAC'), ("close 2 3", '"3".*one PEER'),
    ("close 2 --vc 256", '"256".*0 to 255'), ("spread out", '"out" is none of on, off, show'),
    ("spread on off", '"off" is too much'), ("gateway list", '"list" is none of show, set'),
    ("gateway set", "KNOB=VALUE"), ("gateway set mtu", '"mtu"'), ("ping", "whom"),
    ("ping 02:0a", '"02:0a".*MAC'), ("ping 2 -s 9", "-s"), ("ping 2 -w 3601", '"3601".*3600'),
    ("ping 2 --count", "--count needs a value: --count=N"), ("send", "whom"),
    ("send 2 a b", '"b"'), ("send 2 -", "a byte"), ("send 2 -w 0 x", '"0".*0.001'),
    ("send 2 --deadline x y", '"x"'), ("swap 2", "what"), ("swap 2 -", "a byte"),
    ("read 2 1", "offset"), ("read 2 1 4", "4 .*multiple of 8"), ("write 2 1 0", "VALUE"),
    ("add 2 1 0 one", '"one".*number'), ("cas 2 1 0 1", "EXPECTED VALUE"),
    ("cas 2 1 0 1,2 3", "EXPECTED has 2 words, VALUE 1"), ("cas 2 1 0 1 2 3", '"3"'), ("add 2 1 0 1 5", '"5" is too much'),
    ("write 2 1 0 5 6", '"6"'), ("xchg 2 1 0 5 -6", '"-6"'),
    ("expose 9 -P r", "9 .*multiple of 8"), ("expose 8", "r, w, a"), ("expose 8 -P q", '"q"'),
    ("expose 8 -P r --set 0", '"0".*OFFSET=VALUE'), ("expose 8 -P r --set 1=2", '"1=2"'),
    ("expose 8 -P r --set 8=1", "SIZE is 8"), ("recv -c some", '"some"'), ("recv 2 3", '"3"'),
    ("recv -w never", '"never".*seconds'), ("listen --port " + "x" * 16, '"x{16}"'),
    ("recv --file x", "from whom"), ("recv 2 --file x -r", "no -r"), ("send 2 --file x y", "no TEXT"), ("recv 2 --file -", "recv -r"),
    ("pipe 2 3", '"3"'), ("pipe -w 0", '"0".*0.001'), ("pipe bad", '"bad".*from a digit'), ("pipe 2 -c 1", "no option -c"),
    ("perf", "whom"), ("perf 2 3", '"3"'), ("perf zz", '"zz"'), ("perf 2 -c 1e3", '"1e3"'),
    ("perf 2 -s 0", '"0"'), ("perf 2 -s 262145", '"262145"'), ("perf 2 --depth 4097", '"4097"'),
    ("perf 2 --vcs 257", '"257"'), ("perf 2 --vc 250 --vcs 7", "7 channels from 250"),
    ("perf 2 --time 0", "0.001"), ("perf 2 --time soon", '"soon"'), ("perf 2 -w 0", "0.001"),
    ("perf 2 --rtt --oneway", "not both"), ("perf 2 --rtt --depth 2", "no --depth"),
    ("perf --server --rtt", "--rtt"), ("perf --server -s 9", "-s"),
    # A message names the word as typed, and no number is another one.
    ("ping -c -1 2", '-c: "-1"'), ("ping 2 -c -1", '"-1"'), ("ping 2 -i -1", '"-1"'), ("ping -5", '"-5".*MAC'),
    ("ping 2 --message -s -1", '"-1"'), ("recv -c -1", '"-1"'), ("recv -5", '"-5"'), ("send -5 x", '"-5"'),
    ("send 2 -5 -w -5", '-w: "-5"'), ("send 2 -5 -6", '"-6" is too much'), ("send 2 -- -x -y", '"-y" is too much'),
    ("swap 2 -5 -6", '"-6"'), ("read 2 -1 0", 'REGION: "-1"'), ("read 2 1 -8", 'OFFSET: "-8"'),
    ("read 2 1 0 -1", 'WORDS: "-1"'), ("write 2 1 0 -9223372036854775809", '"-9223372036854775809"'),
    ("add 2 1 0 -1 --colour", "--colour"), ("cas 2 1 0 -1", "EXPECTED VALUE"), ("xchg -1 -2 0", '"-1"'),
    ("expose -8 -P r", 'SIZE: "-8"'), ("expose 8 -P r -R -1", '"-1"'), ("expose 8 -P r --set -8=1", '"-8"'),
    ("listen -c -1", '"-1"'), ("listen -5", '"-5"'), ("monitor -c -1", '"-1"'), ("monitor vc -1", '"-1"'),
    ("top -c -1", '"-1"'), ("show vc -1", '"-1"'), ("show -5", '"-5" is none of'), ("perf -5", '"-5"'),
    ("perf 2 -c -1", '"-1"'), ("perf 2 --depth -1", '"-1"'), ("perf 2 -s -1", '"-1"'), ("close -5", '"-5"'),
    ("set -5", '"-5"'), ("port add -5,6", '"-5,6"'), ("path set eth1 avoid peer 2 vc -1", '"-1"'), ("-5", "no option -5"),
    # A name that is nowhere is no number; sizes.
    ("ping bad", '"bad".*from a digit'), ("send ace x", '"ace"'), ("show peer bad", '"bad".*digit'), ("close eth0/bad", '"eth0/bad"'),
    ("recv node-o2", '"node-o2"'), ("swap 02:0a:e0:00:00:0g x", '"02:0a:e0:00:00:0g"'), ("cas id:2 1 0 0 7", '"id:2"'),
    ("perf 2 -s 8X", '"8X".*K, M, G'), ("perf 2 -s K", '"K"'), ("ping 2 -s 257K", '"257K"'), ("expose 99999999999999G -P r", "99999999999999G"),
    ("perf --server -w 1", "-w"), ("perf --server --depth 2", "--depth"),
    ("perf --server --time 1", "--time"), ("perf --server --express", "--express"),
    ("perf --server --vcs 2", "--vc"), ("perf --server --vc 255 --vcs 2", "2 channels from 255"))


def run(*command, proc=None, stdin=subprocess.DEVNULL, **env):
    """Run something to its end. What is wrong ends it at once, which frees nothing."""
    env = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0",
           **({"OAE_PROC_NET": proc} if proc else {}), **env}
    return subprocess.run(command, env=env, stdin=stdin, capture_output=True, text=True,
                          check=False, timeout=600)


def options(text):
    """Of a --help: {"--long": (letter or None, value or None)}."""
    return {f"--{name}": (letter or None, value or None) for letter, name, value in re.findall(
        r"(?m)^ {2,6}(?:-(.), )?--([a-z-]+)(?:=(\S+))?", text)}


def plain(text):
    """Of a manual page: without what roff makes of it."""
    return re.sub(r"\\f.|\\\||\\&", "", text).replace("\\-", "-")


class Manner(unittest.TestCase):
    """Every command."""

    @classmethod
    def setUpClass(cls):
        cls.top = run(OAE, "--help").stdout
        cls.commands = re.findall(r"(?m)^  ([a-z]+) {2,}\S", cls.top)
        cls.help = {command: run(OAE, command, "--help").stdout for command in cls.commands}
        cls.page = plain((ROOT / "doc" / "man" / "oae.8").read_text())
        # pylint: disable=consider-using-with
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.proc = directory.name
        for name in "modoae", "modoaeip":
            (Path(cls.proc) / name).mkdir()

    def test_letters(self):
        """A letter and a long option go together, always with the same value."""
        self.assertGreater(len(self.commands), 20)
        words = {name: letter for letter, (name, _) in LETTERS.items()}
        for command, text in {"": self.top, **self.help}.items():
            for name, (letter, value) in options(text).items():
                self.assertEqual(letter, words.get(name[2:]), f"{command} {name}")
                if letter:
                    self.assertEqual((name[2:], value), LETTERS[letter], command)

    def test_help(self):
        """80 columns, examples that are whole lines, JSON wherever something is shown."""
        for command, text in {"": self.top, **self.help}.items():
            for line in text.splitlines():
                self.assertLess(len(line), 80, command)
            if not command:
                continue
            examples = text.partition("Examples:\n")[2].partition("\n\n")[0].splitlines()
            self.assertTrue(examples, command)
            for line in examples:
                self.assertRegex(line, rf"^  oae (-j )?{command}\b|^ {{10,}}", command)
            self.assertIn("--json", options(text), command)
            self.assertIn("JSON: ", text.replace("JSON (", "JSON: ("), command)
            self.assertEqual(run(OAE, "help", command).stdout, text)
            self.assertEqual(run(OAE, command, "-h").stdout, text)
        self.assertEqual(run(OAE, "-h").stdout, self.top)
        self.assertEqual(run(OAE, "version").stdout, run(OAE, "-V").stdout)

    def test_manual(self):
        """oae(8) has each option of a command, and no other."""
        common, _, rest = self.page.partition(".SH LOOKING\n")
        common = set(re.findall(r"(?<![\w-])--?[A-Za-z?][a-z-]*", common))
        for part in re.split(r"(?m)^\.TP\n", rest.partition(".SH EXIT STATUS")[0]):
            found = re.match(r"\.B oae (\w+)", part)
            if not found:
                continue
            has = {word for name, (letter, _) in options(self.help[found[1]]).items()
                   for word in (name, f"-{letter}")}
            said = set(re.findall(r"(?<![\w-])--?[A-Za-z][a-z-]*", part.split(".SH")[0]))
            self.assertLessEqual(said, has, found[1])
        for command, text in self.help.items():
            self.assertRegex(self.page, rf"(?m)^\.B oae {command}\b", command)
            parts = "".join(re.findall(rf"(?ms)^\.B oae {command}\b.*?(?=^\.TP|^\.S[HS])", rest))
            for name, (letter, _) in options(text).items():
                self.assertTrue(name in common or name in parts, f"{command} {name}")
                self.assertTrue(not letter or f"-{letter}" in common, f"{command} -{letter}")
        self.assertEqual(common & OLDER, OLDER)

    def test_exit_statuses(self):
        """Those of each --help are in the manual; `oae --help` has them all."""
        listed = set(re.findall(r"(?m)^\.TP\n\.B (\d+)$",
                                self.page.partition(".SH EXIT STATUS")[2].partition(".SH ")[0]))
        def numbers(text):
            said = text.partition("\nExit")[2].partition("\n\n")[0]
            return set(re.findall(r"(?:(?<=^)|(?<=[:;,] )|(?<=else ))(\d+)(?= |:)",
                                  " ".join(said.split())))
        self.assertEqual(numbers(self.top), listed)
        for command, text in self.help.items():
            self.assertLessEqual(numbers(text), listed, command)

    def test_prefixes(self):
        """What is unambiguous is enough; else the line says what it may be."""
        for command in self.commands:
            for end in range(1, len(command)):
                begin = command[:end]
                meant = [name for name in self.commands if name.startswith(begin)]
                done = run(OAE, begin, "--help")
                if begin in self.commands or len(meant) == 1:
                    self.assertEqual((done.returncode, done.stderr), (DONE, ""), begin)
                    self.assertEqual(done.stdout, self.help[begin if begin in meant else meant[0]])
                else:
                    self.assertEqual(done.returncode, USAGE)
                    for name in meant:
                        self.assertIn(name, done.stderr.partition("did you mean")[2], begin)
        for args in "port sho", "show sta op", "top pee 2", "gateway se":
            done = run(OAE, *args.split(), "--colour", proc=self.proc)
            self.assertIn("no option --colour", done.stderr)    # which is looked for first
        done = run(OAE, "port", "ad", proc=self.proc)
        self.assertIn("add: which device", done.stderr)

    def test_wrong(self):
        """One line that says what is wrong and what would be right; nothing on stdout."""
        for args, said in WRONG:
            done = run(OAE, *args.split(), proc=self.proc)
            self.assertEqual((done.returncode, done.stdout), (USAGE, ""), (args, done.stderr))
            self.assertRegex(done.stderr, rf"\Aoae[^\n]*: [^\n]*{said}[^\n]*\n\Z", args)
        done = run(OAE, "send", "2", "", proc=self.proc)
        self.assertEqual((done.returncode, done.stderr.count("\n")), (USAGE, 1))

    def test_output(self):
        """What cannot be written is said, in a line and a status, of any output."""
        for command in [], *([command] for command in self.commands):
            with open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run([OAE, *command, "--help"], stdout=full, stderr=subprocess.PIPE,
                                      text=True, check=False)
            self.assertEqual((done.returncode, done.stderr), (
                OUTPUT, f"{' '.join(['oae', *command])}: standard output: ENOSPC: No space left on device: "
                "not all was written\n"))
        # Nobody reads, and SIGPIPE is ignored, as in a unit of systemd; or it is closed.
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([OAE, "--help"], stdout=writer, stderr=subprocess.PIPE, text=True, check=False,
                              restore_signals=False)
        os.close(writer)
        self.assertEqual(done.returncode, OUTPUT)
        self.assertIn("standard output: EPIPE:", done.stderr)
        done = run("bash", "-c", f"{OAE} --help >&-; echo $?")
        self.assertEqual(done.stdout, f"{OUTPUT}\n")
        self.assertIn("standard output: EBADF:", done.stderr)
        # A pipe that is full and does not block.
        reader, writer = os.pipe2(os.O_NONBLOCK)
        filled = os.write(writer, bytes(1 << 20))
        with subprocess.Popen([OAE, "--help"], stdout=writer) as process:
            os.close(writer)
            os.set_blocking(reader, True)
            with open(reader, "rb") as pipe:
                self.assertEqual(pipe.read()[filled:].decode(), self.top)
            self.assertEqual(process.wait(), DONE)
        # No file takes the place of a descriptor that is closed.
        done = run("bash", "-c", f"{OAE} stats <&- >&- 2>&-; echo $?", proc="/nowhere")
        self.assertEqual(done.stdout, f"{NOT_LOADED}\n")

    def test_not_loaded(self):
        """Comes first, whatever else is wrong, and says what to do."""
        for command in self.commands:
            for args in [], ["nonsense", "--colour", "-c", "x"]:
                done = run(OAE, command, *args, proc="/nowhere")
                module = "modoaeip" if command == "gateway" else "modoae"
                self.assertEqual((done.returncode, done.stdout), (NOT_LOADED, ""), command)
                self.assertEqual(done.stderr, f"oae {command}: the module {module} is not loaded;"
                                 f" as root: modprobe {module}\n")
        for args in "show zones", "show nodes":
            with tempfile.TemporaryDirectory() as proc:
                (Path(proc) / "modoae").mkdir()
                done = run(OAE, *args.split(), proc=proc)
                self.assertEqual(done.returncode, NOT_LOADED)
                self.assertIn("modprobe modoaeip", done.stderr)

    def complete(self, line):
        """What may follow, of `oae complete`."""
        done = run(OAE, "complete", *line.split(" ")[1:], proc=self.proc)
        self.assertEqual((done.returncode, done.stderr), (DONE, ""), line)
        return [row.split("\t")[0] for row in done.stdout.splitlines()]

    def test_completion(self):
        """Commands, options and words are those of --help."""
        self.assertEqual(self.complete("oae "), [*self.commands, "help", "version"])
        self.assertEqual(self.complete("oae help "), self.commands)
        self.assertEqual(self.complete("oae -j sh"), ["show"])
        for command, text in self.help.items():
            words = {word for name, (letter, _) in options(text).items()
                     for word in (name, f"-{letter}") if word != "-None"}
            self.assertEqual(set(self.complete(f"oae {command} -")),
                             words - {"--usage", "--version", "-V", "-?"}, command)
            usage = " ".join(text.partition("\n\n")[0].partition(command)[2].split())
            self.assertLessEqual(set(self.complete(f"oae {command} ")) &
                                 set(re.findall(r"[a-z]+", usage)),
                                 set(re.findall(r"[a-z]+", usage)))
        for line, offered in (
                ("oae show ", "links paths zones nodes port peer vc state"),
                ("oae show state o", "open opening"), ("oae top vc 3 ", "port peer state"),
                ("oae monitor kind no", "note"), ("oae port ", "show add del"),
                ("oae gateway ", "show set"), ("oae port show ", ""), ("oae send 2 ", ""),
                ("oae ping --po", "--port"), ("oae nonsense ", "")):
            self.assertEqual(self.complete(line), offered.split(), line)
        self.assertIn("lo", self.complete("oae port add "))

    def test_shells(self):
        """bash, zsh and fish offer what `oae complete` does."""
        path = f"{os.path.dirname(os.path.abspath(OAE))}:{os.environ['PATH']}"
        folder = ROOT / "tools" / "oae"
        bash = (f". {folder}/oae.bash; complete -p oae >/dev/null || exit 1; COMP_LINE=$1; "
                'COMP_POINT=${#1}; COMP_WORDS=(oae); _oae; printf "%s\\n" "${COMPREPLY[@]}"')
        zsh = ('compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -l -- "$@" }; '
               'words=("${(@s: :)1}"); CURRENT=$#words; shift; '
               f". {folder}/oae.zsh || true")
        fish = f"source {folder}/oae.fish; complete -C $argv[1] | string split -f 1 \\t"
        for line in ("oae ", "oae sh", "oae show -", "oae show state o", "oae port add ",
                     "oae help re", "oae show state nowhere"):
            wanted = sorted(self.complete(line))
            for shell in (["bash", "-c", bash, "bash"], ["zsh", "-fc", zsh, "zsh"],
                          ["fish", "--no-config", "-c", fish]):
                done = run(*shell, line, proc=self.proc, PATH=path)
                self.assertEqual((done.stderr, sorted(done.stdout.split())), ("", wanted),
                                 (shell[0], line))


class Simulator(unittest.TestCase):
    """oaesim, which is a command by itself."""

    def test_help(self):
        """80 columns; JSON and silence by the same letters as of oae; exit statuses as listed."""
        text = run(OAESIM, "--help").stdout
        self.assertEqual(run(OAESIM, "-V").stdout, run(OAE, "-V").stdout.replace("oae", "oaesim"))
        for line in text.splitlines():
            self.assertLess(len(line), 80)
        has = options(text)
        for letter in "jq":
            self.assertEqual(has[f"--{LETTERS[letter][0]}"][0], letter)
        page = plain((ROOT / "doc" / "man" / "oaesim.1").read_text())
        listed = re.findall(r"(?m)^\.TP\n\.B (\d+)$",
                            page.partition(".SH EXIT STATUS")[2].partition(".SH ")[0])
        said = text.partition("EXIT STATUS.")[2].partition("\n\n")[0]
        self.assertEqual(re.findall(r"(\d):", said), listed)
        done = run(OAESIM, "--loss", "lots")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("'lots': takes a share", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
