// Self-made certificates of a server: their content, and when they are replaced.
#include "server/process/certificates/auto_tls.h"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/freed_by.h"
#include "rpc/tls/tls_files.h"
#include "tests/disk/sim_file_system.h"

namespace kvorum::server {
namespace {

constexpr std::int64_t kNowS = 1'800'000'000;
constexpr std::int64_t kDay = 86'400;
constexpr std::string_view kPeerTlsDir = "data/fixtures/peer";

struct Certificate {
  explicit Certificate(const std::string& pem) {
    BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
    x509.reset(PEM_read_bio_X509(bio, nullptr, nullptr, nullptr));
    BIO_free(bio);
  }
  bool IsFor(const char* host) const {
    return X509_check_host(x509.get(), host, 0, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, nullptr) == 1;
  }
  bool IsForAddress(const char* address) const {
    return X509_check_ip_asc(x509.get(), address, 0) == 1;
  }
  bool IsValidAt(std::time_t time) const {
    return X509_cmp_time(X509_get0_notBefore(x509.get()), &time) < 0 &&
           X509_cmp_time(X509_get0_notAfter(x509.get()), &time) > 0;
  }
  std::unique_ptr<X509, FreedBy<X509_free>> x509;
};

class AutoTlsTest : public testing::Test {
 protected:
  Result<CertificatePair> Keep(std::string_view urls = "https://127.0.0.1:2380",
                               std::uint64_t years = 1, std::int64_t now_s = kNowS) {
    return KeepSelfSigned(fs_, std::string(kPeerTlsDir), *ParseUrls(urls), years, now_s);
  }
  std::string Read(const std::string& path) { return *ReadWholeFile(fs_, path, 1 << 20); }

