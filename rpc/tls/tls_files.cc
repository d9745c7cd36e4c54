#include "rpc/tls/tls_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/bn.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "rpc/tls/socket.h"

namespace kvorum::rpc {
namespace {

using BioPtr = std::unique_ptr<BIO, FreedBy<BIO_free_all>>;
using CrlPtr = std::unique_ptr<X509_CRL, FreedBy<X509_CRL_free>>;

// Far more than needed; the serial numbers of a million revoked certificates fit.
constexpr std::int64_t kMaxFileBytes = std::int64_t{64} << 20;
// File systems distinguish times that are this far apart.
constexpr std::int64_t kSettledNs = 2'000'000'000;

Result<std::string> ReadWhole(const std::string& path) {
  const FileDescriptor fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0)
    return Fail(Code::kInvalidArgument, fmt::format("open {}: {}", path, GoErrnoText(errno)));
  std::string bytes;
  std::array<char, 16 * 1024> buffer;
  while (true) {
    const ssize_t count = read(fd.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      return Fail(Code::kInvalidArgument, fmt::format("read {}: {}", path, GoErrnoText(errno)));
    if (count == 0) break;
    bytes.append(buffer.data(), static_cast<std::size_t>(count));
    if (static_cast<std::int64_t>(bytes.size()) > kMaxFileBytes)
      return Fail(Code::kInvalidArgument, fmt::format("{}: file is too large", path));
  }
  OPENSSL_cleanse(buffer.data(), buffer.size());
  return bytes;
}

BioPtr MemoryBio(const std::string& bytes) {
  return BioPtr(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
}

std::vector<X509Ptr> ReadCertificates(const std::string& pem, bool* broken) {
  std::vector<X509Ptr> certificates;
  const BioPtr bio = MemoryBio(pem);
  ERR_clear_error();
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr))
    certificates.emplace_back(certificate);
  *broken = ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE;
  ERR_clear_error();
  return certificates;
}

std::string Digest(const Watched::Contents& contents) {
  std::string joined;
  for (const std::string& content : contents) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned size = 0;
    EVP_Digest(content.data(), content.size(), digest.data(), &size, EVP_sha256(), nullptr);
    joined.append(reinterpret_cast<const char*>(digest.data()), size);
  }
  return joined;
}

void AddSerials(X509_CRL* list, RevokedSerials& serials) {
  STACK_OF(X509_REVOKED)* entries = X509_CRL_get_REVOKED(list);
  for (int i = 0; i < sk_X509_REVOKED_num(entries); ++i) {
    serials.insert(SerialBytes(X509_REVOKED_get0_serialNumber(sk_X509_REVOKED_value(entries, i))));
  }
}

bool HasExpired(const X509_CRL* list) {
  const ASN1_TIME* next = X509_CRL_get0_nextUpdate(list);
  return next != nullptr && X509_cmp_current_time(next) < 0;
}

}  // namespace

std::string SerialBytes(const ASN1_INTEGER* serial) {
  BIGNUM* number = ASN1_INTEGER_to_BN(serial, nullptr);
  if (number == nullptr) return {};
  std::string bytes(static_cast<std::size_t>(BN_num_bytes(number)), '\0');
  BN_bn2bin(number, reinterpret_cast<unsigned char*>(bytes.data()));
  BN_free(number);
  return bytes;
}

Result<KeyPair> ParseKeyPair(const std::string& certificate_pem, const std::string& key_pem,
                             const std::string& certificate_file, const std::string& key_file) {
  const auto refuse = [](std::string_view why, const std::string& file) {
    return Fail(Code::kInvalidArgument, fmt::format("tls: {} ({})", why, file));
  };
  bool broken = false;
  std::vector<X509Ptr> certificates = ReadCertificates(certificate_pem, &broken);
  if (broken) return refuse("failed to parse a certificate", certificate_file);
  if (certificates.empty())
    return refuse("failed to find any PEM data in certificate input", certificate_file);
  const BioPtr bio = MemoryBio(key_pem);
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  ERR_clear_error();
  if (key == nullptr) {
    const bool absent = key_pem.find("-----BEGIN") == std::string::npos;
    return refuse(
        absent ? "failed to find any PEM data in key input" : "failed to parse private key",
        key_file);
  }
  const int match = X509_check_private_key(certificates.front().get(), key.get());
  ERR_clear_error();
  if (match != 1) {
    return refuse("private key does not match public key", certificate_file + ", " + key_file);
  }
  KeyPair pair;
  pair.leaf = std::move(certificates.front());
  certificates.erase(certificates.begin());
  pair.intermediates = std::move(certificates);
  pair.key = std::move(key);
  return pair;
}

