// Every table of fields against the .proto files: numbers, types and labels by the descriptors of
// protobuf, names where JSON or a line of the log shows the message, and random messages, cut and
// changed ones too, read and written by both.
//
// A new table goes into AllTables() below, or rather into its library's list there; a table in the
// sources that is in no list fails.
#include "api/message_tables.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "api/entries/internal_request.h"
#include "api/entries/request_kind.h"
#include "auth/auth_record.h"
#include "base/rng.h"
#include "lease/lease_record.h"
#include "proto/election.pb.h"
#include "proto/fields.h"
#include "proto/health.pb.h"
#include "proto/lease.pb.h"
#include "proto/lock.pb.h"
#include "proto/raft_internal.pb.h"
#include "proto/raft_types.h"
#include "proto/rpc.pb.h"
#include "proto/snap.pb.h"
#include "proto/wal.pb.h"
#include "proto/wal_metadata.pb.h"
#include "proto/wire.h"
#include "rpc/call/health.h"
#include "tests/damage.h"
#include "wal/marker.h"

namespace kvorum {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MessageFactory;
using wire::FieldType;
using wire::Row;
using wire::Table;

std::vector<const Table*> AllTables() {
  std::vector<const Table*> tables;
  for (const auto library :
       {raft::MessageTables(), wal::MessageTables(), lease::MessageTables(), auth::MessageTables(),
        rpc::HealthMessageTables(), server::InternalRequestTables()})
    tables.insert(tables.end(), library.begin(), library.end());
  for (const auto library : server::AllMessageTables())
    tables.insert(tables.end(), library.begin(), library.end());
  return tables;
}

// Fields of the .proto files that no table has, each for a reason.
const std::set<std::string> kIgnored = {
    "etcdserverpb.InternalAuthenticateRequest.password",  // never in our log
    "etcdserverpb.InternalRaftRequest.range",             // a read, never in a log
    "raftpb.Message.responses",                           // within a member of etcd
};

// The linker drops a generated file that nothing references, and its messages with it.
void LinkMessages() {
  google::protobuf::LinkMessageReflection<authpb::User>();
  google::protobuf::LinkMessageReflection<etcdserverpb::InternalRaftRequest>();
  google::protobuf::LinkMessageReflection<etcdserverpb::Metadata>();
  google::protobuf::LinkMessageReflection<grpc::health::v1::HealthListResponse>();
  google::protobuf::LinkMessageReflection<leasepb::Lease>();
  google::protobuf::LinkMessageReflection<snappb::snapshot>();
  google::protobuf::LinkMessageReflection<v3electionpb::LeaderKey>();
  google::protobuf::LinkMessageReflection<v3lockpb::LockRequest>();
  google::protobuf::LinkMessageReflection<walpb::Snapshot>();
}

std::vector<std::string> NamesOf(const Table& table) {
  std::istringstream in{std::string(table.names)};
  return {std::istream_iterator<std::string>(in), {}};
}

bool IsPassedThrough(const Row& row) { return row.access.bytes != nullptr; }

// A table as one of the messages that it describes.
struct Described {
  const Table* table;
  const Descriptor* descriptor;
};

// Those of messages that are read and written by table.
std::vector<Described> AllDescribed();
std::vector<Described> AllReadByTable() {
  std::vector<Described> all = AllDescribed();
  std::erase_if(all, [](const Described& described) { return described.table->make == nullptr; });
  return all;
}

std::vector<Described> AllDescribed() {
  LinkMessages();
  std::vector<Described> all;
  for (const Table* table : AllTables()) {
    for (const std::string& name : NamesOf(*table)) {
      const Descriptor* descriptor = DescriptorPool::generated_pool()->FindMessageTypeByName(name);
      EXPECT_NE(descriptor, nullptr) << name;
      if (descriptor != nullptr) all.push_back({table, descriptor});
    }
  }
  return all;
}

FieldType TypeOf(const FieldDescriptor& field) {
  switch (field.type()) {
    case FieldDescriptor::TYPE_INT64:
      return FieldType::kInt64;
    case FieldDescriptor::TYPE_UINT64:
      return FieldType::kUint64;
    case FieldDescriptor::TYPE_UINT32:
      return FieldType::kUint32;
    case FieldDescriptor::TYPE_BOOL:
      return FieldType::kBool;
    case FieldDescriptor::TYPE_ENUM:
      return FieldType::kEnum;
    case FieldDescriptor::TYPE_STRING:
      return FieldType::kString;
    case FieldDescriptor::TYPE_BYTES:
      return FieldType::kBytes;
    case FieldDescriptor::TYPE_MESSAGE:
      return FieldType::kMessage;
    default:
      ADD_FAILURE() << field.full_name() << " has a type that no table knows";
      return FieldType::kInt64;
  }
}

const Row* RowFor(const Table& table, int number) {
  const auto row = std::ranges::find(table.rows, static_cast<std::uint32_t>(number), &Row::number);
  return row == table.rows.end() ? nullptr : &*row;
}

// Messages of members among themselves have no names.
std::string NamesDifference(const Row& row, const FieldDescriptor& field) {
  std::ostringstream out;
  if (row.name.empty() && row.log == wire::kHidden) return {};
  if (row.name != field.name()) out << field.full_name() << " has another name\n";
  const auto* oneof = field.real_containing_oneof();
  if (row.oneof != (oneof == nullptr ? std::string() : oneof->name()))
    out << field.full_name() << " is of another oneof\n";
  if (field.enum_type() == nullptr) return out.str();
  for (int i = 0; i < field.enum_type()->value_count(); ++i) {
    const auto& value = *field.enum_type()->value(i);
    if (value.number() != i || static_cast<std::size_t>(i) >= row.values.size() ||
        row.values[static_cast<std::size_t>(i)] != value.name())
      out << value.full_name() << " has another name\n";
  }
  if (static_cast<std::size_t>(field.enum_type()->value_count()) != row.values.size())
    out << field.full_name() << " has other values\n";
  return out.str();
}

// Empty if the table matches the descriptor.
std::string Difference(const Table& table, const Descriptor& descriptor) {
  std::ostringstream out;
  for (const Row& row : table.rows) {
    const FieldDescriptor* field = descriptor.FindFieldByNumber(static_cast<int>(row.number));
    if (field == nullptr) {
      out << descriptor.full_name() << " has no field " << row.number << "\n";
      continue;
    }
    if (TypeOf(*field) != row.type) out << field->full_name() << " has another type\n";
    if (field->is_repeated() != row.repeated) out << field->full_name() << " has another label\n";
    if (field->is_packed() != row.packed) out << field->full_name() << " is packed otherwise\n";
    out << NamesDifference(row, *field);
    if (field->type() == FieldDescriptor::TYPE_MESSAGE && row.nested != nullptr) {
      const auto names = NamesOf(*row.nested);
      if (std::ranges::find(names, field->message_type()->full_name()) == names.end())
        out << field->full_name() << " is another message\n";
    }
    if (field->type() == FieldDescriptor::TYPE_ENUM && row.last != UINT64_MAX &&
        row.last + 1 != static_cast<std::uint64_t>(field->enum_type()->value_count()))
      out << field->full_name() << " has other values\n";
  }
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    const bool is_ignored = kIgnored.contains(field.full_name());
    if ((RowFor(table, field.number()) != nullptr) == is_ignored)
      out << field.full_name() << (is_ignored ? " is in a table\n" : " is in no table\n");
  }
  return out.str();
}

