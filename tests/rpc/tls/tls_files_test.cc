// The files of a TLS context: their faults, and the effect of changing them.
#include "rpc/tls/tls_files.h"

#include <gmock/gmock.h>
#include <openssl/ssl.h>
#include <openssl/ui.h>

#include <filesystem>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "rpc/tls/self_signed.h"
#include "tests/manual_clock.h"
#include "tests/rpc/tls_context_fixture.h"

namespace kvorum::rpc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

using TlsFilesTest = TlsContextTest;

TEST_F(TlsFilesTest, FilesThatAreNotGoodAreNamedAtTheStart) {
  const std::string none = folder_.path("none");
  TlsOptions options = MutualOptions();
  options.certificate_file = none;
  EXPECT_EQ(CreateError(options), "open " + none + ": no such file or directory");
  options = MutualOptions();
  options.trusted_ca_file = none;
  EXPECT_EQ(CreateError(options), "open " + none + ": no such file or directory");
  options = MutualOptions();
  options.crl_file = none;
  EXPECT_EQ(CreateError(options), "open " + none + ": no such file or directory");
  options.crl_file = folder_.path("ca.pem");
  EXPECT_THAT(CreateError(options), HasSubstr("ca.pem"));
  options = MutualOptions();
  OverwriteFile(none, "nothing");
  options.certificate_file = none;
  EXPECT_THAT(CreateError(options), HasSubstr("certificate input (" + none));
  options = MutualOptions();
  options.key_file = none;
  EXPECT_THAT(CreateError(options), HasSubstr("key input (" + none));
  options.key_file = "";
  EXPECT_THAT(CreateError(options), HasSubstr("KeyFile and CertFile must both be present[key: , "));
  options = MutualOptions();
  options.client_key_file = none;
  EXPECT_THAT(CreateError(options), HasSubstr("must both be present or both absent"));
  options = MutualOptions();
  options.trusted_ca_file = none;
  EXPECT_THAT(CreateError(options), HasSubstr(none));
}

TEST_F(TlsFilesTest, AKeyOfAnotherCertificateIsRefusedAndNotShown) {
  const TestCertificate other = ca_.Issue({.common_name = "other"});
  OverwriteFile(folder_.path("server.key"), other.key_pem());
  const std::string error = CreateError(ServerOptions());
  EXPECT_THAT(error, HasSubstr("tls: private key does not match public key"));
  EXPECT_THAT(error, HasSubstr("server.key"));
  EXPECT_EQ(error.find("PRIVATE"), std::string::npos);
}

// The content of an unusable file never shows in an error: files get mixed up.
TEST_F(TlsFilesTest, ErrorsTellNothingOfWhatIsInAFile) {
  const std::string secret = "MHcCAQEEISecretSecretSecretSecret";
  const std::string broken =
      "-----BEGIN EC PRIVATE KEY-----\n" + secret + "\n-----END EC PRIVATE KEY-----\n";
  const std::string bad = folder_.path("bad.pem");
  for (const std::string& content : {broken, secret, FileBytes(folder_.path("server.key"))}) {
    OverwriteFile(bad, content);
    for (std::string TlsOptions::* file : {&TlsOptions::certificate_file, &TlsOptions::key_file,
                                           &TlsOptions::trusted_ca_file, &TlsOptions::crl_file}) {
      TlsOptions options = MutualOptions();
      options.*file = bad;
      const std::string error = CreateError(options);
      if (file == &TlsOptions::key_file && content != broken && content != secret) {
        EXPECT_EQ(error, "") << "the right key";
        continue;
      }
      EXPECT_THAT(error, HasSubstr(bad));
      EXPECT_THAT(error, Not(HasSubstr("MHcC")));
      EXPECT_LT(error.size(), 100 + 2 * bad.size());
    }
  }
}

