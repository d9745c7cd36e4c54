"""The check of the commands that pages show (scripts/page-commands)."""

import importlib.machinery
import importlib.util
import pathlib
import unittest

PATH = str(pathlib.Path(__file__).resolve().parent.parent.parent / "scripts" / "page-commands")
LOADER = importlib.machinery.SourceFileLoader("page_commands", PATH)
page_commands = importlib.util.module_from_spec(importlib.util.spec_from_loader("page_commands", LOADER))
LOADER.exec_module(page_commands)

TOOL = """# kvorumctl

## Key-value commands

### `get [options] <key> [range_end]`

Gets the key

- `--limit int`: maximum number
- `--prefix`: use every key

### `member list`

### `agent run --node <name>`

- `--node string`: name of the node

## Global flags

- `--endpoints strings`: client addresses
- `-w, --write-out string`: set the output format
"""
FLAGS = "| `--name` | `ETCD_NAME` | `name` | `default` | works | Name. |"
PROGRAMS = {"kvorumctl": page_commands.tool(TOOL), "kvorumutl": page_commands.tool(TOOL), "kvorum": page_commands.Server(FLAGS)}


class PageCommandsTest(unittest.TestCase):
    def found(self, text):
        return page_commands.findings({"page.md": text}, PROGRAMS, {"run"})

    def block(self, *lines, language="sh"):
        return self.found("\n".join([f"```{language}", *lines, "```", ""]))

    def test_what_exists(self):
        self.assertEqual(self.block("A=1 kvorumctl --endpoints a:1,b:2 get x --prefix --limit 3 -w json | grep kvorumctl",
                                    "id=$(kvorumctl member list | cut -d, -f1)  # --of no program", "make run",
                                    "until kvorumctl get x; do sleep 1; done", "kvorum --name n1 ... --name <n 2>",
                                    "kvorumctl agent run \\", "  --node web-7"), [])

    def test_a_command_that_is_gone(self):
        self.assertEqual(self.block("kvorumctl member show"), ["page.md: kvorumctl member show: there is no command member show"])

    def test_a_flag_that_is_gone(self):
        self.assertIn("get has no flag --all", self.block("kvorumctl get --all x")[0])
        self.assertIn("get has no flag --node", self.block("x=$(build/bin/kvorumctl get --node x)")[0])
        self.assertIn("kvorum has no flag --nam", self.block("kvorum --nam=n1")[0])

    def test_a_flag_on_a_further_line(self):
        self.assertIn("--all", self.block("kvorumctl get x \\", "  --all")[0])
        self.assertIn("--all", self.block("$ kvorumctl get x \\", ">   --all", "--all is printed", language="console")[0])

    def test_scripts_and_targets(self):
        self.assertEqual(self.block("scripts/lint", "make run"), [])
        self.assertIn("there is no scripts/gone", self.block("scripts/gone")[0])
        self.assertIn("make has no target gone", self.block("make gone")[0])

    def test_code_within_a_line(self):
        self.assertIn("there is no command gone", self.found("Call `kvorumctl gone` then.")[0])
        self.assertEqual(self.found("Flags `--limit`, `--end...` and `--end-`, wherever."), ["page.md: no program has the flag --end",
                                                                                   "page.md: no program has the flag --end-"])

    def test_other_blocks_are_not_read(self):
        self.assertEqual(self.block("kvorumctl gone", language="text"), [])

    def test_yaml_is_parsed(self):
        self.assertEqual(self.block("a: [1, 2]", language="yaml"), [])
        self.assertEqual(len(self.block("a: [1, 2", language="yaml")), 1)


if __name__ == "__main__":
    unittest.main()
