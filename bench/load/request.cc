#include "bench/load/request.h"

#include <cstring>
#include <utility>

namespace kvorum::bench {
namespace {

// Protobuf tags: field number and wire type (0 varint, 2 length-delimited).
constexpr char Varint(int field) { return static_cast<char>(field << 3); }
constexpr char Bytes(int field) { return static_cast<char>(field << 3 | 2); }

void AppendNumber(std::string& out, int field, std::uint64_t value) {
  out.push_back(Varint(field));
  AppendVarint(out, value);
}

// A varint of a fixed size, longer than necessary: enough for 2^35 leases.
constexpr std::size_t kLeaseIdSize = 5;
void WriteLeaseId(char* out, std::uint64_t id) {
  for (std::size_t i = 0; i < kLeaseIdSize; ++i, id >>= 7)
    out[i] = static_cast<char>((id & 0x7f) | (i + 1 < kLeaseIdSize ? 0x80 : 0));
}

// A message under construction and where its placeholders are.
struct Message {
  std::string bytes;
  std::vector<std::size_t> key_offsets;
  std::vector<std::size_t> value_offsets;
  std::vector<std::size_t> lease_offsets;

  void AddBytes(int field, std::size_t size, std::vector<std::size_t>& offsets) {
    bytes.push_back(Bytes(field));
    AppendVarint(bytes, size);
    offsets.push_back(bytes.size());
    bytes.append(size, '.');
  }
  void AddKey(int field, std::size_t size) { AddBytes(field, size, key_offsets); }
  void AddValue(int field, std::size_t size) { AddBytes(field, size, value_offsets); }
  void AddLease(int field) {
    bytes.push_back(Varint(field));
    lease_offsets.push_back(bytes.size());
    bytes.append(kLeaseIdSize, '.');
  }
  void AddMessage(int field, const Message& inner) {
    bytes.push_back(Bytes(field));
    AppendVarint(bytes, inner.bytes.size());
    for (const std::size_t offset : inner.key_offsets) key_offsets.push_back(bytes.size() + offset);
    for (const std::size_t offset : inner.value_offsets)
      value_offsets.push_back(bytes.size() + offset);
    bytes += inner.bytes;
  }
};

// PutRequest: key = 1, value = 2, lease = 3.
Message Put(const RequestShape& shape) {
  Message put;
  put.AddKey(1, shape.key_size);
  put.AddValue(2, shape.value_size);
  if (shape.operation == Operation::kLeasedPut) put.AddLease(3);
  return put;
}

// LeaseGrantRequest: TTL = 1, ID = 2.
Message LeaseGrant(const RequestShape& shape) {
  Message grant;
  AppendNumber(grant.bytes, 1, shape.ttl_s);
  grant.AddLease(2);
  return grant;
}

// LeaseKeepAliveRequest: ID = 1.
Message LeaseKeepAlive() {
  Message keep_alive;
  keep_alive.AddLease(1);
  return keep_alive;
}

// AuthenticateRequest: name = 1, password = 2.
Message Login(const RequestShape& shape) {
  Message login;
  login.AddKey(1, shape.key_size);
  login.AddKey(2, shape.key_size);
  return login;
}

// RangeRequest: key = 1, range_end = 2, limit = 3, serializable = 7.
Message Range(const RequestShape& shape) {
  Message range;
  range.AddKey(1, shape.key_size);
  if (shape.operation == Operation::kPage) {
    range.bytes += {Bytes(2), 1, '\0'};  // to the end of the key space
    AppendNumber(range.bytes, 3, shape.page_limit);
  }
  if (shape.serializable) AppendNumber(range.bytes, 7, 1);
  return range;
}

// TxnRequest: compare = 1, success = 2, failure = 3. "If the key exists, put it, else put it": one
// compare and one write, for any content of the store.
Message Txn(const RequestShape& shape) {
  Message compare;                    // Compare: result = 1, target = 2, key = 3, mod_revision = 6
  AppendNumber(compare.bytes, 1, 1);  // GREATER
  AppendNumber(compare.bytes, 2, 2);  // MOD
  compare.AddKey(3, shape.key_size);
  AppendNumber(compare.bytes, 6, 0);
  Message operation;
  operation.AddMessage(2, Put(shape));  // RequestOp: request_put = 2
  Message txn;
  txn.AddMessage(1, compare);
  txn.AddMessage(2, operation);
  txn.AddMessage(3, operation);
  return txn;
}

std::pair<std::string, Message> Encode(const RequestShape& shape) {
  switch (shape.operation) {
    case Operation::kPut:
    case Operation::kLeasedPut:
      return {"/etcdserverpb.KV/Put", Put(shape)};
    case Operation::kLeaseGrant:
      return {"/etcdserverpb.Lease/LeaseGrant", LeaseGrant(shape)};
    case Operation::kLeaseKeepAlive:
      return {"/etcdserverpb.Lease/LeaseKeepAlive", LeaseKeepAlive()};
    case Operation::kRange:
    case Operation::kPage:
      return {"/etcdserverpb.KV/Range", Range(shape)};
    case Operation::kTxn:
      return {"/etcdserverpb.KV/Txn", Txn(shape)};
    case Operation::kLogin:
      return {"/etcdserverpb.Auth/Authenticate", Login(shape)};
    case Operation::kSnapshot:
      return {"/etcdserverpb.Maintenance/Snapshot", {}};
  }
  std::unreachable();
}

// gRPC's prefix: a byte that says "not compressed", then the length, big-endian.
constexpr std::size_t kPrefixSize = 5;

}  // namespace

RequestTemplate::RequestTemplate(const RequestShape& shape)
    : key_size_(shape.key_size), value_size_(shape.value_size) {
  auto [path, message] = Encode(shape);
  path_ = std::move(path);
  const std::size_t size = message.bytes.size();
  bytes_.push_back('\0');
  for (int shift = 24; shift >= 0; shift -= 8) bytes_.push_back(static_cast<char>(size >> shift));
  bytes_ += message.bytes;
  for (const std::size_t offset : message.key_offsets) key_offsets_.push_back(kPrefixSize + offset);
  for (const std::size_t offset : message.value_offsets)
    value_offsets_.push_back(kPrefixSize + offset);
  for (const std::size_t offset : message.lease_offsets)
    lease_offsets_.push_back(kPrefixSize + offset);
}

void RequestTemplate::Write(char* out, std::uint64_t key_number, const char* value) const {
  std::memcpy(out, bytes_.data(), bytes_.size());
  for (const std::size_t offset : key_offsets_) WriteKey(out + offset, key_size_, key_number);
  for (const std::size_t offset : value_offsets_) std::memcpy(out + offset, value, value_size_);
  for (const std::size_t offset : lease_offsets_) WriteLeaseId(out + offset, key_number + 1);
}

void WriteKey(char* out, std::size_t key_size, std::uint64_t number) {
  static constexpr char kDigits[] = "0123456789abcdef";
  static constexpr std::string_view kPrefix = "/kvorum-bench/";
  const std::size_t prefix_size = key_size - kMinKeySize;
  for (std::size_t i = 0; i < prefix_size; ++i) out[i] = i < kPrefix.size() ? kPrefix[i] : '0';
  for (std::size_t i = key_size; i > prefix_size; --i, number >>= 4) {
    out[i - 1] = kDigits[number & 0xf];
  }
}

void AppendVarint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

}  // namespace kvorum::bench
