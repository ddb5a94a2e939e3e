# SPDX-License-Identifier: GPL-2.0
"""What test programs print: each test and its result, the closing lines, and JUnit of it.

Known are unittest (verbose), cmocka, the tables of the explorer, of the mutants and of the
allocation sites, the fuzzers' lines, and a plain "N passed, M failed" of any program. tools/stage
feeds a Log with the lines as they come; "# NAME" names the program whose output follows.
"""

import re
import xml.etree.ElementTree as ET

PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"

# unittest: "test_it (module.Class.test_it) ... ok", with other output anywhere in between.
TEST = r"(?P<name>(?:test|setUp|tearDown)\w*) \((?P<where>[\w.]+)\)(?: [\[(].*)?"
CASE = re.compile(rf" *{TEST}(?P<rest> \.\.\. .*|$)")
VERDICTS = {"ok": PASSED, "expected failure": PASSED, "FAIL": FAILED, "ERROR": FAILED,
            "unexpected success": FAILED, "skipped": SKIPPED}
VERDICT = re.compile(r"(ok|expected failure|FAIL|ERROR|unexpected success|skipped)( ['\"].*)?")
REPORT = re.compile(rf"(FAIL|ERROR): {TEST}")
# cmocka
CMOCKA = re.compile(r"\[ +(?P<word>RUN|OK|FAILED|SKIPPED|ERROR) +\] (?P<rest>.*)")
# A line a test, of the programs that print a table or a list.
EXPLORER = re.compile(r"(?P<name>[a-z][\w-]*) +\d+ +\d+ .* (?P<took>\d+\.\d) +"
                      r"(?P<verdict>good|VIOLATED|CUT OFF)(, \d+ reported)?")
SITE = re.compile(r"(?P<verdict>ok |BAD) (?P<name>\S.*?) +failed +\d+ of +\d+ +in .*")
FUZZER = re.compile(r"(?P<name>fuzz_\w+)(?P<verdict>: \d+ executions| found something| fails on )")
MUTANTS = re.compile(r"mutant +rule +caught by +seconds")
MUTANT = re.compile(r"(?P<name>[a-z0-9-]+) +\d\S*( \(\d+\))?  +(?P<verdict>.*?)  +(?P<took>\d+\.\d)")
AGAIN = "tools/vm: begun anew: "        # what tools/vm says before it boots a second guest
GOOD = ("good", "ok ", ": ")            # how the verdicts begin that are no failures

NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd]")
LONGEST = 20000                         # characters that are kept of one failure


class Case:
    """One test."""

    def __init__(self, name, where, began):
        self.name, self.where, self.began = name, where, began
        self.result, self.took, self.text = None, 0.0, ""

    def __str__(self):
        return f"{self.where}.{self.name}" if self.where else self.name

    def ended(self, result, now):
        """Its result, at a time in seconds."""
        self.result, self.took = result, max(0.0, now - self.began)


class Closing:
    """The closing lines of the programs, and what they add up to."""

    def __init__(self):
        self.lines, self.figures = [], []
        self._passed = self._failed = self._ran = 0
        self._seen, self._plain = False, None

    def feed(self, line):
        """One line of the log."""
        if found := re.match(r"\[  (PASSED|FAILED)  \] (\d+) test", line):
            self.lines.append(line)
            self._seen = True
            if found[1] == "PASSED":
                self._passed += int(found[2])
            else:
                self._failed += int(found[2])
        elif found := re.match(r"Ran (\d+) tests? in", line):
            self.lines.append(line)
            self._ran, self._seen = int(found[1]), True
        elif re.fullmatch(r"(OK|NO TESTS RAN)( \(.*\))?|FAILED \(.*\)", line):
            self.lines.append(line)
            numbers = dict(re.findall(r"([a-z ]+)=(\d+)", line.replace("(", ", ")))
            numbers = {word.strip(): int(number) for word, number in numbers.items()}
            bad = sum(numbers.get(word, 0)
                      for word in ("failures", "errors", "unexpected successes"))
            self._failed += bad
            self._passed += self._ran - bad - numbers.get("skipped", 0)
            self._ran = 0
        elif line.startswith("figure: "):
            self.lines.append(line)
        elif found := re.fullmatch(r"(\d+) passed, (\d+) failed", line):
            passed, failed = self._plain or (0, 0)
            self._plain = passed + int(found[1]), failed + int(found[2])

    def lost(self, failed):
        """So many had failed in a guest whose closing lines will not come."""
        self._failed += failed

    def sums(self, status):
        """How many passed and failed of a command that exited so."""
        passed, failed = self._passed + self._ran, self._failed     # _ran: it died at its end
        if self._plain:
            passed, failed = self._plain
        elif not self._seen:
            passed = int(status == 0)
        if status != 0 and not failed:
            failed = 1
        return max(passed, 0), failed           # a class that cannot be set up ran no test


