// The log's bytes compared with those of etcd 3.7: for each kind of entry the record that it wrote
// for this request, as its WAL had it, and the one written here. docs/compatibility.md names the
// unavoidable differences. The records of `EveryKindThatIsWritten` are those of a 3.7.3, as
// tests/process/beside_etcd/log_records_test.py --print --checkpoint prints them; the others are of
// a 3.7.1.
#include <gtest/gtest.h>

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "api/auth_messages.h"
#include "api/downgrade.h"
#include "api/entries/internal_request.h"
#include "api/lease_messages.h"
#include "api/maintenance_encode.h"
#include "proto/raft_types.h"
#include "proto/wire.h"
#include "raft/bootstrap.h"
#include "server/state/alarms.h"
#include "server/state/member_change.h"
#include "tests/hex.h"
#include "tests/server/request_bodies.h"
#include "wal/marker.h"

namespace kvorum::server {
namespace {

// The member, the one that joined it, and the id of the first request.
constexpr raft::MemberId kFirstMember{1064708284746764119U};
constexpr raft::MemberId kJoinedMember{10886332213907358567U};
constexpr std::uint64_t kFirstId = 1105530384301355777U;

constexpr std::string_view kBootstrapRecord =
    "080110011801225a100018d79efcedb3d1a6e30e224c7b226964223a313036343730383238343734"
    "363736343131392c227065657255524c73223a5b22687474703a2f2f3132372e302e302e313a3333"
    "383030225d2c226e616d65223a226d31227d";
constexpr std::string_view kFirstOfATermRecord = "10021802";
constexpr std::string_view kAttributesRecord =
    "100218032238a2060a0881e6bba5efc0e8ab0faa512808d79efcedb3d1a6e30e121c0a026d311216"
    "687474703a2f2f3132372e302e302e313a3333373930";
constexpr std::string_view kClusterVersionRecord =
    "100218042217a2060a0882e6bba5efc0e8ab0fa251070a05332e372e30";
constexpr std::string_view kAlarmGetRecord = "10021805220f5200a2060a0884e6bba5efc0e8ab0f";
constexpr std::string_view kPutRecord = "10021806221522060a0161120131a2060a0885e6bba5efc0e8ab0f";
constexpr std::string_view kCompactRecord = "1002180f22133a0408041001a2060a088ee6bba5efc0e8ab0f";
constexpr std::string_view kGrantRecord =
    "10021810221c420d08d804108fe6bba5efc0e8ab0fa2060a0890e6bba5efc0e8ab0f";
constexpr std::string_view kRevokeRecord =
    "1002181222194a0a088fe6bba5efc0e8ab0fa2060a0892e6bba5efc0e8ab0f";
constexpr std::string_view kAlarmActivateRecord =
    "1002181422155206080110051801a2060a0894e6bba5efc0e8ab0f";
constexpr std::string_view kRoleAddRecord = "1002181b2214a2060a089ce6bba5efc0e8ab0f824b040a027231";
constexpr std::string_view kGrantPermissionRecord =
    "1002181d221ca2060a089ee6bba5efc0e8ab0f9a4b0c0a02723112061201611a017a";
constexpr std::string_view kUserAddRecord =
    "100218202268a2060a08a1e6bba5efc0e8ab0fe244580a0275311a0022504a444a684a4445774a47"
    "397456316b356179353152575246645870495a586f7656565270576e557a516a4e744d576c4c6257"
    "39565a30517a65476334596e6c7a646a5644615446765445786f526b5a58";
constexpr std::string_view kUserAddNoPasswordRecord =
    "100218212218a2060a08a2e6bba5efc0e8ab0fe244080a0275321a020801";
constexpr std::string_view kChangePasswordRecord =
    "100218222266a2060a08a3e6bba5efc0e8ab0ffa44560a0275311a504a444a684a4445774a454a45"
    "52474a515431566a5454524f6254645464454e5a6569394656575653566b74684d31704863316474"
    "526a46486545557852585a72526c5531576e4a704d56684463473531";
constexpr std::string_view kGrantRoleRecord =
    "100218232218a2060a08a4e6bba5efc0e8ab0f8245080a02753112027231";
constexpr std::string_view kAuthEnableRecord = "100218292210a2060a08aae6bba5efc0e8ab0fc23e00";
constexpr std::string_view kLoginRecord =
    "1002182a2228a2060a08ace6bba5efc0e8ab0fa23f180a04726f6f741a1054537642724358526563"
    "66787a6e7564";
constexpr std::string_view kPutByRootRecord =
    "1002182b221d22060a0161120131a2061208ade6bba5efc0e8ab0f1204726f6f74180f";
constexpr std::string_view kAddLearnerRecord =
    "08011002183e226b08c8e6bba5efc0e8ab0f100318e786dca686af818a970122527b226964223a31"
    "303838363333323231333930373335383536372c227065657255524c73223a5b22687474703a2f2f"
    "3132372e302e302e313a3333383031225d2c2269734c6561726e6572223a747275657d";
constexpr std::string_view kPromoteRecord =
    "080110021840225508cbe6bba5efc0e8ab0f100018e786dca686af818a9701223c7b226964223a31"
    "303838363333323231333930373335383536372c227065657255524c73223a6e756c6c2c22697350"
    "726f6d6f7465223a747275657d";
constexpr std::string_view kUpdateRecord =
    "080110021843227308cee6bba5efc0e8ab0f100218e786dca686af818a9701225a7b226964223a31"
    "303838363333323231333930373335383536372c227065657255524c73223a5b22687474703a2f2f"
    "3132372e302e302e313a3333383031222c22687474703a2f2f3132372e302e302e313a3333383032"
    "225d7d";
constexpr std::string_view kRemoveRecord =
    "080110021844221708cfe6bba5efc0e8ab0f100118e786dca686af818a9701";

std::string Record(raft::Index index, raft::EntryType type, SharedBytes data) {
  return Hex(
      raft::Encode(raft::Entry{.term = 2, .index = index, .type = type, .data = std::move(data)}));
}
// Each request's id is the first one plus `more`.
std::string Record(raft::Index index, std::uint64_t more, RequestKind kind, std::string_view body,
                   std::string_view user = {}, std::uint64_t auth_revision = 0) {
  return Record(index, raft::EntryType::kNormal,
                EncodeInternalRequest({.id = kFirstId + more,
                                       .kind = kind,
                                       .body = body,
                                       .user = user,
                                       .auth_revision = auth_revision}));
}
std::string Record(raft::Index index, std::uint64_t more, const MemberChange& change) {
  return Record(index, raft::EntryType::kConfChange,
                SharedBytes::Own(raft::Encode(EncodeMemberChange(kFirstId + more, change))));
}

// Texts as fields 1, 2, ...
std::string Texts(std::initializer_list<std::string_view> texts) {
  std::string body;
  std::uint32_t field = 0;
  for (const std::string_view text : texts) wire::AppendBytes(body, ++field, text);
  return body;
}

TEST(LogBytesTest, TheHeadOfALog) {
  EXPECT_EQ(
      Hex(wal::Encode(wal::Metadata{.node_id = kFirstMember, .cluster_id = 4036497872416630503U})),
      "08d79efcedb3d1a6e30e10e7cd8df0dbada18238");
  EXPECT_EQ(Hex(wal::Encode(wal::SnapshotMarker{})), "08001000");
}

TEST(LogBytesTest, AMarkerOfASnapshot) {
  const wal::SnapshotMarker marker{
      .index = 11,
      .term = 2,
      .conf_state = raft::ConfState{.voters = {raft::MemberId{9265619892315062708U}}}};
  EXPECT_EQ(Hex(wal::Encode(marker)), "080b10021a0d08b483ee89b68686cb80012800");
  // The end of the file `.snap`, which there has the v2 store before it.
  EXPECT_EQ(
      Hex(raft::Encode(raft::Snapshot{
          .data = {}, .metadata = {.conf_state = *marker.conf_state, .index = 11, .term = 2}})),
      "12130a0d08b483ee89b68686cb8001280010"
      "0b1802");
}

TEST(LogBytesTest, HardStates) {
  EXPECT_EQ(Hex(raft::Encode(raft::HardState{.term = 1, .vote = raft::kNone, .commit = 1})),
            "080110001801");
  EXPECT_EQ(Hex(raft::Encode(raft::HardState{.term = 2, .vote = raft::kNone, .commit = 0})),
            "080210001800");
  EXPECT_EQ(Hex(raft::Encode(raft::HardState{.term = 2, .vote = kFirstMember, .commit = 3})),
            "080210d79efcedb3d1a6e30e1803");
}

TEST(LogBytesTest, TheFirstEntries) {
  const Member self{
      .id = kFirstMember, .peer_urls = {"http://127.0.0.1:33800"}, .name = "m1", .client_urls = {}};
  const raft::Bootstrap bootstrap = raft::MakeBootstrap(std::vector<raft::FirstMember>{
      {.id = kFirstMember, .context = SharedBytes::Own(EncodeMemberJson(self))}});
  EXPECT_EQ(Hex(raft::Encode(bootstrap.entries.at(0))), kBootstrapRecord);
  EXPECT_EQ(Hex(raft::Encode(bootstrap.hard_state)), "080110001801");
  EXPECT_EQ(Record(2, raft::EntryType::kNormal, {}), kFirstOfATermRecord);
  EXPECT_EQ(Record(3, 0, RequestKind::kMemberAttributesSet,
                   EncodeMemberAttributes({.member = kFirstMember,
                                           .name = "m1",
                                           .client_urls = {"http://127.0.0.1:33790"}})),
            kAttributesRecord);
  EXPECT_EQ(Record(4, 1, RequestKind::kClusterVersionSet, EncodeClusterVersion("3.7.0")),
            kClusterVersionRecord);
}

TEST(LogBytesTest, RequestsOfClients) {
  EXPECT_EQ(Record(5, 3, RequestKind::kAlarm, ""), kAlarmGetRecord);
  EXPECT_EQ(Record(6, 4, RequestKind::kPut, PutBody("a", "1")), kPutRecord);
  EXPECT_EQ(Record(15, 13, RequestKind::kCompaction, "\x08\x04\x10\x01"), kCompactRecord);
  EXPECT_EQ(Record(16, 15, RequestKind::kLeaseGrant,
                   EncodeLeaseGrant({.ttl_s = 600, .id = kFirstId + 14})),
            kGrantRecord);
  EXPECT_EQ(Record(18, 17, RequestKind::kLeaseRevoke, EncodeLeaseId(kFirstId + 14)), kRevokeRecord);
  EXPECT_EQ(Record(20, 19, RequestKind::kAlarm,
                   EncodeAlarmRequest({.action = AlarmAction::kActivate,
                                       .alarm = {.member = 5, .type = AlarmType::kNoSpace}})),
            kAlarmActivateRecord);
  EXPECT_EQ(Record(43, 44, RequestKind::kPut, PutBody("a", "1"), "root", 15), kPutByRootRecord);
}

TEST(LogBytesTest, UsersAndRoles) {
  EXPECT_EQ(Record(27, 27, RequestKind::kRoleAdd, Texts({"r1"})), kRoleAddRecord);
  EXPECT_EQ(Record(29, 29, RequestKind::kRoleGrantPermission,
                   Texts({"r1", std::string("\x12\x01"
                                            "a\x1a\x01z",
                                            6)})),
            kGrantPermissionRecord);
  EXPECT_EQ(Record(32, 32, RequestKind::kUserAdd,
                   EncodeUserAdd({.name = "u1",
                                  .options = "",
                                  .hashed_password = "JDJhJDEwJG9tV1k5ay51RWRFdXpIZXovVVRpWnUzQjNtM"
                                                     "WlLbW9VZ0QzeGc4YnlzdjVDaTFvTExoRkZX"})),
            kUserAddRecord);
  EXPECT_EQ(
      Record(33, 33, RequestKind::kUserAdd, EncodeUserAdd({.name = "u2", .options = "\x08\x01"})),
      kUserAddNoPasswordRecord);
  EXPECT_EQ(
      Record(34, 34, RequestKind::kUserChangePassword,
             EncodeChangePassword({.name = "u1",
                                   .hashed_password = "JDJhJDEwJEJERGJQT1VjTTRObTdTdENZei9FVWVSVkth"
                                                      "M1pHc1dtRjFHeEUxRXZrRlU1WnJpMVhDcG51"})),
      kChangePasswordRecord);
  EXPECT_EQ(Record(35, 35, RequestKind::kUserGrantRole, Texts({"u1", "r1"})), kGrantRoleRecord);
  EXPECT_EQ(Record(41, 41, RequestKind::kAuthEnable, ""), kAuthEnableRecord);
  EXPECT_EQ(Record(42, 43, RequestKind::kAuthenticate,
                   EncodeLoginEntry({.name = "root", .token_prefix = "TSvBrCXRecfxznud"})),
            kLoginRecord);
}

TEST(LogBytesTest, ChangesOfTheMembers) {
  Member learner;
  learner.id = kJoinedMember;
  learner.peer_urls = {"http://127.0.0.1:33801"};
  learner.is_learner = true;
  EXPECT_EQ(Record(62, 71, MemberChange::Add(learner)), kAddLearnerRecord);
  EXPECT_EQ(Record(64, 74, MemberChange::Promote(kJoinedMember)), kPromoteRecord);
  EXPECT_EQ(Record(67, 77,
                   MemberChange::Update(kJoinedMember,
                                        {"http://127.0.0.1:33801", "http://127.0.0.1:33802"})),
            kUpdateRecord);
  EXPECT_EQ(Record(68, 78, MemberChange::Remove(kJoinedMember)), kRemoveRecord);
}

struct GoldenEntry {
  RequestKind kind = RequestKind::kNone;
  raft::Index index;
  std::uint64_t more = 0;  // of the id, to that of the log's first request
  std::string body;
  std::string_view user = {};
  std::uint64_t auth_revision = 0;
  std::string_view record;
};

// A client's own bytes, of two compares, a put and a nested txn, or a range.
constexpr std::string_view kTxnOfAClient(
    "\x0a\x05\x1a\x01"
    "d\x20\x00\x0a\x09\x08\x02\x10\x02\x1a\x01"
    "b\x30\x63\x12\x08\x12\x06\x0a\x01"
    "d\x12\x01"
    "4\x12\x09\x22\x07\x12\x05\x1a\x03\x0a\x01"
    "e\x1a\x07\x0a\x05\x0a\x01"
    "d\x18\x05",
    48);

TEST(LogBytesTest, EveryKindThatIsWritten) {
  constexpr std::uint64_t kFirstIdOfAll = 7587899192334625025U;
  const GoldenEntry entries[] = {
      {.kind = RequestKind::kMemberAttributesSet,
       .index = 3,
       .more = 0,
       .body = EncodeMemberAttributes({.member = raft::MemberId{10276657743932975437U},
                                       .name = "default",
                                       .client_urls = {"http://127.0.0.1:17279"}}),
       .record = "10021803223ea2060a0881d2d0f4cec3e8a669aa512e08cdd2918bd2b881cf8e0112210a07646566"
                 "61756c741216687474703a2f2f3132372e302e302e313a3137323739"},
      {.kind = RequestKind::kClusterVersionSet,
       .index = 4,
       .more = 1,
       .body = EncodeClusterVersion("3.7.0"),
       .record = "100218042217a2060a0882d2d0f4cec3e8a669a251070a05332e372e30"},
      {.kind = RequestKind::kPut,
       .index = 5,
       .more = 4,
       .body = PutBody("a", "1"),
       .record = "10021805221522060a0161120131a2060a0885d2d0f4cec3e8a669"},
      {.kind = RequestKind::kLeaseGrant,
       .index = 6,
       .more = 5,
       .body = EncodeLeaseGrant({.ttl_s = 600, .id = 7000}),
       .record = "100218062215420608d80410d836a2060a0886d2d0f4cec3e8a669"},
      {.kind = RequestKind::kDeleteRange,
       .index = 11,
       .more = 10,
       .body = DeleteWithPrevKvBody("c", "d"),
       .record = "1002180b22172a080a01631201641801a2060a088bd2d0f4cec3e8a669"},
      {.kind = RequestKind::kTxn,
       .index = 12,
       .more = 11,
       .body = std::string(kTxnOfAClient),
       .record = "1002180c223f32300a051a016420000a09080210021a01623063120812060a016412013412092207"
                 "12051a030a01651a070a050a01641805a2060a088cd2d0f4cec3e8a669"},
      {.kind = RequestKind::kCompaction,
       .index = 13,
       .more = 12,
       .body = "\x08\x03\x10\x01",
       .record = "1002180d22133a0408031001a2060a088dd2d0f4cec3e8a669"},
      {.kind = RequestKind::kLeaseRevoke,
       .index = 15,
       .more = 14,
       .body = EncodeLeaseId(7000),
       .record = "1002180f22124a0308d836a2060a088fd2d0f4cec3e8a669"},
      {.kind = RequestKind::kAlarm,
       .index = 17,
       .more = 16,
       .body = EncodeAlarmRequest({.action = AlarmAction::kDeactivate,
                                   .alarm = {.member = 5, .type = AlarmType::kNoSpace}}),
       .record = "1002181122155206080210051801a2060a0891d2d0f4cec3e8a669"},
      {.kind = RequestKind::kRoleAdd,
       .index = 18,
       .more = 17,
       .body = Texts({"r1"}),
       .record = "100218122214a2060a0892d2d0f4cec3e8a669824b040a027231"},
      {.kind = RequestKind::kRoleGrantPermission,
       .index = 19,
       .more = 18,
       .body = Texts({"r1",
                      "\x08\x02\x12\x01"
                      "a\x1a\x01z"}),
       .record = "10021813221ea2060a0893d2d0f4cec3e8a6699a4b0e0a027231120808021201611a017a"},
      {.kind = RequestKind::kRoleRevokePermission,
       .index = 22,
       .more = 21,
       .body = Texts({"r1", "a", "z"}),
       .record = "10021816221aa2060a0896d2d0f4cec3e8a669a24b0a0a0272311201611a017a"},
      {.kind = RequestKind::kUserAdd,
       .index = 23,
       .more = 22,
       .body = EncodeUserAdd({.name = "u1",
                              .options = "",
                              .hashed_password = "JDJhJDEwJGhKOUo3TVRIaUFCWnE2cmFHQUlsZXVBYzRmZDljc"
                                                 "FU1SHg0RVRPOUtDWXBWTlM1ektjZVZD"}),
       .record = "100218172268a2060a0897d2d0f4cec3e8a669e244580a0275311a0022504a444a684a4445774a47"
                 "684b4f556f335456524961554643576e4532636d464851556c735a585642597a526d5a446c6a6346"
                 "553153486730525652504f55744457584257546c4d31656b746a5a565a44"},
      {.kind = RequestKind::kUserChangePassword,
       .index = 25,
       .more = 24,
       .body = EncodeChangePassword({.name = "u1",
                                     .hashed_password = "JDJhJDEwJEJsT2IvL0RNSTlyTFZMMm42ODlhT3VLdn"
                                                        "lSMjhTdHdDMGVCdXFFbWtLZVNFZTZFQmxjb0F5"}),
       .record = "100218192266a2060a0899d2d0f4cec3e8a669fa44560a0275311a504a444a684a4445774a454a73"
                 "543249764c30524e53546c7954465a4d4d6d34324f446c685433564c646e6c534d6a685464486444"
                 "4d475643645846466257744c5a564e465a545a46516d786a62304635"},
      {.kind = RequestKind::kUserGrantRole,
       .index = 26,
       .more = 25,
       .body = Texts({"u1", "r1"}),
       .record = "1002181a2218a2060a089ad2d0f4cec3e8a6698245080a02753112027231"},
      {.kind = RequestKind::kUserRevokeRole,
       .index = 27,
       .more = 26,
       .body = Texts({"u1", "r1"}),
       .record = "1002181b2218a2060a089bd2d0f4cec3e8a6698a45080a02753112027231"},
      {.kind = RequestKind::kUserDelete,
       .index = 28,
       .more = 27,
       .body = Texts({"u2"}),
       .record = "1002181c2214a2060a089cd2d0f4cec3e8a669ea44040a027532"},
      {.kind = RequestKind::kRoleDelete,
       .index = 29,
       .more = 28,
       .body = Texts({"r1"}),
       .record = "1002181d2214a2060a089dd2d0f4cec3e8a6698a4b040a027231"},
      {.kind = RequestKind::kAuthEnable,
       .index = 32,
       .more = 31,
       .body = "",
       .record = "100218202210a2060a08a0d2d0f4cec3e8a669c23e00"},
      {.kind = RequestKind::kAuthenticate,
       .index = 33,
       .more = 33,
       .body = EncodeLoginEntry({.name = "root", .token_prefix = "ukVpFUKrasDSAUjn"}),
       .record = "100218212228a2060a08a2d2d0f4cec3e8a669a23f180a04726f6f741a10756b567046554b726173"
                 "445341556a6e"},
      {.kind = RequestKind::kAuthDisable,
       .index = 36,
       .more = 37,
       .body = "",
       .user = "root",
       .auth_revision = 15,
       .record = "100218242218a2061208a6d2d0f4cec3e8a6691204726f6f74180f9a3f00"},
      {.kind = RequestKind::kDowngradeInfoSet,
       .index = 37,
       .more = 39,
       .body = EncodeDowngradeEntry({.enabled = true, .target_version = "3.6.0"}),
       .record = "100218252219a2060a08a8d2d0f4cec3e8a669b2510908011205332e362e30"},
      {.kind = RequestKind::kLeaseCheckpoint,
       .index = 40,
       .more = 44,
       .body = EncodeLeaseCheckpoints(
           std::vector<LeaseCheckpoint>{{.id = 7587899192334625067, .remaining_s = 600}}),
       .record = "10021828221e5a0f0a0d08abd2d0f4cec3e8a66910d804a2060a08add2d0f4cec3e8a669"},
  };
  std::set<RequestKind> pinned;
  for (const GoldenEntry& entry : entries) {
    const auto data = EncodeInternalRequest({.id = kFirstIdOfAll + entry.more,
                                             .kind = entry.kind,
                                             .body = entry.body,
                                             .user = entry.user,
                                             .auth_revision = entry.auth_revision});
    EXPECT_EQ(Record(entry.index, raft::EntryType::kNormal, data), entry.record)
        << static_cast<unsigned>(entry.kind);
    pinned.insert(entry.kind);
  }
  // All but the reads that only etcd writes.
  std::set<RequestKind> written;
#define KV_ENTRY_KIND(name, number, field, message, decode, ...) \
  if (std::string_view(#decode) != "DecodeWithoutEffect") written.insert(RequestKind::name);
  KV_ENTRY_KINDS(KV_ENTRY_KIND)
#undef KV_ENTRY_KIND
  EXPECT_EQ(pinned, written);
  EXPECT_EQ(written.size(), 23U);
}

// Go's JSON is safe within HTML.
TEST(LogBytesTest, NamesAreEscapedAsGoDoes) {
  Member member;
  member.id = 7;
  member.peer_urls = {"http://a:1"};
  member.name = "<a>&\"\\\x01\b\n\x7f\xc3\xa9\xe2\x80\xa8\xe2\x80\xa9";
  const std::string json = EncodeMemberJson(member);
  EXPECT_EQ(json,
            "{\"id\":7,\"peerURLs\":[\"http://a:1\"],\"name\":\"\\u003ca\\u003e\\u0026"
            "\\\"\\\\\\u0001\\b\\n\x7f\xc3\xa9\\u2028\\u2029\"}");
  EXPECT_EQ(DecodeMemberJson(json).value().name, member.name);
}

}  // namespace
}  // namespace kvorum::server
