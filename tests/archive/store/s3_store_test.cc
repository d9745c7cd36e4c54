#include "archive/store/s3_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <thread>
#include <utility>

#include "tests/archive/store/clocked_stop.h"
#include "tests/archive/store/s3_server.h"
#include "tests/disk/sim_file_system.h"
#include "tests/rpc/certificates.h"

namespace kvorum::archive {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using Fault = S3Server::Fault;

const PieceSink kIgnore = [](std::string_view) -> StoreResult<void> { return {}; };

class S3StoreTest : public testing::Test {
 protected:
  S3StoreTest() {
    ::setenv("no_proxy", "*", 1);
    clock_.Advance(std::chrono::seconds(1'700'000'000));
    server_.SetUnixSeconds(clock_.WallSeconds());
    WriteKeys(S3Server::kAccessKey, S3Server::kSecretKey, "");
    store_ = Store({.bucket = S3Server::kBucket, .prefix = "kv", .endpoint = server_.endpoint()});
  }

  void WriteKeys(const std::string& access, const std::string& secret, const std::string& token) {
    const std::string content = "[default]\naws_access_key_id=" + access +
                                "\naws_secret_access_key=" + secret +
                                "\naws_session_token=" + token + "\n";
    ASSERT_TRUE(WriteFileAtomically(files_, "/keys", content).has_value());
  }

  std::unique_ptr<S3Store> Store(const S3Settings& settings) {
    const auto environment = [](const char*) { return std::optional<std::string>(); };
    auto place = FindS3Place(settings, environment);
    EXPECT_TRUE(place.has_value()) << place.error().text;
    return std::make_unique<S3Store>(
        *place, CredentialSource(files_, {.file = "/keys", .profile = ""}, environment),
        TransportOptions{.ca_file = ca_file_,
                         .connect_timeout = std::chrono::seconds(5),
                         .stall_timeout = std::chrono::seconds(1),
                         .whole_timeout = std::chrono::seconds(20)},
        clock_, stop_);
  }

  std::vector<std::string> Keys(const ListOptions& options = {}) {
    std::vector<std::string> keys;
    const auto listed = store_->List(options, [&](std::string_view key, std::uint64_t) {
      keys.emplace_back(key);
      return true;
    });
    EXPECT_TRUE(listed.has_value()) << listed.error().text;
    return keys;
  }

  ManualClock clock_;
  StopSignal stop_;
  SimFileSystem files_;
  S3Server server_;
  std::string ca_file_;
  std::unique_ptr<S3Store> store_;
};

TEST_F(S3StoreTest, AnObjectIsReadAsItWasWritten) {
  std::string bytes;
  for (int i = 0; i < 300'000; ++i) bytes += static_cast<char>(i * 7);
  const auto put = store_->Put("h/log/1.gz", bytes, {});
  ASSERT_TRUE(put.has_value()) << put.error().text;
  EXPECT_EQ(server_.objects().at("kv/h/log/1.gz").bytes, bytes);
  std::string read;
  const auto got = store_->Get("h/log/1.gz", {}, [&](std::string_view piece) -> StoreResult<void> {
    EXPECT_LE(piece.size(), kMaxPieceBytes);
    read += piece;
    return {};
  });
  ASSERT_TRUE(got.has_value()) << got.error().text;
  EXPECT_EQ(read, bytes);
  EXPECT_EQ(got->size_bytes, bytes.size());
  EXPECT_EQ(server_.connections(), 1u) << "a connection is kept";
}

TEST_F(S3StoreTest, EveryRequestIsSignedWithTheHashOfItsBody) {
  ASSERT_TRUE(store_->Put("a", "body", {.if_absent = true, .content_type = "application/json"})
                  .has_value());
  const auto request = server_.requests().at(0);
  EXPECT_EQ(request.path, "/bucket/kv/a");
  EXPECT_EQ(request.headers.at("content-type"), "application/json");
  EXPECT_EQ(request.headers.at("if-none-match"), "*");
  EXPECT_EQ(request.headers.at("content-md5"), "hBotaJrYa9FhFEdFPCLG/A==");
  EXPECT_FALSE(request.headers.at("x-amz-checksum-sha256").empty());
  EXPECT_FALSE(request.headers.contains("expect"));
}

TEST_F(S3StoreTest, ALargeBodyWaitsForTheServersWord) {
  const std::string bytes(std::size_t{3} << 20, 'x');
  ASSERT_TRUE(store_->Put("large", bytes, {}).has_value());
  EXPECT_EQ(server_.objects().at("kv/large").bytes, bytes);
  EXPECT_EQ(server_.requests().at(0).headers.at("expect"), "100-continue");
}

TEST_F(S3StoreTest, APartIsAskedForByItsRange) {
  server_.Set("kv/a", "0123456789");
  std::string part;
  const auto got = store_->Get("a", {.offset = 3, .length = 4},
                               [&](std::string_view piece) -> StoreResult<void> {
                                 part += piece;
                                 return {};
                               });
  ASSERT_TRUE(got.has_value()) << got.error().text;
  EXPECT_EQ(part, "3456");
  EXPECT_EQ(got->size_bytes, 10u);
  EXPECT_TRUE(store_->Get("a", {.offset = 8, .length = 100}, kIgnore).has_value());
  EXPECT_TRUE(store_->Get("a", {.offset = 8}, kIgnore).has_value());
  EXPECT_TRUE(store_->Get("a", {.offset = 10, .length = 0}, kIgnore).has_value());
  EXPECT_EQ(store_->Get("a", {.offset = 11}, kIgnore).error().kind, StoreErrorKind::kInvalid);
}

TEST_F(S3StoreTest, AnEmptyObjectHasABeginningAndNoPieces) {
  ASSERT_TRUE(store_->Put("empty", "", {}).has_value());
  std::uint64_t begun = 99;
  const GetOptions options{.on_begin = [&](const ObjectInfo& info) { begun = info.size_bytes; }};
  EXPECT_TRUE(store_->Get("empty", options, kIgnore).has_value());
  EXPECT_EQ(begun, 0u);
}

TEST_F(S3StoreTest, AnotherVersionIsAConflict) {
  server_.Set("kv/a", "one");
  const auto head = store_->Head("a");
  ASSERT_TRUE(head.has_value());
  EXPECT_TRUE(store_->Get("a", {.version = head->version}, kIgnore).has_value());
  server_.Set("kv/a", "two");
  EXPECT_EQ(store_->Get("a", {.version = head->version}, kIgnore).error().kind,
            StoreErrorKind::kConflict);
}

TEST_F(S3StoreTest, APutForAnAbsentObjectLeavesOneThatIsThere) {
  server_.Set("kv/a", "theirs");
  EXPECT_EQ(store_->Put("a", "mine", {.if_absent = true}).error().kind, StoreErrorKind::kExists);
  EXPECT_EQ(server_.objects().at("kv/a").bytes, "theirs");
  EXPECT_TRUE(store_->Put("a", "mine", {}).has_value());
  EXPECT_EQ(server_.objects().at("kv/a").bytes, "mine");
}

TEST_F(S3StoreTest, HeadHasSizeChecksumAndLock) {
  server_.Set("kv/a", "content", true);
  const auto head = store_->Head("a");
  ASSERT_TRUE(head.has_value()) << head.error().text;
  EXPECT_EQ(head->size_bytes, 7u);
  EXPECT_EQ(head->sha256.size(), 32u);
  EXPECT_EQ(head->lock, "COMPLIANCE until 2027-01-31T00:00:00Z");
  EXPECT_EQ(store_->Head("none").error().kind, StoreErrorKind::kAbsent);
}

TEST_F(S3StoreTest, AListTurnsItsPages) {
  server_.SetPageSize(3);
  std::vector<std::string> wanted;
  for (char c = 'a'; c <= 'j'; ++c) {
    server_.Set(std::string("kv/h/") + c, "x");
    wanted.push_back(std::string("h/") + c);
  }
  server_.Set("other/a", "x");
  server_.Set("kv/odd & key+", "x");
  wanted.emplace_back("odd & key+");
  EXPECT_EQ(Keys(), wanted);
  EXPECT_THAT(Keys({.prefix = "h/", .after = "h/g"}), ElementsAre("h/h", "h/i", "h/j"));
  int calls = 0;
  EXPECT_TRUE(
      store_->List({}, [&](std::string_view, std::uint64_t) { return ++calls < 5; }).has_value());
  EXPECT_EQ(calls, 5);
}

TEST_F(S3StoreTest, AListInAnotherOrderIsRefused) {
  server_.Set("kv/a", "x");
  server_.Set("kv/b", "x");
  server_.Next({Fault::kWrongOrder});
  const auto listed = store_->List({}, [](std::string_view, std::uint64_t) { return true; });
  ASSERT_FALSE(listed.has_value());
  EXPECT_EQ(listed.error().kind, StoreErrorKind::kDamaged);
}

TEST_F(S3StoreTest, DeletionNamesTheObjectThatIsLocked) {
  server_.Set("kv/a", "x");
  server_.Set("kv/b", "x", true);
  const std::vector<std::string> keys = {"a", "b", "none"};
  const auto failures = store_->Delete(keys);
  ASSERT_TRUE(failures.has_value()) << failures.error().text;
  ASSERT_THAT(*failures, SizeIs(1));
  EXPECT_EQ(failures->front().key, "b");
  EXPECT_EQ(failures->front().error.kind, StoreErrorKind::kLocked);
  EXPECT_THAT(Keys(), ElementsAre("b"));
}

TEST_F(S3StoreTest, MoreThanAThousandKeysAreDeletedInSeveralRequests) {
  std::vector<std::string> keys;
  for (int i = 0; i < 2001; ++i) {
    keys.push_back("h/" + std::to_string(i));
    server_.Set("kv/" + keys.back(), "x");
  }
  EXPECT_THAT(store_->Delete(keys).value(), IsEmpty());
  EXPECT_THAT(server_.objects(), IsEmpty());
  EXPECT_THAT(server_.requests(), SizeIs(3));
}

TEST_F(S3StoreTest, EachFaultHasItsKind) {
  const std::pair<Fault, StoreErrorKind> cases[] = {
      {Fault::kSlowDown, StoreErrorKind::kThrottled},
      {Fault::kInternalError, StoreErrorKind::kUnavailable},
      {Fault::kConflict, StoreErrorKind::kConflict},
      {Fault::kErrorInside, StoreErrorKind::kUnavailable},
      {Fault::kNoAnswer, StoreErrorKind::kUnavailable},
      {Fault::kDropped, StoreErrorKind::kUnavailable},
      {Fault::kStall, StoreErrorKind::kUnavailable},
      {Fault::kRedirect, StoreErrorKind::kInvalid},
      {Fault::kHugeAnswer, StoreErrorKind::kDamaged},
  };
  for (const auto& [fault, kind] : cases) {
    store_->RenewConnection();
    server_.Next({fault});
    const auto put = store_->Put("a", "x", {});
    ASSERT_FALSE(put.has_value()) << static_cast<int>(fault);
    EXPECT_EQ(put.error().kind, kind) << put.error().text;
    EXPECT_THAT(put.error().text, HasSubstr("PUT s3://bucket/kv/a: "));
  }
}

TEST_F(S3StoreTest, ARedirectIsNotFollowedAndNamesTheRegion) {
  server_.Next({Fault::kRedirect});
  EXPECT_THAT(store_->Put("a", "x", {}).error().text, HasSubstr("in the region eu-central-1"));
  EXPECT_THAT(server_.requests(), SizeIs(1));
}

TEST_F(S3StoreTest, AnAnswerThatIsCutIsNotTakenForTheObject) {
  server_.Set("kv/a", std::string(100'000, 'x'));
  server_.Next({Fault::kCutAnswer});
  std::size_t size = 0;
  const auto got = store_->Get("a", {}, [&](std::string_view piece) -> StoreResult<void> {
    size += piece.size();
    return {};
  });
  ASSERT_FALSE(got.has_value());
  EXPECT_EQ(got.error().kind, StoreErrorKind::kUnavailable);
  EXPECT_GT(size, 0u);
  EXPECT_LT(size, 100'000u);
}

TEST_F(S3StoreTest, TheSinksErrorEndsTheGetUnchanged) {
  server_.Set("kv/a", std::string(1'000'000, 'x'));
  const auto got = store_->Get("a", {}, [](std::string_view) -> StoreResult<void> {
    return StoreFail(StoreErrorKind::kFull, "my disk is full");
  });
  EXPECT_EQ(got.error(), (StoreError{StoreErrorKind::kFull, "my disk is full"}));
}

TEST_F(S3StoreTest, AClockThatIsWrongIsCorrectedOnce) {
  server_.SetUnixSeconds(clock_.WallSeconds() + 7200);
  ASSERT_TRUE(store_->Put("a", "x", {}).has_value());
  EXPECT_THAT(server_.requests(), SizeIs(2));
  ASSERT_TRUE(store_->Put("b", "x", {}).has_value());
  EXPECT_THAT(server_.requests(), SizeIs(3)) << "the correction stays";
  server_.SetUnixSeconds(clock_.WallSeconds());
  EXPECT_TRUE(store_->Head("a").has_value()) << "HEAD's refusal has no text";
}

TEST_F(S3StoreTest, WrongKeysAreDeniedAndNoTextHasThem) {
  WriteKeys(S3Server::kAccessKey, "wrongsecret", "");
  const auto put = store_->Put("a", "x", {});
  ASSERT_FALSE(put.has_value());
  EXPECT_EQ(put.error().kind, StoreErrorKind::kDenied);
  EXPECT_THAT(put.error().text,
              AllOf(HasSubstr("SignatureDoesNotMatch"), Not(HasSubstr("wrongsecret"))));
  WriteKeys(S3Server::kAccessKey, S3Server::kSecretKey, "");
  EXPECT_TRUE(store_->Put("a", "x", {}).has_value()) << "a replaced file is read";
}

TEST_F(S3StoreTest, ASessionsTokenIsSentAndSigned) {
  server_.SetSessionToken("token");
  EXPECT_EQ(store_->Put("a", "x", {}).error().kind, StoreErrorKind::kDenied);
  WriteKeys(S3Server::kAccessKey, S3Server::kSecretKey, "token");
  EXPECT_TRUE(store_->Put("a", "x", {}).has_value());
}

TEST_F(S3StoreTest, AStopEndsACallThatWaits) {
  server_.Next({Fault::kStall});
  std::thread stopper([this] {
    while (server_.requests().empty()) std::this_thread::yield();
    stop_.Stop();
  });
  const auto put = store_->Put("a", "x", {});
  stopper.join();
  // Within its stall time of a second the one or the other ends it.
  ASSERT_FALSE(put.has_value());
  EXPECT_EQ(store_->Put("a", "x", {}).error().kind, StoreErrorKind::kStopped);
}

TEST_F(S3StoreTest, ACertificateIsVerifiedAgainstTheGivenAuthorities) {
  const TestFolder folder;
  TestAuthority authority("authority");
  TestAuthority stranger("stranger");
  authority.Write(folder.path("ca.pem"));
  stranger.Write(folder.path("stranger.pem"));
  authority.Issue({.common_name = "s3", .ip_addresses = {"127.0.0.1"}})
      .Write(folder.path("s3.pem"), folder.path("s3.key"));
  authority.Issue({.common_name = "s3", .dns_names = {"elsewhere"}})
      .Write(folder.path("other.pem"), folder.path("other.key"));
  S3Server server(folder.path("s3.pem"), folder.path("s3.key"));
  S3Server other(folder.path("other.pem"), folder.path("other.key"));
  for (S3Server* each : {&server, &other}) each->SetUnixSeconds(clock_.WallSeconds());
  const auto put = [&](const S3Server& to, const std::string& ca_file) {
    ca_file_ = ca_file;
    return Store({.bucket = S3Server::kBucket, .endpoint = to.endpoint()})->Put("a", "x", {});
  };
  const auto trusted = put(server, folder.path("ca.pem"));
  EXPECT_TRUE(trusted.has_value()) << trusted.error().text;
  for (const auto& refused : {put(server, folder.path("stranger.pem")), put(server, ""),
                              put(other, folder.path("ca.pem"))}) {
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().kind, StoreErrorKind::kInvalid) << refused.error().text;
  }
}

TEST_F(S3StoreTest, NoServerIsUnavailableAndAnotherProtocolIsRefused) {
  std::string endpoint;
  {
    const S3Server gone;
    endpoint = gone.endpoint();
  }
  const auto put = Store({.bucket = "bucket", .endpoint = endpoint})->Put("a", "x", {});
  ASSERT_FALSE(put.has_value());
  EXPECT_EQ(put.error().kind, StoreErrorKind::kUnavailable);
  const StopSignal stop;
  HttpTransport transport({}, stop);
  const auto file =
      transport.Do({.method = HttpMethod::kGet, .url = "file:///etc/hostname"}, nullptr);
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().kind, StoreErrorKind::kInvalid);
}

}  // namespace
}  // namespace kvorum::archive
