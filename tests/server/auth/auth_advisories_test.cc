// Published advisories of servers of this API, as far as they are about users, passwords and
// tokens: each named after its id. docs/operations/advisories.md has the list, and where the others
// are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "api/lease_messages.h"
#include "auth/jwt.h"
#include "tests/server/auth/auth_fixture.h"
#include "tests/server/auth/method_paths.h"
#include "tests/server/replica/log_file.h"

namespace kvorum::server {
namespace {

using testing::HasSubstr;
using testing::Not;

class AuthAdvisoriesTest : public AuthTest {
 protected:
  // The verdicts on `op` as the only operation of a txn: in each branch, and one and two txns
  // further in.
  std::vector<Error> InTxns(std::string_view token, const std::string& op) {
    const std::string inner = OpBody(kRequestTxn, TxnBody({op}));
    const std::string other = OpBody(kRequestTxn, TxnBody({}, {op}));
    std::vector<Error> errors;
    for (const std::string& txn :
         {TxnBody({op}), TxnBody({}, {op}), TxnBody({inner}), TxnBody({}, {inner}),
          TxnBody({other}), TxnBody({OpBody(kRequestTxn, TxnBody({inner}))})})
      errors.push_back(ErrorOf(CallAs(token, kTxnPath, txn)));
    return errors;
  }
  lease::LeaseId LeaseWithKeyOf(std::string_view token, std::string_view key) {
    const auto granted =
        CallAs(token, "/etcdserverpb.Lease/LeaseGrant", EncodeLeaseGrant({.ttl_s = 60}));
    etcdserverpb::LeaseGrantResponse response;
    EXPECT_TRUE(granted.has_value() && response.ParseFromString(*granted));
    EXPECT_EQ(ErrorOf(CallAs(token, "/etcdserverpb.KV/Put", PutOn(key, response.id()))), kNone);
    return response.id();
  }
  static std::string PutOn(std::string_view key, lease::LeaseId id) {
    std::string body = PutBody(key, "v");
    wire::AppendInt(body, 3, id);
    return body;
  }
  std::uint64_t AuthRevision() { return served_.access().state()->revision(); }
};

// prev_kv and a lease of others, in puts and deletes inside of txns.
TEST_F(AuthAdvisoriesTest, CVE_2026_44283_OperationsOfATxnAreCheckedLikeOthers) {
  EXPECT_EQ(AddUser(root_, "carol", "pw"), kNone);
  EXPECT_EQ(AddRole(root_, "blind"), kNone);
  EXPECT_EQ(Grant(root_, "blind", authpb::Permission::WRITE, "a", "b"), kNone);
  EXPECT_EQ(GrantRole(root_, "carol", "blind"), kNone);
  const std::string carol = *Login("carol", "pw");
  std::string put = PutBody("a", "v");
  std::string del = DeleteBody("a");
  EXPECT_THAT(InTxns(carol, OpBody(kRequestPut, put)), testing::Each(kNone));
  EXPECT_THAT(InTxns(carol, OpBody(kRequestDelete, del)), testing::Each(kNone));
  wire::AppendUint(put, 4, 1);
  wire::AppendUint(del, 3, 1);
  const Error denied = kErrPermissionDenied.ToError();
  EXPECT_THAT(InTxns(carol, OpBody(kRequestPut, put)), testing::Each(denied));
  EXPECT_THAT(InTxns(carol, OpBody(kRequestDelete, del)), testing::Each(denied));
  const std::string on_lease = OpBody(kRequestPut, PutOn("a", LeaseWithKeyOf(root_, "b")));
  EXPECT_THAT(InTxns(alice_, on_lease), testing::Each(denied));
  EXPECT_THAT(InTxns(root_, on_lease), testing::Each(kNone));
}

// Passwords in the log: only the hash is proposed.
TEST_F(AuthAdvisoriesTest, GHSA_528j_NoPasswordGetsToTheDisk) {
  EXPECT_EQ(AddUser(root_, "carol", "first-word-of-carol"), kNone);
  EXPECT_TRUE(Login("carol", "first-word-of-carol").has_value());
  EXPECT_FALSE(Login("carol", "wrong-word-of-carol").has_value());
  etcdserverpb::AuthUserChangePasswordRequest change;
  change.set_name("carol");
  change.set_password("second-word-of-carol");
  EXPECT_EQ(AskAs(root_, "UserChangePassword", change), kNone);
  const auto disk = served_.Stop();
  std::string all;
  for (const std::string dir : {SmallMember::kWalDir, SmallMember::kSnapDir}) {
    const std::vector<std::string> names = disk->List(dir).value();
    for (const std::string& name : names) {
      const std::string path = std::string(dir).append("/").append(name);
      const auto content = ReadWholeFile(*disk, path, 64 << 20);
      if (content.has_value()) all += *content;
    }
  }
  EXPECT_THAT(all, HasSubstr("carol"));
  EXPECT_THAT(all, Not(HasSubstr("word-of-carol")));
  EXPECT_THAT(all, Not(HasSubstr("of alice")));
}

// Passwords have no minimum length; these checks exist instead.
TEST_F(AuthAdvisoriesTest, CVE_2020_15115_WhoHasNoPasswordIsNotLetInByNone) {
  etcdserverpb::AuthUserAddRequest add;
  add.set_name("carol");
  add.set_password("ignored");
  add.mutable_options()->set_no_password(true);
  EXPECT_EQ(AskAs(root_, "UserAdd", add), kNone);
  for (const std::string_view password : {"", "ignored"})
    EXPECT_EQ(ErrorOf(Login("carol", password)), kErrNoPasswordUser);
  // A removed password is not the empty one: the user has none.
  etcdserverpb::AuthUserChangePasswordRequest change;
  change.set_name("alice");
  EXPECT_EQ(AskAs(root_, "UserChangePassword", change), kNone);
  for (const std::string_view password : {"", "of alice"})
    EXPECT_EQ(ErrorOf(Login("alice", password)), kErrAuthFailed);
}

// Guessing: every letter counts, also how it is written, and the number.
TEST_F(AuthAdvisoriesTest, TokensThatWereNotGivenAreRefused) {
  const std::size_t dot = alice_.find('.');
  ASSERT_EQ(dot, 16U);
  std::set<std::string> guesses = {
      "x",
      ".",
      alice_.substr(0, dot),
      alice_.substr(0, dot + 1),
      alice_.substr(dot),
      alice_.substr(0, dot) + ".1",
      alice_.substr(0, dot) + ".18446744073709551616",
      alice_.substr(0, dot) + ".99999999",
      alice_ + "0",
      alice_ + " ",
      " " + alice_,
      "0" + alice_,
      "bearer " + alice_,
      "Bearer  " + alice_,
      "Bearer " + alice_ + "x",
      std::string(1 << 20, 'a') + ".1",
      "eyJhbGciOiJub25lIn0.eyJ1c2VybmFtZSI6InJvb3QiLCJyZXZpc2lvbiI6MSwiZXhwIjo0MTAyNDQ0ODAwfQ."};
  for (std::size_t i = 0; i < alice_.size(); ++i) {
    if (i == dot) continue;
    std::string guess = alice_;
    guess[i] = guess[i] == 'a' ? 'b' : 'a';
    guesses.insert(guess);
    guess[i] = static_cast<char>(std::isupper(alice_[i]) ? std::tolower(alice_[i])
                                                         : std::toupper(alice_[i]));
    if (guess != alice_) guesses.insert(guess);
  }
  for (const std::string& guess : guesses)
    EXPECT_EQ(PutAs(guess, "a"), kErrInvalidAuthToken) << guess.substr(0, 100);
  auto empty = std::make_shared<rpc::CallContext>();
  empty->AddMetadata("token", "");
  EXPECT_EQ(ErrorOf(served_.Call("/etcdserverpb.KV/Put", PutBody("a", "v"), empty)),
            kErrInvalidAuthToken);
  EXPECT_EQ(PutAs(alice_, "a"), kNone);
  EXPECT_EQ(PutAs("Bearer " + alice_, "a"), kNone);
}

// The user and revision claims of a JWT, even one signed by the right key.
class JwtAccessTest : public AuthAdvisoriesTest {
 protected:
  JwtAccessTest() {
    const auto make = [](std::string_view key) {
      auth::JwtOptions options;
      options.sign_method = "HS256";
      options.private_key = key;
      return auth::JwtTokens::Make(options).value();
    };
    ours_ = make("the key of this cluster");
    theirs_ = make("the key of another one");
  }
  Access MakeAccess() {
    LocalMember& local_member = served_.member().local_member();
    return Access({.states = &local_member.auth_states(),
                   .store = &served_.store(),
                   .leases = &local_member.leases(),
                   .clock = &served_.lanes().clock(),
                   .jwt = ours_.get()});
  }
  static Result<void> MayWriteA(const Asker& asker) {
    return asker.state.CheckWrite(asker.identity, "a", {});
  }
  Error VerdictOn(const std::string& token) {
    const Access access = MakeAccess();
    return ErrorOf(access.Admit(*As(token), MayWriteA));
  }
  std::string Token(std::string_view name, std::uint64_t revision) {
    return ours_->Sign(name, revision, NowSeconds()).value();
  }
  std::int64_t NowSeconds() { return served_.lanes().clock().WallNanos() / 1'000'000'000; }

  std::unique_ptr<auth::JwtTokens> ours_;
  std::unique_ptr<auth::JwtTokens> theirs_;
};

TEST_F(JwtAccessTest, ATokenCountsForItsUser) {
  EXPECT_EQ(VerdictOn(Token("alice", AuthRevision())), kNone);
  EXPECT_EQ(VerdictOn(Token("bob", AuthRevision())), kErrPermissionDenied);
  EXPECT_EQ(VerdictOn("Bearer " + Token("alice", AuthRevision())), kNone);
}

TEST_F(JwtAccessTest, ForgedExpiredAndForeignTokensAreRefused) {
  const std::string good = Token("alice", AuthRevision());
  EXPECT_EQ(VerdictOn(good.substr(0, good.size() - 4) + "AAAA"), kErrInvalidAuthToken);
  EXPECT_EQ(VerdictOn(theirs_->Sign("root", AuthRevision(), NowSeconds()).value()),
            kErrInvalidAuthToken);
  EXPECT_EQ(VerdictOn(ours_->Sign("alice", AuthRevision(), NowSeconds() - 301).value()),
            kErrInvalidAuthToken);
  EXPECT_EQ(VerdictOn(Token("nobody", AuthRevision())), kErrInvalidAuthToken);
  EXPECT_EQ(VerdictOn(Token("", AuthRevision())), kErrInvalidAuthToken);
  EXPECT_EQ(VerdictOn(alice_), kErrInvalidAuthToken) << "tokens of the other kind";
}

// A token that no member ever accepts costs one look, and the cluster nothing.
TEST_F(JwtAccessTest, AForgedTokenIsRefusedWithoutAskingTheCluster) {
  const Access access = MakeAccess();  // which has no cluster to ask
  const auto call = As(theirs_->Sign("root", AuthRevision(), NowSeconds()).value());
  EXPECT_FALSE(access.Admit(*call, MayWriteA).has_value());
  Error verdict = kNone;
  access.AdmitUpToDate(call, MayWriteA, [&](const Result<void>& told) { verdict = ErrorOf(told); });
  EXPECT_EQ(verdict, kErrInvalidAuthToken);

  const auto ahead = As(Token("alice", AuthRevision() + 1));
  EXPECT_FALSE(access.Admit(*ahead, MayWriteA).has_value());
  EXPECT_FALSE(ahead->caller.token_void) << "this member may be behind";
}

TEST_F(JwtAccessTest, TheRevisionOfATokenIsOneThatWas) {
  EXPECT_EQ(VerdictOn(Token("alice", AuthRevision() + 1)), kErrInvalidAuthToken);
  EXPECT_EQ(VerdictOn(Token("alice", UINT64_MAX)), kErrInvalidAuthToken);
  EXPECT_EQ(VerdictOn(Token("alice", 0)), kErrInvalidAuthToken) << "it would never end";
  const std::string before = Token("alice", AuthRevision());
  EXPECT_EQ(AddRole(root_, "other"), kNone);
  EXPECT_EQ(VerdictOn(before), kNone);
  EXPECT_EQ(GrantRole(root_, "alice", "other"), kNone);
  EXPECT_EQ(VerdictOn(before), kErrAuthOldRevision);
}

// CVE-2021-28235 and GHSA-vjg6-93fv-qv64: the log lines about a login.
class AuthLogTest : public AuthAdvisoriesTest {
 protected:
  LogFile log_;
};

TEST_F(AuthLogTest, CVE_2021_28235_NothingSecretIsLogged) {
  EXPECT_EQ(AddUser(root_, "carol", "first-word-of-carol"), kNone);
  EXPECT_EQ(AddUser(root_, "dave", "long-word-of-dave" + std::string(72, 'x')),
            kErrPasswordTooLong);
  etcdserverpb::AuthUserChangePasswordRequest change;
  change.set_name("carol");
  change.set_password("second-word-of-carol");
  EXPECT_EQ(AskAs(root_, "UserChangePassword", change), kNone);
  const std::string carol = Login("carol", "second-word-of-carol").value_or("");
  EXPECT_FALSE(Login("carol", "first-word-of-carol").has_value());
  EXPECT_EQ(PutAs(carol, "a"), kErrPermissionDenied);
  EXPECT_EQ(PutAs(carol + "0", "a"), kErrInvalidAuthToken);
  etcdserverpb::AuthUserDeleteRequest remove;
  remove.set_name("carol");
  EXPECT_EQ(AskAs(root_, "UserDelete", remove), kNone);
  EXPECT_EQ(PutAs(carol, "a"), kErrInvalidAuthToken);
  const std::string text = log_.Text();
  EXPECT_THAT(text, HasSubstr("invalid auth token"));
  EXPECT_THAT(text, HasSubstr(R"("user":"carol")"));
  for (const std::string& secret :
       {std::string("word-of"), carol, root_, alice_, bob_, std::string("$2a$")})
    EXPECT_THAT(text, Not(HasSubstr(secret)));
}

TEST_F(AuthLogTest, GHSA_vjg6_EachRefusedLoginIsLoggedWithItsReason) {
  etcdserverpb::AuthUserAddRequest add;
  add.set_name("by-certificate");
  add.mutable_options()->set_no_password(true);
  EXPECT_EQ(AskAs(root_, "UserAdd", add), kNone);
  for (const std::string_view name : {"by-certificate", "alice", "nobody"})
    EXPECT_FALSE(Login(name, "wrong").has_value());
  EXPECT_FALSE(Login("bob", std::string(100, 'x')).has_value());
  EXPECT_TRUE(Login("alice", "of alice").has_value());
  const auto refusal = [](std::string_view user, std::string_view why) {
    return R"("msg":"invalid authentication was requested","user":")" + std::string(user) +
           R"(","remote":"","error":")" + std::string(why) + "\"";
  };
  EXPECT_THAT(log_.LinesWith("invalid authentication"),
              testing::ElementsAre(HasSubstr(refusal("by-certificate", kErrNoPasswordUser.message)),
                                   HasSubstr(refusal("alice", kErrAuthFailed.message)),
                                   HasSubstr(refusal("nobody", kErrAuthFailed.message)),
                                   HasSubstr(refusal("bob", kErrAuthFailed.message))));
}

TEST_F(AuthLogTest, ANameOfAMegabyteFillsNoLog) {
  EXPECT_EQ(ErrorOf(Login(std::string(1 << 20, 'n'), "pw")), kErrAuthFailed);
  const auto lines = log_.LinesWith("invalid authentication");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_LT(lines[0].size(), 1000U);
}

}  // namespace
}  // namespace kvorum::server
