#include "archive/store/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/disk/sim_file_system.h"

namespace kvorum::archive {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kFile =
    "# comment\n"
    "[default]\r\n"
    "aws_access_key_id = AKID1\r\n"
    "aws_secret_access_key=se=cret1\n"
    "region = us-east-1\n"
    "\n"
    "[ backup ]\n"
    "AWS_ACCESS_KEY_ID = AKID2\n"
    "aws_secret_access_key = secret2\n"
    "aws_session_token = token2\n";

class CredentialsTest : public testing::Test {
 protected:
  void Write(const std::string& path, const std::string& content) {
    ASSERT_TRUE(disk_.MakeDirectories(ParentDirectory(path)).has_value());
    ASSERT_TRUE(WriteFileAtomically(disk_, path, content).has_value());
  }
  CredentialSource Source(CredentialOptions options = {}) {
    return {disk_, std::move(options), [this](const char* variable) -> std::optional<std::string> {
              const auto found = environment_.find(variable);
              if (found == environment_.end()) return std::nullopt;
              return found->second;
            }};
  }

  SimFileSystem disk_;
  std::map<std::string, std::string> environment_;
};

TEST_F(CredentialsTest, ReadsTheProfileOfAFile) {
  EXPECT_EQ(ParseCredentials(kFile, "default").value(), Credentials("AKID1", "se=cret1", ""));
  EXPECT_EQ(ParseCredentials(kFile, "backup").value(), Credentials("AKID2", "secret2", "token2"));
  EXPECT_THAT(ParseCredentials(kFile, "other").error().text, HasSubstr("no profile [other]"));
}

TEST_F(CredentialsTest, AnUnfinishedProfileIsRefusedWithoutItsKey) {
  const auto read = ParseCredentials("[default]\naws_secret_access_key = topsecret\n", "default");
  ASSERT_FALSE(read.has_value());
  EXPECT_EQ(read.error().kind, StoreErrorKind::kDenied);
  EXPECT_THAT(read.error().text, Not(HasSubstr("topsecret")));
  const auto odd = ParseCredentials(
      "[default]\naws_access_key_id=A\naws_secret_access_key=top\x01secret", "default");
  ASSERT_FALSE(odd.has_value());
  EXPECT_THAT(odd.error().text, Not(HasSubstr("secret\n")));
}

TEST_F(CredentialsTest, AFileOfTheOptionsComesBeforeTheEnvironmentAndThatBeforeHome) {
  Write("/home/.aws/credentials", kFile);
  environment_["HOME"] = "/home";
  EXPECT_EQ(Source().Get().value().access_key, "AKID1");
  environment_["AWS_PROFILE"] = "backup";
  EXPECT_EQ(Source().Get().value().access_key, "AKID2");
  Write("/shared", "[backup]\naws_access_key_id=AKID3\naws_secret_access_key=s\n");
  environment_["AWS_SHARED_CREDENTIALS_FILE"] = "/shared";
  EXPECT_EQ(Source().Get().value().access_key, "AKID3");
  environment_["AWS_ACCESS_KEY_ID"] = "AKID4";
  environment_["AWS_SECRET_ACCESS_KEY"] = "s";
  environment_["AWS_SESSION_TOKEN"] = "t";
  EXPECT_EQ(Source().Get().value(), Credentials("AKID4", "s", "t"));
  Write("/own", kFile);
  EXPECT_EQ(Source({.file = "/own", .profile = "default"}).Get().value().access_key, "AKID1");
}

TEST_F(CredentialsTest, AReplacedFileIsReadAndAMissingOneLeavesTheLast) {
  Write("/own", kFile);
  CredentialSource source = Source({.file = "/own", .profile = ""});
  EXPECT_EQ(source.Get().value().access_key, "AKID1");
  Write("/own", "[default]\naws_access_key_id=NEW\naws_secret_access_key=s\n");
  EXPECT_EQ(source.Get().value().access_key, "NEW");
  ASSERT_TRUE(disk_.Remove("/own").has_value());
  EXPECT_EQ(source.Get().value().access_key, "NEW");
}

TEST_F(CredentialsTest, WithoutAnyTheTextNamesTheWays) {
  EXPECT_THAT(Source().Get().error().text, HasSubstr("AWS_ACCESS_KEY_ID"));
}

TEST_F(CredentialsTest, SecretsAreTakenOutOfATextAndTheAccessKeyIsNot) {
  EXPECT_EQ(WithoutSecrets("AK s3cr3t and tok3n, s3cr3t", {"AK", "s3cr3t", "tok3n"}),
            "AK (hidden) and (hidden), (hidden)");
}

}  // namespace
}  // namespace kvorum::archive
