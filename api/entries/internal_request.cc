#include "api/entries/internal_request.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

#include "api/entries/entry_kinds.h"
#include "proto/fields.h"
#include "proto/wire.h"

namespace kvorum::server {
namespace {

constexpr wire::Row kRequestHeaderRows[] = {
    wire::Bare(1, "ID", wire::FieldType::kUint64),
    wire::Bare(2, "username", wire::FieldType::kString),
    wire::Bare(3, "auth_revision", wire::FieldType::kUint64)};
constexpr wire::Table kRequestHeader =
    wire::ByHand("etcdserverpb.RequestHeader", kRequestHeaderRows);

constexpr wire::Row kVersionTestRows[] = {wire::Bare(1, "ver", wire::FieldType::kString)};
constexpr wire::Table kVersionTest =
    wire::ByHand("etcdserverpb.DowngradeVersionTestRequest", kVersionTestRows);

template <std::size_t size>
consteval std::array<wire::Row, size> InOrder(std::array<wire::Row, size> rows) {
  std::ranges::sort(rows, {}, &wire::Row::number);
  return rows;
}

#define KV_ENTRY_KIND(name, number, field, ...) \
  wire::Bare(number, field, wire::FieldType::kMessage),
constexpr auto kRowsFromNone = InOrder(std::to_array<wire::Row>(
    {wire::Bare(1, "ID", wire::FieldType::kUint64), wire::Part(100, "header", kRequestHeader),
     wire::Part(9900, "downgrade_version_test", kVersionTest), KV_ENTRY_KINDS(KV_ENTRY_KIND)}));
#undef KV_ENTRY_KIND
// The first row is kNone, which has no field.
constexpr std::span<const wire::Row> kRequestRows = std::span(kRowsFromNone).subspan(1);
constexpr wire::Table kInternalRequest =
    wire::ByHand("etcdserverpb.InternalRaftRequest", kRequestRows);

constexpr const wire::Table* kRequestTables[] = {&kRequestHeader, &kVersionTest, &kInternalRequest};

constexpr std::uint32_t kIdField = wire::NumberOf(kRequestRows, "ID");
constexpr std::uint32_t kHeaderField = wire::NumberOf(kRequestRows, "header");
constexpr std::uint32_t kHeaderIdField = wire::NumberOf(kRequestHeaderRows, "ID");
constexpr std::uint32_t kHeaderUserField = wire::NumberOf(kRequestHeaderRows, "username");
constexpr std::uint32_t kHeaderAuthRevisionField =
    wire::NumberOf(kRequestHeaderRows, "auth_revision");
constexpr std::uint32_t kVersionTestField = wire::NumberOf(kRequestRows, "downgrade_version_test");
constexpr std::uint32_t kTestedVersionField = wire::NumberOf(kVersionTestRows, "ver");

Result<RequestKind> KindOf(std::uint32_t field) {
  return VisitEntryKind(static_cast<RequestKind>(field),
                        [](auto kind) -> Result<RequestKind> { return kind.kKind; });
}

}  // namespace

MessageTables InternalRequestTables() { return kRequestTables; }

SharedBytes EncodeInternalRequest(const InternalRequest& request) {
  const auto field = static_cast<std::uint32_t>(request.kind);
  std::size_t header_size = wire::TagSize(kHeaderIdField) + wire::VarintSize(request.id) +
                            wire::BytesFieldSize(kHeaderUserField, request.user.size());
  if (request.auth_revision != 0) {
    header_size +=
        wire::TagSize(kHeaderAuthRevisionField) + wire::VarintSize(request.auth_revision);
  }
  char* out = nullptr;
  SharedBytes bytes =
      SharedBytes::Allocate(wire::LengthDelimitedSize(field, request.body.size()) +
                                wire::LengthDelimitedSize(kHeaderField, header_size),
                            &out);
  // In the order of the fields' numbers.
  if (field < kHeaderField) out = wire::WriteBytes(out, field, request.body);
  out = wire::WriteVarint(wire::WriteTag(out, kHeaderField, wire::Type::kLengthDelimited),
                          header_size);
  out = wire::WriteUint(out, kHeaderIdField, request.id);
  if (!request.user.empty()) out = wire::WriteBytes(out, kHeaderUserField, request.user);
  if (request.auth_revision != 0)
    out = wire::WriteUint(out, kHeaderAuthRevisionField, request.auth_revision);
  if (field > kHeaderField) wire::WriteBytes(out, field, request.body);
  return bytes;
}

Result<InternalRequest> DecodeInternalRequest(std::string_view bytes) {
  InternalRequest request;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    if (reader.field() == kIdField) {
      request.id = reader.Varint();
    } else if (reader.field() == kHeaderField) {
      wire::Reader header(reader.Bytes());
      while (header.Next()) {
        switch (header.field()) {
          case kHeaderIdField:
            request.id = header.Varint();
            break;
          case kHeaderUserField:
            request.user = header.Bytes();
            break;
          case kHeaderAuthRevisionField:
            request.auth_revision = header.Varint();
            break;
          default:
            header.Skip();
        }
      }
      if (!header.ok()) reader.Stop();
    } else {
      KV_TRY(request.kind, KindOf(reader.field()));
      request.body = reader.Bytes();
    }
  }
  if (!reader.ok()) return Fail(Code::kDataLoss, "a log entry's request is malformed");
  return request;
}

std::vector<std::string_view> VersionTestsIn(std::string_view bytes) {
  std::vector<std::string_view> versions;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() != wire::BytesTag(kVersionTestField)) {
      reader.Skip();
      continue;
    }
    wire::Reader test(reader.Bytes());
    std::string_view& version = versions.emplace_back();
    while (test.Next()) {
      if (test.tag() == wire::BytesTag(kTestedVersionField)) {
        version = test.Bytes();
      } else {
        test.Skip();
      }
    }
  }
  return versions;
}

}  // namespace kvorum::server
