// Writes that the store refuses, and the entries beside them: the behaviours A11 and A12.
#include <optional>
#include <string>

#include "tests/sync/agent_world.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;

const Error kDenied{Code::kPermissionDenied, "permission denied"};

using AgentRefusal = AgentWorld;

TEST_F(AgentRefusal, A11_WhatIsDeniedIsBlockedUntilTheNextFullSync) {
  const auto agent = Started("n1", {"old"});
  store_.refuse = [](const TxnRequest& request) -> std::optional<Error> {
    if (Writes(request, "secret") || Writes(request, "/old")) return kDenied;
    return {};
  };
  {
    const PauseGuard guard(agent->syncer->pause());
    for (const std::string id : {"a", "secret", "z"}) ASSERT_TRUE(agent->syncer->Register(Web(id)));
    ASSERT_TRUE(agent->syncer->Deregister("old"));
  }
  Pass(1s);
  EXPECT_EQ(Remote("a"), "v");
  EXPECT_EQ(Remote("z"), "v");
  EXPECT_EQ(agent->syncer->status().blocked, 2U) << "a register and a delete";
  EXPECT_EQ(agent->syncer->status().times_blocked, 2U);
  EXPECT_THAT(agent->metrics.Text(), HasSubstr("kvsync_ae_blocked 2\n"));
  EXPECT_EQ(agent->syncer->status().last_error, "");
  // Changes of what is blocked are not tried.
  const std::size_t writes = store_.writes.size();
  ASSERT_TRUE(agent->syncer->Register(Web("secret", "other")));
  Pass(10s);
  EXPECT_EQ(store_.writes.size(), writes);
  // A full sync tries them again.
  agent->syncer->SyncNow();
  Pass(1s);
  EXPECT_GT(store_.writes.size(), writes);
  EXPECT_EQ(agent->syncer->status().blocked, 2U);
  EXPECT_EQ(agent->syncer->status().times_blocked, 4U);
  store_.refuse = nullptr;
  agent->syncer->SyncNow();
  Pass(1s);
  EXPECT_EQ(agent->syncer->status().blocked, 0U);
  EXPECT_EQ(Remote("secret"), "other");
  EXPECT_THAT(store_.KeysUnder(EntryKey("old")), IsEmpty());
}

TEST_F(AgentRefusal, A11_AServiceThatMayNotBeReadMakesNoOtherWritten) {
  const auto agent = Started("n1", {"a", "b"});
  Entry hidden = Web("c");
  hidden.name = "hidden";
  ASSERT_TRUE(agent->syncer->Register(hidden));
  Pass(1s);
  const std::size_t changes = store_.changes().size();
  store_.refuse = [](const TxnRequest& request) -> std::optional<Error> {
    for (const Operation& op : request.then)
      if (op.key.contains("hidden")) return kDenied;
    return {};
  };
  agent->syncer->SyncNow();
  Pass(1s);
  EXPECT_EQ(agent->syncer->status().full_syncs, 2U);
  EXPECT_EQ(store_.changes().size(), changes);
}

TEST_F(AgentRefusal, A12_OneFailingEntryDoesNotStopTheOthers) {
  const auto agent = Started("n1");
  store_.refuse = [](const TxnRequest& request) -> std::optional<Error> {
    if (Writes(request, "/bad1") || Writes(request, "/bad2"))
      return Error{Code::kInvalidArgument, "request is too large"};
    return {};
  };
  {
    const PauseGuard guard(agent->syncer->pause());
    for (const std::string id : {"a", "bad1", "bad2", "z"})
      ASSERT_TRUE(agent->syncer->Register(Web(id)));
  }
  Pass(1s);
  EXPECT_EQ(Remote("a"), "v");
  EXPECT_EQ(Remote("z"), "v");
  ASSERT_FALSE(agent->errors.empty());
  EXPECT_EQ(
      agent->errors.front(),
      (Error{Code::kInvalidArgument, "bad1: request is too large; bad2: request is too large"}));
  // They are tried again with a backoff, without a change.
  const std::size_t tries = agent->errors.size();
  Pass(10s);
  EXPECT_GT(agent->errors.size(), tries);
  EXPECT_LT(agent->errors.size(), tries + 12) << "the backoff grows";
  store_.refuse = nullptr;
  Pass(60s);
  EXPECT_EQ(Remote("bad1"), "v");
  EXPECT_EQ(agent->syncer->status().dirty, 0U);
}

}  // namespace
}  // namespace kvorum::sync