Result<std::vector<X509Ptr>> ParseAuthorities(const std::string& pem, const std::string& file) {
  bool broken = false;
  std::vector<X509Ptr> certificates = ReadCertificates(pem, &broken);
  if (broken) {
    return Fail(Code::kInvalidArgument,
                fmt::format("tls: failed to parse a CA certificate ({})", file));
  }
  if (certificates.empty()) {
    return Fail(Code::kInvalidArgument,
                fmt::format("tls: failed to find any CA certificate ({})", file));
  }
  return certificates;
}

Result<RevokedSerials> ParseRevocations(const std::string& bytes, const std::string& file,
                                        bool* expired) {
  const auto bad = [&] {
    ERR_clear_error();
    return Fail(Code::kInvalidArgument,
                fmt::format("x509: malformed certificate revocation list ({})", file));
  };
  *expired = false;
  RevokedSerials serials;
  if (bytes.starts_with('\x30')) {  // DER
    const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
    const auto* end = data + bytes.size();
    const CrlPtr list(d2i_X509_CRL(nullptr, &data, static_cast<long>(bytes.size())));
    if (list == nullptr || data != end) return bad();
    AddSerials(list.get(), serials);
    *expired = HasExpired(list.get());
    return serials;
  }
  const BioPtr bio = MemoryBio(bytes);
  std::size_t lists = 0;
  ERR_clear_error();
  while (const CrlPtr list{PEM_read_bio_X509_CRL(bio.get(), nullptr, NoPassword, nullptr)}) {
    AddSerials(list.get(), serials);
    *expired |= HasExpired(list.get());
    ++lists;
  }
  if (lists == 0 || ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) return bad();
  ERR_clear_error();
  return serials;
}

Watched::Stamp Watched::StampOf(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) return {};
  const auto nanos = [](const timespec& time) {
    return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  };
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size_bytes = status.st_size,
          .modified_ns = nanos(status.st_mtim),
          .changed_ns = nanos(status.st_ctim)};
}

std::vector<Watched::Stamp> Watched::Stamps() const {
  std::vector<Stamp> stamps;
  for (const std::string& path : paths_) stamps.push_back(StampOf(path));
  return stamps;
}

std::optional<std::int64_t> Watched::BytesToRead() const {
  const std::vector<Stamp> stamps = Stamps();
  if (settled_ && stamps == stamps_) return std::nullopt;
  std::int64_t bytes = 0;
  for (const Stamp& stamp : stamps) bytes += std::max<std::int64_t>(stamp.size_bytes, 0);
  return bytes;
}

std::optional<Result<Watched::Contents>> Watched::Poll() {
  const std::vector<Stamp> stamps = Stamps();
  if (settled_ && stamps == stamps_) return std::nullopt;
  const TimePoint now = clock_.Now();
  if (std::exchange(stamps_, stamps) != stamps) same_since_ = now;
  const std::int64_t now_ns = clock_.WallNanos();
  settled_ = std::ranges::all_of(stamps, [now_ns](const Stamp& stamp) {
    return stamp.size_bytes >= 0 &&
           std::max(stamp.modified_ns, stamp.changed_ns) + kSettledNs < now_ns;
  });
  Contents contents;
  for (const std::string& path : paths_) {
    auto content = ReadWhole(path);
    if (!content.has_value()) {
      std::string digest = content.error().message;  // reported once
      if (std::exchange(digest_, digest) == digest) return std::nullopt;
      return Fail(std::move(content).error());
    }
    contents.push_back(std::move(*content));
  }
  std::string digest = Digest(contents);
  if (std::exchange(digest_, digest) == digest) {
    settled_ = settled_ || now - same_since_ > Duration(kSettledNs);
    return std::nullopt;
  }
  same_since_ = now;
  return contents;
}

}  // namespace kvorum::rpc
