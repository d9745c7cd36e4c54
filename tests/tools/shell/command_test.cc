// Lines through the whole program, as far as they need no server.
#include "tools/shell/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tools/run_line.h"
#include "tools/ctl/commands.h"
#include "tools/shell/completion.h"
#include "tools/shell/help.h"

namespace kvorum::ctl {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

Ended RunCtl(const std::vector<std::string>& line, std::vector<std::string> environment = {}) {
  return RunLine(KvorumctlCommand(), line, std::move(environment));
}

// The command that a line names.
std::string Named(const std::vector<std::string>& line) {
  const Command root = KvorumctlCommand();
  const auto found = FindCommand(root, line);
  return found ? PathName(found->path) : found.error().message;
}

TEST(FindCommandTest, ByNameOrUniquePrefix) {
  EXPECT_EQ(Named({"put", "a", "b"}), "kvorumctl put");
  EXPECT_EQ(Named({"pu", "a"}), "kvorumctl put");
  EXPECT_EQ(Named({"endpoint", "hea"}), "kvorumctl endpoint health");
  EXPECT_EQ(Named({"en", "s"}), "kvorumctl endpoint status");
  EXPECT_EQ(Named({}), "kvorumctl");
}

TEST(FindCommandTest, APrefixMeansTheNameThatBeginsAllOthersWithIt) {
  EXPECT_EQ(Named({"snap", "save"}), "kvorumctl snapshot save");
  EXPECT_EQ(Named({"snapshot-", "run"}), "kvorumctl snapshot-server run");
}

TEST(FindCommandTest, FlagsMayStandAnywhere) {
  EXPECT_EQ(Named({"-w", "json", "get", "a"}), "kvorumctl get");
  EXPECT_EQ(Named({"--hex", "get", "a"}), "kvorumctl get");
  EXPECT_EQ(Named({"endpoint", "--cluster", "status"}), "kvorumctl endpoint status");
  EXPECT_EQ(Named({"get", "--", "put"}), "kvorumctl get");
}

TEST(FindCommandTest, AnArgumentIsNotMistakenForACommand) {
  const Command root = KvorumctlCommand();
  const std::vector<std::string> line = {"put", "put", "put"};
  const auto found = FindCommand(root, line);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->rest, ElementsAre("put", "put"));
}

TEST(FindCommandTest, AnUnknownOrAmbiguousNameIsRefusedWithSuggestions) {
  EXPECT_EQ(Named({"frobnicate"}), "unknown command \"frobnicate\" for \"kvorumctl\"");
  EXPECT_EQ(Named({"enpoint"}),
            "unknown command \"enpoint\" for \"kvorumctl\"\n\nDid you mean this?\n\tendpoint\n");
  EXPECT_THAT(Named({"com"}), AllOf(HasSubstr("\tcompaction\n"), HasSubstr("\tcompletion\n")));
  EXPECT_THAT(Named({"e"}), AllOf(HasSubstr("\tendpoint\n"), HasSubstr("\telect\n")));
}

TEST(ExecuteTest, ErrorsGoToTheErrorStreamWithTheirCode) {
  const Ended ended = RunCtl({"get"});
  EXPECT_EQ(ended.code, 128);
  EXPECT_EQ(ended.out, "");
  EXPECT_EQ(ended.err,
            "Error: get command needs one argument as key and an optional argument as "
            "range_end\n");
}

