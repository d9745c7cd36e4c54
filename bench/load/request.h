// The requests of the load generator, encoded once by hand: a call copies the template into the
// send buffer and writes its key and value over the placeholders, so that the client costs next to
// nothing compared with the measured server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvorum::bench {

// A lease's id is its key's number plus one; a leased put names the lease of its key's number.
enum class Operation : std::uint8_t {
  kPut,
  kRange,
  kPage,
  kTxn,
  kLeasedPut,
  kLeaseGrant,
  kLeaseKeepAlive,  // each on its own stream
  kLogin,           // the key is the user's name, and the password
  kSnapshot,        // the whole database, each time
};

struct RequestShape {
  Operation operation = Operation::kPut;
  std::size_t key_size = 32;
  std::size_t value_size = 256;
  bool serializable = false;     // kRange, kPage
  std::uint64_t page_limit = 0;  // kPage
  std::uint64_t ttl_s = 60;      // kLeaseGrant
};

// Immutable after construction.
class RequestTemplate {
 public:
  explicit RequestTemplate(const RequestShape& shape);

  std::string_view path() const { return path_; }  // of the gRPC method
  std::size_t size_bytes() const { return bytes_.size(); }
  // Writes size_bytes() bytes, gRPC's message prefix included, to `out`: a request for the key of
  // that number with the value at `value` (value_size bytes; unused by reads).
  void Write(char* out, std::uint64_t key_number, const char* value) const;

 private:
  std::string path_;
  std::string bytes_;
  std::vector<std::size_t> key_offsets_;
  std::vector<std::size_t> value_offsets_;
  std::vector<std::size_t> lease_offsets_;
  std::size_t key_size_;
  std::size_t value_size_;
};

// Keys are numbered; their order is that of their numbers. They have at least kMinKeySize bytes.
inline constexpr std::size_t kMinKeySize = 16;
void WriteKey(char* out, std::size_t key_size, std::uint64_t number);

// Appends a number as protobuf encodes it.
void AppendVarint(std::string& out, std::uint64_t value);

}  // namespace kvorum::bench