// A server that asks the terminal it was started from waits for ever.
TEST_F(TlsFilesTest, NobodyIsAskedForAPassphrase) {
  static bool asked;
  asked = false;
  UI_METHOD* const method = UI_create_method("asked");
  UI_method_set_opener(method, [](UI*) {
    asked = true;
    return 0;
  });
  UI_set_default_method(method);
  std::string pem = FileBytes(folder_.path("server.pem"));
  pem.insert(pem.find('\n') + 1,
             "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0123456789ABCDEF0123456789ABCDEF\n\n");
  EXPECT_FALSE(CertificateEnd(pem).has_value());
  OverwriteFile(folder_.path("server.pem"), pem);
  EXPECT_THAT(CreateError(ServerOptions()), HasSubstr("failed to parse a certificate"));
  EXPECT_FALSE(asked);
  UI_set_default_method(UI_OpenSSL());
  UI_destroy_method(method);
}

// Time stamps may come from another machine, or from the future.
TEST_F(TlsFilesTest, FilesThatStandStillAreNotReadAgainWhateverTheirTime) {
  ManualClock clock;  // at the beginning of time
  Watched watched({folder_.path("ca.pem")}, clock);
  ASSERT_TRUE(watched.Poll().has_value());
  EXPECT_TRUE(watched.BytesToRead().has_value());
  clock.Advance(std::chrono::seconds(1));
  EXPECT_FALSE(watched.Poll().has_value());
  EXPECT_TRUE(watched.BytesToRead().has_value()) << "it may have been written to again";
  OverwriteFile(folder_.path("ca.pem"), "else");
  clock.Advance(std::chrono::seconds(2));
  EXPECT_TRUE(watched.Poll().has_value());
  EXPECT_TRUE(watched.BytesToRead().has_value());
  clock.Advance(std::chrono::seconds(3));
  EXPECT_FALSE(watched.Poll().has_value());
  EXPECT_FALSE(watched.BytesToRead().has_value());
  OverwriteFile(folder_.path("ca.pem"), "other");
  EXPECT_TRUE(watched.BytesToRead().has_value());
}

// One context over many changes of its files, with a client that connects after each.
class TlsReloadTest : public TlsContextTest {
 protected:
  TlsReloadTest() {
    TlsOptions options = MutualOptions();
    options.crl_file = folder_.path("crl.pem");
    ReplaceFile(options.crl_file, ca_.RevocationListPem({1}));
    server_ = Context(options);
  }
  // The name of the server as a client of this CA sees it, or nothing.
  std::optional<std::string> Seen(const TestAuthority& trusted, const TestCertificate& client) {
    trusted.Write(folder_.path("client-ca.pem"));
    TlsOptions options = ClientOptions(client);
    options.trusted_ca_file = folder_.path("client-ca.pem");
    const Ends ends = rpc::Meet(server_->NewServer(), Context(options)->NewClient("localhost"));
    if (!ends.agreed) return std::nullopt;
    return VerifiedIdentity(ends.client.get())->common_name;
  }
  TestCertificate NewServer(TestAuthority& authority, const std::string& name) {
    return authority.Issue({.common_name = name, .dns_names = {"localhost"}});
  }

  std::shared_ptr<TlsContext> server_;
};

TEST_F(TlsReloadTest, ANewCertificateIsShownToWhoComesNextAndOldConnectionsStand) {
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  Ends standing =
      rpc::Meet(server_->NewServer(), Context(ClientOptions(alice))->NewClient("localhost"));
  ASSERT_TRUE(standing.agreed);
  NewServer(ca_, "second").Write(folder_.path("server.pem"), folder_.path("server.key"));
  EXPECT_EQ(Seen(ca_, alice), "second");
  const TestCertificate third = NewServer(ca_, "third");
  OverwriteFile(folder_.path("server.pem"), third.certificate_pem());  // in place, at once
  OverwriteFile(folder_.path("server.key"), third.key_pem());
  EXPECT_EQ(Seen(ca_, alice), "third");
  EXPECT_EQ(server_->reloads(), 2U);
  EXPECT_EQ(server_->failed_reloads(), 0U);
  char byte = 'y';
  EXPECT_EQ(SSL_write(standing.client.get(), &byte, 1), 1);
  EXPECT_EQ(SSL_read(standing.server.get(), &byte, 1), 1);
}

