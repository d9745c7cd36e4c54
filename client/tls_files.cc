#include "client/tls_files.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <system_error>

#include "base/freed_by.h"
#include "base/letter_case.h"

namespace kvorum::client {
namespace {

using BioPtr = std::unique_ptr<BIO, FreedBy<BIO_free>>;
using X509Ptr = std::unique_ptr<X509, FreedBy<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;

std::unexpected<Error> Useless(std::string message) {
  ERR_clear_error();
  return Fail(Code::kFailedPrecondition, std::move(message));
}

std::unexpected<Error> NotRead(const std::string& path, int error) {
  return Useless("open " + path + ": " + GoErrnoText(error));
}

Result<std::string> ReadFile(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return NotRead(path, EISDIR);
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return NotRead(path, errno);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

BioPtr Open(const std::string& pem) {
  return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// Never asks for a passphrase: without this OpenSSL asks on the terminal, for certificates too.
int NoPassphrase(char*, int, int, void*) { return -1; }

X509Ptr FirstCertificate(const std::string& pem) {
  return X509Ptr(PEM_read_bio_X509(Open(pem).get(), nullptr, NoPassphrase, nullptr));
}

Result<void> CheckPair(const TlsOptions& options) {
  KV_TRY(const std::string certificate_pem, ReadFile(options.certificate_file));
  KV_TRY(const std::string key_pem, ReadFile(options.key_file));
  const X509Ptr certificate = FirstCertificate(certificate_pem);
  if (certificate == nullptr)
    return Useless("tls: no certificate in PEM form in " + options.certificate_file);
  const KeyPtr key(PEM_read_bio_PrivateKey(Open(key_pem).get(), nullptr, NoPassphrase, nullptr));
  if (key == nullptr)
    return Useless("tls: no private key in PEM form, without a passphrase, in " + options.key_file);
  if (X509_check_private_key(certificate.get(), key.get()) != 1)
    return Useless("tls: private key " + options.key_file + " does not match certificate " +
                   options.certificate_file);
  return {};
}

}  // namespace

Result<void> CheckTlsFiles(const TlsOptions& options) {
  if (options.certificate_file.empty() != options.key_file.empty())
    return Useless("KeyFile and CertFile must both be present[key: " + options.key_file +
                   ", cert: " + options.certificate_file + "]");
  if (!options.ca_file.empty()) {
    KV_TRY(const std::string authorities, ReadFile(options.ca_file));
    if (FirstCertificate(authorities) == nullptr)
      return Useless("tls: no certificate in PEM form in " + options.ca_file);
  }
  return options.certificate_file.empty() ? Result<void>() : CheckPair(options);
}

}  // namespace kvorum::client
