#include "client/tls_credentials.h"

#include <grpcpp/security/tls_credentials_options.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include "client/tls_files.h"

namespace kvorum::client {
namespace {

unsigned Seconds(std::chrono::seconds d) {
  return static_cast<unsigned>(std::clamp<std::int64_t>(d.count(), 1, 0x7fffffff));
}

}  // namespace

Result<std::shared_ptr<grpc::ChannelCredentials>> TlsCredentials(const TlsOptions& tls) {
  namespace tls_of_grpc = grpc::experimental;
  KV_RETURN_IF_ERROR(CheckTlsFiles(tls));
  const std::string authorities = tls.skip_verification ? "" : tls.ca_file;
  tls_of_grpc::TlsChannelCredentialsOptions options;
  if (tls.skip_verification) {
    options.set_verify_server_certs(false);
    options.set_check_call_host(false);
    options.set_certificate_verifier(std::make_shared<tls_of_grpc::NoOpCertificateVerifier>());
  } else {
    options.set_certificate_verifier(std::make_shared<tls_of_grpc::HostNameCertificateVerifier>());
  }
  if (!tls.certificate_file.empty() || !authorities.empty())
    options.set_certificate_provider(std::make_shared<tls_of_grpc::FileWatcherCertificateProvider>(
        tls.key_file, tls.certificate_file, authorities, Seconds(tls.reload_interval)));
  if (!tls.certificate_file.empty()) options.watch_identity_key_cert_pairs();
  if (!authorities.empty()) options.watch_root_certs();
  return tls_of_grpc::TlsCredentials(options);
}

}  // namespace kvorum::client