class Log:
    """All that is known from the lines so far."""

    def __init__(self):
        self.closing, self.cases = Closing(), []
        self.again = 0                          # guests that were begun anew
        self.last = ""                          # the test that runs, or the last line
        self._program, self._open = "", None
        self._table = False                     # of mutants
        self._report, self._errors = None, []   # unittest's of a failure, cmocka's of one
        self._begun = None                      # the test of an unfinished line, and when
        self._listed = False                    # cmocka lists failures once more at its end

    def feed(self, line, now):
        """One line, without its end, at a time in seconds."""
        line = line.rstrip("\r\n")
        self.closing.feed(line)
        if line.startswith(AGAIN):
            self.again += 1
            self.closing.lost(self.count(FAILED))
        if found := re.fullmatch(r"# (\w+)", line):
            self._program = found[1]
        elif not (self._in_report(line) or self._cmocka(line, now) or self._unittest(line, now)
                  or self._listing(line, now)) and line.strip() and not self.cases:
            self.last = line.strip()

    def peek(self, line, now):
        """The unfinished line at the end: unittest names a test before it runs."""
        found = CASE.fullmatch(line)
        if found and not line.startswith(" "):
            case = Case(found["name"], found["where"].removesuffix(f".{found['name']}"), now)
            self.last = str(case)
            if not self._begun or str(self._begun) != self.last:
                self._begun = case

    def _case(self, name, where, now):
        """A new test, which is the last that was heard of."""
        case = Case(name, where, now)
        if self._begun and str(self._begun) == str(case):
            case, self._begun = self._begun, None
        self.cases.append(case)
        self.last = str(case)
        return case

    def _find(self, name, where, now):
        """The test that is being reported on; set-ups are tests only when they fail."""
        where = where.removesuffix(f".{name}")
        for case in reversed(self.cases):
            if (case.name, case.where) == (name, where):
                return case
        return self._case(name, where, now)

    def _in_report(self, line):
        """unittest's reports of failures, at the end."""
        if re.fullmatch("={70}", line):
            self._report = ""
            return True
        if self._report is None:
            return False
        if re.match(r"Ran \d+ tests? in", line):
            self._report = None
        elif self._report == "":
            found = REPORT.fullmatch(line)
            if not found:
                self._report = None
                return False
            self._report = self._find(found["name"], found["where"], 0)
            self._report.result = FAILED
            self._report.text += line + "\n"
        elif len(self._report.text) < LONGEST:
            self._report.text += line + "\n"
        return True

    def _unittest(self, line, now):
        """A test that begins; what it is said to have become, there or later."""
        found = CASE.fullmatch(line)
        # a sub-test's line is indented, and only there if it failed
        if found and not (line.startswith(" ") and not found["rest"]):
            if line.startswith(" "):
                case = self._find(found["name"], found["where"], now)
            else:
                case = self._open = self._case(
                    found["name"], found["where"].removesuffix(f".{found['name']}"), now)
            line = found["rest"].removeprefix(" ... ").strip()
        else:
            case = self._open
            line = line.rpartition(" ... ")[2]
        verdict = VERDICT.fullmatch(line) if case else None
        if verdict:
            if case.result != FAILED:
                case.ended(VERDICTS[verdict[1]], now)
            case.text += (verdict[2] or "").strip(" '\"")
            self._open = None
        return bool(found or verdict)

    def _cmocka(self, line, now):
        found = CMOCKA.match(line)
        if not found:
            if self._errors and line.strip():
                self._errors.append(line)
            return False
        word, rest = found["word"], found["rest"]
        if word == "RUN":
            self._open, self._errors, self._listed = self._case(rest, self._program, now), [], False
        elif word == "ERROR":
            self._errors.append(rest)
        elif re.match(r"\d+ test", rest):
            self._listed = True
        elif self._open and not self._listed:
            self._open.ended({"OK": PASSED, "SKIPPED": SKIPPED}.get(word, FAILED), now)
            if word == "FAILED":
                self._open.text = "\n".join(self._errors)
            self._open, self._errors = None, []
        return True

    def _listing(self, line, now):
        """A line that is a test and its result."""
        self._table = self._table or bool(MUTANTS.fullmatch(line))
        for pattern in (EXPLORER, SITE, FUZZER, *([MUTANT] if self._table else [])):
            found = pattern.match(line) if pattern is FUZZER else pattern.fullmatch(line)
            if found:
                break
        else:
            return False
        case = self._case(found["name"], self._program, now)
        good = (not found["verdict"].startswith("FAILED") if pattern is MUTANT
                else found["verdict"].startswith(GOOD))
        case.ended(PASSED if good else FAILED, now)
        case.took = float(found.groupdict().get("took") or 0)
        case.text = "" if good else line
        return True

    def count(self, result):
        """How many tests ended so."""
        return sum(case.result == result for case in self.cases)

    def progress(self):
        """In a few words, how far it is."""
        passed, failed = self.count(PASSED), self.count(FAILED)
        counts = f" ({passed} passed, {failed} failed)" if passed or failed else ""
        return (self.last or "no output yet") + counts


