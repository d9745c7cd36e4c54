// Certificates, keys and revocation lists for tests, made on the spot and written as PEM files.
//
//   TestFolder folder;
//   TestAuthority ca("ca");
//   const TestCertificate leaf = ca.Issue({.common_name = "alice", .dns_names = {"localhost"}});
//   leaf.Write(folder.path("alice.pem"), folder.path("alice.key"));
//
// Keys are P-256. Everything is valid from an hour ago for a day by default.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct evp_pkey_st;
struct x509_st;

namespace kvorum {

// A folder that goes with the test.
class TestFolder {
 public:
  TestFolder();
  ~TestFolder();
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  std::string path(std::string_view name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

// Writes beside the target and renames over it, as tools that rotate certificates do.
void ReplaceFile(const std::string& path, std::string_view bytes);
// Written in place.
void OverwriteFile(const std::string& path, std::string_view bytes);
std::string FileBytes(const std::string& path);

enum class TestUsage : std::uint8_t { kBoth, kServer, kClient, kNone };

struct TestSubject {
  std::string common_name = {};
  std::vector<std::string> dns_names = {};
  std::vector<std::string> ip_addresses = {};
  TestUsage usage = TestUsage::kBoth;  // kNone: no extension, which allows all
  std::int64_t not_before_s = -3600;   // from now
  std::int64_t not_after_s = 24 * 3600;
  long serial = 0;                 // 0: the issuer's next
  bool names_issuers_key = false;  // by the extension for that
  unsigned rsa_bits = 0;           // 0: a key on P-256
};

class TestCertificate {
 public:
  const std::string& certificate_pem() const { return certificate_pem_; }
  const std::string& key_pem() const { return key_pem_; }
  long serial() const { return serial_; }
  void Write(const std::string& certificate_file, const std::string& key_file) const;

 private:
  friend class TestAuthority;
  std::string certificate_pem_;  // with the intermediates up to the root
  std::string key_pem_;
  long serial_ = 0;
};

class TestAuthority {
 public:
  // A root; two of the same name are different authorities.
  explicit TestAuthority(std::string name);
  // Each is signed by another; a pretender is not an authority, but signs all the same; a
  // constrained one may sign for names below example.com.
  enum class Kind : std::uint8_t { kAuthority, kPretender, kConstrained };
  TestAuthority(std::string name, TestAuthority& parent, long serial = 0,
                Kind kind = Kind::kAuthority);
  ~TestAuthority();
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;

  TestCertificate Issue(const TestSubject& subject);
  static TestCertificate SelfSigned(const TestSubject& subject);
  // From this authority; valid until `next_update_s` from now.
  std::string RevocationListPem(const std::vector<long>& serials,
                                std::int64_t next_update_s = 3600) const;
  std::string RevocationListDer(const std::vector<long>& serials,
                                std::int64_t next_update_s = 3600) const;
  // Its own certificate.
  const std::string& pem() const { return pem_; }
  void Write(const std::string& file) const { ReplaceFile(file, pem_); }

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
  std::string pem_;
  std::string chain_pem_;  // what leaves send along
  long next_serial_ = 0;
};

}  // namespace kvorum
