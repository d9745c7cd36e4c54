#!/usr/bin/env python3
"""Compares docs/sync_behaviours.md with the tests there are.

The table has each of the numbers once. A row names tests as `file` `Suite.Name`, or its state is
"open": nothing shows it yet. A test whose name carries a number (K1_..., test_S2_...) stands in that
number's row.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNTS = {"K": 10, "S": 12, "I": 21, "A": 20, "W": 21, "H": 30}
FOLDERS = ("consul", "dns", "sync", "tools/sync")
CPP_TEST = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)", re.MULTILINE)
PYTHON_CLASS = re.compile(r"^class (\w+)|^    def (test_\w+)\(self", re.MULTILINE)
NUMBER = re.compile(r"(?:test_)?([KSIAWH]\d+)_")


def tests_of(path):
    """The tests of a file as Suite.Name."""
    text = path.read_text()
    if path.suffix == ".cc":
        return {f"{suite}.{name}" for suite, name in CPP_TEST.findall(text)}
    found, suite = set(), ""
    for new_suite, name in PYTHON_CLASS.findall(text):
        suite = new_suite or suite
        if name:
            found.add(f"{suite}.{name}")
    return found


def findings(table, files):
    """What is wrong with the table's text, beside the tests {file: {Suite.Name}}."""
    wrong, shown, told = [], set(), {}
    for line in table.splitlines():
        row = re.fullmatch(r"\| ([KSIAWH]\d+) \| (.+?) \| (.+) \|", line)
        if row is None:
            if re.match(r"\| [KSIAWH]\d", line):
                wrong.append(f"not a row: {line}")
            continue
        number, _, state = row.groups()
        if number in told:
            wrong.append(f"{number} has two rows")
        told[number] = state
        if state == "open":
            continue
        named = re.findall(r"`([\w./]+)` `(\w+\.\w+)`", state)
        if not named or re.sub(r"`[\w./]+` `\w+\.\w+`|<br>", "", state).strip():
            wrong.append(f"{number}: neither open nor a list of tests: {state}")
        for file, test in named:
            if test not in files.get(file, ()):
                wrong.append(f"{number}: there is no {test} in {file}")
            shown.add((number, file, test))
    expected = {f"{letter}{n}" for letter, count in COUNTS.items() for n in range(1, count + 1)}
    wrong += [f"{number} has no row" for number in sorted(expected - set(told))]
    wrong += [f"{number} is no behaviour" for number in sorted(set(told) - expected)]
    for file, tests in files.items():
        for test in sorted(tests):
            number = NUMBER.match(test.partition(".")[2])
            if number and (number[1], file, test) not in shown:
                wrong.append(f"{file}: {test} is not in the row of {number[1]}")
    return wrong


def main():
    table = (ROOT / "docs/sync_behaviours.md").read_text()
    sources = sorted(path for folder in FOLDERS for path in (ROOT / "tests" / folder).rglob("*_test.*"))
    files = {str(path.relative_to(ROOT)): tests_of(path) for path in sources}
    wrong = findings(table, files)
    # The comparison itself must see each kind of difference.
    file, tests = next((f, t) for f, t in files.items() if any(NUMBER.match(n.partition(".")[2]) for n in t))
    for spoiled_table, spoiled_files in (
            (re.sub(r"^\| K1 .*\n", "", table, flags=re.MULTILINE), files),
            (re.sub(r"^(\| K1 \|.*\| ).*\|$", r"\1open |", table, flags=re.MULTILINE), files),
            (table, {**files, file: set()}),
            (table, {**files, file: tests | {"SyncKernel.K3_Unlisted"}})):
        if findings(spoiled_table, spoiled_files) == wrong:
            wrong.append("the comparison sees no difference where there is one")
    for finding in wrong:
        print(finding)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
