#include "tools/carry/key_diff.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace kvorum::ctl {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Keys = std::map<std::string, std::string>;

// Goes over the keys with one row, as a pager does.
NextKey Over(const Keys& keys, mvccpb::KeyValue& row) {
  return [it = keys.begin(), &keys, &row]() mutable -> Result<const mvccpb::KeyValue*> {
    if (it == keys.end()) return nullptr;
    row.set_key(it->first);
    row.set_value(it->second);
    row.set_mod_revision(std::distance(keys.begin(), it));
    ++it;
    return &row;
  };
}

std::vector<std::string> Differences(const Keys& left, const Keys& right) {
  std::vector<std::string> found;
  mvccpb::KeyValue left_row;
  mvccpb::KeyValue right_row;
  const auto done = CompareKeys(Over(left, left_row), Over(right, right_row),
                                [&](const auto* ours, const auto* theirs) {
                                  if (theirs == nullptr)
                                    found.push_back("-" + ours->key());
                                  else if (ours == nullptr)
                                    found.push_back("+" + theirs->key());
                                  else
                                    found.push_back("~" + ours->key());
                                });
  EXPECT_TRUE(done);
  return found;
}

TEST(CompareKeysTest, EqualSidesDoNotDiffer) {
  EXPECT_THAT(Differences({}, {}), IsEmpty());
  EXPECT_THAT(Differences({{"a", "1"}, {"b", ""}}, {{"a", "1"}, {"b", ""}}), IsEmpty());
}

TEST(CompareKeysTest, EachDifferenceIsFoundInOrder) {
  EXPECT_THAT(Differences({{"a", "1"}, {"b", "1"}, {"d", "1"}, {"e", "1"}},
                          {{"b", "2"}, {"c", "1"}, {"d", "1"}, {"f", "1"}}),
              ElementsAre("-a", "~b", "+c", "-e", "+f"));
  EXPECT_THAT(Differences({}, {{"a", ""}, {"b", ""}}), ElementsAre("+a", "+b"));
  EXPECT_THAT(Differences({{"a", ""}, {"b", ""}}, {}), ElementsAre("-a", "-b"));
}

TEST(CompareKeysTest, AnErrorOfEitherSideEndsIt) {
  const NextKey broken = [] { return Fail(Code::kUnavailable, "gone"); };
  mvccpb::KeyValue row;
  const Keys keys = {{"a", "1"}};
  const auto nothing = [](const auto*, const auto*) {};
  EXPECT_EQ(CompareKeys(broken, Over(keys, row), nothing).error().message, "gone");
  EXPECT_EQ(CompareKeys(Over(keys, row), broken, nothing).error().message, "gone");
}

}  // namespace
}  // namespace kvorum::ctl
