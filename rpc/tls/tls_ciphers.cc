#include "rpc/tls/tls_ciphers.h"

#include <fmt/format.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <array>

namespace kvorum::rpc {
namespace {

// Every name that the API's servers know, including weak ones.
constexpr std::array<std::string_view, 27> kKnownNames{
    "TLS_RSA_WITH_RC4_128_SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA",
    "TLS_RSA_WITH_AES_256_CBC_SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    // Older spellings.
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305",
    // TLS 1.3: accepted, always on.
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
};

bool IsTls13Name(std::string_view name) { return name.find("_WITH_") == std::string_view::npos; }

// OpenSSL's text for a name that it does not support.
constexpr std::string_view kUnavailable = "(NONE)";

std::string_view OpenSslName(std::string name) {
  if (name.ends_with("_POLY1305")) name += "_SHA256";
  return OPENSSL_cipher_name(name.c_str());
}

std::string_view NameOf(TlsVersion version) {
  switch (version) {
    case TlsVersion::kAny:
      return "";
    case TlsVersion::kTls12:
      return "TLS1.2";
    case TlsVersion::kTls13:
      return "TLS1.3";
  }
  return "";
}

}  // namespace

Result<TlsVersion> ParseTlsVersion(std::string_view text) {
  for (const TlsVersion version : {TlsVersion::kAny, TlsVersion::kTls12, TlsVersion::kTls13}) {
    if (text == NameOf(version)) return version;
  }
  return Fail(Code::kInvalidArgument,
              fmt::format("unexpected TLS version \"{}\" (must be one of: TLS1.2, TLS1.3)", text));
}

Result<void> CheckTlsLimits(TlsVersion min_version, TlsVersion max_version,
                            const std::vector<std::string>& cipher_suites) {
  if (max_version != TlsVersion::kAny && min_version > max_version) {
    return Fail(Code::kInvalidArgument,
                fmt::format("min version ({}) is greater than max version ({})",
                            NameOf(min_version), NameOf(max_version)));
  }
  if (min_version == TlsVersion::kTls13 && !cipher_suites.empty()) {
    return Fail(Code::kInvalidArgument,
                "cipher suites cannot be configured when only TLS1.3 is enabled");
  }
  for (const std::string& name : cipher_suites) {
    if (std::ranges::find(kKnownNames, name) == kKnownNames.end()) {
      return Fail(Code::kInvalidArgument, fmt::format("unexpected TLS cipher suite \"{}\"", name));
    }
  }
  if (!cipher_suites.empty() && max_version == TlsVersion::kTls12 &&
      TlsCipherList(cipher_suites).empty()) {
    return Fail(Code::kInvalidArgument, "none of the TLS cipher suites can be used with TLS1.2");
  }
  return {};
}

std::string TlsCipherList(const std::vector<std::string>& cipher_suites) {
  std::string list;
  for (const std::string& name : cipher_suites) {
    const std::string_view known = OpenSslName(name);
    if (IsTls13Name(name) || known == kUnavailable) continue;
    list += (list.empty() ? "" : ":") + std::string(known);
  }
  return list;
}

std::vector<std::string> UnavailableCiphers(const std::vector<std::string>& cipher_suites) {
  std::vector<std::string> unavailable;
  for (const std::string& name : cipher_suites) {
    if (!IsTls13Name(name) && OpenSslName(name) == kUnavailable) unavailable.push_back(name);
  }
  return unavailable;
}

}  // namespace kvorum::rpc