TEST(MessageTablesTest, TablesAreWhatTheProtoFilesSay) {
  for (const auto& [table, descriptor] : AllDescribed())
    EXPECT_EQ(Difference(*table, *descriptor), "");
}

// --- log entries -------------------------------------------------------------------------------

struct KindRow {
  int number;
  std::string_view field;
  std::string_view message;
};
#define KV_ENTRY_KIND(name, number, field, message, ...) {number, field, message},
constexpr KindRow kKindRows[] = {KV_ENTRY_KINDS(KV_ENTRY_KIND)};
#undef KV_ENTRY_KIND

TEST(MessageTablesTest, EachKindOfEntryIsAFieldOfTheRequest) {
  const Descriptor& request = *etcdserverpb::InternalRaftRequest::descriptor();
  for (const auto& [number, name, message] : std::span(kKindRows).subspan(1)) {
    const FieldDescriptor* field = request.FindFieldByNumber(number);
    ASSERT_NE(field, nullptr) << name;
    EXPECT_EQ(field->name(), name);
    EXPECT_EQ(field->message_type()->full_name(), message);
    EXPECT_NE(server::MessageNamed(message), nullptr) << message;
  }
}

TEST(MessageTablesTest, LinesOfTheLogShowNoSecrets) {
  for (const auto& [table, descriptor] : AllDescribed()) {
    for (const Row& row : table->rows) {
      const bool is_secret = row.name == "password" || row.name == "hashedPassword" ||
                             row.name == "token" || row.name == "simple_token" ||
                             row.name == "blob" || row.name == "value";
      if (is_secret) {
        EXPECT_NE(row.log, wire::kShown) << descriptor->full_name() << " " << row.name;
      }
      EXPECT_TRUE(row.log == wire::kHidden || !row.name.empty()) << descriptor->full_name();
    }
  }
}

