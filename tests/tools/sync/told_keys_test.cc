// The memory of the keys that a program was run for.
#include "tools/sync/told_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

namespace kvorum::ctl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ToldKeysTest : public testing::Test {
 protected:
  ToldKeysTest()
      : folder_(std::filesystem::path(testing::TempDir()) / ("told-" + std::to_string(getpid()))),
        path_((folder_ / "state").string()) {
    std::filesystem::create_directories(folder_);
  }
  ~ToldKeysTest() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<ToldKeys> Open() { return ToldKeys::Open(path_, "/a/").value(); }
  Error WhyNot(const std::string& prefix = "/a/") {
    const auto opened = ToldKeys::Open(path_, prefix);
    return opened ? Error{} : opened.error();
  }
  std::string Text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void Write(const std::string& text) const {
    std::ofstream(path_, std::ios::trunc) << text;
    std::filesystem::permissions(
        path_, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  }

  const std::filesystem::path folder_;
  const std::string path_;
};

TEST_F(ToldKeysTest, TheNextOneKnowsWhatWasToldAndNotTakenBack) {
  const std::string odd("/a/\xff\n\0x", 7);
  {
    const auto told = Open();
    EXPECT_THAT(told->keys(), IsEmpty());
    for (const std::string& key : {std::string("/a/1"), std::string("/a/2"), odd})
      ASSERT_TRUE(told->Add(key));
    ASSERT_TRUE(told->Remove("/a/1"));
    const std::string text = Text();
    ASSERT_TRUE(told->Add("/a/2"));
    ASSERT_TRUE(told->Remove("/a/none"));
    EXPECT_EQ(Text(), text) << "nothing is new";
  }
  EXPECT_THAT(Open()->keys(), ElementsAre("/a/2", odd));
  EXPECT_EQ(std::filesystem::status(path_).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(ToldKeysTest, EachLengthCutIsRead) {
  {
    const auto told = Open();
    ASSERT_TRUE(told->Add("/a/1"));
    ASSERT_TRUE(told->Add("/a/2"));
    ASSERT_TRUE(told->Remove("/a/1"));
  }
  const std::string text = Text();
  const std::size_t head = text.find('\n') + 1;
  for (std::size_t size = head; size <= text.size(); ++size) {
    Write(text.substr(0, size));
    const std::size_t lines = static_cast<std::size_t>(
        std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size), '\n'));
    const std::size_t keys = lines == 1 ? 0 : lines == 3 ? 2 : 1;
    EXPECT_EQ(Open()->keys().size(), keys) << size;
  }
}

TEST_F(ToldKeysTest, AFileThatIsNotItsOwnIsRefused) {
  {
    const auto told = Open();
    EXPECT_EQ(WhyNot().code, Code::kFailedPrecondition) << "it is open";
  }
  EXPECT_EQ(WhyNot("/b/").message, path_ + ": it is not of this prefix");
  const std::string text = Text();
  for (const char* line : {"x\n", "+?\n", "\n", "+L2IvMQ==\n"}) {
    Write(text + line);
    EXPECT_EQ(WhyNot().code, Code::kDataLoss) << line;
  }
  Write("rubbish");
  EXPECT_EQ(WhyNot().code, Code::kFailedPrecondition);
  Write(text);
  std::filesystem::permissions(path_, std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  EXPECT_THAT(WhyNot().message, HasSubstr("others may write it"));
}

TEST_F(ToldKeysTest, TheFileStaysSmall) {
  const auto told = Open();
  for (int i = 0; i < 3000; ++i) {
    ASSERT_TRUE(told->Add("/a/k"));
    ASSERT_TRUE(told->Remove("/a/k"));
  }
  EXPECT_LT(Text().size(), 20'000U);
  ASSERT_TRUE(told->Add("/a/last"));
  EXPECT_THAT(told->keys(), ElementsAre("/a/last"));
}

}  // namespace
}  // namespace kvorum::ctl
