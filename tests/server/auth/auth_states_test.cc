// The states of users and roles that are kept for the views that may need them.
#include "server/state/auth_states.h"

#include <gtest/gtest.h>

#include <memory>

namespace kvorum::server {
namespace {

AuthStates::State NewState() { return std::make_shared<auth::AuthState>(); }

TEST(AuthStatesTest, WhatNoViewShowsIsReplacedUnderItsNumber) {
  AuthStates states(NewState());
  const AuthStates::State first = states.At(0);
  AuthStates::State last;
  for (int i = 0; i < 1000; ++i) {
    last = NewState();
    EXPECT_EQ(states.Add(last, 0), 1U);
    EXPECT_EQ(states.Newest(), last);
  }
  EXPECT_EQ(states.At(0), first);  // the view that all of these came behind
  EXPECT_EQ(states.At(1), last);
  EXPECT_EQ(states.Add(NewState(), 1), 2U);
  EXPECT_EQ(states.At(1), last);
}

TEST(AuthStatesTest, FewAreKeptAndNeverFewerThanTheShownOneAndTheNext) {
  AuthStates states(NewState());
  std::weak_ptr<const auth::AuthState> old = states.Newest();
  for (std::uint64_t shown = 0; shown < 100; ++shown) {
    ASSERT_EQ(states.Add(NewState(), shown), shown + 1);
    ASSERT_NE(states.At(shown), nullptr);
    ASSERT_NE(states.At(shown + 1), nullptr);
  }
  EXPECT_TRUE(old.expired());
  EXPECT_EQ(states.At(0), nullptr);
  EXPECT_EQ(states.At(101), nullptr);
}

TEST(AuthStatesTest, WhatAThreadHoldsIsRenewedAtEveryChange) {
  AuthStates states(NewState());
  AuthStates::Held held;
  states.Renew(held);
  EXPECT_EQ(held.state, states.At(0));
  for (const std::uint64_t shown : {0U, 0U, 1U}) {
    const std::uint64_t version = states.Add(NewState(), shown);
    states.Renew(held);
    EXPECT_EQ(held.state, states.Newest());
    EXPECT_EQ(held.version, version);
  }
  // A snapshot's is found when it is there, and not before.
  const std::uint64_t version = states.Reserve();
  states.Renew(held);
  EXPECT_EQ(held.version, version - 1);
  EXPECT_EQ(states.At(version), nullptr);
  const AuthStates::State installed = NewState();
  states.Fill(version, installed);
  states.Renew(held);
  EXPECT_EQ(held.state, installed);
  EXPECT_EQ(states.At(version), installed);
}

}  // namespace
}  // namespace kvorum::server