// --- the list is whole -------------------------------------------------------------------------

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The quoted messages of a statement; names of fields stand within <>, and have no dot.
std::string QuotedIn(std::string_view statement) {
  statement.remove_prefix(std::min(statement.size(), statement.find('(')));
  std::string quoted;
  bool is_inside = false;
  for (const char c : statement) {
    if (c == '"') {
      is_inside = !is_inside;
    } else if (is_inside) {
      quoted += c;
    }
  }
  return quoted;
}

// The names in the statements that call Describe.
std::multiset<std::string> NamesInSources() {
  static constexpr std::string_view kCalls[] = {"Describe<", "DescribeFields<", "ByHand("};
  std::multiset<std::string> names;
  const std::filesystem::path root = KVORUM_SOURCE_DIR;
  for (const char* folder :
       {"api", "auth", "lease", "mvcc", "proto", "raft", "rpc", "server", "wal", "watch"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      if (entry.path().extension() != ".cc") continue;
      const std::string text = ReadFile(entry.path());
      for (const std::string_view call : kCalls)
        for (std::size_t at = text.find(call); at != std::string::npos;
             at = text.find(call, at + 1))
          names.insert(QuotedIn(std::string_view(text).substr(at, text.find(';', at) - at)));
    }
  }
  return names;
}

TEST(MessageTablesTest, EveryTableOfTheSourcesIsInTheList) {
  std::multiset<std::string> listed;
  for (const Table* table : AllTables()) listed.emplace(table->names);
  EXPECT_EQ(NamesInSources(), listed);
}

// --- random messages ---------------------------------------------------------------------------

class RandomMessages {
 public:
  explicit RandomMessages(std::uint64_t seed) : rng_(seed) {}

  // Only fields that the table has; those that are always written are always set.
  std::unique_ptr<Message> Make(const Table& table, const Descriptor& descriptor) {
    std::unique_ptr<Message> message(
        MessageFactory::generated_factory()->GetPrototype(&descriptor)->New());
    Fill(table, *message);
    return message;
  }
  Rng& rng() { return rng_; }

 private:
  std::uint64_t Number() {
    if (rng_.OneIn(4)) return is_never_zero_ ? 1 : 0;
    return rng_() >> rng_.Below(64) | (is_never_zero_ ? 1 : 0);
  }
  std::string Bytes(bool text) {
    std::string bytes((rng_.OneIn(3) ? 0 : rng_.Below(200)) + (is_never_zero_ ? 1 : 0), '\0');
    for (char& byte : bytes) byte = static_cast<char>(rng_.Below(text ? 128 : 256));
    return bytes;
  }
  std::uint64_t EnumOf(const Row& row) {
    if (is_never_zero_) return 1;
    if (row.last != UINT64_MAX) return rng_.Below(row.last + 1);
    return rng_.OneIn(8) ? rng_() : rng_.Below(4);
  }

