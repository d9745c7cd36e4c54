#include "base/log/log_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>

namespace kvorum {
namespace {

TEST(LogOutputTest, MakesItsFoldersAndAppends) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("log_output." + std::to_string(::getpid()));
  const std::string path = folder / "below" / "log";
  for (const char* line : {"one\n", "two\n"}) {
    const auto output = LogOutput::Open(path);
    ASSERT_TRUE(output.has_value()) << output.error().message;
    (*output)->Write(line);
  }
  std::ostringstream content;
  content << std::ifstream(path).rdbuf();
  EXPECT_EQ(content.str(), "one\ntwo\n");
  std::filesystem::remove_all(folder);
}

TEST(LogOutputTest, AnErrorNamesTheOutput) {
  const auto output = LogOutput::Open("/proc/no-such-thing/log");
  ASSERT_FALSE(output.has_value());
  EXPECT_EQ(output.error(), (Error{Code::kInvalidArgument,
                                   "log output \"/proc/no-such-thing/log\": No such file or "
                                   "directory"}));
}

// A terminal or a pipe may be so because of another process.
TEST(LogOutputTest, WaitsForAReaderOfAStreamThatDoesNotBlock) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK), 0);
  std::string read;
  std::thread reader([&] {
    ::fcntl(ends[0], F_SETFL, 0);
    char buffer[65536];
    for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof(buffer))) > 0;)
      read.append(buffer, static_cast<std::size_t>(n));
  });
  const std::string text(1 << 20, 'x');
  const int own_stdout = ::dup(STDOUT_FILENO);
  ASSERT_EQ(::dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
  (*LogOutput::Open("stdout"))->Write(text);
  ::dup2(own_stdout, STDOUT_FILENO);
  ::close(own_stdout);
  ::close(ends[1]);
  reader.join();
  ::close(ends[0]);
  EXPECT_EQ(read.size(), text.size());
}

}  // namespace
}  // namespace kvorum