TEST(ExecuteTest, AWrongFlagShowsTheUsage) {
  const Ended ended = RunCtl({"compaction", "--foo"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.err, R"(Error: unknown flag: --foo
Usage:
  kvorumctl compaction [options] <revision> [flags]

Flags:
  -h, --help       help for compaction
      --physical   wait until the old revisions are gone from the database

)");
}

TEST(ExecuteTest, AnUnknownCommandPointsToTheHelp) {
  const Ended ended = RunCtl({"frobnicate"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.err,
            "Error: unknown command \"frobnicate\" for \"kvorumctl\"\n"
            "Run 'kvorumctl --help' for usage.\n");
}

TEST(ExecuteTest, HelpShowsACommandsFlagsAndChildren) {
  const Ended group = RunCtl({"endpoint"});
  EXPECT_EQ(group.code, 0);
  EXPECT_EQ(group.out, R"(Endpoint related commands

Usage:
  kvorumctl endpoint [command]

Available Commands:
  hashkv      Prints the KV history hash for each endpoint in --endpoints
  health      Checks the healthiness of endpoints specified in `--endpoints` flag
  status      Prints out the status of endpoints specified in `--endpoints` flag

Flags:
      --cluster   use the endpoints of every member of the cluster
  -h, --help      help for endpoint

Use "kvorumctl endpoint [command] --help" for more information about a command.
Use "kvorumctl options" for a list of global command-line options (applies to all commands).
)");
  EXPECT_EQ(RunCtl({"help", "endpoint"}).out, group.out);
  EXPECT_EQ(RunCtl({"endpoint", "--help"}).out, group.out);
  EXPECT_THAT(RunCtl({"endpoint", "hashkv", "-h"}).out,
              HasSubstr("Global Flags:\n      --cluster   use the endpoints"));
  EXPECT_THAT(RunCtl({}).out, HasSubstr("\n\nKey-value commands\n  compaction      Compacts"));
  EXPECT_THAT(RunCtl({"options"}).out, HasSubstr("  -w, --write-out string "));
}

TEST(ExecuteTest, VersionBeginsWithTheLinesThatScriptsLookFor) {
  EXPECT_THAT(RunCtl({"version"}).out,
              StartsWith("etcdctl version: 3.7.3\nAPI version: 3.7\nkvorumctl version: "));
}

TEST(ExecuteTest, ADowngradeNeedsOneTarget) {
  EXPECT_EQ(RunCtl({"downgrade", "validate"}).err, "Error: TARGET_VERSION not provided\n");
  EXPECT_EQ(RunCtl({"downgrade", "enable", ""}).err, "Error: target version not provided\n");
  const Ended several = RunCtl({"downgrade", "enable", "3.6", "x"});
  EXPECT_EQ(several.code, 128);
  EXPECT_EQ(several.err, "Error: too many arguments\n");
}

TEST(ExecuteTest, ACheckKnowsItsLoads) {
  const Ended ended = RunCtl({"check", "perf", "--load", "huge"});
  EXPECT_EQ(ended.code, 4);
  EXPECT_EQ(ended.err, "Error: unknown load option huge\n");
  EXPECT_EQ(RunCtl({"check", "datascale", "--load", ""}).code, 4);
  EXPECT_EQ(RunCtl({"check", "perf", "--duration", "0s"}).code, 128);
}

TEST(EnvironmentTest, AVariableStandsForItsFlag) {
  const Ended ended = RunCtl({"get", "a"}, {"ETCDCTL_WRITE_OUT=nonsense"});
  EXPECT_EQ(ended.code, 4);
  EXPECT_EQ(ended.err, "Error: unsupported output format\n");
}

TEST(EnvironmentTest, FlagAndVariableTogetherAreRefused) {
  const Ended ended = RunCtl({"get", "a", "-w", "json"}, {"ETCDCTL_WRITE_OUT=simple"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("conflicting environment variable is shadowed"));
  EXPECT_THAT(ended.err, HasSubstr("\"environment-variable\":\"ETCDCTL_WRITE_OUT\""));
}

TEST(EnvironmentTest, WhatCannotBeUsedIsSaidAndIgnored) {
  const Ended ended =
      RunCtl({"get", "a", "-w", "nonsense"},
             {"ETCDCTL_FOO=1", "ETCDCTL_DIAL_TIMEOUT=soon", "ETCDCTL_HEX=", "HOME=/"});
  EXPECT_EQ(ended.code, 4);
  EXPECT_EQ(ended.err,
            R"({"level":"warn","msg":"unrecognized environment variable",)"
            R"("environment-variable":"ETCDCTL_FOO"})"
            "\n"
            R"({"level":"warn","msg":"ignored environment variable: its value is malformed",)"
            R"("environment-variable":"ETCDCTL_DIAL_TIMEOUT"})"
            "\nError: unsupported output format\n");
}

TEST(ConnectTest, OptionsThatCannotWorkAreRefusedBeforeAnythingIsSent) {
  const Ended none = RunCtl({"get", "a", "--endpoints="});
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(none.err, "Error: etcdclient: no available endpoints\n");
  const Ended half = RunCtl({"get", "a", "--cert=/nowhere/cert"});
  EXPECT_EQ(half.code, 128);
  EXPECT_EQ(half.err,
            "Error: KeyFile and CertFile must both be present[key: , cert: /nowhere/cert]\n");
  const Ended missing = RunCtl({"get", "a", "--cacert=/nowhere/ca"});
  EXPECT_EQ(missing.code, 128);
  EXPECT_EQ(missing.err, "Error: open /nowhere/ca: no such file or directory\n");
  EXPECT_EQ(RunCtl({"get", "a", "--cert="}).err,
            "Error: empty string is passed to --cert option\n");
}

std::vector<std::string> Completed(std::vector<std::string> words) {
  std::vector<std::string> candidates;
  for (const Candidate& candidate : CompleteLine(KvorumctlCommand(), words))
    candidates.push_back(candidate.word);
  return candidates;
}

TEST(CompletionTest, CommandsFlagsAndValues) {
  EXPECT_THAT(Completed({"pu"}), ElementsAre("put"));
  EXPECT_THAT(Completed({"endpoint", ""}), ElementsAre("health", "status", "hashkv"));
  EXPECT_THAT(Completed({"get", "--min"}), ElementsAre("--min-create-rev", "--min-mod-rev"));
  EXPECT_THAT(Completed({"get", "a", "-w", "j"}), ElementsAre("json"));
  EXPECT_THAT(Completed({"get", "--order=D"}), ElementsAre("--order=DESCEND"));
  EXPECT_THAT(Completed({"completion", ""}), ElementsAre("bash", "zsh", "fish", "powershell"));
  EXPECT_THAT(Completed({"get", "--", "--"}), ElementsAre());
  EXPECT_THAT(Completed({"frobnicate", ""}), ElementsAre());
  EXPECT_THAT(Completed({"__"}), ElementsAre()) << "what is hidden is not offered";
}

TEST(CompletionTest, ThereIsAScriptForEachShell) {
  EXPECT_THAT(RunCtl({"completion", "bash"}).out, HasSubstr("complete -o default -F _kvorumctl"));
  EXPECT_THAT(RunCtl({"completion", "zsh"}).out, StartsWith("#compdef kvorumctl"));
  EXPECT_THAT(RunCtl({"completion", "fish"}).out, HasSubstr("complete -c kvorumctl"));
  EXPECT_THAT(RunCtl({"completion", "powershell"}).out,
              AllOf(HasSubstr("Register-ArgumentCompleter -Native -CommandName 'kvorumctl'"),
                    HasSubstr(" __complete -- ")));
  const Ended other = RunCtl({"completion", "cmd"});
  EXPECT_EQ(other.code, 1);
  EXPECT_THAT(other.err,
              StartsWith("Error: invalid argument \"cmd\" for \"kvorumctl completion\"\nUsage:"));
}

TEST(CompletionTest, TheScriptsAskTheHiddenCommand) {
  EXPECT_EQ(RunCtl({"__complete", "--", "endpoint", "he"}).out,
            "health\tChecks the healthiness of endpoints specified in `--endpoints` flag\n");
}

}  // namespace
}  // namespace kvorum::ctl
