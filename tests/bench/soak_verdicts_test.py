"""How bench/soak.py judges its samples: what grows or leaks is found, what is flat passes."""

import pathlib
import sys
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))

import soak_samples  # noqa: E402
from servers import MIB  # noqa: E402

OPTIONS = types.SimpleNamespace(growth=1.1, file_growth=1.25, slower=1.3, any_ratio=False)
MEMORY = "member 1, anonymous memory, second quarter to last"
FILES = "member 1, files, second quarter to last"
DESCRIPTORS = "member 1, descriptors without clients, before to after"
THREADS = "member 1, threads without clients, before to after"
IDLE = [{"descriptors": 20, "threads": 26}]


def series(memory_mib, file_mib):
    return [{"memory": memory * MIB, "file": file * MIB} for memory, file in zip(memory_mib, file_mib)]


def windows(*p999_us):
    return [{"puts": {"p999_us": value}} for value in p999_us]


class VerdictsTest(unittest.TestCase):
    def missed(self, memory=(100,) * 16, files=(500,) * 16, p999=(1000, 1000), idle_after=None, options=OPTIONS):
        found = soak_samples.verdicts(options, windows(*p999), [series(memory, files)], IDLE, idle_after or IDLE)
        return [what for what, _, met in found if met is False]

    def test_flat_samples_pass(self):
        self.assertEqual(self.missed(), [])

    def test_growth_before_the_second_quarter_is_warming_up(self):
        self.assertEqual(self.missed(memory=(10, 20, 40, 80) + (100,) * 12), [])

    def test_memory_that_grows_steadily_is_found(self):
        self.assertEqual(self.missed(memory=range(100, 260, 10)), [MEMORY])

    def test_a_peak_that_goes_is_none(self):
        self.assertEqual(self.missed(memory=(100,) * 8 + (400,) + (100,) * 7), [])

    def test_files_that_grow_are_found(self):
        self.assertEqual(self.missed(files=range(500, 1300, 50)), [FILES])

    def test_a_thread_more_is_found(self):
        self.assertEqual(self.missed(idle_after=[{"descriptors": 20, "threads": 27}]), [THREADS])

    def test_descriptors_beyond_those_of_the_log_are_found(self):
        self.assertEqual(self.missed(idle_after=[{"descriptors": 23, "threads": 26}]), [])
        self.assertEqual(self.missed(idle_after=[{"descriptors": 24, "threads": 26}]), [DESCRIPTORS])

    def test_slower_puts_are_found(self):
        self.assertEqual(self.missed(p999=(1000, 5000, 1299)), [])
        self.assertEqual(self.missed(p999=(1000, 1400)), ["p99.9 of puts, last window to first (at most 1.3 times)"])

    def test_a_try_judges_leaks_alone(self):
        options = types.SimpleNamespace(**{**vars(OPTIONS), "any_ratio": True})
        self.assertEqual(self.missed(memory=range(100, 260, 10), p999=(1, 9), options=options,
                                     idle_after=[{"descriptors": 20, "threads": 30}]), [THREADS])


if __name__ == "__main__":
    unittest.main()