  SimFileSystem fs_;
};

TEST_F(AutoTlsTest, NamesTheHostsOfTheUrlsAndIsGoodForServersAndClients) {
  const auto pair = Keep("https://127.0.0.1:2380,https://[::1]:2380,https://localhost:2381", 2);
  ASSERT_TRUE(pair.has_value()) << pair.error().message;
  EXPECT_EQ(pair->certificate, "data/fixtures/peer/cert.pem");
  EXPECT_EQ(pair->key, "data/fixtures/peer/key.pem");
  const Certificate made(Read(pair->certificate));
  ASSERT_NE(made.x509, nullptr);
  EXPECT_TRUE(made.IsFor("localhost"));
  EXPECT_FALSE(made.IsFor("127.0.0.1"));
  EXPECT_TRUE(made.IsForAddress("127.0.0.1"));
  EXPECT_TRUE(made.IsForAddress("::1"));
  EXPECT_FALSE(made.IsForAddress("127.0.0.2"));
  EXPECT_TRUE(made.IsValidAt(kNowS + 1));
  EXPECT_FALSE(made.IsValidAt(kNowS - 1));
  EXPECT_TRUE(made.IsValidAt(kNowS + 729 * kDay));
  EXPECT_FALSE(made.IsValidAt(kNowS + 731 * kDay));
  EXPECT_EQ(X509_check_purpose(made.x509.get(), X509_PURPOSE_SSL_SERVER, 0), 1);
  EXPECT_EQ(X509_check_purpose(made.x509.get(), X509_PURPOSE_SSL_CLIENT, 0), 1);
  EXPECT_EQ(X509_check_ca(made.x509.get()), 1);
  EXPECT_EQ(X509_verify(made.x509.get(), X509_get0_pubkey(made.x509.get())), 1);
  EXPECT_TRUE(Read(pair->key).starts_with("-----BEGIN EC PRIVATE KEY-----\n"));
}

TEST_F(AutoTlsTest, OnlyOneProcessMakesThem) {
  ASSERT_TRUE(fs_.MakeDirectories(std::string(kPeerTlsDir)).has_value());
  auto lock = fs_.Lock(std::string(kPeerTlsDir) + "/lock");
  ASSERT_TRUE(lock.has_value());
  EXPECT_EQ(Keep().error().message,
            "another process is making certificates in data/fixtures/peer already");
  EXPECT_EQ(fs_.List(std::string(kPeerTlsDir))->size(), 1);
  lock->reset();
  EXPECT_TRUE(Keep().has_value());
  lock = fs_.Lock(std::string(kPeerTlsDir) + "/lock");
  EXPECT_TRUE(Keep().has_value()) << "what is there is used without it";
}

TEST_F(AutoTlsTest, APairThatIsThereIsKept) {
  const auto first = Keep();
  ASSERT_TRUE(first.has_value());
  const std::string certificate = Read(first->certificate);
  const std::string key = Read(first->key);
  ASSERT_TRUE(Keep("https://10.1.2.3:2380", 7, kNowS + kDay).has_value());
  EXPECT_EQ(Read(first->certificate), certificate);
  EXPECT_EQ(Read(first->key), key);
}

TEST_F(AutoTlsTest, TwoAreNeverTheSame) {
  const std::string certificate = Read(Keep()->certificate);
  SimFileSystem other;
  const auto pair = KeepSelfSigned(other, std::string(kPeerTlsDir),
                                   *ParseUrls("https://127.0.0.1:2380"), 1, kNowS);
  const Certificate a(certificate);
  const Certificate b(*ReadWholeFile(other, pair->certificate, 1 << 20));
  EXPECT_NE(
      ASN1_INTEGER_cmp(X509_get0_serialNumber(a.x509.get()), X509_get0_serialNumber(b.x509.get())),
      0);
}

TEST_F(AutoTlsTest, OneWhoseTimeIsOverIsMadeAnew) {
  const auto first = Keep();
  const std::string before = Read(first->key);
  ASSERT_TRUE(Keep("https://127.0.0.1:2380", 1, kNowS + 366 * kDay).has_value());
  EXPECT_TRUE(Certificate(Read(first->certificate)).IsValidAt(kNowS + 400 * kDay));
  EXPECT_NE(Read(first->key), before);
}

TEST_F(AutoTlsTest, HalfAPairIsMadeAnewAsAWhole) {
  const auto pair = Keep();
  const std::string before = Read(pair->key);
  ASSERT_TRUE(fs_.Remove(pair->certificate).has_value());
  ASSERT_TRUE(Keep().has_value());
  EXPECT_NE(Read(pair->key), before);
  ASSERT_TRUE(fs_.Remove(pair->key).has_value());
  const std::string certificate = Read(pair->certificate);
  ASSERT_TRUE(Keep().has_value());
  EXPECT_NE(Read(pair->certificate), certificate);
}

TEST_F(AutoTlsTest, ADamagedPairIsMadeAnewAsAWhole) {
  const auto pair = Keep();
  SimFileSystem other;
  const auto others = KeepSelfSigned(other, std::string(kPeerTlsDir),
                                     *ParseUrls("https://127.0.0.1:2380"), 1, kNowS);
  const auto is_made_anew = [&](const std::string& spoiled, const std::string& content) {
    const std::string certificate = Read(pair->certificate);
    const std::string key = Read(pair->key);
    EXPECT_TRUE(WriteFileAtomically(fs_, spoiled, content).has_value());
    EXPECT_TRUE(Keep().has_value());
    return Read(pair->certificate) != certificate && Read(pair->key) != key &&
           rpc::ParseKeyPair(Read(pair->certificate), Read(pair->key), "", "").has_value();
  };
  for (const std::string& path : {pair->certificate, pair->key}) {
    EXPECT_TRUE(is_made_anew(path, "")) << path << " is empty";
    EXPECT_TRUE(is_made_anew(path, Read(path).substr(0, 100))) << path << " is torn";
    EXPECT_TRUE(is_made_anew(path, std::string(700, '\0'))) << path << " is zeros";
    EXPECT_TRUE(is_made_anew(path, *ReadWholeFile(other, path, 1 << 20)))
        << path << " is another's";
  }
  EXPECT_EQ(others->certificate, pair->certificate);
}

TEST_F(AutoTlsTest, AValidityThatCannotBeIsRefused) {
  for (const std::uint64_t years : {std::uint64_t{0}, std::uint64_t{1'001}, UINT64_MAX}) {
    const auto pair = Keep("https://127.0.0.1:2380", years);
    ASSERT_FALSE(pair.has_value());
    EXPECT_TRUE(pair.error().message.starts_with("selfSignedCertValidity is invalid,"));
  }
}

TEST(AutoTlsFilesTest, NobodyElseMayReadThem) {
  std::string root = std::filesystem::temp_directory_path() / "kvorum-auto-tls-XXXXXX";
  ASSERT_NE(mkdtemp(root.data()), nullptr);
  const auto pair = KeepSelfSigned(PosixFileSystem(), root + "/fixtures/client",
                                   *ParseUrls("https://localhost:2379"), 1, kNowS);
  ASSERT_TRUE(pair.has_value()) << pair.error().message;
  for (const auto& [path, mode] :
       {std::pair(pair->certificate, 0600), std::pair(pair->key, 0600),
        std::pair(root + "/fixtures/client", 0700), std::pair(root + "/fixtures", 0700)}) {
    struct stat info{};
    ASSERT_EQ(stat(path.c_str(), &info), 0) << path;
    EXPECT_EQ(info.st_mode & 07777, static_cast<mode_t>(mode)) << path;
  }
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace kvorum::server
