#include "rpc/tls/self_signed.h"

#include <arpa/inet.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <ctime>
#include <memory>

#include "base/freed_by.h"
#include "rpc/tls/tls_files.h"

namespace kvorum::rpc {
namespace {

constexpr int kSerialBits = 128;
constexpr long kVersion3 = 2;  // as the field counts

using KeyPointer = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using CertificatePointer = std::unique_ptr<X509, FreedBy<X509_free>>;
using BioPointer = std::unique_ptr<BIO, FreedBy<BIO_free>>;
using NumberPointer = std::unique_ptr<BIGNUM, FreedBy<BN_free>>;
using NamesPointer = std::unique_ptr<GENERAL_NAMES, FreedBy<GENERAL_NAMES_free>>;
using ExtensionPointer = std::unique_ptr<X509_EXTENSION, FreedBy<X509_EXTENSION_free>>;
using TimePointer = std::unique_ptr<ASN1_TIME, FreedBy<ASN1_TIME_free>>;

std::unexpected<Error> MakingFailed(std::string_view what) {
  return Fail(Code::kInternal, "making a certificate: " + std::string(what));
}

std::string BioText(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

bool SetSerial(X509* certificate) {
  const NumberPointer number(BN_new());
  return number != nullptr &&
         BN_rand(number.get(), kSerialBits, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool SetTimes(X509* certificate, std::int64_t not_before_s, std::int64_t not_after_s) {
  const TimePointer begin(ASN1_TIME_set(nullptr, not_before_s));
  const TimePointer end(ASN1_TIME_set(nullptr, not_after_s));
  return begin != nullptr && end != nullptr && X509_set1_notBefore(certificate, begin.get()) == 1 &&
         X509_set1_notAfter(certificate, end.get()) == 1;
}

bool SetName(X509* certificate) {
  constexpr std::array<unsigned char, 6> kOrganization = {'k', 'v', 'o', 'r', 'u', 'm'};
  X509_NAME* name = X509_get_subject_name(certificate);
  return X509_NAME_add_entry_by_NID(name, NID_organizationName, MBSTRING_UTF8, kOrganization.data(),
                                    kOrganization.size(), -1, 0) == 1 &&
         X509_set_issuer_name(certificate, name) == 1;
}

bool AddExtension(X509* certificate, int kind, const char* value) {
  const ExtensionPointer extension(X509V3_EXT_conf_nid(nullptr, nullptr, kind, value));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool AddName(GENERAL_NAMES* names, int type, std::string_view bytes) {
  std::unique_ptr<GENERAL_NAME, FreedBy<GENERAL_NAME_free>> name(GENERAL_NAME_new());
  ASN1_STRING* value = type == GEN_IPADD ? ASN1_OCTET_STRING_new() : ASN1_IA5STRING_new();
  if (name == nullptr || value == nullptr) return false;
  GENERAL_NAME_set0_value(name.get(), type, value);
  if (ASN1_STRING_set(value, bytes.data(), static_cast<int>(bytes.size())) != 1 ||
      sk_GENERAL_NAME_push(names, name.get()) == 0) {
    return false;
  }
  static_cast<void>(name.release());
  return true;
}

bool AddHosts(X509* certificate, const std::vector<std::string>& hosts) {
  const NamesPointer names(GENERAL_NAMES_new());
  if (names == nullptr) return false;
  for (const std::string& host : hosts) {
    std::array<char, sizeof(in6_addr)> address{};
    bool added = false;
    if (inet_pton(AF_INET, host.c_str(), address.data()) == 1) {
      added = AddName(names.get(), GEN_IPADD, {address.data(), sizeof(in_addr)});
    } else if (inet_pton(AF_INET6, host.c_str(), address.data()) == 1) {
      added = AddName(names.get(), GEN_IPADD, {address.data(), sizeof(in6_addr)});
    } else {
      added = AddName(names.get(), GEN_DNS, host);
    }
    if (!added) return false;
  }
  return hosts.empty() ||
         X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, 0) == 1;
}

}  // namespace

Result<SelfSigned> MakeSelfSigned(const std::vector<std::string>& hosts, std::int64_t not_before_s,
                                  std::int64_t not_after_s) {
  const KeyPointer key(EVP_EC_gen("P-256"));
  const CertificatePointer certificate(X509_new());
  if (key == nullptr || certificate == nullptr) return MakingFailed("no key");
  X509* made = certificate.get();
  if (X509_set_version(made, kVersion3) != 1 || !SetSerial(made) || !SetName(made) ||
      X509_set_pubkey(made, key.get()) != 1) {
    return MakingFailed("its names");
  }
  if (!SetTimes(made, not_before_s, not_after_s))
    return Fail(Code::kInvalidArgument, "making a certificate: its times are out of range");
  if (!AddExtension(made, NID_basic_constraints, "critical,CA:TRUE") ||
      !AddExtension(made, NID_key_usage, "critical,digitalSignature,keyCertSign,cRLSign") ||
      !AddExtension(made, NID_ext_key_usage, "serverAuth,clientAuth") || !AddHosts(made, hosts)) {
    return MakingFailed("its extensions");
  }
  if (X509_sign(made, key.get(), EVP_sha256()) == 0) return MakingFailed("its signature");
  const BioPointer certificate_text(BIO_new(BIO_s_mem()));
  const BioPointer key_text(BIO_new(BIO_s_secmem()));
  if (certificate_text == nullptr || key_text == nullptr ||
      PEM_write_bio_X509(certificate_text.get(), made) != 1 ||
      PEM_write_bio_PrivateKey_traditional(key_text.get(), key.get(), nullptr, nullptr, 0, nullptr,
                                           nullptr) != 1) {
    return MakingFailed("its text");
  }
  return SelfSigned{.certificate_pem = BioText(certificate_text.get()),
                    .key_pem = BioText(key_text.get())};
}

Result<std::int64_t> CertificateEnd(std::string_view pem) {
  const BioPointer bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const CertificatePointer certificate(
      bio == nullptr ? nullptr : PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
  std::tm end{};
  if (certificate == nullptr || ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &end) != 1)
    return Fail(Code::kInvalidArgument, "no certificate");
  return timegm(&end);
}

}  // namespace kvorum::rpc
