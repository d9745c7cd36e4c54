// Requests as log lines show them, beside the texts that etcd 3.7.1 writes for the same requests.
#include "api/entries/request_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "api/entries/internal_request.h"
#include "tests/damage.h"

namespace kvorum::server {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A field of bytes, of a number.
std::string BytesField(int field, std::string_view bytes) {
  std::string out(1, static_cast<char>(field << 3 | 2));
  for (std::size_t n = bytes.size(); true; n >>= 7) {
    out += static_cast<char>((n & 0x7f) | (n > 0x7f ? 0x80 : 0));
    if (n <= 0x7f) break;
  }
  return out.append(bytes);
}
std::string NumberField(int field, int value) {
  return {static_cast<char>(field << 3), static_cast<char>(value)};
}

std::string Summary(RequestKind kind, const std::string& body) {
  return EntrySummary(EncodeInternalRequest(7, kind, body).view());
}

TEST(RequestSummaryTest, APutHasItsValuesSize) {
  const std::string put =
      BytesField(1, "a'b\"c") + BytesField(2, "secret") + NumberField(3, 5) + NumberField(4, 1);
  const std::string text = R"(key:"a'b\"c" value_size:6 lease:5 prev_kv:true )";
  EXPECT_EQ(Summary(RequestKind::kPut, put), "header:<ID:7> put:<" + text + ">");
  const CallSummary call = SummarizePut(put);
  EXPECT_EQ(call.text, text);
  EXPECT_EQ(call.operations, 1);
  EXPECT_FALSE(call.only_reads);
}

TEST(RequestSummaryTest, ARangeHasItsOptions) {
  const CallSummary call =
      SummarizeRange(BytesField(1, "foo") + BytesField(2, "fop") + NumberField(3, 3) +
                     NumberField(5, 2) + NumberField(7, 1));
  EXPECT_EQ(call.text,
            R"(key:"foo"  range_end:"fop"  limit:3  sort_order:DESCEND  serializable:true)");
  EXPECT_EQ(call.operations, 0);
  EXPECT_TRUE(call.only_reads);
}

TEST(RequestSummaryTest, ATxnHasItsComparesAndBothBranches) {
  const std::string compares =
      BytesField(1,
                 NumberField(1, 1) + NumberField(2, 2) + BytesField(3, "foo") + NumberField(6, 0)) +
      BytesField(1, NumberField(2, 3) + BytesField(3, "x") + BytesField(7, "secret"));
  const std::string get = BytesField(1, BytesField(1, "a"));
  const std::string txn = compares +
                          BytesField(2, BytesField(2, BytesField(1, "a") + BytesField(2, "bbbb"))) +
                          BytesField(3, get) + BytesField(3, BytesField(3, BytesField(1, "c")));
  const std::string text =
      R"(compare:<result:GREATER  target:MOD  key:"foo"  mod_revision:0 target:VALUE key:"x" )"
      R"(value_size:6 > success:<request_put:<key:"a" value_size:4 >> )"
      R"(failure:<request_range:{key:"a"} request_delete_range:{key:"c"}>)";
  const CallSummary call = SummarizeTxn(txn);
  EXPECT_EQ(call.text, text);
  EXPECT_EQ(call.operations, 2);
  EXPECT_FALSE(call.only_reads);
  EXPECT_EQ(Summary(RequestKind::kTxn, txn), "header:<ID:7> txn:<" + text + ">");
  EXPECT_TRUE(SummarizeTxn(BytesField(2, get)).only_reads);
  // It goes through the log, as in etcd.
  EXPECT_FALSE(SummarizeTxn(BytesField(2, BytesField(4, BytesField(2, get)))).only_reads);
}

TEST(RequestSummaryTest, OtherKindsOfEntries) {
  EXPECT_EQ(Summary(RequestKind::kDeleteRange, BytesField(1, "foo")),
            R"(header:{ID:7}  delete_range:{key:"foo"})");
  EXPECT_EQ(Summary(RequestKind::kCompaction, NumberField(1, 3)),
            "header:{ID:7}  compaction:{revision:3}");
  EXPECT_EQ(Summary(RequestKind::kLeaseGrant, NumberField(1, 100) + NumberField(2, 17)),
            "header:<ID:7> lease_grant:<ttl:100-second id:0000000000000011>");
  EXPECT_EQ(Summary(RequestKind::kLeaseRevoke, NumberField(1, 17)),
            "header:<ID:7> lease_revoke:<id:0000000000000011>");
  EXPECT_EQ(Summary(RequestKind::kUserDelete, BytesField(1, "u")),
            R"(header:{ID:7}  auth_user_delete:{name:"u"})");
  EXPECT_EQ(Summary(RequestKind::kUserAdd, BytesField(1, "u\n") + BytesField(2, "secret")),
            "header:<ID:7> auth_user_add:<name:u\n>");
  EXPECT_EQ(Summary(RequestKind::kAuthEnable, ""), "header:{ID:7}  auth_enable:{}");
  EXPECT_EQ(Summary(RequestKind::kAlarm, NumberField(1, 1) + NumberField(2, 3) + NumberField(3, 2)),
            "header:{ID:7}  alarm:{action:ACTIVATE  memberID:3  alarm:CORRUPT}");
  EXPECT_EQ(Summary(RequestKind::kClusterVersionSet, BytesField(1, "3.7.0")),
            R"(header:{ID:7}  cluster_version_set:{ver:"3.7.0"})");
  EXPECT_EQ(
      Summary(RequestKind::kMemberAttributesSet,
              NumberField(1, 9) + BytesField(2, BytesField(1, "m") + BytesField(2, "http://a") +
                                                    BytesField(2, "http://b"))),
      R"(header:{ID:7}  cluster_member_attr_set:{member_ID:9  member_attributes:{name:"m"  )"
      R"(client_urls:"http://a"  client_urls:"http://b"}})");
  EXPECT_EQ(Summary(RequestKind::kRoleGrantPermission,
                    BytesField(1, "r") + BytesField(2, NumberField(1, 2) + BytesField(2, "k"))),
            R"(header:{ID:7}  auth_role_grant_permission:{name:"r"  )"
            R"(perm:{permType:READWRITE  key:"k"}})");
}

TEST(RequestSummaryTest, TheCallerIsInTheHeader) {
  const auto summary = [](RequestKind kind) {
    return EntrySummary(
        EncodeInternalRequest({.id = 7, .kind = kind, .body = {}, .user = "u", .auth_revision = 8})
            .view());
  };
  EXPECT_EQ(summary(RequestKind::kPut), R"(header:<ID:7  username:"u"  auth_revision:8> put:<>)");
  EXPECT_EQ(summary(RequestKind::kAuthDisable),
            R"(header:{ID:7  username:"u"  auth_revision:8}  auth_disable:{})");
}

// Etcd 3.7.1 shows the same key in two ways, by two libraries.
TEST(RequestSummaryTest, BytesHaveTheEscapesOfTheirForm) {
  const std::string key("a\0\x01\x7f\x80\xff\n\r\t\"'\\\xc3\xa9\xf0\x9f\x98\x80\xc2\x85", 20);
  EXPECT_EQ(SummarizePut(BytesField(1, key)).text,
            R"(key:"a\000\001\177\200\377\n\r\t\"'\\\303\251\360\237\230\200\302\205" )");
  EXPECT_EQ(SummarizeRange(BytesField(1, key)).text,
            "key:\"a\\x00\\x01\\x7f\\x80\\xff\\n\\r\\t\\\"'\\\\\xc3\xa9\xf0\x9f\x98\x80\\u0085\"");
}

TEST(RequestSummaryTest, NoSecretIsInIt) {
  const std::string login =
      BytesField(1, "root") + BytesField(2, "secret") + BytesField(3, "secret");
  for (const RequestKind kind : {RequestKind::kAuthenticate, RequestKind::kUserAdd,
                                 RequestKind::kUserChangePassword, RequestKind::kPut}) {
    EXPECT_THAT(Summary(kind, login), HasSubstr("root"));
    EXPECT_THAT(Summary(kind, login), Not(HasSubstr("secret")));
  }
}

TEST(RequestSummaryTest, ItIsBoundedAndTakesAnyBytes) {
  const std::string put = BytesField(2, BytesField(2, BytesField(1, std::string(2'000, 'k'))));
  std::string txn;
  for (int i = 0; i < 100; ++i) txn += put;
  const std::string summary = Summary(RequestKind::kTxn, txn);
  EXPECT_GT(summary.size(), 4'000u);
  EXPECT_LT(summary.size(), 4'200u);
  EXPECT_TRUE(summary.ends_with("..."));
  EXPECT_EQ(SummarizeTxn(txn).operations, 100);
  std::string nested = put;
  for (int i = 0; i < 50; ++i) nested = BytesField(2, BytesField(4, nested));
  EXPECT_FALSE(SummarizeTxn(nested).only_reads);
  ForEachCut(put, [](std::string_view cut) {
    (void)SummarizeTxn(cut);
    (void)EntrySummary(cut);
  });
  EXPECT_EQ(EntrySummary("\xff"), "size:1");
}

}  // namespace
}  // namespace kvorum::server
