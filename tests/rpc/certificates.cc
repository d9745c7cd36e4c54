#include "tests/rpc/certificates.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/check.h"

namespace kvorum {
namespace {

struct Free {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_CRL* list) const { X509_CRL_free(list); }
  void operator()(BIO* bio) const { BIO_free_all(bio); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Certificate = std::unique_ptr<X509, Free>;
using RevocationList = std::unique_ptr<X509_CRL, Free>;
using Bio = std::unique_ptr<BIO, Free>;

Key NewKey(unsigned rsa_bits = 0) {
  Key key(rsa_bits == 0 ? EVP_EC_gen("P-256") : EVP_RSA_gen(rsa_bits));
  KV_CHECK(key != nullptr, "no key");
  return key;
}

std::string Taken(const Bio& bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

std::string Pem(X509* certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate);
  return Taken(bio);
}

std::string Pem(EVP_PKEY* key) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return Taken(bio);
}

void AddExtension(X509* certificate, X509* issuer, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str());
  KV_CHECK(extension != nullptr, "no extension");
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

void SetName(X509* certificate, const std::string& common_name) {
  X509_NAME* name = X509_get_subject_name(certificate);
  const auto add = [name](const char* field, const std::string& text) {
    X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(text.data()),
                               static_cast<int>(text.size()), -1, 0);
  };
  add("O", "kvorum tests");
  if (!common_name.empty()) add("CN", common_name);
}

Certificate NewCertificate(EVP_PKEY* key, const std::string& common_name, long serial,
                           std::int64_t not_before_s, std::int64_t not_after_s) {
  Certificate certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), not_before_s);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), not_after_s);
  X509_set_pubkey(certificate.get(), key);
  SetName(certificate.get(), common_name);
  return certificate;
}

Certificate NewAuthorityCertificate(EVP_PKEY* key, const std::string& name, long serial,
                                    X509* issuer, EVP_PKEY* issuer_key,
                                    TestAuthority::Kind kind = TestAuthority::Kind::kAuthority) {
  const bool pretends = kind == TestAuthority::Kind::kPretender;
  Certificate certificate = NewCertificate(key, name, serial, -3600, 24 * 3600);
  X509* signer = issuer == nullptr ? certificate.get() : issuer;
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer));
  AddExtension(certificate.get(), signer, NID_basic_constraints,
               pretends ? "critical,CA:FALSE" : "critical,CA:TRUE");
  AddExtension(certificate.get(), signer, NID_key_usage,
               pretends ? "critical,digitalSignature" : "critical,keyCertSign,cRLSign");
  AddExtension(certificate.get(), signer, NID_subject_key_identifier, "hash");
  if (kind == TestAuthority::Kind::kConstrained)
    AddExtension(certificate.get(), signer, NID_name_constraints, "permitted;DNS:example.com");
  X509_sign(certificate.get(), issuer == nullptr ? key : issuer_key, EVP_sha256());
  return certificate;
}

Certificate NewLeaf(EVP_PKEY* key, const TestSubject& subject, long serial, X509* issuer,
                    EVP_PKEY* issuer_key) {
  Certificate certificate =
      NewCertificate(key, subject.common_name, serial, subject.not_before_s, subject.not_after_s);
  X509* signer = issuer == nullptr ? certificate.get() : issuer;
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(signer));
  AddExtension(certificate.get(), signer, NID_key_usage, "critical,digitalSignature");
  if (subject.names_issuers_key)
    AddExtension(certificate.get(), signer, NID_authority_key_identifier, "keyid:always");
  switch (subject.usage) {
    case TestUsage::kBoth:
      AddExtension(certificate.get(), signer, NID_ext_key_usage, "serverAuth,clientAuth");
      break;
    case TestUsage::kServer:
      AddExtension(certificate.get(), signer, NID_ext_key_usage, "serverAuth");
      break;
    case TestUsage::kClient:
      AddExtension(certificate.get(), signer, NID_ext_key_usage, "clientAuth");
      break;
    case TestUsage::kNone:
      break;
  }
  std::string names;
  for (const std::string& name : subject.dns_names)
    names += (names.empty() ? "DNS:" : ",DNS:") + name;
  for (const std::string& address : subject.ip_addresses)
    names += (names.empty() ? "IP:" : ",IP:") + address;
  if (!names.empty()) AddExtension(certificate.get(), signer, NID_subject_alt_name, names);
  X509_sign(certificate.get(), issuer == nullptr ? key : issuer_key, EVP_sha256());
  return certificate;
}

}  // namespace

TestFolder::TestFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "kvorum-tls-XXXXXX").string();
  KV_CHECK(mkdtemp(name.data()) != nullptr, "no temporary folder");
  folder_ = name;
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void ReplaceFile(const std::string& path, std::string_view bytes) {
  OverwriteFile(path + ".new", bytes);
  std::filesystem::rename(path + ".new", path);
}

