// Every row of the table of entry kinds: against the .proto files, peers, alarms, and the applier.
#include "api/entries/entry_kinds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "proto/wire.h"
#include "server/apply/entry_check.h"
#include "tests/damage.h"
#include "tests/server/api/sample_bodies.h"
#include "tests/server/apply/applier_fixture.h"

namespace kvorum::server {
namespace {

using testing::ElementsAre;

#define KV_ENTRY_KIND(name, ...) RequestKind::name,
constexpr RequestKind kKinds[] = {KV_ENTRY_KINDS(KV_ENTRY_KIND)};
#undef KV_ENTRY_KIND

// All but that of an entry without a request, which is the first row.
const std::span kRequests = std::span(kKinds).subspan(1);

unsigned Number(RequestKind kind) { return static_cast<unsigned>(kind); }

// True if a well-formed message of the field is decoded as the request that it is.
bool IsRead(unsigned field) {
  const auto kind = static_cast<RequestKind>(field);
  const SharedBytes entry = EncodeInternalRequest(7, kind, SampleBody(kind));
  const auto request = DecodeInternalRequest(entry.view());
  if (!request.has_value()) return false;
  EXPECT_EQ(request->kind, kind);
  const auto read = VisitEntryKind(kind, [&]<class Kind>(Kind) -> Result<void> {
    KV_RETURN_IF_ERROR(Kind::Decode(request->body));
    return {};
  });
  EXPECT_TRUE(read.has_value()) << field;
  return true;
}

TEST(EntryKindsTest, TheFieldsOfTheMessageAreTheKinds) {
  const auto& message = *etcdserverpb::InternalRaftRequest::descriptor();
  std::set<unsigned> fields;
  std::vector<std::string> not_read;
  for (int i = 0; i < message.field_count(); ++i) {
    const auto number = static_cast<unsigned>(message.field(i)->number());
    if (number == 1 || number == 100) continue;  // the id, and the header
    fields.insert(number);
    if (!IsRead(number)) not_read.emplace_back(message.field(i)->name());
  }
  EXPECT_THAT(not_read, ElementsAre("range", "downgrade_version_test"));
  for (const RequestKind kind : kRequests)
    EXPECT_TRUE(fields.contains(Number(kind))) << Number(kind);
}

// A kind's number in the lowest 16 bits of a larger one.
TEST(EntryKindsTest, AFieldIsToldByItsWholeNumber) {
  for (const RequestKind kind : kKinds) {
    std::string bytes;
    wire::AppendBytesAlways(bytes, Number(kind) + (1U << 16), "");
    const auto decoded = DecodeInternalRequest(bytes);
    ASSERT_FALSE(decoded.has_value()) << Number(kind);
    EXPECT_EQ(decoded.error().code, Code::kUnimplemented);
  }
}

class EntryKindsApplyTest : public ApplierTest {
 protected:
  // The kinds that are refused with this text, though they are well-formed.
  std::set<RequestKind> RefusedWith(std::string_view text) {
    std::set<RequestKind> refused;
    for (const RequestKind kind : kRequests)
      if (Outcome(kind, SampleBody(kind)) == text) refused.insert(kind);
    EXPECT_EQ(FatalText(), "none");
    return refused;
  }
  // True if the check of peers' entries accepts it; accepted entries must be applied.
  bool IsTakenAndApplied(raft::Entry entry) {
    entry.index = last_index_ + 1;
    if (!CheckPeersEntry(entry).has_value()) return false;
    ++last_index_;
    ApplyAll({entry});
    alarms_->Reset({});
    EXPECT_EQ(FatalText(), "none") << testing::PrintToString(entry.data.view());
    return true;
  }
};

TEST_F(EntryKindsApplyTest, EachAlarmRefusesTheKindsThatEtcdRefuses) {
  ASSERT_EQ(Outcome(RequestKind::kAlarm, RaiseBody(AlarmType::kNoSpace)), "ok");
  const std::set<RequestKind> space = {RequestKind::kPut, RequestKind::kTxn,
                                       RequestKind::kLeaseGrant};
  EXPECT_EQ(RefusedWith(kNoSpaceText), space);
  ASSERT_EQ(Outcome(RequestKind::kAlarm, RaiseBody(AlarmType::kCorrupt)), "ok");
  const std::set<RequestKind> changes = {RequestKind::kPut,        RequestKind::kDeleteRange,
                                         RequestKind::kTxn,        RequestKind::kCompaction,
                                         RequestKind::kLeaseGrant, RequestKind::kLeaseRevoke};
  EXPECT_EQ(RefusedWith(kCorruptText), changes);
}

TEST_F(EntryKindsApplyTest, ABodyThatIsNoMessageIsRefusedFromPeersAndEndsTheReplica) {
  for (const RequestKind kind : kRequests) {
    const bool is_read = VisitEntryKind(kind, []<class Kind>(Kind) -> Result<bool> {
                           return !std::is_same_v<typename Kind::Body, EmptyBody> &&
                                  !std::is_same_v<typename Kind::Body, BodyWithoutEffect>;
                         }).value();
    const raft::Entry entry = Entry(kind, "\x0a");
    EXPECT_EQ(CheckPeersEntry(entry).has_value(), !is_read) << Number(kind);
    fatal_.reset();
    ApplyAll({entry});
    ASSERT_EQ(fatal_.has_value(), is_read) << Number(kind);
    if (is_read) {
      EXPECT_EQ(fatal_->code, Code::kDataLoss) << fatal_->message;
    }
  }
}

// Members of etcd before 3.7 write any bytes where a text should be.
TEST_F(EntryKindsApplyTest, TextThatIsNoUtf8IsTakenFromPeersAndApplied) {
  ApplyAll({ConfEntry(raft::ConfChangeType::kAddNode, MemberSeven())});
  for (const RequestKind kind : kRequests) {
    std::string body = SampleBody(kind);
    const std::string_view text = "aaaa";
    for (std::size_t at = body.find(text); at != std::string::npos; at = body.find(text, at))
      body.replace(at, text.size(), "\xff\xfe\xc0\x80");
    EXPECT_TRUE(IsTakenAndApplied(Entry(kind, body))) << Number(kind);
  }
  std::string nobody;
  wire::AppendBytes(nobody, 1, "\xff");
  wire::AppendBytesAlways(nobody, 3, std::string_view("\x08\x01", 2));  // without a password
  EXPECT_EQ(Outcome(RequestKind::kUserAdd, nobody), "ok");
  EXPECT_EQ(Outcome(RequestKind::kUserAdd, nobody), kErrUserAlreadyExist.message);
}

TEST_F(EntryKindsApplyTest, DamagedEntriesThatPeersMayPassOnAreApplied) {
  ApplyAll({ConfEntry(raft::ConfChangeType::kAddNode, MemberSeven())});
  int taken = 0;
  int refused = 0;
  const auto is_met = [&](std::string_view bytes, auto...) {
    raft::Entry entry = Entry(RequestKind::kNone, "");
    entry.data = SharedBytes::Copy(bytes);
    ++(IsTakenAndApplied(std::move(entry)) ? taken : refused);
  };
  for (const RequestKind kind : kRequests) {
    const SharedBytes whole = EncodeInternalRequest(7, kind, SampleBody(kind));
    ForEachCut(whole.view(), is_met);
    ForEachFlip(whole.view(), is_met);
  }
  EXPECT_GT(taken, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace kvorum::server
