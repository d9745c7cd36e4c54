// Log lines as entries of the journal.
#include "base/log/journal_output.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/log/logging.h"

namespace kvorum {
namespace {

class JournalOutputTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "kvorum-journal-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ + "/socket";
    journal_ = ::socket(AF_UNIX, SOCK_DGRAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.data(), path_.size());
    ASSERT_EQ(::bind(journal_, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  }
  void TearDown() override {
    ::close(journal_);
    std::filesystem::remove_all(folder_);
  }

  std::string Receive() const {
    std::array<char, 4096> entry{};
    const ssize_t size = ::recv(journal_, entry.data(), entry.size(), MSG_DONTWAIT);
    return size < 0 ? "nothing" : std::string(entry.data(), static_cast<std::size_t>(size));
  }

  std::string folder_;
  std::string path_;
  int journal_ = -1;
};

TEST_F(JournalOutputTest, ALineIsAnEntry) {
  const auto output = JournalOutput::Open(path_);
  ASSERT_TRUE(output.has_value()) << output.error().message;
  const std::string first =
      FormatLogLine(true, LogLevel::kWarn, 0, "/x/server/process/main.cc", 5, "hello", {});
  const std::string second =
      FormatLogLine(false, LogLevel::kError, 0, "/x/server/process/main.cc", 5, "hello", {});
  (*output)->Write(first + "\n" + second + "\n");
  const std::string end =
      std::string("\nPACKAGE=process\nSYSLOG_IDENTIFIER=") + program_invocation_short_name + "\n";
  EXPECT_EQ(Receive(), "MESSAGE=" + first + "\nPRIORITY=4" + end);
  EXPECT_EQ(Receive(), "MESSAGE=" + second + "\nPRIORITY=3" + end);
  EXPECT_EQ(Receive(), "nothing");
}

TEST_F(JournalOutputTest, LevelsBecomePriorities) {
  const auto priority = [](LogLevel level) {
    return JournalFieldsOf(FormatLogLine(true, level, 0, "a/b.cc", 1, "m", {})).priority;
  };
  EXPECT_EQ(priority(LogLevel::kDebug), 7);
  EXPECT_EQ(priority(LogLevel::kInfo), 6);
  EXPECT_EQ(priority(LogLevel::kWarn), 4);
  EXPECT_EQ(priority(LogLevel::kError), 3);
  EXPECT_EQ(priority(LogLevel::kPanic), 2);
  EXPECT_EQ(priority(LogLevel::kFatal), 2);
}

TEST_F(JournalOutputTest, WithoutAJournalItFails) {
  const auto output = JournalOutput::Open(folder_ + "/none");
  ASSERT_FALSE(output.has_value());
  EXPECT_EQ(output.error().message,
            "can't find journal (dial unixgram " + folder_ + "/none: No such file or directory)");
}

TEST_F(JournalOutputTest, WhatTheJournalDoesNotTakeGoesToStderr) {
  const auto output = JournalOutput::Open(path_);
  ASSERT_TRUE(output.has_value());
  ::close(journal_);
  testing::internal::CaptureStderr();
  (*output)->Write("lost\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "lost\n");
  journal_ = ::socket(AF_UNIX, SOCK_DGRAM, 0);
}

}  // namespace
}  // namespace kvorum
