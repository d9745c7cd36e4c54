// SHA-256 (FIPS 180-4) over bytes that come in pieces, by OpenSSL. Used by one thread at a time.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace kvorum {

inline constexpr std::size_t kSha256Bytes = 32;

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Add(std::string_view bytes);
  // Ends it: the digest's 32 bytes.
  std::string Finish();

 private:
  evp_md_ctx_st* context_;
};

// The digest in lower-case hexadecimal digits.
std::string Sha256Hex(std::string_view bytes);
std::string HexText(std::string_view bytes);

}  // namespace kvorum
