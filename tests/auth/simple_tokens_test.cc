// Simple tokens in a member's memory: how they live, end, and are bounded.
#include "auth/simple_tokens.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "auth/token_hash.h"
#include "tests/damage.h"
#include "tests/manual_clock.h"

namespace kvorum::auth {
namespace {

using namespace std::chrono_literals;

std::string Token(int number) { return "abcdefghijklmnop." + std::to_string(number); }

class SimpleTokensTest : public ::testing::Test {
 protected:
  // The name, or "" if the token counts for nothing.
  std::string Find(std::string_view token) {
    const auto username = tokens_.Find(token);
    return username == nullptr ? "" : *username;
  }

  ManualClock clock_;
  SimpleTokens tokens_{clock_, {}};
};

TEST_F(SimpleTokensTest, ATokenStandsForItsUser) {
  tokens_.Assign(Token(1), "ann");
  tokens_.Assign(Token(2), "bob");
  EXPECT_EQ(Find(Token(1)), "ann");
  EXPECT_EQ(Find(Token(2)), "bob");
  EXPECT_EQ(Find(Token(3)), "");
  EXPECT_EQ(Find("abcdefghijklmnoq.1"), "");
  EXPECT_EQ(Find(""), "");
}

TEST_F(SimpleTokensTest, ATokenLivesForATimeAfterItsLastUse) {
  tokens_.Assign(Token(1), "ann");
  for (int i = 0; i < 5; ++i) {
    clock_.Advance(299s);
    EXPECT_EQ(Find(Token(1)), "ann");
  }
  clock_.Advance(300s);
  EXPECT_EQ(Find(Token(1)), "");
  EXPECT_EQ(Find(Token(1)), "");  // asking does not bring it back
}

TEST_F(SimpleTokensTest, SweepingForgetsWhatHasEndedAFewAtATime) {
  for (int i = 0; i < 100; ++i) tokens_.Assign(Token(i), "ann");
  clock_.Advance(200s);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(Find(Token(i)), "ann");
  EXPECT_EQ(tokens_.Sweep(1000), 0U);
  clock_.Advance(150s);
  EXPECT_EQ(tokens_.Sweep(25), 25U);
  EXPECT_EQ(tokens_.size(), 75U);
  EXPECT_EQ(tokens_.Sweep(1000), 35U);
  EXPECT_EQ(tokens_.size(), 40U);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(Find(Token(i)), "ann");
}

TEST_F(SimpleTokensTest, AllTokensOfAUserEnd) {
  tokens_.Assign(Token(1), "ann");
  tokens_.Assign(Token(2), "bob");
  tokens_.Assign(Token(3), "ann");
  tokens_.End({false, {"ann", "nobody"}});
  EXPECT_EQ(Find(Token(1)), "");
  EXPECT_EQ(Find(Token(2)), "bob");
  EXPECT_EQ(Find(Token(3)), "");
  tokens_.Assign(Token(4), "ann");  // with the new password
  EXPECT_EQ(Find(Token(4)), "ann");
  EXPECT_EQ(Find(Token(1)), "");
}

TEST_F(SimpleTokensTest, AllTokensEnd) {
  for (int i = 0; i < 10; ++i) tokens_.Assign(Token(i), std::to_string(i));
  tokens_.End({true, {}});
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Find(Token(i)), "");
  EXPECT_EQ(tokens_.size(), 0U);
  tokens_.Assign(Token(1), "ann");
  EXPECT_EQ(Find(Token(1)), "ann");
}

TEST_F(SimpleTokensTest, ATokenThatIsAssignedAgainIsTheLastUsers) {
  tokens_.Assign(Token(1), "ann");
  tokens_.Assign(Token(1), "bob");
  EXPECT_EQ(Find(Token(1)), "bob");
  EXPECT_EQ(tokens_.size(), 1U);
}

TEST_F(SimpleTokensTest, PastTheBoundTheLongestUnusedGo) {
  SimpleTokens few(clock_, {.max_tokens = 640});
  for (int i = 0; i < 5000; ++i) {
    few.Assign(Token(i), "ann");
    ASSERT_LE(few.size(), 640U);
    ASSERT_NE(few.Find(Token(0)), nullptr) << i;  // in use all the time
  }
  EXPECT_GT(few.size(), 600U);
  EXPECT_NE(few.Find(Token(4999)), nullptr);
  EXPECT_EQ(few.Find(Token(1)), nullptr);
}

TEST_F(SimpleTokensTest, WhatCannotBeATokenIsNone) {
  for (const std::string_view text :
       {"", ".", "abc", "abc.", "abc.x", "abc.1x", "abc.-1", "abc.+1", "abc. 1", "abc.1.2",
        "abcdefghijklmnop.18446744073709551616"}) {
    EXPECT_EQ(SimpleTokenIndex(text), std::nullopt) << text;
    tokens_.Assign(text, "ann");
    EXPECT_EQ(Find(text), "");
  }
  EXPECT_EQ(SimpleTokenIndex(std::string(1 << 20, 'a') + ".1"), std::nullopt);
  EXPECT_EQ(SimpleTokenIndex("abcdefghijklmnop.18446744073709551615"), ~std::uint64_t{0});
  EXPECT_EQ(tokens_.size(), 0U);
}

TEST_F(SimpleTokensTest, MadeTokensAreRandomLettersAndTheIndex) {
  std::set<std::string> prefixes;
  std::map<char, int> letters;
  for (int i = 0; i < 1000; ++i) {
    const std::string prefix = MakeTokenPrefix(SystemRandomBytes);
    ASSERT_EQ(prefix.size(), 16U);
    for (const char letter : prefix) {
      ASSERT_TRUE((letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z'));
      ++letters[letter];
    }
    prefixes.insert(prefix);
  }
  EXPECT_EQ(prefixes.size(), 1000U);
  EXPECT_EQ(letters.size(), 52U);
  const std::string token = MakeSimpleToken("abcdefghijklmnop", 42);
  EXPECT_EQ(token, "abcdefghijklmnop.42");
  EXPECT_EQ(SimpleTokenIndex(token), 42U);
}

TEST_F(SimpleTokensTest, EveryLetterIsAsLikely) {
  // Every byte once: the letters are equally frequent, and the remaining bytes are skipped.
  std::uint8_t next = 0;
  std::map<char, int> letters;
  for (int i = 0; i < 13; ++i) {
    const std::string prefix = MakeTokenPrefix([&](std::span<std::uint8_t> out) {
      for (std::uint8_t& byte : out) byte = next++;
      next = static_cast<std::uint8_t>(next - out.size() + 16);  // 16 of them are used
      if (next == 208) next = 0;
    });
    for (const char letter : prefix) ++letters[letter];
  }
  EXPECT_EQ(letters.size(), 52U);
  for (const auto& [letter, times] : letters) EXPECT_EQ(times, 4) << letter;
}

class RecentTokensTest : public SimpleTokensTest {
 protected:
  std::string FindHere(std::string_view token) {
    return std::string(tokens_.Find(token, clock_.Now(), recent_).view());
  }

  SimpleTokens::Recent recent_;
};

TEST_F(RecentTokensTest, AThreadFindsWhatAllFind) {
  for (int i = 0; i < 100; ++i) tokens_.Assign(Token(i), std::to_string(i));
  tokens_.Assign("short.1", "short");
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 100; ++i) EXPECT_EQ(FindHere(Token(i)), std::to_string(i));
    EXPECT_EQ(FindHere("short.1"), "short");
    EXPECT_EQ(FindHere("short.2"), "");
    EXPECT_EQ(FindHere(Token(100)), "");  // has the place of the others
    EXPECT_EQ(FindHere(""), "");
  }
}

TEST_F(RecentTokensTest, TheEndOfAUsersSessionsIsSeenAtOnce) {
  tokens_.Assign(Token(1), "ann");
  EXPECT_EQ(FindHere(Token(1)), "ann");
  tokens_.End({false, {"ann"}});
  EXPECT_EQ(FindHere(Token(1)), "");
  tokens_.Assign(Token(2), "bob");
  EXPECT_EQ(FindHere(Token(2)), "bob");
  tokens_.End({true, {}});
  EXPECT_EQ(FindHere(Token(2)), "");
}

TEST_F(RecentTokensTest, UseRenewsATokenAndItsEndIsSeenASecondLateAtMost) {
  tokens_.Assign(Token(1), "ann");
  for (int i = 0; i < 1000; ++i) {
    clock_.Advance(500ms);
    EXPECT_EQ(FindHere(Token(1)), "ann");
  }
  clock_.Advance(298s);
  EXPECT_EQ(FindHere(Token(1)), "ann");
  clock_.Advance(300s);
  EXPECT_EQ(FindHere(Token(1)), "");

  SimpleTokens short_lived(clock_, {.ttl = 1s});
  short_lived.Assign(Token(1), "ann");
  SimpleTokens::Recent recent;
  EXPECT_EQ(short_lived.Find(Token(1), clock_.Now(), recent).view(), "ann");
  clock_.Advance(1s);
  EXPECT_EQ(short_lived.Find(Token(1), clock_.Now(), recent).view(), "");
}

TEST_F(SimpleTokensTest, ThreadsFindAssignAndEndTogether) {
  SimpleTokens tokens(clock_, {.max_tokens = 1000});
  tokens.Assign("always.1", "always");
  std::atomic<bool> stop = false;
  std::vector<std::jthread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      SimpleTokens::Recent recent;
      while (!stop) {
        const SharedBytes here = tokens.Find(Token(7), clock_.Now(), recent);
        EXPECT_TRUE(here.empty() || here.view() == "other");
        const auto user = tokens.Find("always.1");
        ASSERT_NE(user, nullptr);
        EXPECT_EQ(*user, "always");
        if (const auto other = tokens.Find(Token(7))) {
          EXPECT_EQ(*other, "other");
        }
      }
    });
  }
  for (int i = 0; i < 3000; ++i) {
    tokens.Assign(Token(i % 20), "other");
    if (i % 10 == 0) tokens.End({false, {"other"}});
    if (i % 100 == 0) tokens.Sweep(10);
  }
  stop = true;
}

// Aumasson and Bernstein's test vector: key 00…0f, input 00…0e.
TEST(TokenHashTest, IsSipHash) {
  const TokenHashKey key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
  std::string input;
  EXPECT_EQ(HashToken(key, input), 0x726fdb47dd0e0e31U);
  for (int i = 0; i < 15; ++i) input += static_cast<char>(i);
  EXPECT_EQ(HashToken(key, input), 0xa129ca6149be45e5U);
  EXPECT_NE(MakeTokenHashKey(), MakeTokenHashKey());
  EXPECT_TRUE(EqualTokens("abc", "abc"));
  EXPECT_FALSE(EqualTokens("abc", "abd"));
  EXPECT_FALSE(EqualTokens("abc", "ab"));
  EXPECT_TRUE(EqualTokens("", ""));
  const std::string token = "abcdefghijklmnopq.123";
  ForEachFlip(token, [&](std::string_view other, std::size_t /*at*/) {
    EXPECT_FALSE(EqualTokens(token, other));
  });
  EXPECT_TRUE(EqualTokens(token, std::string(token)));
}

}  // namespace
}  // namespace kvorum::auth
