#include "tests/sim/clients/sim_watch.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "client/retry_rules.h"
#include "proto/rpc.pb.h"
#include "sync/store/messages.h"
#include "tests/sim/clients/client_stream.h"
#include "tests/sim/judges/watch_answer.h"

namespace kvorum::sim {
namespace {

using std::chrono::milliseconds;

class SimWatch : public std::enable_shared_from_this<SimWatch> {
 public:
  SimWatch(std::shared_ptr<SimStore::Connection> connection, const sync::WatchRequest& request,
           sync::WatchSink sink)
      : connection_(std::move(connection)),
        request_(sync::ToMessage(request)),
        sink_(std::move(sink)) {}

  void Connect() {
    connection_->user.Ready([self = shared_from_this()] { self->Open(); });
  }
  void RequestProgress() {
    if (stream_ != nullptr) stream_->Say(WatchProgressBody());
  }
  void Taken() {
    --ahead_;
    Deliver();
  }
  void Cancel() {
    is_over_ = true;
    batches_.clear();
    end_.reset();
    Leave();
  }

 private:
  bool is_over() const { return is_over_ || connection_->is_closed; }

  void Open() {
    if (is_over() || stream_ != nullptr) return;
    Machine& machine = *connection_->machine;
    token_ = connection_->user.token();
    whole_.Clear();
    reads_ = true;
    stream_ = std::make_shared<ClientStream>(
        connection_->world, machine,
        ClientStream::Receiver{
            .on_message =
                [self = shared_from_this(), number = ++streams_](std::string_view message) {
                  if (number == self->streams_) self->Take(std::string(message));
                },
            .on_end =
                [self = shared_from_this(), number = streams_](const Error& status) {
                  if (number == self->streams_) self->Ended(status);
                }});
    connection_->world.Note("a watch of {} from {} goes to {}", request_.key(),
                            request_.start_revision(), machine.name());
    stream_->Open("/etcdserverpb.Watch/Watch", true, token_);
    etcdserverpb::WatchRequest create;
    *create.mutable_create_request() = request_;
    stream_->Say(create.SerializeAsString());
  }

  void Ended(const Error& status) {
    if (std::exchange(stream_, nullptr) == nullptr) return;
    connection_->Failed(token_, status);
    ConnectLater();
  }

  void ConnectLater() {
    connection_->world.scheduler.After(
        connection_->world.scheduler.Between(milliseconds(5), milliseconds(100)),
        [self = shared_from_this()] {
          if (!self->is_over() && self->stream_ == nullptr) self->Connect();
        });
  }

  void Take(const std::string& message) {
    if (is_over()) return Leave();
    etcdserverpb::WatchResponse part;
    if (!part.ParseFromString(message)) return connection_->world.Fail("no response of a watch");
    whole_.MergeFrom(part);
    whole_.set_fragment(false);
    if (part.fragment()) return;
    const etcdserverpb::WatchResponse whole = std::exchange(whole_, {});
    if (whole.canceled()) return Canceled(whole);
    Advance(whole);
    if (whole.created()) return;
    batches_.push_back(sync::FromMessage(whole));
    Deliver();
  }

  void Advance(const etcdserverpb::WatchResponse& response) {
    std::int64_t next = request_.start_revision();
    if (response.events_size() != 0) {
      next = response.events(response.events_size() - 1).kv().mod_revision() + 1;
    } else if (!response.created()) {
      next = std::max(next, response.header().revision() + 1);
    }
    request_.set_start_revision(next);
  }

  // The end comes behind what was sent before it.
  void Canceled(const etcdserverpb::WatchResponse& response) {
    const Error error = client::ParseReason(response.cancel_reason());
    Leave();
    connection_->Failed(token_, error);
    is_over_ = true;
    if (response.compact_revision() != 0)
      connection_->world.Note("a source is behind the compaction of {}",
                              response.compact_revision());
    end_ = {.error = error, .compact_revision = response.compact_revision()};
    Deliver();
  }

  // Reads no further while its owner is a whole window behind.
  void Deliver() {
    while (!batches_.empty() && ahead_ < sync::kWatchWindow && !connection_->is_closed) {
      ++ahead_;
      sync::WatchBatch batch = std::move(batches_.front());
      batches_.pop_front();
      sink_.on_batch(std::move(batch));
    }
    const bool reads = batches_.empty();
    if (stream_ != nullptr && reads != reads_) stream_->SetReading(reads);
    reads_ = reads;
    if (end_ && batches_.empty() && !connection_->is_closed)
      sink_.on_end(*std::exchange(end_, std::nullopt));
  }

  void Leave() {
    if (stream_ != nullptr) std::exchange(stream_, nullptr)->Leave();
  }

  const std::shared_ptr<SimStore::Connection> connection_;
  etcdserverpb::WatchCreateRequest request_;
  const sync::WatchSink sink_;
  std::string token_;
  std::shared_ptr<ClientStream> stream_;
  std::uint64_t streams_ = 0;  // counts them
  bool reads_ = true;
  etcdserverpb::WatchResponse whole_;  // as far as it has come
  std::deque<sync::WatchBatch> batches_;
  std::optional<sync::WatchEnd> end_;
  int ahead_ = 0;
  bool is_over_ = false;
};

// Its owner's hold on it.
class OwnedWatch final : public sync::StoreWatch {
 public:
  explicit OwnedWatch(std::shared_ptr<SimWatch> watch) : watch_(std::move(watch)) {}
  ~OwnedWatch() override { watch_->Cancel(); }
  OwnedWatch(const OwnedWatch&) = delete;
  OwnedWatch& operator=(const OwnedWatch&) = delete;

  void RequestProgress() override { watch_->RequestProgress(); }
  void Taken() override { watch_->Taken(); }

 private:
  const std::shared_ptr<SimWatch> watch_;
};

}  // namespace

std::unique_ptr<sync::StoreWatch> BeginWatch(std::shared_ptr<SimStore::Connection> connection,
                                             const sync::WatchRequest& request,
                                             sync::WatchSink sink) {
  auto watch = std::make_shared<SimWatch>(std::move(connection), request, std::move(sink));
  watch->Connect();
  return std::make_unique<OwnedWatch>(std::move(watch));
}

}  // namespace kvorum::sim