TEST_F(TlsReloadTest, APairInTheMakingLeavesTheLastOneInForce) {
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  const TestCertificate second = NewServer(ca_, "second");
  ReplaceFile(folder_.path("server.pem"), second.certificate_pem());  // the key comes later
  EXPECT_EQ(Seen(ca_, alice), "server");
  EXPECT_EQ(Seen(ca_, alice), "server");
  EXPECT_EQ(server_->failed_reloads(), 1U) << "told once";
  const std::string& key = second.key_pem();
  OverwriteFile(folder_.path("server.key"), key.substr(0, key.size() / 2));
  EXPECT_EQ(Seen(ca_, alice), "server");
  OverwriteFile(folder_.path("server.key"), "");
  EXPECT_EQ(Seen(ca_, alice), "server");
  std::filesystem::remove(folder_.path("server.key"));
  EXPECT_EQ(Seen(ca_, alice), "server");
  EXPECT_EQ(server_->failed_reloads(), 4U);
  OverwriteFile(folder_.path("server.key"), key);
  EXPECT_EQ(Seen(ca_, alice), "second");
}

TEST_F(TlsReloadTest, TheAuthorityRotates) {
  TestAuthority next("next");
  const TestCertificate old_alice = ca_.Issue({.common_name = "alice"});
  const TestCertificate new_alice = next.Issue({.common_name = "alice"});
  EXPECT_EQ(Seen(ca_, new_alice), std::nullopt);
  ReplaceFile(folder_.path("ca.pem"), ca_.pem() + next.pem());
  EXPECT_EQ(Seen(ca_, new_alice), "server");
  EXPECT_EQ(Seen(ca_, old_alice), "server");
  NewServer(next, "moved").Write(folder_.path("server.pem"), folder_.path("server.key"));
  ReplaceFile(folder_.path("ca.pem"), next.pem());
  EXPECT_EQ(Seen(next, new_alice), "moved");
  EXPECT_EQ(Seen(next, old_alice), std::nullopt);
  OverwriteFile(folder_.path("ca.pem"), "-----BEGIN CERTIFICATE-----\nMIIB");
  EXPECT_EQ(Seen(next, new_alice), "moved");
  EXPECT_EQ(Seen(next, old_alice), std::nullopt);
}

TEST_F(TlsReloadTest, ARevocationTakesEffectAndABrokenListTakesNothingBack) {
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  const TestCertificate bob = ca_.Issue({.common_name = "bob"});
  EXPECT_EQ(Seen(ca_, alice), "server");
  ReplaceFile(folder_.path("crl.pem"), ca_.RevocationListPem({1, alice.serial()}));
  EXPECT_EQ(Seen(ca_, alice), std::nullopt);
  EXPECT_EQ(Seen(ca_, bob), "server");
  OverwriteFile(folder_.path("crl.pem"), "-----BEGIN X509 CRL-----\nMII");
  EXPECT_EQ(Seen(ca_, alice), std::nullopt);
  std::filesystem::remove(folder_.path("crl.pem"));
  EXPECT_EQ(Seen(ca_, alice), std::nullopt);
  EXPECT_EQ(Seen(ca_, bob), "server");
}

// So no context keeps the list that it was made with.
TEST_F(TlsReloadTest, AHandshakeUnderWayIsJudgedByTheNewestList) {
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  const auto client = Context(ClientOptions(alice));
  SslPtr begun = server_->NewServer();
  ReplaceFile(folder_.path("crl.pem"), ca_.RevocationListPem({alice.serial()}));
  EXPECT_FALSE(
      rpc::Meet(server_->NewServer(), client->NewClient("localhost")).server_error.empty());
  const Ends ends = rpc::Meet(std::move(begun), client->NewClient("localhost"));
  EXPECT_FALSE(ends.agreed);
  EXPECT_THAT(ends.server_error, HasSubstr("revoked"));
}

// A pair that cannot be used must not hold up a revocation.
TEST_F(TlsReloadTest, EachPartReloadsOnItsOwn) {
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  OverwriteFile(folder_.path("server.key"), "broken");
  ReplaceFile(folder_.path("crl.pem"), ca_.RevocationListPem({alice.serial()}));
  EXPECT_EQ(Seen(ca_, alice), std::nullopt);
  EXPECT_EQ(Seen(ca_, ca_.Issue({.common_name = "bob"})), "server");
}

