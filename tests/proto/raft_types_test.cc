// Raft's types on the wire: golden bytes, the protobuf library as an independent reader and writer,
// and decoders that survive every cut and every flipped byte.
#include "proto/raft_types.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>

#include "base/rng.h"
#include "proto/raft.pb.h"
#include "tests/damage.h"

namespace kvorum::raft {
namespace {

using namespace std::string_view_literals;

SharedBytes Bytes(std::string_view bytes) { return SharedBytes::Copy(bytes); }

const ConfState kConf{.voters = {1, 2, 300},
                      .learners = {4},
                      .voters_outgoing = {1, 2, 5},
                      .learners_next = {5},
                      .auto_leave = true};

TEST(RaftTypesTest, EntryHasItsGoldenBytes) {
  const Entry entry{.term = 2, .index = 300, .data = Bytes("put")};
  EXPECT_EQ(Encode(entry), "\x10\x02\x18\xac\x02\x22\x03put");
  EXPECT_EQ(Encode(Entry{.term = 1, .index = 1, .type = EntryType::kConfChangeV2}),
            "\x08\x02\x10\x01\x18\x01");
  EXPECT_EQ(Encode(Entry{}), "");
}

TEST(RaftTypesTest, EntryHeaderAndDataAreTheEntry) {
  for (const std::size_t length : {0U, 1U, 127U, 128U, 100000U}) {
    const Entry entry{.term = 7, .index = 8, .data = Bytes(std::string(length, 'd'))};
    std::string header;
    AppendHeaderTo(header, entry);
    EXPECT_EQ(header.size(), EncodedHeaderSize(entry));
    EXPECT_EQ(header + std::string(entry.data.view()), Encode(entry));
  }
}

TEST(RaftTypesTest, StatesHaveTheirGoldenBytes) {
  EXPECT_EQ(Encode(HardState{.term = 3, .vote = 1, .commit = 129}), "\x08\x03\x10\x01\x18\x81\x01");
  EXPECT_EQ(Encode(kConf),
            "\x08\x01\x08\x02\x08\xac\x02\x10\x04\x18\x01\x18\x02\x18\x05\x20\x05\x28\x01");
  EXPECT_EQ(Encode(SnapshotMetadata{.conf_state = {.voters = {1}}, .index = 5, .term = 2}),
            "\x0a\x04\x08\x01\x28\x00\x10\x05\x18\x02"sv);
  EXPECT_EQ(Encode(Snapshot{.data = Bytes("s"), .metadata = {.index = 1}}),
            "\x0a\x01s\x12\x08\x0a\x02\x28\x00\x10\x01\x18\x00"sv);
  EXPECT_EQ(Encode(HardState{.term = 2}), "\x08\x02\x10\x00\x18\x00"sv);
}

TEST(RaftTypesTest, ChangesHaveTheirGoldenBytes) {
  EXPECT_EQ(
      Encode(ConfChange{
          .id = 1, .type = ConfChangeType::kRemoveNode, .node_id = 300, .context = Bytes("{}")}),
      "\x08\x01\x10\x01\x18\xac\x02\x22\x02{}");
  EXPECT_EQ(Encode(ConfChangeV2{
                .transition = ConfChangeTransition::kJointExplicit,
                .changes = {{.type = ConfChangeType::kAddLearnerNode, .node_id = 2}, {}}}),
            "\x08\x02\x12\x04\x08\x03\x10\x02\x12\x04\x08\x00\x10\x00"sv);
  EXPECT_EQ(Encode(ConfChangeV2{}), "");
  EXPECT_EQ(Encode(ConfChange{.node_id = 1}), "\x10\x00\x18\x01"sv);
}

TEST(RaftTypesTest, MessageHasItsGoldenBytes) {
  const Message message{.type = MessageType::kApp,
                        .to = 2,
                        .from = 1,
                        .term = 3,
                        .log_term = 2,
                        .index = 4,
                        .commit = 4,
                        .entries = {{.term = 3, .index = 5, .data = Bytes("x")}},
                        .context = Bytes("c")};
  EXPECT_EQ(Encode(message),
            "\x08\x03\x10\x02\x18\x01\x20\x03\x28\x02\x30\x04"
            "\x3a\x07\x10\x03\x18\x05\x22\x01x"
            "\x40\x04\x62\x01"
            "c");
}

TEST(RaftTypesTest, FieldsOfValueZeroMayBeWritten) {
  // Members of 3.6 and older spell every field, and an empty snapshot in every message.
  const Entry entry = DecodeEntry(Bytes("\x08\x00\x10\x00\x18\x07\x22\x00"sv)).value();
  EXPECT_EQ(entry, (Entry{.index = 7}));
  const Message message = DecodeMessage(Bytes("\x08\x08\x10\x02\x18\x01\x20\x03\x28\x00\x30\x00\x40"
                                              "\x00\x4a\x08\x12\x06\x0a\x00\x10\x00\x18\x00\x50\x00"
                                              "\x58\x00"sv))
                              .value();
  EXPECT_EQ(message, (Message{.type = MessageType::kHeartbeat, .to = 2, .from = 1, .term = 3}));
}

TEST(RaftTypesTest, FieldsOfValueZeroMayBeLeftOut) {
  // This server spelled them so before it wrote what members of 3.7 write.
  EXPECT_EQ(DecodeHardState("\x08\x01\x18\x01").value(), (HardState{.term = 1, .commit = 1}));
  const auto metadata_of = [](std::string_view bytes) {
    return DecodeSnapshot(Bytes(bytes)).value().metadata;
  };
  EXPECT_EQ(metadata_of("\x12\x04\x0a\x02\x08\x07").conf_state, (ConfState{.voters = {7}}));
  EXPECT_EQ(metadata_of("\x12\x04\x0a\x00\x10\x01"sv), (SnapshotMetadata{.index = 1}));
  EXPECT_EQ(DecodeConfChange(Bytes("\x18\x07")).value(), (ConfChange{.node_id = 7}));
}

TEST(RaftTypesTest, UnknownFieldsAreSkipped) {
  const Entry entry = DecodeEntry(Bytes("\x10\x05\x7a\x03new\x18\x06"sv)).value();
  EXPECT_EQ(entry, (Entry{.term = 5, .index = 6}));
}

TEST(RaftTypesTest, UnknownEnumValuesAreRefused) {
  EXPECT_FALSE(DecodeEntry(Bytes("\x08\x03"sv)).has_value());
  EXPECT_FALSE(DecodeMessage(Bytes("\x08\x18"sv)).has_value());
  EXPECT_FALSE(DecodeConfChange(Bytes("\x10\x04"sv)).has_value());
  EXPECT_FALSE(DecodeConfChangeV2(Bytes("\x08\x03"sv)).has_value());
  EXPECT_FALSE(DecodeConfChangeV2(Bytes("\x12\x02\x08\x04"sv)).has_value());
}

TEST(RaftTypesTest, DecodedDataIsASliceOfItsBytes) {
  const SharedBytes bytes = Bytes("\x10\x02\x22\x03put"sv);
  const Entry entry = DecodeEntry(bytes).value();
  EXPECT_EQ(entry.data.data(), bytes.data() + 4);
}

TEST(RaftTypesTest, OnlySomeMessagesComeFromPeers) {
  int from_peers = 0;
  for (int type = 0; type <= 23; ++type) {
    EXPECT_NE(Name(static_cast<MessageType>(type)), "unknown");
    from_peers += IsFromPeer(static_cast<MessageType>(type)) ? 1 : 0;
  }
  EXPECT_EQ(from_peers, 14);
  EXPECT_FALSE(IsFromPeer(MessageType::kHup));
  EXPECT_FALSE(IsFromPeer(MessageType::kStorageApply));
}

TEST(RaftTypesTest, AChangeOfTheV3ApiIsAChangeOfOne) {
  const ConfChange change{.type = ConfChangeType::kAddLearnerNode, .node_id = 9};
  EXPECT_EQ(AsV2(change).changes,
            (std::vector<ConfChangeSingle>{{ConfChangeType::kAddLearnerNode, 9}}));
}

// --- random values -----------------------------------------------------------------------------

class Random {
 public:
  explicit Random(std::uint64_t seed) : rng_(seed) {}

