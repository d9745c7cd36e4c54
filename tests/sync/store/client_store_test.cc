// A cluster as a store, over a member whose every message is the test's.
#include "sync/store/client_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <mutex>

#include "tests/client/fake_member.h"
#include "tests/client/stalled_member.h"
#include "tests/eventually.h"

namespace kvorum::sync {
namespace {

using Stream = grpc::ServerReaderWriter<etcdserverpb::WatchResponse, etcdserverpb::WatchRequest>;
using testing::ElementsAre;

// Writes one response of revision 7, which more follow unless it is the last.
void WritePart(Stream* stream, const std::vector<std::string>& keys, bool is_last) {
  etcdserverpb::WatchResponse part;
  part.mutable_header()->set_revision(7);
  for (const std::string& key : keys) {
    auto* kv = part.add_events()->mutable_kv();
    kv->set_key(key);
    kv->set_mod_revision(7);
  }
  part.set_fragment(!is_last);
  stream->Write(part);
}

grpc::Status Stay(Stream* stream) {
  etcdserverpb::WatchRequest ignored;
  while (stream->Read(&ignored)) {
  }
  return grpc::Status::OK;
}

TEST(SyncClientStore, S3_TheFragmentsOfARevisionAreOneBatchAlsoAfterABreakBetweenThem) {
  client::FakeMember member;
  std::vector<std::int64_t> began_at;
  std::vector<bool> takes_fragments;
  const auto begin = [&](const etcdserverpb::WatchCreateRequest& create, Stream* stream) {
    began_at.push_back(create.start_revision());
    takes_fragments.push_back(create.fragment());
    etcdserverpb::WatchResponse created;
    created.set_created(true);
    created.mutable_header()->set_revision(7);
    stream->Write(created);
  };
  member.OnWatches({[&](const auto& create, Stream* stream) {
                      begin(create, stream);
                      WritePart(stream, {"a", "b"}, /*is_last=*/false);
                      return grpc::Status(grpc::UNAVAILABLE, "gone");
                    },
                    [&](const auto& create, Stream* stream) {
                      begin(create, stream);
                      WritePart(stream, {"a", "b"}, /*is_last=*/false);
                      WritePart(stream, {"c"}, /*is_last=*/false);
                      WritePart(stream, {"d", "e"}, /*is_last=*/true);
                      return Stay(stream);
                    }});
  const auto client = client::ConnectTo({member.endpoint()});
  ClientStore store(*client);
  std::mutex mutex;
  std::vector<std::vector<std::string>> batches;
  const auto watch = store.Watch({.key = "a", .end = "z", .from_revision = 7},
                                 {.on_batch =
                                      [&](const WatchBatch& batch) {
                                        const std::lock_guard lock(mutex);
                                        auto& keys = batches.emplace_back();
                                        for (const Event& event : batch.events)
                                          keys.push_back(event.kv.key);
                                      },
                                  .on_end = [](const WatchEnd&) {}});
  EXPECT_TRUE(Eventually([&] {
    const std::lock_guard lock(mutex);
    return !batches.empty();
  }));
  const std::lock_guard lock(mutex);
  EXPECT_THAT(batches, ElementsAre(ElementsAre("a", "b", "c", "d", "e")));
  EXPECT_THAT(began_at, ElementsAre(7, 7));
  EXPECT_THAT(takes_fragments, ElementsAre(true, true));
}

TEST(SyncClientStore, ItsEndEndsTheCallsThatAreNotAnswered) {
  const client::StalledMember member(1 << 20);
  const auto client = client::ConnectTo({member.endpoint()});
  std::vector<Code> answers;
  {
    ClientStore store(*client, {.call_timeout = std::chrono::hours(1), .call_threads = 1});
    for (int i = 0; i < 2; ++i) {
      store.Range({.key = "a"}, [&](const Result<RangeAnswer>& answer) {
        answers.push_back(answer ? Code::kOk : answer.error().code);
      });
    }
    member.AwaitCall();
  }
  EXPECT_THAT(answers, ElementsAre(Code::kCanceled, Code::kCanceled));
}

TEST(SyncClientStore, ACallBeyondThoseThatMayWaitIsRefusedAtOnce) {
  const client::StalledMember member(1 << 20);
  const auto client = client::ConnectTo({member.endpoint()});
  std::vector<Code> answers;
  const auto note = [&](const auto& answer) {
    answers.push_back(answer ? Code::kOk : answer.error().code);
  };
  ClientStore store(*client, {.call_timeout = std::chrono::hours(1),
                              .call_threads = 1,
                              .max_waiting_calls = 2,
                              .max_waiting_bytes = 100});
  store.Range({.key = "a"}, note);
  member.AwaitCall();
  store.Txn({.compares = {{.key = "a", .value = std::string(40, 'x')}},
             .then = {{.key = "a", .value = std::string(40, 'x')}}},
            note);
  EXPECT_THAT(answers, ElementsAre());
  store.Range({.key = std::string(19, 'a')}, note);
  EXPECT_THAT(answers, ElementsAre(Code::kResourceExhausted)) << "82 of 100 bytes wait already";
  store.Range({.key = "a"}, note);
  store.LeaseGrant(1, note);
  EXPECT_THAT(answers, ElementsAre(Code::kResourceExhausted, Code::kResourceExhausted))
      << "two calls wait already";
}

TEST(SyncClientStore, S5_AWatchRequiresALeaderAndEndsWithoutOne) {
  client::FakeMember member;
  member.OnWatches({[](const auto&, Stream*) {
    return grpc::Status(grpc::UNAVAILABLE, "etcdserver: no leader");
  }});
  const auto client = client::ConnectTo({member.endpoint()});
  ClientStore store(*client);
  std::promise<WatchEnd> end;
  const auto watch = store.Watch(
      {.key = "a", .end = "z", .from_revision = 7},
      {.on_batch = [](const WatchBatch&) {}, .on_end = [&](WatchEnd e) { end.set_value(e); }});
  EXPECT_EQ(end.get_future().get().error.message, "etcdserver: no leader");
  EXPECT_EQ(member.Metadata("hasleader"), "true");
}

}  // namespace
}  // namespace kvorum::sync
