// The tree of kvorumutl's commands: the form of its lines, help and errors is etcdutl's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "tests/tools/run_line.h"
#include "tools/utl/utl_commands.h"

namespace kvorum::utl {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

ctl::Ended RunUtl(const std::vector<std::string>& line) {
  return ctl::RunLine(KvorumutlCommand(), line);
}

TEST(UtlCommandTest, HelpIsTheUsageAlone) {
  const ctl::Ended ended = RunUtl({"--help"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.out, StartsWith("Usage:\n  kvorumutl [command]\n\nAvailable Commands:\n"));
  EXPECT_THAT(ended.out, HasSubstr("\n  completion  Generate completion script\n"));
  EXPECT_THAT(ended.out, HasSubstr("\n  -h, --help               help for kvorumutl\n"
                                   "      --timeout duration   "));
  EXPECT_THAT(
      ended.out,
      HasSubstr("\n  -w, --write-out string   set the output format (fields, json, protobuf, "
                "simple, table) (default \"simple\")\n\n"
                "Use \"kvorumutl [command] --help\" for more information about a "
                "command.\n"));
  EXPECT_EQ(RunUtl({}).out, ended.out);
  EXPECT_EQ(RunUtl({"help"}).out, ended.out);
}

TEST(UtlCommandTest, ItsVersionIsTheOneOfTheApi) {
  EXPECT_THAT(RunUtl({"version", "-w", "nonsense"}).out,
              StartsWith("etcdutl version: 3.7.3\nAPI version: 3.7\nkvorumutl version: "));
}

TEST(UtlCommandTest, AnUnknownCommandIsRefused) {
  const ctl::Ended ended = RunUtl({"frobnicate"});
  EXPECT_EQ(ended.code, 1);
  EXPECT_EQ(ended.err,
            "Error: unknown command \"frobnicate\" for \"kvorumutl\"\n"
            "Run 'kvorumutl --help' for usage.\n");
}

TEST(UtlCommandTest, ErrorsOfDirectoriesAreInPlainWords) {
  for (const char* command : {"adopt", "release", "verify"}) {
    const ctl::Ended ended = RunUtl({command, "--data-dir", "/dev/null/nothing"});
    EXPECT_EQ(ended.code, 1) << command;
    EXPECT_EQ(ended.err, "Error: there is no member in /dev/null/nothing\n") << command;
  }
}

TEST(UtlCommandTest, ADirectoryInUseIsNeitherDefragmentedNorMigrated) {
  std::string dir = testing::TempDir() + "kvorum-utl-XXXXXX";
  ASSERT_NE(::mkdtemp(dir.data()), nullptr);
  std::filesystem::create_directories(dir + "/member/snap");
  std::string page(4096, '\0');
  page.replace(16, 4, "\xed\xda\x0c\xed");  // a file of etcd's, by its first page
  std::ofstream(dir + "/member/snap/db", std::ios::binary) << page;
  {
    const auto lock = PosixFileSystem().Lock(dir + "/member/lock");
    ASSERT_TRUE(lock.has_value()) << lock.error().message;
    for (const std::vector<std::string>& line :
         {std::vector<std::string>{"defrag"}, {"migrate", "--target-version", "3.6"}}) {
      std::vector<std::string> words = line;
      words.insert(words.end(), {"--data-dir", dir, "--timeout", "10ms"});
      const ctl::Ended ended = RunUtl(words);
      EXPECT_EQ(ended.code, 1);
      EXPECT_THAT(ended.err, HasSubstr(dir + " is in use by another process")) << line.front();
    }
  }
  EXPECT_EQ(RunUtl({"defrag", "--data-dir", dir}).code, 1) << "the page is all there is";
  EXPECT_FALSE(std::filesystem::exists(dir + "/member/lock"))
      << "etcd's directory has no such file";
  std::filesystem::remove_all(dir);
}

// They stand where a database is expected. The pipe has no writer: an open that waits never ends.
TEST(UtlCommandTest, PipesAndFoldersAreRefused) {
  std::string dir = testing::TempDir() + "kvorum-utl-XXXXXX";
  ASSERT_NE(::mkdtemp(dir.data()), nullptr);
  const std::string snap = dir + "/member/snap";
  const std::string database = snap + "/db";
  std::filesystem::create_directories(snap);
  const auto expect_refusals = [&](const std::string& why) {
    const std::vector<std::vector<std::string>> lines = {
        {"snapshot", "status", database},
        {"snapshot", "status", dir},
        {"snapshot", "restore", database, "--data-dir", dir + "/new"},
        {"hashkv", database},
        {"dump", database},
        {"verify", "--data-dir", dir},
        {"adopt", "--data-dir", dir},
        {"release", "--data-dir", dir},
        {"defrag", "--data-dir", dir},
        {"migrate", "--data-dir", dir, "--target-version", "3.6"}};
    for (const auto& line : lines) {
      const ctl::Ended ended = RunUtl(line);
      EXPECT_EQ(ended.code, 1) << line[0] << ' ' << line[1];
      EXPECT_THAT(ended.err, HasSubstr(why)) << line[0] << ' ' << line[1];
    }
  };
  ASSERT_EQ(::mkfifo(database.c_str(), 0600), 0);
  expect_refusals("it is a named pipe, not a file");
  std::filesystem::remove(database);
  ASSERT_EQ(::mkdir(database.c_str(), 0700), 0);
  expect_refusals("");
  EXPECT_THAT(RunUtl({"verify", "--data-dir", dir}).err, HasSubstr("db: Is a directory"));
  std::filesystem::remove_all(dir);
}

TEST(UtlCommandTest, AMissingFolderForTemporaryFilesIsAnError) {
  std::string dir = testing::TempDir() + "kvorum-utl-XXXXXX";
  ASSERT_NE(::mkdtemp(dir.data()), nullptr);
  std::ofstream(dir + "/s.gz", std::ios::binary) << "\x1f\x8b\x08 and so on";
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", (dir + "/absent").c_str(), 1);
  const ctl::Ended ended = RunUtl({"snapshot", "status", dir + "/s.gz"});
  if (before == nullptr) {
    ::unsetenv("TMPDIR");
  } else {
    ::setenv("TMPDIR", kept.c_str(), 1);
  }
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, StartsWith("Error: the folder for temporary files ($TMPDIR"));
  std::filesystem::remove_all(dir);
}

TEST(UtlCommandTest, CompletionScriptsBearTheProgramsName) {
  for (const char* shell : {"bash", "zsh", "fish", "powershell"}) {
    const std::string script = RunUtl({"completion", shell}).out;
    EXPECT_THAT(script, HasSubstr("kvorumutl")) << shell;
    EXPECT_THAT(script, testing::Not(HasSubstr("kvorumctl"))) << shell;
  }
  EXPECT_THAT(RunUtl({"__complete", "--", "vers"}).out, StartsWith("version\t"));
}

TEST(UtlCommandTest, TheManualPageListsCommandsAndFlags) {
  const std::string page = RunUtl({"__man"}).out;
  EXPECT_THAT(page, StartsWith(".TH KVORUMUTL 1 "));
  EXPECT_THAT(page, HasSubstr("\n.SH \"Commands\"\n"));
  EXPECT_THAT(page, HasSubstr("\n.SS version\n"));
  EXPECT_THAT(page, HasSubstr("\\-\\-write\\-out"));
}

}  // namespace
}  // namespace kvorum::utl
