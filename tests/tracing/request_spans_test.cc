// The spans below a call's own, by method and request.
#include "server/tracing/request_spans.h"

#include <gtest/gtest.h>

#include <string>

#include "api/lease_messages.h"
#include "base/api_errors.h"
#include "tests/tracing/message_fields.h"

namespace kvorum::server::tracing {
namespace {

constexpr std::size_t kMaxTxnOps = 128;

// "name key=value ..." as the table says; empty without a span.
std::string Describe(CallSpan kind, std::string_view request) {
  const auto span = SpansOf(kind).describe(request, kMaxTxnOps);
  if (!span.has_value()) return {};
  std::string text(span->name);
  for (const Attribute& attribute : span->attributes) {
    text.append(" ").append(attribute.name).append("=");
    if (const auto* of = std::get_if<std::string>(&attribute.value)) text += *of;
    if (const auto* of = std::get_if<std::int64_t>(&attribute.value)) text += std::to_string(*of);
    if (const auto* of = std::get_if<bool>(&attribute.value)) text += *of ? "true" : "false";
  }
  return text;
}

TEST(RequestSpansTest, OfKeysAndValues) {
  EXPECT_EQ(Describe(CallSpan::kRange, Bytes(1, "k") + Bytes(2, "l") + Number(3, 5)),
            "range range_begin=k range_end=l rev=0 limit=5 count_only=false keys_only=false");
  EXPECT_EQ(Describe(CallSpan::kRangeStream, Bytes(1, "k") + Number(4, 7)),
            "range_streaming range_begin=k range_end= rev=7 limit=0 count_only=false");
  EXPECT_EQ(Describe(CallSpan::kPut, Bytes(1, "k") + Bytes(2, "secret")), "put key=k");
  EXPECT_EQ(Describe(CallSpan::kDeleteRange, Bytes(1, "a") + Bytes(2, "b")),
            "delete_range range_begin=a range_end=b");
  EXPECT_EQ(Describe(CallSpan::kCompaction, Number(1, 9) + Number(2, 1)),
            "compact is_physical=true rev=9");
}

TEST(RequestSpansTest, OfTxns) {
  const std::string put = Bytes(2, Bytes(1, "p") + Number(3, 44));
  const std::string range = Bytes(1, Bytes(1, "r"));
  EXPECT_EQ(Describe(CallSpan::kTxn,
                     Bytes(1, Bytes(3, "c")) + Bytes(2, put) + Bytes(2, range) + Bytes(3, range)),
            "txn compare_first_key=c success_first_key=p success_first_type=put "
            "success_first_lease=44 compare_len=1 success_len=2 failure_len=1 read_only=false");
  EXPECT_EQ(Describe(CallSpan::kTxn, ""),
            "txn compare_first_key= success_first_key= success_first_type= success_first_lease=-1 "
            "compare_len=0 success_len=0 failure_len=0 read_only=true");
  const MethodSpans& txn = SpansOf(CallSpan::kTxn);
  EXPECT_TRUE(txn.proposes(Bytes(2, put)));
  EXPECT_FALSE(txn.proposes(Bytes(2, range)));
}

TEST(RequestSpansTest, OfLeasesAndWatchers) {
  EXPECT_EQ(Describe(CallSpan::kLeaseGrant, Number(1, 60) + Number(2, 5)),
            "lease_grant id=5 ttl=60");
  EXPECT_EQ(Describe(CallSpan::kLeaseRevoke, Number(1, 5)), "lease_revoke id=5");
  EXPECT_EQ(Describe(CallSpan::kLeaseKeepAlive, Number(1, 5)), "lease_renew id=5");
  EXPECT_EQ(Describe(CallSpan::kWatch,
                     Bytes(1, Bytes(1, "w") + Bytes(2, std::string_view("\0", 1)) + Number(3, 8))),
            "watch key=w range_end= start_rev=8 progress_notify=false prev_kv=false "
            "fragment=false");
  EXPECT_EQ(Describe(CallSpan::kWatch, Bytes(2, Number(1, 1))), "") << "a cancellation";
}

TEST(RequestSpansTest, ARefusedRequestHasNone) {
  EXPECT_EQ(Describe(CallSpan::kPut, Bytes(2, "a value alone")), "");
  EXPECT_EQ(Describe(CallSpan::kRange, ""), "");
  EXPECT_EQ(Describe(CallSpan::kPut, "\xff"), "");
  EXPECT_EQ(Describe(CallSpan::kTxn, Bytes(2, "")), "") << "an operation without content";
  EXPECT_TRUE(IsBeforeHandler(kErrNoSpace.ToError()));
  EXPECT_FALSE(IsBeforeHandler(kErrLeaseNotFound.ToError()));
}

TEST(RequestSpansTest, OtherMethodsHaveTheirOwnSpanAlone) {
  EXPECT_EQ(SpansOf(CallSpan::kPlain).shape, Shape::kPlain);
  EXPECT_FALSE(SpansOf(CallSpan::kPlain).proposes(""));
  EXPECT_TRUE(SpansOf(CallSpan::kProposal).proposes(""));
}

TEST(RequestSpansTest, EventsTellHowFarAProposalCame) {
  const ProposalFate applied = FateOf(kErrLeaseNotFound.ToError());
  EXPECT_TRUE(applied.was_sent && applied.was_answered);
  EXPECT_EQ(applied.exception, "");
  const ProposalFate refused = FateOf(kErrTooManyRequests.ToError());
  EXPECT_FALSE(refused.was_sent || refused.was_answered);
  EXPECT_EQ(refused.exception, "etcdserver: too many requests");
  const ProposalFate late = FateOf(kErrDeadlineExceeded.ToError());
  EXPECT_TRUE(late.was_sent && !late.was_answered);
  EXPECT_EQ(late.exception, "etcdserver: request timed out");
}

TEST(RequestSpansTest, FindsTheLeaseThatTheServerChose) {
  EXPECT_EQ(GrantedLease(Bytes(1, "a header") + Number(2, 77)), 77);
  EXPECT_EQ(GrantedLease("\xff"), 0);
}

}  // namespace
}  // namespace kvorum::server::tracing
