#include "server/internal_request.h"

#include "proto/wire.h"

namespace kvorum::server {
namespace {

constexpr std::uint32_t kIdField = 1;
constexpr std::uint32_t kHeaderField = 100;
constexpr std::uint32_t kHeaderIdField = 1;

Result<RequestKind> KindOf(std::uint32_t field) {
  switch (static_cast<RequestKind>(field)) {
    case RequestKind::kPut:
    case RequestKind::kDeleteRange:
    case RequestKind::kTxn:
    case RequestKind::kCompaction:
    case RequestKind::kLeaseGrant:
    case RequestKind::kLeaseRevoke:
    case RequestKind::kAlarm:
    case RequestKind::kLeaseCheckpoint:
    case RequestKind::kClusterVersionSet:
    case RequestKind::kMemberAttributesSet:
      return static_cast<RequestKind>(field);
    case RequestKind::kNone:
      break;
  }
  return Fail(Code::kUnimplemented,
              "the log holds a request of a newer version (field " + std::to_string(field) + ")");
}

}  // namespace

SharedBytes EncodeInternalRequest(std::uint64_t id, RequestKind kind, std::string_view body) {
  const auto field = static_cast<std::uint32_t>(kind);
  const std::size_t header_size = wire::TagSize(kHeaderIdField) + wire::VarintSize(id);
  char* out = nullptr;
  SharedBytes bytes =
      SharedBytes::Allocate(wire::LengthDelimitedSize(field, body.size()) +
                                wire::LengthDelimitedSize(kHeaderField, header_size),
                            &out);
  out = wire::WriteBytes(out, field, body);
  out = wire::WriteVarint(wire::WriteTag(out, kHeaderField, wire::Type::kLengthDelimited),
                          header_size);
  wire::WriteUint(out, kHeaderIdField, id);
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
        if (header.field() == kHeaderIdField) {
          request.id = header.Varint();
        } else {
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

}  // namespace kvorum::server