  std::uint64_t Number() { return rng_.OneIn(4) ? 0 : rng_() >> rng_.Below(64); }
  SharedBytes Data() {
    if (rng_.OneIn(4)) return {};
    std::string data(rng_.Below(rng_.OneIn(8) ? 3000 : 20), '\0');
    for (char& byte : data) byte = static_cast<char>(rng_());
    return SharedBytes::Own(std::move(data));
  }
  std::vector<MemberId> Ids() {
    std::vector<MemberId> ids(rng_.Below(4));
    for (MemberId& id : ids) id = MemberId{Number()};
    return ids;
  }
  raft::Entry Entry() {
    return {.term = Term{Number()},
            .index = Index{Number()},
            .type = static_cast<EntryType>(rng_.Below(3)),
            .data = Data()};
  }
  ConfState Conf() {
    return {.voters = Ids(),
            .learners = Ids(),
            .voters_outgoing = Ids(),
            .learners_next = Ids(),
            .auto_leave = rng_.OneIn(2)};
  }
  raft::Message Message() {
    raft::Message message{.type = static_cast<MessageType>(rng_.Below(24)),
                          .reject = rng_.OneIn(2),
                          .to = MemberId{Number()},
                          .from = MemberId{Number()},
                          .term = Term{Number()},
                          .log_term = Term{Number()},
                          .index = Index{Number()},
                          .commit = Index{Number()},
                          .reject_hint = Index{Number()},
                          .vote = MemberId{Number()},
                          .context = Data()};
    for (std::uint64_t i = rng_.Below(4); i > 0; --i) message.entries.push_back(Entry());
    if (message.type == MessageType::kSnap && !rng_.OneIn(3)) {
      message.snapshot = std::make_shared<Snapshot>(Snapshot{
          .data = Data(),
          .metadata = {.conf_state = Conf(), .index = Index{Number()}, .term = Term{Number()}}});
    }
    return message;
  }
  raft::ConfChangeV2 ConfChangeV2() {
    raft::ConfChangeV2 change{.transition = static_cast<ConfChangeTransition>(rng_.Below(3)),
                              .context = Data()};
    for (std::uint64_t i = rng_.Below(4); i > 0; --i)
      change.changes.push_back({static_cast<ConfChangeType>(rng_.Below(4)), MemberId{Number()}});
    return change;
  }
  Rng& rng() { return rng_; }

