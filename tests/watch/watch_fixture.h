// A store whose hub, shards and catch-up run on executors that the test runs by hand, and clients
// that keep their streams' responses. Messages are shown as text:
//   "w0 created @1"                     created, header revision 1
//   "w0 @3: put a=1 m2, del b m3"       events, then nothing else
//   "w0 put+prev…": "put a=2 m3 (a=1)"  with the previous value
//   "w-1 progress @4"                   neither created, canceled nor events
//   "w0 canceled compact 5 @0"
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/wire.h"
#include "tests/mvcc/store_fixture.h"
#include "watch/hub.h"

namespace kvorum::watch {

struct SeenEvent {
  bool is_delete = false;
  std::string key;
  std::string value = {};
  std::int64_t mod_revision = 0;
  std::string prev_value = {};
  bool has_prev = false;

  std::string Text() const {
    std::string text = is_delete ? "del " + key : "put " + key + "=" + value;
    text += " m" + std::to_string(mod_revision);
    if (has_prev) text += " (" + key + "=" + prev_value + ")";
    return text;
  }
  friend bool operator==(const SeenEvent&, const SeenEvent&) = default;
};

inline SeenEvent DecodeEvent(std::string_view bytes) {
  SeenEvent event;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.field()) {
      case 1:
        event.is_delete = reader.Varint() == 1;
        break;
      case 2: {
        const auto kv = mvcc::Ok(mvcc::DecodeKeyValue(reader.Bytes()));
        event.key = kv.key;
        event.value = kv.value;
        event.mod_revision = kv.mod_revision;
        break;
      }
      case 3:
        event.prev_value = mvcc::Ok(mvcc::DecodeKeyValue(reader.Bytes())).value;
        event.has_prev = true;
        break;
      default:
        ADD_FAILURE() << "an event has a field " << reader.field();
        reader.Skip();
    }
  }
  EXPECT_TRUE(reader.ok());
  return event;
}

struct SeenMessage {
  std::int64_t watch_id = 0;
  std::int64_t revision = 0;
  bool created = false;
  bool canceled = false;
  bool fragment = false;
  std::int64_t compact_revision = 0;
  std::string reason;
  std::vector<SeenEvent> events = {};
  std::size_t size_bytes = 0;

  std::string Text() const {
    std::string text = "w" + std::to_string(watch_id);
    if (created) text += " created";
    if (canceled) text += " canceled";
    if (!created && !canceled && events.empty()) text += " progress";
    if (compact_revision != 0) text += " compact " + std::to_string(compact_revision);
    if (fragment) text += " fragment";
    text += " @" + std::to_string(revision);
    for (std::size_t i = 0; i < events.size(); ++i)
      text += (i == 0 ? ": " : ", ") + events[i].Text();
    if (!reason.empty()) text += ": " + reason;
    return text;
  }
};

// A client's end of a stream. It has room while its unread messages are below `room_bytes`.
class SeeingSink final : public StreamSink {
 public:
  void Send(const Response& response, const Body* events) override {
    SeenMessage message{.watch_id = response.watch_id,
                        .revision = response.revision,
                        .created = response.created,
                        .canceled = response.canceled,
                        .fragment = response.fragment,
                        .compact_revision = response.compact_revision,
                        .reason = std::string(response.cancel_reason)};
    if (events != nullptr) {
      const std::string bytes = Join(events->parts);
      EXPECT_EQ(bytes.size(), events->size_bytes);
      EXPECT_GE(events->kept_bytes, events->size_bytes);
      wire::Reader reader(bytes);
      while (reader.Next()) {
        EXPECT_EQ(reader.field(), 11U);
        message.events.push_back(DecodeEvent(reader.Bytes()));
      }
      EXPECT_TRUE(reader.ok());
      EXPECT_EQ(message.events.size(), events->events);
      message.size_bytes = bytes.size();
      unread_bytes += bytes.size();
    }
    messages.push_back(std::move(message));
  }
  bool HasRoom() const override {
    const bool room = unread_bytes < room_bytes;
    if (!room) was_full = true;
    return room;
  }
  void Flush() override { ++flushes; }

  std::size_t room_bytes = std::size_t{1} << 30;
  std::size_t unread_bytes = 0;
  mutable bool was_full = false;
  int flushes = 0;
  std::vector<SeenMessage> messages;
};

class WatchHarness : public mvcc::StoreHarness {
 public:
  explicit WatchHarness(HubOptions options = {}) : hub_options(options) { OpenHub(); }

  void OpenHub() {
    hub = std::make_unique<Hub>(*store, watch, hub_options);
    hub->NewShard(io);
    hub->NewShard(other_io);
    store->SetPublishListener(hub.get());
  }
  // Everything that is due, on all executors.
  void RunAll() {
    bool ran = true;
    while (ran) {
      executors->RunReady();
      ran = io.RunOne() || other_io.RunOne() || watch.RunOne();
    }
    hub->shard(0).CheckInvariants();
    hub->shard(1).CheckInvariants();
  }
  void PassTime(Duration duration) {
    executors->clock.Advance(duration);
    RunAll();
  }

  HubOptions hub_options;
  ManualExecutor io{executors->clock};
  ManualExecutor other_io{executors->clock};
  ManualExecutor watch{executors->clock};
  std::unique_ptr<Hub> hub;
};

// A stream with the verbs of a client.
class Client {
 public:
  explicit Client(Shard& shard) : stream_(shard.Open(sink)) {}

  void Create(const CreateRequest& request) { stream_->Create(request); }
  void Watch(std::string_view key, std::string_view end = {}, std::int64_t start = 0) {
    Create({.key = key, .range_end = end, .start_revision = start});
  }
  void Cancel(std::int64_t id) { stream_->Cancel(id); }
  void RequestProgress() { stream_->RequestProgress(); }
  // Takes the messages, which makes room.
  std::vector<SeenMessage> Read() {
    auto messages = std::exchange(sink.messages, {});
    sink.unread_bytes = 0;
    if (std::exchange(sink.was_full, false)) stream_->OnRoom();
    return messages;
  }
  std::vector<std::string> Texts() {
    std::vector<std::string> texts;
    for (const SeenMessage& message : Read()) texts.push_back(message.Text());
    return texts;
  }
  Stream& stream() { return *stream_; }

  SeeingSink sink;

 private:
  std::unique_ptr<Stream> stream_;
};

class WatchTest : public testing::Test, public WatchHarness {
 protected:
  WatchTest() = default;
  explicit WatchTest(HubOptions options) : WatchHarness(options) {}
  std::vector<std::string> After(Client& client) {
    RunAll();
    return client.Texts();
  }
};

}  // namespace kvorum::watch
