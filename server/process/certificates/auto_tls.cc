#include "server/process/certificates/auto_tls.h"

#include <algorithm>
#include <array>
#include <ctime>

#include "base/log/logging.h"
#include "rpc/tls/self_signed.h"
#include "rpc/tls/tls_files.h"

namespace kvorum::server {
namespace {

constexpr std::int64_t kYearSeconds = std::int64_t{365} * 24 * 60 * 60;
// A certificate's times end with the year 9999.
constexpr std::uint64_t kMaxYears = 1'000;
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 20;

// The format of times in log lines.
std::string TimeText(std::int64_t unix_s) {
  const std::time_t time = unix_s;
  std::tm utc{};
  gmtime_r(&time, &utc);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

// True if both files exist, fit each other and the certificate is valid for a while. No other
// program makes these files, so damaged ones are worth nothing: a crash of etcd, or of the disk,
// may leave them empty or torn.
Result<bool> IsUsable(FileSystem& fs, const CertificatePair& pair, std::int64_t now_s) {
  for (const std::string& path : {pair.certificate, pair.key}) {
    KV_TRY(const bool is_there, fs.Exists(path));
    if (!is_there) return false;
  }
  KV_TRY(const std::string pem, ReadWholeFile(fs, pair.certificate, kMaxFileBytes));
  KV_TRY(const std::string key_pem, ReadWholeFile(fs, pair.key, kMaxFileBytes));
  const auto parsed = rpc::ParseKeyPair(pem, key_pem, pair.certificate, pair.key);
  if (!parsed.has_value()) {
    KV_WARN("the self-signed certificate or its key is damaged; making another pair",
            {"path", pair.certificate}, {"error", parsed.error().message});
    return false;
  }
  const auto end_s = rpc::CertificateEnd(pem);
  if (!end_s.has_value() || now_s < *end_s) return true;
  KV_WARN("the self-signed certificate has expired; making another one", {"path", pair.certificate},
          {"not-after", TimeText(*end_s)});
  return false;
}

std::vector<std::string> HostsOf(const std::vector<Url>& urls) {
  std::vector<std::string> hosts;
  for (const Url& url : urls) {
    const bool is_new = std::ranges::find(hosts, url.host()) == hosts.end();
    if (!url.host().empty() && is_new) hosts.push_back(url.host());
  }
  return hosts;
}

}  // namespace

Result<CertificatePair> KeepSelfSigned(FileSystem& fs, const std::string& dir,
                                       const std::vector<Url>& urls, std::uint64_t years,
                                       std::int64_t now_s) {
  if (years == 0) {
    return Fail(Code::kInvalidArgument,
                "selfSignedCertValidity is invalid,it should be greater than 0");
  }
  if (years > kMaxYears) {
    return Fail(Code::kInvalidArgument, "selfSignedCertValidity is invalid,it should be at most " +
                                            std::to_string(kMaxYears));
  }
  KV_RETURN_IF_ERROR(fs.MakeDirectories(dir));
  CertificatePair pair{.certificate = dir + "/cert.pem", .key = dir + "/key.pem"};
  KV_TRY(const bool is_usable, IsUsable(fs, pair, now_s));
  if (is_usable) return pair;
  // The data directory's own lock comes later: its files are not touched before we have the ports.
  // Two processes that start at once must not mix one's certificate with the other's key.
  const auto lock = fs.Lock(dir + "/lock");
  if (!lock.has_value()) {
    if (lock.error().code != Code::kFailedPrecondition) return std::unexpected(lock.error());
    return Fail(Code::kFailedPrecondition,
                "another process is making certificates in " + dir + " already");
  }
  KV_TRY(const bool is_made, IsUsable(fs, pair, now_s));
  if (is_made) return pair;
  const std::int64_t end_s = now_s + static_cast<std::int64_t>(years) * kYearSeconds;
  KV_WARN("automatically generate certificates",
          {"certificate-validity-bound-not-after", TimeText(end_s)});
  KV_TRY(const rpc::SelfSigned made, rpc::MakeSelfSigned(HostsOf(urls), now_s, end_s));
  // A crash between the two leaves a certificate without its key, or with an older one: both are
  // made again if one is missing, so the old one goes first.
  KV_TRY(const bool has_old, fs.Exists(pair.certificate));
  if (has_old) KV_RETURN_IF_ERROR(fs.Remove(pair.certificate));
  KV_RETURN_IF_ERROR(WriteFileAtomically(fs, pair.key, made.key_pem));
  KV_INFO("created key file", {"path", pair.key});
  KV_RETURN_IF_ERROR(WriteFileAtomically(fs, pair.certificate, made.certificate_pem));
  KV_INFO("created cert file", {"path", pair.certificate});
  return pair;
}

}  // namespace kvorum::server