void OverwriteFile(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  file.flush();
  KV_CHECK(file.good(), "cannot write a test's file");
}

std::string FileBytes(const std::string& path) {
  const std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

void TestCertificate::Write(const std::string& certificate_file,
                            const std::string& key_file) const {
  ReplaceFile(key_file, key_pem_);
  ReplaceFile(certificate_file, certificate_pem_);
}

struct TestAuthority::Parts {
  Key key;
  Certificate certificate;
};

TestAuthority::TestAuthority(std::string name) : parts_(std::make_unique<Parts>()) {
  static std::atomic<long> roots{0};
  const long number = ++roots;
  next_serial_ = 1000 * number;
  parts_->key = NewKey();
  parts_->certificate =
      NewAuthorityCertificate(parts_->key.get(), name, next_serial_++, nullptr, nullptr);
  pem_ = Pem(parts_->certificate.get());
}

TestAuthority::TestAuthority(std::string name, TestAuthority& parent, long serial, Kind kind)
    : parts_(std::make_unique<Parts>()) {
  const long own_serial = serial == 0 ? parent.next_serial_++ : serial;
  next_serial_ = 100'000 * own_serial;
  parts_->key = NewKey();
  parts_->certificate =
      NewAuthorityCertificate(parts_->key.get(), name, own_serial, parent.parts_->certificate.get(),
                              parent.parts_->key.get(), kind);
  pem_ = Pem(parts_->certificate.get());
  chain_pem_ = pem_ + parent.chain_pem_;
}

TestAuthority::~TestAuthority() = default;

TestCertificate TestAuthority::Issue(const TestSubject& subject) {
  const Key key = NewKey(subject.rsa_bits);
  TestCertificate issued;
  issued.serial_ = subject.serial == 0 ? next_serial_++ : subject.serial;
  const Certificate leaf =
      NewLeaf(key.get(), subject, issued.serial_, parts_->certificate.get(), parts_->key.get());
  issued.certificate_pem_ = Pem(leaf.get()) + chain_pem_;
  issued.key_pem_ = Pem(key.get());
  return issued;
}

TestCertificate TestAuthority::SelfSigned(const TestSubject& subject) {
  const Key key = NewKey();
  TestCertificate issued;
  issued.serial_ = subject.serial == 0 ? 1 : subject.serial;
  const Certificate leaf = NewLeaf(key.get(), subject, issued.serial_, nullptr, nullptr);
  issued.certificate_pem_ = Pem(leaf.get());
  issued.key_pem_ = Pem(key.get());
  return issued;
}

namespace {

RevocationList NewList(X509* issuer, EVP_PKEY* key, const std::vector<long>& serials,
                       std::int64_t next_update_s) {
  RevocationList list(X509_CRL_new());
  X509_CRL_set_version(list.get(), X509_CRL_VERSION_2);
  X509_CRL_set_issuer_name(list.get(), X509_get_subject_name(issuer));
  ASN1_TIME* time = ASN1_TIME_new();
  X509_gmtime_adj(time, -7200);
  X509_CRL_set1_lastUpdate(list.get(), time);
  X509_gmtime_adj(time, next_update_s);
  X509_CRL_set1_nextUpdate(list.get(), time);
  X509_gmtime_adj(time, -3600);
  for (const long serial : serials) {
    X509_REVOKED* entry = X509_REVOKED_new();
    ASN1_INTEGER* number = ASN1_INTEGER_new();
    ASN1_INTEGER_set(number, serial);
    X509_REVOKED_set_serialNumber(entry, number);
    X509_REVOKED_set_revocationDate(entry, time);
    X509_CRL_add0_revoked(list.get(), entry);
    ASN1_INTEGER_free(number);
  }
  ASN1_TIME_free(time);
  X509_CRL_sort(list.get());
  X509_CRL_sign(list.get(), key, EVP_sha256());
  return list;
}

}  // namespace

std::string TestAuthority::RevocationListPem(const std::vector<long>& serials,
                                             std::int64_t next_update_s) const {
  const RevocationList list =
      NewList(parts_->certificate.get(), parts_->key.get(), serials, next_update_s);
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509_CRL(bio.get(), list.get());
  return Taken(bio);
}

std::string TestAuthority::RevocationListDer(const std::vector<long>& serials,
                                             std::int64_t next_update_s) const {
  const RevocationList list =
      NewList(parts_->certificate.get(), parts_->key.get(), serials, next_update_s);
  const Bio bio(BIO_new(BIO_s_mem()));
  i2d_X509_CRL_bio(bio.get(), list.get());
  return Taken(bio);
}

}  // namespace kvorum