  void Fill(const Table& table, Message& message) {
    for (const Row& row : table.rows) {
      const FieldDescriptor* field =
          message.GetDescriptor()->FindFieldByNumber(static_cast<int>(row.number));
      if (row.repeated) {
        // A map's order is its own.
        for (std::uint64_t i = rng_.Below(field->is_map() ? 2 : 4); i > 0; --i)
          Add(row, message, *field);
        continue;
      }
      const bool is_optional = row.get(table.make().get(), 0) == nullptr;
      if ((is_optional || !row.writes_zero) && rng_.OneIn(3)) continue;
      // proto2 tells a zero that is set from nothing; a row that leaves it out does not.
      is_never_zero_ = field->has_presence() && !row.writes_zero;
      Set(row, message, *field);
      is_never_zero_ = false;
    }
  }

  void Set(const Row& row, Message& message, const FieldDescriptor& field) {
    const auto* reflection = message.GetReflection();
    switch (row.type) {
      case FieldType::kInt64:
        return reflection->SetInt64(&message, &field, static_cast<std::int64_t>(Number()));
      case FieldType::kUint64:
        return reflection->SetUInt64(&message, &field, Number());
      case FieldType::kUint32:
        return reflection->SetUInt32(&message, &field, static_cast<std::uint32_t>(Number()));
      case FieldType::kBool:
        return reflection->SetBool(&message, &field, rng_.OneIn(2));
      case FieldType::kEnum:
        return reflection->SetEnumValue(&message, &field, static_cast<int>(EnumOf(row)));
      case FieldType::kString:
      case FieldType::kBytes:
        return reflection->SetString(&message, &field, Bytes(row.type == FieldType::kString));
      case FieldType::kMessage:
        return FillPart(row, *reflection->MutableMessage(&message, &field));
    }
  }
  void Add(const Row& row, Message& message, const FieldDescriptor& field) {
    const auto* reflection = message.GetReflection();
    switch (row.type) {
      case FieldType::kInt64:
        return reflection->AddInt64(&message, &field, static_cast<std::int64_t>(Number()));
      case FieldType::kUint64:
        return reflection->AddUInt64(&message, &field, Number());
      case FieldType::kUint32:
        return reflection->AddUInt32(&message, &field, static_cast<std::uint32_t>(Number()));
      case FieldType::kBool:
        return reflection->AddBool(&message, &field, rng_.OneIn(2));
      case FieldType::kEnum:
        return reflection->AddEnumValue(&message, &field, static_cast<int>(EnumOf(row)));
      case FieldType::kString:
      case FieldType::kBytes:
        return reflection->AddString(&message, &field, Bytes(row.type == FieldType::kString));
      case FieldType::kMessage:
        return FillPart(row, *reflection->AddMessage(&message, &field));
    }
  }
  // A message that is passed on as bytes stays empty.
  void FillPart(const Row& row, Message& part) {
    if (!IsPassedThrough(row)) Fill(*row.nested, part);
  }

  Rng rng_;
  bool is_never_zero_ = false;
};

// Ours: the message, read and written again; nothing if it was refused.
std::optional<std::string> Rewritten(const Table& table, const std::string& bytes) {
  const auto message = table.make();
  if (wire::DecodeInto(message.get(), table, bytes) != wire::Decoded::kOk) return std::nullopt;
  std::string again;
  wire::AppendTo(again, table, message.get());
  EXPECT_EQ(again.size(), wire::EncodedSize(table, message.get()));
  return again;
}

TEST(MessageTablesTest, MessagesOfProtobufAreReadAndWrittenAlike) {
  RandomMessages random(1);
  for (const auto& [table, descriptor] : AllReadByTable()) {
    for (int round = 0; round < 50; ++round) {
      const auto message = random.Make(*table, *descriptor);
      const std::string bytes = message->SerializePartialAsString();
      ASSERT_EQ(Rewritten(*table, bytes), bytes) << descriptor->full_name();
      // Fields of a newer version, in front and behind.
      ASSERT_EQ(Rewritten(*table,
                          "\xfa\xff\x07\x02"
                          "ab" +
                              bytes + "\xf8\xff\x07\x01"),
                bytes)
          << descriptor->full_name();
    }
  }
}