 private:
  Rng rng_;
};

// Sets every scalar field that is absent, as old members do.
template <class T>
void WriteZeroes(T& message) {
  const auto* reflection = message.GetReflection();
  const auto* descriptor = message.GetDescriptor();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const auto* field = descriptor->field(i);
    if (field->is_repeated() || reflection->HasField(message, field)) continue;
    switch (field->cpp_type()) {
      case google::protobuf::FieldDescriptor::CPPTYPE_UINT64:
        reflection->SetUInt64(&message, field, 0);
        break;
      case google::protobuf::FieldDescriptor::CPPTYPE_BOOL:
        reflection->SetBool(&message, field, false);
        break;
      case google::protobuf::FieldDescriptor::CPPTYPE_ENUM:
        reflection->SetEnumValue(&message, field, 0);
        break;
      default:
        break;
    }
  }
}

// Our encoding is read by the protobuf library, written by it in both spellings, and read by us.
template <class Theirs, class Ours, class Decode>
void RoundTrip(const Ours& ours, Decode&& decode) {
  const std::string encoded = Encode(ours);
  EXPECT_EQ(encoded.size(), EncodedSize(ours));
  EXPECT_EQ(decode(encoded), ours);
  Theirs theirs;
  ASSERT_TRUE(theirs.ParseFromString(encoded));
  EXPECT_TRUE(theirs.unknown_fields().empty());
  EXPECT_EQ(theirs.SerializeAsString(), encoded);
  WriteZeroes(theirs);
  EXPECT_EQ(decode(theirs.SerializeAsString()), ours);
}

TEST(RaftTypesTest, TheProtobufLibraryAgrees) {
  Random random(7);
  for (int round = 0; round < 1000; ++round) {
    RoundTrip<raftpb::Entry>(
        random.Entry(), [](const std::string& bytes) { return DecodeEntry(Bytes(bytes)).value(); });
    RoundTrip<raftpb::HardState>(
        HardState{.term = Term{random.Number()},
                  .vote = MemberId{random.Number()},
                  .commit = Index{random.Number()}},
        [](const std::string& bytes) { return DecodeHardState(bytes).value(); });
    RoundTrip<raftpb::Snapshot>(
        Snapshot{.data = random.Data(), .metadata = {.conf_state = random.Conf(), .term = 4}},
        [](const std::string& bytes) { return DecodeSnapshot(Bytes(bytes)).value(); });
    RoundTrip<raftpb::Message>(random.Message(), [](const std::string& bytes) {
      return DecodeMessage(Bytes(bytes)).value();
    });
    RoundTrip<raftpb::ConfChange>(
        ConfChange{
            .id = random.Number(), .node_id = MemberId{random.Number()}, .context = random.Data()},
        [](const std::string& bytes) { return DecodeConfChange(Bytes(bytes)).value(); });
    RoundTrip<raftpb::ConfChangeV2>(random.ConfChangeV2(), [](const std::string& bytes) {
      return DecodeConfChangeV2(Bytes(bytes)).value();
    });
  }
}

TEST(RaftTypesTest, AMessageAsAChainHasTheSameBytes) {
  Random random(8);
  for (int round = 0; round < 1000; ++round) {
    const Message message = random.Message();
    EXPECT_EQ(Join(EncodeChain(message)), Encode(message));
  }
}

TEST(RaftTypesTest, AChainSharesLargeData) {
  const SharedBytes data = Bytes(std::string(100000, 'd'));
  const Message message{.type = MessageType::kApp, .entries = {{.data = data}, {.data = data}}};
  int shared = 0;
  for (const SharedBytes& part : EncodeChain(message)) shared += part.data() == data.data() ? 1 : 0;
  EXPECT_EQ(shared, 2);
}

// A value that a decoder takes has its own bytes; everything else is damage.
TEST(RaftTypesTest, DecodersSurviveEveryCutAndEveryFlippedByte) {
  int taken = 0;
  int refused = 0;
  const auto check = [&](auto decode, const auto& bytes) {
    const auto decoded = decode(bytes);
    if (!decoded.has_value()) {
      EXPECT_EQ(decoded.error().code, Code::kDataLoss);
      ++refused;
      return;
    }
    const auto again = decode(Bytes(Encode(*decoded)));
    ASSERT_TRUE(again.has_value()) << again.error().message;
    EXPECT_EQ(*again, *decoded);
    ++taken;
  };
  const auto decode_all = [&](std::string_view bytes) {
    const SharedBytes copy = Bytes(bytes);  // an exact block, for the address sanitizer
    check([](const SharedBytes& from) { return DecodeEntry(from); }, copy);
    check([](const SharedBytes& from) { return DecodeHardState(from.view()); }, copy);
    check([](const SharedBytes& from) { return DecodeSnapshot(from); }, copy);
    check([](const SharedBytes& from) { return DecodeMessage(from); }, copy);
    check([](const SharedBytes& from) { return DecodeConfChange(from); }, copy);
    check([](const SharedBytes& from) { return DecodeConfChangeV2(from); }, copy);
  };
  Random random(9);
  for (int round = 0; round < 20; ++round) {
    Message message = random.Message();
    message.type = MessageType::kSnap;
    message.snapshot = std::make_shared<Snapshot>(Snapshot{.metadata = {.conf_state = kConf}});
    const std::string bytes = Encode(message).substr(0, 400);
    decode_all(bytes);
    ForEachCut(bytes, decode_all);
    ForEachFlip(
        bytes, [&](std::string_view flipped, std::size_t) { decode_all(flipped); },
        std::array{0x01, 0x08, 0x80});
  }
  EXPECT_GT(taken, 1000);
  EXPECT_GT(refused, 1000);
}

TEST(RaftTypesTest, EveryCutOfAnEntryWithinAFieldIsRefused) {
  const std::string bytes = Encode(Entry{.term = 300, .index = 400, .data = Bytes("data")});
  // The positions between two fields are valid entries by themselves.
  const std::set<std::size_t> whole = {0, 3, 6, bytes.size()};
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    const auto entry = DecodeEntry(Bytes(std::string_view(bytes).substr(0, length)));
    EXPECT_EQ(entry.has_value(), whole.contains(length)) << length;
    if (!entry.has_value()) {
      EXPECT_EQ(entry.error().code, Code::kDataLoss);
    }
  }
}

}  // namespace
}  // namespace kvorum::raft
