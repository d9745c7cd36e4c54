#include "tools/session/kv_requests.h"

#include <gtest/gtest.h>

namespace kvorum::ctl {
namespace {

using etcdserverpb::RangeRequest;
using namespace std::string_literals;

// A line of get, put or del, its flags first parsed as the command does it.
template <class Make>
auto Build(const std::vector<Flag>& table, const Make& make, const std::vector<std::string>& line) {
  FlagSet flags;
  for (const Flag& flag : table) flags.Add(flag);
  const auto args = flags.Parse(line);
  EXPECT_TRUE(args);
  return make(flags, *args);
}

Outcome<RangeRequest> Get(const std::vector<std::string>& line) {
  return Build(GetFlags(), MakeRange, line);
}

Outcome<etcdserverpb::DeleteRangeRequest> Delete(const std::vector<std::string>& line) {
  return Build(DeleteFlags(), MakeDelete, line);
}

Outcome<etcdserverpb::PutRequest> Put(const std::vector<std::string>& line,
                                      const std::string& standard_input = "") {
  return Build(
      PutFlags(),
      [&](const FlagSet& flags, const std::vector<std::string>& args) {
        return MakePut(flags, args, [&] { return standard_input; });
      },
      line);
}

TEST(GetTest, RangesByEndPrefixAndFromKey) {
  EXPECT_EQ(Get({"a"})->range_end(), "");
  EXPECT_EQ(Get({"a", "c"})->range_end(), "c");
  EXPECT_EQ(Get({"a", "--prefix"})->range_end(), "b");
  EXPECT_EQ(Get({"a", "--from-key"})->range_end(), "\0"s);
  EXPECT_EQ(Get({""})->key(), "") << "the server refuses it";
  const auto all = Get({"", "--prefix"});
  EXPECT_EQ(all->key(), "\0"s);
  EXPECT_EQ(all->range_end(), "\0"s);
}

TEST(GetTest, SortingByAscendingKeyIsNotAskedFor) {
  EXPECT_EQ(Get({"a", "--order=ascend"})->sort_order(), RangeRequest::NONE);
  const auto sorted = Get({"a", "--order=Descend", "--sort-by=modify"});
  EXPECT_EQ(sorted->sort_order(), RangeRequest::DESCEND);
  EXPECT_EQ(sorted->sort_target(), RangeRequest::MOD);
  EXPECT_EQ(Get({"a", "--order=ASCEND", "--sort-by=VALUE"})->sort_order(), RangeRequest::ASCEND);
}

TEST(GetTest, TheOtherFlagsGoIntoTheRequest) {
  const auto request =
      Get({"a", "--limit=3", "--rev=7", "--consistency=s", "--keys-only", "--min-mod-rev=1",
           "--max-mod-rev=2", "--min-create-rev=3", "--max-create-rev=4"});
  EXPECT_EQ(request->limit(), 3);
  EXPECT_EQ(request->revision(), 7);
  EXPECT_TRUE(request->serializable());
  EXPECT_TRUE(request->keys_only());
  EXPECT_EQ(request->min_mod_revision(), 1);
  EXPECT_EQ(request->max_mod_revision(), 2);
  EXPECT_EQ(request->min_create_revision(), 3);
  EXPECT_EQ(request->max_create_revision(), 4);
}

TEST(GetTest, Refusals) {
  EXPECT_EQ(Get({}).error(),
            (Failure{ExitCode::kBadArguments,
                     "get command needs one argument as key and an optional argument as "
                     "range_end"}));
  EXPECT_EQ(Get({"a", "--prefix", "--from-key"}).error(),
            (Failure{ExitCode::kBadArguments,
                     "`--prefix` and `--from-key` cannot be set at the same time, choose one"}));
  EXPECT_EQ(Get({"a", "b", "--prefix"}).error(),
            (Failure{ExitCode::kBadArguments,
                     "too many arguments, only accept one argument when `--prefix` or "
                     "`--from-key` is set"}));
  EXPECT_EQ(Get({"a", "--order=up"}).error(),
            (Failure{ExitCode::kBadFeature, "bad sort order up"}));
  EXPECT_EQ(Get({"a", "--sort-by=up"}).error(),
            (Failure{ExitCode::kBadFeature, "bad sort target up"}));
  EXPECT_EQ(Get({"a", "--consistency=x"}).error(),
            (Failure{ExitCode::kBadFeature, "unknown consistency flag \"x\""}));
  EXPECT_EQ(Get({"a", "--min-mod-rev=3", "--max-mod-rev=2"}).error(),
            (Failure{ExitCode::kBadFeature, "getMinModRev(=3) > getMaxModRev(=2)"}));
}

TEST(DeleteTest, TakesOneKeyOrARange) {
  EXPECT_EQ(Delete({"a", "b"})->range_end(), "b");
  EXPECT_TRUE(Delete({"a", "--prev-kv"})->prev_kv());
  EXPECT_EQ(Delete({"a", "b", "c"}).error(),
            (Failure{ExitCode::kBadArguments,
                     "del command needs one argument as key and an optional argument as "
                     "range_end"}));
}

TEST(PutTest, TheValueComesFromTheLineOrTheStandardInput) {
  EXPECT_EQ(Put({"k", "v"}, "unread")->value(), "v");
  EXPECT_EQ(Put({"k", ""}, "unread")->value(), "");
  EXPECT_EQ(Put({"k"}, "read\n")->value(), "read\n");
  EXPECT_TRUE(Put({"k", "--ignore-value"}, "unread")->value().empty());
  EXPECT_EQ(Put({"k"}, "").error(),
            (Failure{ExitCode::kBadArguments,
                     "put command needs 1 argument and input from stdin or 2 arguments"}));
  EXPECT_EQ(Put({"k", "v", "--ignore-value"}).error(),
            (Failure{ExitCode::kBadArguments,
                     "put command needs only 1 argument when 'ignore-value' is set"}));
}

TEST(PutTest, ALeaseIsNamedInHexadecimal) {
  EXPECT_EQ(Put({"k", "v", "--lease=1f"})->lease(), 31);
  EXPECT_EQ(Put({"k", "v", "--lease=zz"}).error(),
            (Failure{ExitCode::kBadArguments,
                     "bad lease ID (strconv.ParseInt: parsing \"zz\": invalid syntax), expecting "
                     "ID in Hex"}));
}

}  // namespace
}  // namespace kvorum::ctl