// A pair that fits, but that OpenSSL does not take.
TEST_F(TlsReloadTest, APairThatIsTooWeakHoldsUpNothingThatCameWithIt) {
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  ca_.Issue({.dns_names = {"localhost"}, .rsa_bits = 1024})
      .Write(folder_.path("server.pem"), folder_.path("server.key"));
  ReplaceFile(folder_.path("crl.pem"), ca_.RevocationListPem({alice.serial()}));
  EXPECT_EQ(Seen(ca_, alice), std::nullopt);
  EXPECT_EQ(Seen(ca_, ca_.Issue({.common_name = "bob"})), "server");
  EXPECT_EQ(server_->failed_reloads(), 1U);
}

// ---- Large files ----

// Keeps tasks until RunAll or Pass is called, with its own clock.
class HeldExecutor final : public Executor {
 public:
  void Post(Task task) override { tasks_.push_back(std::move(task)); }
  void PostAt(TimePoint when, Task task) override { timed_.emplace(when, std::move(task)); }
  const Clock& clock() const override { return clock_; }
  std::size_t RunAll() {
    std::vector<Task> tasks = std::exchange(tasks_, {});
    for (Task& task : tasks) task();
    return tasks.size();
  }
  // Runs tasks due by then, and those that they post.
  void Pass(Duration time) {
    clock_.Advance(time);
    while (!timed_.empty() && timed_.begin()->first <= clock_.Now())
      timed_.extract(timed_.begin()).mapped()();
    while (RunAll() > 0) {
    }
  }

 private:
  ManualClock clock_;
  std::vector<Task> tasks_;
  std::multimap<TimePoint, Task> timed_;
};

// A list of a hundred thousand certificates takes a while, which those who are connected must not
// feel.
TEST_F(TlsReloadTest, LargeFilesAreReadApart) {
  HeldExecutor loader;
  server_->LoadLargeFilesOn(loader);
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  const TestCertificate bob = ca_.Issue({.common_name = "bob"});
  std::vector<long> many(4000);
  std::iota(many.begin(), many.end(), 1'000'000);
  EXPECT_EQ(Seen(ca_, alice), "server");
  EXPECT_EQ(loader.RunAll(), 0U) << "the small ones are read at once";

  many.push_back(alice.serial());
  const std::string list = ca_.RevocationListPem(many);
  ASSERT_GT(std::ssize(list), TlsContext::kInlineBytes);
  ReplaceFile(folder_.path("crl.pem"), list);
  EXPECT_EQ(Seen(ca_, alice), "server");
  EXPECT_EQ(Seen(ca_, bob), "server");
  EXPECT_EQ(loader.RunAll(), 1U) << "once for all of them";
  EXPECT_EQ(Seen(ca_, alice), std::nullopt);
  EXPECT_EQ(Seen(ca_, bob), "server");
  EXPECT_EQ(server_->reloads(), 1U);

  loader.RunAll();  // a file changed a moment ago is read again
  OverwriteFile(folder_.path("crl.pem"), list.substr(0, list.size() - 100));
  EXPECT_EQ(Seen(ca_, alice), std::nullopt);
  loader.RunAll();
  EXPECT_EQ(Seen(ca_, alice), std::nullopt) << "a broken list takes nothing back";
  EXPECT_EQ(Seen(ca_, bob), "server");
  EXPECT_EQ(server_->failed_reloads(), 1U);

  Seen(ca_, bob);
  server_.reset();  // while a task is waiting
  loader.Pass(TlsContext::kLookInterval);
}

// The first client to come may be the revoked one.
TEST_F(TlsReloadTest, ALargeListCountsAfterASecondThoughNobodyHasConnected) {
  HeldExecutor loader;
  server_->LoadLargeFilesOn(loader);
  const TestCertificate alice = ca_.Issue({.common_name = "alice"});
  std::vector<long> many(4000);
  std::iota(many.begin(), many.end(), 1'000'000);
  for (int i = 0; i < 2; ++i) {  // that is, for ever
    many.push_back(alice.serial() + 1 - i);
    ReplaceFile(folder_.path("crl.pem"), ca_.RevocationListPem(many));
    loader.Pass(TlsContext::kLookInterval);
    EXPECT_EQ(server_->reloads(), i + 1);
  }
  EXPECT_EQ(Seen(ca_, alice), std::nullopt);
}

}  // namespace
}  // namespace kvorum::rpc
