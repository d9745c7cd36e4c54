"""The manual pages, the reference, the list of commands and the completions, beside what the programs say of themselves."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import ctl  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
BIN_DIR = os.environ["KVORUM_BIN_DIR"]
UTL = os.path.join(BIN_DIR, "kvorumutl")


def said(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def completed(program, *words):
    return [line.split("\t")[0] for line in said(program, "__complete", "--", *words).splitlines()]


def commands(program, *path):
    """Every command that runs, as a list of words."""
    names = [name for name in completed(program, *path, "") if not name.startswith("-")]
    text = said(program, *path, "--help")
    listed = re.findall(r"(?m)^  ([a-z-]+) +[A-Z]", text)
    found = [] if listed and path else [path] if path else []
    for name in names:
        if name in listed:
            found += commands(program, *path, name)
    return found


def plain(page):
    """The page's text without its macros and escapes."""
    return re.sub(r"\\&", "", page).replace("\\-", "-").replace("\\e", "\\")


class ManPagesTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="kvorum-man-")
        cls.addClassCleanup(cls.folder.cleanup)
        said(ROOT / "scripts" / "man-pages", BIN_DIR, cls.folder.name)
        cls.pages = {name: pathlib.Path(cls.folder.name, name) for name in ("kvorum.8", "kvorumctl.1", "kvorumutl.1")}

    def test_groff_has_no_complaint(self):
        for page in self.pages.values():
            done = subprocess.run(["groff", "-man", "-ww", "-z", "-k", "-Tutf8", "-rLL=80n", page], capture_output=True,
                                  text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""), page)

    def test_what_a_reader_sees(self):
        for name, words in (("kvorum.8", ["KVORUM(8)", "--data-dir", "Clustering flags"]),
                            ("kvorumctl.1", ["KVORUMCTL(1)", "endpoint status", "Global flags", "NO_COLOR"]),
                            ("kvorumutl.1", ["KVORUMUTL(1)", "snapshot restore", "Global flags", "--timeout"])):
            shown = said("groff", "-man", "-k", "-Tascii", "-P-cbou", self.pages[name])
            for word in words:
                self.assertIn(word.lower(), shown.lower())

    def test_every_flag_of_the_server_is_there(self):
        flags = re.findall(r"(?m)^  (--[a-z0-9-]+)", said(os.path.join(BIN_DIR, "kvorum"), "--help"))
        self.assertGreater(len(flags), 100)
        shown = re.findall(r"(?m)^\.B (--[a-z0-9-]+)", plain(self.pages["kvorum.8"].read_text()))
        self.assertEqual(sorted(shown), sorted(flags))

    def check_page(self, program, page, least, global_flag):
        """Every command and flag of the program is on its page."""
        sections = dict(re.findall(r"(?ms)^\.SS (.*?)\n(.*?)(?=^\.S[SH] )", page))
        titles = {tuple(word for word in re.split(r" [-\[<]", title)[0].split()): title for title in sections}
        found = commands(program)
        self.assertGreater(len(found), least)
        self.assertEqual(sorted(titles), sorted(found))
        everywhere = set(re.findall(r"--[a-z0-9-]+", page[page.index("Global flags"):]))
        for path in found:
            flags = set(completed(program, *path, "--")) - {"--help"}
            shown = set(re.findall(r"(?m)^\.B (?:-\w, )?(--[a-z0-9-]+)", sections[titles[path]]))
            self.assertEqual(flags - everywhere, shown - everywhere, path)
            self.assertIn(global_flag, flags, "completions know the global flags too")

    def test_every_command_and_flag_of_kvorumctl_is_there(self):
        self.check_page(ctl.CTL, plain(self.pages["kvorumctl.1"].read_text()), 50, "--endpoints")

    def test_every_command_and_flag_of_kvorumutl_is_there(self):
        self.check_page(UTL, plain(self.pages["kvorumutl.1"].read_text()), 4, "--timeout")

    def test_the_page_about_tools_lists_every_command(self):
        text = (ROOT / "docs" / "operations" / "tools.md").read_text(encoding="utf8") + "\n## end"
        for program in (ctl.CTL, UTL):
            section = text[text.index(f"\n## {os.path.basename(program)}\n"):]
            section = section[:section.index("\n## ", 5)]
            listed = {name for row in re.findall(r"(?m)^\| (`.*?) \|", section)
                      for name in re.findall(r"`([a-z-]+)[a-z -]*`", row)}
            self.assertEqual(sorted(listed), sorted(completed(program, "")))

    def test_the_reference_is_what_the_programs_say(self):
        said(ROOT / "scripts" / "tool-pages", BIN_DIR, self.folder.name)
        for name in ("kvorumctl.md", "kvorumutl.md"):
            self.assertEqual(pathlib.Path(self.folder.name, name).read_text(encoding="utf8"),
                             (ROOT / "docs" / "reference" / name).read_text(encoding="utf8"),
                             "scripts/tool-pages build/release/bin writes it anew")

    def test_the_page_about_doctor_lists_every_finding(self):
        code = (ROOT / "tools" / "health" / "diagnosis.cc").read_text(encoding="utf8")
        known = set(re.findall(r'Severity::k\w+, "([a-z-]+)"', code))
        known |= set(re.findall(r'(?s)slow\("etcd\w+", k\w+, "([a-z-]+)"', code))
        known |= set(re.findall(r': Severity::k\w+,\s+"([a-z-]+)"', code))
        page = (ROOT / "docs" / "operations" / "tools.md").read_text(encoding="utf8")
        table = page[page.index("| looks at"):page.index("## top")]
        self.assertEqual(set(re.findall(r"`([a-z]+(?:-[a-z]+)*)`", table)), known)


if __name__ == "__main__":
    unittest.main()
