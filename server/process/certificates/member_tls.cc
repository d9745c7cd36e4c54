#include "server/process/certificates/member_tls.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/log/logging.h"
#include "base/net/url.h"
#include "server/process/certificates/auto_tls.h"
#include "server/process/certificates/client_tls.h"

namespace kvorum::server {
namespace {

bool AsksForTls(std::string_view urls) {
  return urls.find("https://") != std::string_view::npos ||
         urls.find("unixs://") != std::string_view::npos;
}

// In etcd's form.
std::string Described(const rpc::TlsOptions& tls) {
  return "cert = " + tls.certificate_file + ", key = " + tls.key_file +
         ", client-cert=" + tls.client_certificate_file + ", client-key=" + tls.client_key_file +
         ", trusted-ca = " + tls.trusted_ca_file +
         ", client-cert-auth = " + (tls.client_cert_auth ? "true" : "false") +
         ", crl-file = " + tls.crl_file;
}

rpc::TlsOptions PeerFiles(const Options& options) {
  rpc::TlsOptions tls = TlsLimits(options);
  tls.certificate_file = options.peer_cert_file;
  tls.key_file = options.peer_key_file;
  tls.client_certificate_file = options.peer_client_cert_file;
  tls.client_key_file = options.peer_client_key_file;
  tls.trusted_ca_file = options.peer_trusted_ca_file;
  tls.crl_file = options.peer_crl_file;
  tls.client_cert_auth = options.peer_client_cert_auth;
  tls.allowed_cns = options.peer_cert_allowed_cn;
  tls.allowed_hostnames = options.peer_cert_allowed_hostname;
  tls.server_name = options.peer_server_name;
  return tls;
}

// Members with self-made certificates trust each other without verification: the other flags have
// no meaning then.
Result<rpc::TlsOptions> SelfSignedPeer(FileSystem& fs, const Options& options, std::int64_t now_s) {
  KV_TRY(const std::vector<Url> urls, ParseUrls(options.listen_peer_urls));
  KV_TRY(const CertificatePair pair,
         KeepSelfSigned(fs, options.data_dir + "/fixtures/peer", urls,
                        options.self_signed_cert_validity_years, now_s));
  if (!options.peer_trusted_ca_file.empty() || options.peer_client_cert_auth ||
      !options.peer_crl_file.empty() || !options.peer_cert_allowed_cn.empty() ||
      !options.peer_cert_allowed_hostname.empty()) {
    KV_WARN("members do not verify each other with --peer-auto-tls: ignoring the flags for that");
  }
  rpc::TlsOptions tls = TlsLimits(options);
  tls.certificate_file = pair.certificate;
  tls.key_file = pair.key;
  tls.skip_server_verification = true;
  return tls;
}

void WarnOfPlainUrls(const Options& options, const rpc::TlsOptions& tls) {
  const auto urls = ParseUrls(options.listen_peer_urls);
  if (!urls.has_value()) return;
  for (const Url& url : *urls) {
    if (url.tls()) continue;
    if (!tls.certificate_file.empty() || !tls.key_file.empty()) {
      KV_WARN("scheme is HTTP while key and cert files are present; ignoring key and cert files",
              {"peer-url", url.text()});
    }
    if (tls.client_cert_auth) {
      KV_WARN(
          "scheme is HTTP while --peer-client-cert-auth is enabled; ignoring client cert auth for "
          "this URL",
          {"peer-url", url.text()});
    }
  }
}

}  // namespace

Result<std::optional<PeerTls>> OpenPeerTls(FileSystem& fs, const Options& options,
                                           std::int64_t now_s) {
  rpc::TlsOptions tls = PeerFiles(options);
  const bool has_certificate = !tls.certificate_file.empty() || !tls.key_file.empty();
  if (options.peer_auto_tls && has_certificate) KV_WARN("ignoring peer auto TLS since certs given");
  if (options.peer_auto_tls && !has_certificate) {
    KV_TRY(tls, SelfSignedPeer(fs, options, now_s));
  }
  WarnOfPlainUrls(options, tls);
  const bool is_asked_for = !tls.certificate_file.empty() || !tls.key_file.empty() ||
                            !tls.trusted_ca_file.empty() || AsksForTls(options.listen_peer_urls) ||
                            AsksForTls(options.EffectiveInitialCluster());
  if (!is_asked_for) return std::nullopt;
  KV_INFO("starting with peer TLS", {"tls-info", Described(tls)});
  PeerTls peer;
  KV_TRY(peer.context, rpc::TlsContext::Create(std::move(tls)));
  peer.checks_client_address = !options.peer_skip_client_san_verification;
  return peer;
}

bool DoPeersShowCertificates(const Options& options) {
  if (options.peer_trusted_ca_file.empty() && !options.peer_client_cert_auth) return false;
  const bool makes_its_own =
      options.peer_auto_tls && options.peer_cert_file.empty() && options.peer_key_file.empty();
  const auto urls = ParseUrls(options.listen_peer_urls);
  return !makes_its_own && urls.has_value() && std::ranges::all_of(*urls, &Url::tls);
}

}  // namespace kvorum::server