bool IsStrict(const Table& table) {
  return table.other_types == wire::OtherTypes::kAreMalformed ||
         std::ranges::any_of(table.rows, [](const Row& row) {
           return row.last != UINT64_MAX ||
                  (row.nested != nullptr && !IsPassedThrough(row) && IsStrict(*row.nested));
         });
}
// Neither side checks in the same way the messages that the other one passes on.
bool IsLoose(const Table& table) {
  return std::ranges::any_of(table.rows, [](const Row& row) {
    return (row.type == FieldType::kMessage && IsPassedThrough(row)) ||
           (row.type == FieldType::kString && !row.is_checked_text) ||
           (row.nested != nullptr && !IsPassedThrough(row) && IsLoose(*row.nested));
  });
}

// A varint of more than 64 bits is refused here (as by Go's library) and cut there.
bool HasLongVarint(std::string_view bytes) {
  std::size_t length = 0;
  for (const char byte : bytes) {
    length = static_cast<signed char>(byte) < 0 ? length + 1 : 0;
    if (length == wire::kMaxVarintBytes - 1) return true;
  }
  return false;
}

bool TakeVarint(std::string_view& bytes, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}
bool Pass(std::string_view& bytes, std::uint64_t size_bytes) {
  if (size_bytes > bytes.size()) return false;
  bytes.remove_prefix(size_bytes);
  return true;
}
// Likewise for a tag of more than 32 bits. Anything with a length is treated as a message.
bool HasLongTag(std::string_view bytes) {
  bool is_whole = true;
  while (is_whole && !bytes.empty()) {
    std::uint64_t value = 0;
    is_whole = TakeVarint(bytes, value);
    if (value > UINT32_MAX) return true;
    switch (static_cast<wire::Type>(value & 7)) {
      case wire::Type::kVarint:
        is_whole = TakeVarint(bytes, value);
        break;
      case wire::Type::kFixed64:
        is_whole = Pass(bytes, sizeof(std::uint64_t));
        break;
      case wire::Type::kFixed32:
        is_whole = Pass(bytes, sizeof(std::uint32_t));
        break;
      case wire::Type::kLengthDelimited:
        is_whole = TakeVarint(bytes, value);
        if (HasLongTag(bytes.substr(0, value))) return true;
        is_whole = is_whole && Pass(bytes, value);
        break;
      case wire::Type::kStartGroup:
      case wire::Type::kEndGroup:
        break;
    }
  }
  return false;
}

void ExpectReadAlike(const Described& described, const std::string& bytes) {
  const auto& [table, descriptor] = described;
  const std::unique_ptr<Message> theirs(
      MessageFactory::generated_factory()->GetPrototype(descriptor)->New());
  const bool they_read = theirs->ParsePartialFromString(bytes);
  const std::optional<std::string> ours = Rewritten(*table, bytes);
  if (!they_read) {
    EXPECT_TRUE(!ours || IsLoose(*table)) << descriptor->full_name();
    return;
  }
  if (!ours) {
    EXPECT_TRUE(IsStrict(*table) || HasLongVarint(bytes) || HasLongTag(bytes))
        << descriptor->full_name() << " " << testing::PrintToString(bytes);
    return;
  }
  // Protobuf must read the same in our encoding as in the bytes themselves.
  const std::unique_ptr<Message> again(theirs->New());
  ASSERT_TRUE(again->ParsePartialFromString(*ours));
  EXPECT_EQ(Rewritten(*table, again->SerializePartialAsString()),
            Rewritten(*table, theirs->SerializePartialAsString()))
      << descriptor->full_name();
}

TEST(MessageTablesTest, CutAndChangedMessagesAreReadAlikeOrRefused) {
  const google::protobuf::LogSilencer no_lines_about_bad_text;
  RandomMessages random(2);
  for (const Described& described : AllReadByTable()) {
    for (int round = 0; round < 5; ++round) {
      const std::string bytes =
          random.Make(*described.table, *described.descriptor)->SerializePartialAsString();
      ForEachCut(bytes, [&described](std::string_view cut) {
        ExpectReadAlike(described, std::string(cut));
      });
      for (int change = 0; change < 200 && !bytes.empty(); ++change) {
        std::string changed = bytes;
        changed[random.rng().Below(changed.size())] ^=
            static_cast<char>(1U << random.rng().Below(8));
        ExpectReadAlike(described, changed);
      }
    }
  }
}

}  // namespace
}  // namespace kvorum