def clean(text):
    """What XML can hold of a text."""
    return NOT_XML.sub("?", text[:LONGEST])


def junit(stage, log, status, seconds, cpu, tail=""):
    """The JUnit document of a stage: a test case each, and one for what no test accounts for.

    The sums of the closing lines, which count tests that have no line of their own as well, are
    its properties, and so are the CPU seconds.
    """
    passed, failed = log.closing.sums(status)
    # What has no result: the program died in it, or the result could not be read.
    missing = FAILED if failed > log.count(FAILED) else PASSED
    cases = [(case, case.result or missing, case.text if case.result else "no result")
             for case in log.cases]
    if not cases or failed and FAILED not in (result for _, result, _ in cases):
        case = Case(stage, "", 0)
        case.ended(FAILED if failed else PASSED, seconds)
        cases.append((case, case.result, f"exit status {status}\n{tail}"))
    results = [result for _, result, _ in cases]
    suite = ET.Element("testsuite", {
        "name": stage, "tests": str(len(cases)), "time": f"{seconds:.3f}", "errors": "0",
        "failures": str(results.count(FAILED)), "skipped": str(results.count(SKIPPED))})
    properties = ET.SubElement(suite, "properties")
    for name, value in (("passed", passed), ("failed", failed), ("status", status),
                        ("cpu", f"{cpu:.3f}"), ("again", log.again)):
        ET.SubElement(properties, "property", {"name": name, "value": str(value)})
    for case, result, text in cases:
        element = ET.SubElement(suite, "testcase", {
            "classname": clean(f"{stage}.{case.where}" if case.where else stage),
            "name": clean(case.name), "time": f"{case.took:.3f}"})
        if result == FAILED:
            lines = [line for line in clean(text).splitlines() if line.strip()]
            failure = ET.SubElement(element, "failure", {"message": lines[-1] if lines else ""})
            failure.text = "\n".join(lines)
        elif result == SKIPPED:
            ET.SubElement(element, "skipped", {"message": clean(text)})
    root = ET.Element("testsuites")
    root.append(suite)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
