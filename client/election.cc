#include "client/election.h"

#include <utility>

#include "base/api_errors.h"
#include "base/key_range.h"
#include "client/key_queue.h"

namespace kvorum::client {
namespace {

using etcdserverpb::RangeResponse;

Error NotLeader() {
  return {Code::kFailedPrecondition, std::string(kErrElectionNotLeader.message)};
}

RangeResponse AsRange(const etcdserverpb::ResponseHeader& header, const mvccpb::KeyValue& kv) {
  RangeResponse range;
  *range.mutable_header() = header;
  range.mutable_header()->set_revision(kv.mod_revision());
  *range.add_kvs() = kv;
  return range;
}

// Finds the leader, follows its key, then finds the next leader.
class Observer {
 public:
  Observer(Client& client, std::string_view name, const std::stop_token& stop,
           const OnLeader& on_leader)
      : client_(client), prefix_(std::string(name) + "/"), stop_(stop), on_leader_(on_leader) {}

  Result<void> Run() {
    while (!stop_.stop_requested()) {
      etcdserverpb::RangeRequest request = Prefix<etcdserverpb::RangeRequest>();
      request.set_sort_target(etcdserverpb::RangeRequest::CREATE);
      request.set_sort_order(etcdserverpb::RangeRequest::ASCEND);
      request.set_limit(1);
      KV_TRY(RangeResponse oldest, client_.Range(request));
      if (oldest.kvs_size() == 0) {
        KV_TRY(oldest, WaitForFirst(oldest.header().revision() + 1));
        if (oldest.kvs_size() == 0) continue;
      }
      oldest.clear_count();
      oldest.clear_more();
      KV_RETURN_IF_ERROR(on_leader_(oldest));
      KV_RETURN_IF_ERROR(Follow(oldest.kvs(0).key(), oldest.header().revision() + 1));
    }
    return {};
  }

 private:
  template <class Request>
  Request Prefix() const {
    Request request;
    request.set_key(prefix_);
    request.set_range_end(PrefixEnd(prefix_));
    return request;
  }

  // Receives events until it returns true; an error ends the observation.
  using OnEvent = std::function<Result<bool>(const etcdserverpb::ResponseHeader& header,
                                             const mvccpb::Event& event)>;
  Result<void> WatchUntil(const etcdserverpb::WatchCreateRequest& request,
                          const OnEvent& on_event) {
    const std::unique_ptr<Watch> watch = client_.NewWatch(request);
    const std::stop_callback when_stopped(stop_, [&] { watch->Cancel(); });
    bool is_over = false;
    auto ended = watch->Run([&](const etcdserverpb::WatchResponse& response) -> Result<void> {
      for (const mvccpb::Event& event : response.events()) {
        KV_TRY(is_over, on_event(response.header(), event));
        if (is_over) return Fail(Code::kCanceled, "");
      }
      return {};
    });
    if (is_over) return {};
    return ended;
  }

  // An answer without a row: the observer was stopped, or must read again.
  Result<RangeResponse> WaitForFirst(std::int64_t revision) {
    auto request = Prefix<etcdserverpb::WatchCreateRequest>();
    request.set_start_revision(revision);
    request.add_filters(etcdserverpb::WatchCreateRequest::NODELETE);
    RangeResponse first;
    KV_RETURN_IF_ERROR(
        WatchUntil(request, [&](const auto& header, const mvccpb::Event& event) -> Result<bool> {
          first = AsRange(header, event.kv());
          return true;
        }));
    return first;
  }

  Result<void> Follow(const std::string& key, std::int64_t revision) {
    etcdserverpb::WatchCreateRequest request;
    request.set_key(key);
    request.set_start_revision(revision);
    return WatchUntil(request, [&](const auto& header, const mvccpb::Event& event) -> Result<bool> {
      if (event.type() == mvccpb::Event::DELETE) return true;
      KV_RETURN_IF_ERROR(on_leader_(AsRange(header, event.kv())));
      return false;
    });
  }

  Client& client_;
  const std::string prefix_;
  const std::stop_token& stop_;
  const OnLeader& on_leader_;
};

}  // namespace

Election::Election(LeaseSession& session, std::string_view name)
    : place_(std::make_unique<QueuePlace>(session, name)) {}
Election::~Election() = default;

const std::string& Election::key() const { return place_->key(); }
std::int64_t Election::revision() const { return place_->created(); }
etcdserverpb::Compare Election::IsLeader() const { return place_->IsHeld(); }

Result<void> Election::Campaign(std::string_view value, const std::stop_token& stop) {
  KV_RETURN_IF_ERROR(place_->Enter(value));
  if (place_->found_value() && *place_->found_value() != value) {
    if (auto proclaimed = Proclaim(value); !proclaimed) return GiveUp(proclaimed.error());
  }
  if (auto waited = place_->WaitUntilOldest(stop); !waited) return GiveUp(waited.error());
  const auto own = place_->Read();
  if (!own) return GiveUp(own.error());
  if (!*own || place_->session().ended().stop_requested()) return GiveUp(NotLeader());
  return {};
}

std::unexpected<Error> Election::GiveUp(Error error) {
  static_cast<void>(place_->Leave());
  return Fail(std::move(error));
}

Result<void> Election::Proclaim(std::string_view value) {
  if (!place_->is_entered()) return Fail(NotLeader());
  KV_TRY(const bool changed, place_->ChangeValue(value));
  if (!changed) return Fail(NotLeader());
  return {};
}

Result<void> Election::Resign() {
  if (!place_->is_entered()) return {};
  KV_RETURN_IF_ERROR(place_->Leave());
  return {};
}

Result<RangeResponse> Election::Leader() const {
  KV_TRY(RangeResponse oldest, place_->Oldest());
  if (oldest.kvs_size() == 0)
    return Fail(Code::kNotFound, std::string(kErrElectionNoLeader.message));
  return oldest;
}

Result<void> ObserveElection(Client& client, std::string_view name, const std::stop_token& stop,
                             const OnLeader& on_leader) {
  return Observer(client, name, stop, on_leader).Run();
}

}  // namespace kvorum::client
