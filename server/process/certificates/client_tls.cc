#include "server/process/certificates/client_tls.h"

#include <algorithm>
#include <utility>

#include "base/log/logging.h"
#include "server/process/certificates/auto_tls.h"

namespace kvorum::server {
namespace {

bool SameAddress(const Url& a, const Url& b) {
  return a.unix_socket() == b.unix_socket() && a.socket_path() == b.socket_path() &&
         a.host() == b.host() && a.port_text() == b.port_text();
}

// An empty flag for ciphers means a list without names.
std::vector<std::string> CipherNames(std::vector<std::string> list) {
  if (list.size() == 1 && list.front().empty()) list.clear();
  return list;
}

// Checked by Validate of the options.
rpc::TlsVersion VersionOf(const std::string& text) {
  return rpc::ParseTlsVersion(text).value_or(rpc::TlsVersion::kAny);
}

// Those for gRPC, then those for HTTP alone.
Result<std::vector<Url>> ClientUrls(const Options& options) {
  KV_TRY(std::vector<Url> urls, ParseUrls(options.listen_client_urls));
  if (options.listen_client_http_urls.empty()) return urls;
  KV_TRY(const std::vector<Url> for_http, ParseUrls(options.listen_client_http_urls));
  urls.insert(urls.end(), for_http.begin(), for_http.end());
  return urls;
}

// A server with a self-made certificate trusts no other authority: the other flags have no meaning
// then.
Result<rpc::TlsOptions> SelfSignedServer(FileSystem& fs, const Options& options,
                                         std::int64_t now_s) {
  KV_TRY(const std::vector<Url> urls, ClientUrls(options));
  KV_TRY(const CertificatePair pair,
         KeepSelfSigned(fs, options.data_dir + "/fixtures/client", urls,
                        options.self_signed_cert_validity_years, now_s));
  if (!options.trusted_ca_file.empty() || options.client_cert_auth ||
      !options.client_crl_file.empty() || !options.client_cert_allowed_cn.empty() ||
      !options.client_cert_allowed_hostname.empty()) {
    KV_WARN("clients are not verified with --auto-tls: ignoring the flags for that");
  }
  rpc::TlsOptions tls = TlsLimits(options);
  tls.certificate_file = pair.certificate;
  tls.key_file = pair.key;
  return tls;
}

void WarnOfNames(const rpc::TlsOptions& tls) {
  if (!tls.allowed_cns.empty() && tls.trusted_ca_file.empty() && !tls.client_cert_auth) {
    KV_WARN(
        "clients show no certificate without --trusted-ca-file or --client-cert-auth: ignoring "
        "--client-cert-allowed-cn");
  }
  if (tls.allowed_hostnames.empty()) return;
  if (tls.trusted_ca_file.empty() && !tls.client_cert_auth) {
    KV_WARN(
        "clients show no certificate without --trusted-ca-file or --client-cert-auth: ignoring "
        "--client-cert-allowed-hostname");
  }
  if (std::ranges::find(tls.allowed_hostnames, "") != tls.allowed_hostnames.end())
    KV_WARN("--client-cert-allowed-hostname has an empty name, which no client has");
}

}  // namespace

rpc::TlsOptions TlsLimits(const Options& options) {
  rpc::TlsOptions tls;
  tls.min_version = VersionOf(options.tls_min_version);
  tls.max_version = VersionOf(options.tls_max_version);
  tls.cipher_suites = CipherNames(options.cipher_suites);
  return tls;
}

Result<std::vector<ClientListener>> PlanClientListeners(const Options& options) {
  const bool is_split = !options.listen_client_http_urls.empty();
  std::vector<ClientListener> listeners;
  const auto add = [&listeners](const Url& url, rpc::Traffic traffic) -> Result<void> {
    auto known = std::ranges::find_if(listeners, [&url](const ClientListener& listener) {
      return SameAddress(listener.url, url);
    });
    if (known == listeners.end()) {
      listeners.push_back({.url = url, .traffic = traffic});
      known = std::prev(listeners.end());
    } else if (known->traffic != traffic) {
      return Fail(Code::kInvalidArgument,
                  "cannot bind both --listen-client-urls and --listen-client-http-urls on the same "
                  "url " +
                      url.text());
    }
    (url.tls() ? known->secure : known->insecure) = true;
    return {};
  };
  KV_TRY(const std::vector<Url> urls, ParseUrls(options.listen_client_urls));
  for (const Url& url : urls)
    KV_RETURN_IF_ERROR(add(url, is_split ? rpc::Traffic::kGrpc : rpc::Traffic::kGrpcAndHttp));
  if (!is_split) return listeners;
  KV_TRY(const std::vector<Url> http_urls, ParseUrls(options.listen_client_http_urls));
  for (const Url& url : http_urls) KV_RETURN_IF_ERROR(add(url, rpc::Traffic::kHttp));
  return listeners;
}

Result<std::shared_ptr<rpc::TlsContext>> OpenClientTls(FileSystem& fs, const Options& options,
                                                       std::int64_t now_s) {
  rpc::TlsOptions tls = TlsLimits(options);
  tls.certificate_file = options.cert_file;
  tls.key_file = options.key_file;
  tls.client_certificate_file = options.client_cert_file;
  tls.client_key_file = options.client_key_file;
  tls.trusted_ca_file = options.trusted_ca_file;
  tls.crl_file = options.client_crl_file;
  tls.client_cert_auth = options.client_cert_auth;
  tls.allowed_cns = options.client_cert_allowed_cn;
  tls.allowed_hostnames = options.client_cert_allowed_hostname;
  const bool has_certificate = !tls.certificate_file.empty() || !tls.key_file.empty();
  if (options.auto_tls && has_certificate) KV_WARN("ignoring client auto TLS since certs given");
  if (options.auto_tls && !has_certificate) {
    KV_TRY(tls, SelfSignedServer(fs, options, now_s));
  }
  WarnOfNames(tls);
  tls.alpn = {"h2", "http/1.1"};
  if (tls.certificate_file.empty() && tls.key_file.empty()) return nullptr;
  KV_INFO("starting with client TLS", {"cert-file", tls.certificate_file},
          {"key-file", tls.key_file}, {"trusted-ca-file", tls.trusted_ca_file},
          {"client-cert-auth", tls.client_cert_auth}, {"crl-file", tls.crl_file});
  return rpc::TlsContext::Create(std::move(tls));
}

Result<void> CheckClientUrls(const Options& options, const rpc::TlsContext* tls) {
  KV_TRY(const std::vector<Url> urls, ClientUrls(options));
  for (const Url& url : urls) {
    if (url.tls() && tls == nullptr) {
      return Fail(Code::kInvalidArgument,
                  "TLS key/cert (--cert-file, --key-file) must be provided for client url " +
                      url.text() + " with HTTPS scheme");
    }
    if (url.tls()) continue;
    if (tls != nullptr) {
      KV_WARN(
          "scheme is http or unix while key and cert files are present; ignoring key and cert "
          "files",
          {"client-url", url.text()});
    }
    if (options.client_cert_auth) {
      KV_WARN(
          "scheme is http or unix while --client-cert-auth is enabled; ignoring client cert auth "
          "for "
          "this URL",
          {"client-url", url.text()});
    }
  }
  return {};
}

}  // namespace kvorum::server
