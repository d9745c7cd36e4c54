"""The lint's search for containers that are members: plain ones, those that something else holds, and those under a name."""

import importlib.machinery
import importlib.util
import pathlib
import unittest

PATH = str(pathlib.Path(__file__).resolve().parent.parent.parent / "scripts" / "lint")
LOADER = importlib.machinery.SourceFileLoader("lint", PATH)
lint = importlib.util.module_from_spec(importlib.util.spec_from_loader("lint", LOADER))
LOADER.exec_module(lint)


class ContainersTest(unittest.TestCase):
    def found(self, *lines):
        return lint.containers_of("".join(f"  {line}\n" for line in lines))

    def test_plain_ones(self):
        self.assertEqual(self.found("std::vector<int> a_;", "mutable std::map<int, std::string> b_;", "Inbox<Task> c_{1};",
                                    "std::string d_ = Name();"), {"a_", "b_", "c_", "d_"})

    def test_those_that_something_else_holds(self):
        self.assertEqual(self.found("std::unique_ptr<std::unordered_set<int>> a_;  // null: none",
                                    "std::optional<std::string> b_;", "std::array<std::deque<Job>, 2> c_{};"), {"a_", "b_", "c_"})

    def test_those_under_a_name(self):
        self.assertEqual(self.found("using Ids = std::set<int>;", "Ids ids_;", "mutable Ids more_ = {};", "Others others_;"),
                         {"ids_", "more_"})

    def test_those_under_a_name_of_another_file(self):
        sources = {"a.h": "using Names = std::vector<std::string>;\nusing Term = std::vector<int>;\n",
                   "b.h": "using Term = int;\n", "c.h": "  Names names_;\n  x::Names more_;\n  Term term_ = 0;\n"}
        shared = lint.shared_names(sources)
        self.assertEqual(shared, {"Names"})
        self.assertEqual(lint.containers_of(sources["c.h"], shared), {"names_", "more_"})

    def test_public_fields_of_what_a_class_holds(self):
        sources = {"a.h": "struct Job {\n  std::vector<int> rows = {};\n  std::string text;\n  int count = 0;\n"
                          "  std::vector<int> Rows() const;\n  std::optional<std::map<int, int>> by_id;\n};\n"
                          "struct Passing {\n  std::vector<int> rows;\n};\n",
                   "b.h": "class Runner {\n public:\n  struct Inner {\n    std::deque<int> queue;\n  };\n private:\n"
                          "  std::map<int, std::unique_ptr<Job>> jobs_;\n  Inner inner_;\n};\n"}
        self.assertEqual(lint.fields_of_members(sources), {("a.h", "rows"), ("a.h", "by_id"), ("b.h", "queue")})

    def test_what_ends_with_its_call_is_none(self):
        self.assertEqual(self.found("std::vector<int> a;", "std::vector<int> F(int a_);", "std::unique_ptr<Server> server_;",
                                    "std::string_view text_;"), set())


if __name__ == "__main__":
    unittest.main()
