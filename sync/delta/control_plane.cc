#include "sync/delta/control_plane.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "sync/delta/delta_session.h"
#include "sync/kernel/loop.h"
#include "sync/kernel/trigger.h"

namespace kvorum::sync {

namespace {

ControlPlaneOptions WithBudget(ControlPlaneOptions options, NamesBudget& names) {
  options.limits.all_names = &names;
  return options;
}

}  // namespace

class ControlPlane::Impl {
 public:
  Impl(Executor& executor, TypeReader& reader, Metrics& metrics, ControlPlaneOptions options)
      : clock_(executor.clock()),
        reader_(reader),
        metrics_(metrics),
        names_(options.max_names_bytes),
        turns_(options.max_sending_bytes),
        options_(WithBudget(std::move(options), names_)),
        rng_(options_.seed),
        watchdog_({options_.types.begin(), options_.types.end()}, options_.watchdog, clock_.Now(),
                  rng_),
        loop_(executor, [this](TimePoint now) { return Step(now); }),
        changed_([handle = loop_.handle()] { handle.Wake(); }) {
    loop_.Wake();
  }
  ~Impl() { loop_.Stop(); }

  void Follow(Bus<std::string>& bus) {
    auto events =
        bus.Subscribe({.on_ready = [handle = loop_.handle()] { handle.Wake(); },
                       .overflows = metrics_.Get(CounterName::kBusOverflows, {"watchdog"})});
    loop_.Post([this, events = std::move(events)]() mutable { events_ = std::move(events); });
  }
  void Changed(const std::string& type) { changed_.Fire(type); }
  StreamId NewStream() { return next_stream_.fetch_add(1); }
  void Post(Task task) { loop_.Post(std::move(task)); }

  void Open(StreamId stream, std::shared_ptr<DeltaCarrier> carrier) {
    if (sessions_.size() >= options_.max_streams) {
      const Error error{Code::kResourceExhausted, "there are as many streams as are allowed, " +
                                                      std::to_string(options_.max_streams)};
      Tell(error, "a new stream");
      return carrier->Close(error);
    }
    const auto [place, is_new] = sessions_.try_emplace(stream, stream, std::move(carrier), options_,
                                                       turns_, metrics_, clock_);
    Track(stream, place->second);
  }

  void Receive(StreamId stream, const DeltaRequest& request) {
    const auto place = sessions_.find(stream);
    if (place == sessions_.end()) return;
    DeltaSession& session = place->second;
    const bool begins = session.node().empty();
    if (const auto received = session.Receive(request); !received)
      return End(stream, received.error());
    if (begins) Begin(stream, session);
    Track(stream, session);
    session.Proceed();
  }

  void Sent(StreamId stream) {
    const auto place = sessions_.find(stream);
    if (place == sessions_.end()) return;
    place->second.Sent();
    Track(stream, place->second);
    GiveTurns();
  }

  void Closed(StreamId stream) {
    const auto place = sessions_.find(stream);
    if (place == sessions_.end()) return;
    if (const auto node = streams_.find(place->second.node());
        node != streams_.end() && node->second == stream)
      streams_.erase(node);
    deadlines_.erase({tracked_[stream], stream});
    tracked_.erase(stream);
    sessions_.erase(place);
    GiveTurns();
  }

  std::vector<NodeState> States() const {
    std::vector<NodeState> states;
    for (const auto& [node, stream] : streams_) states.push_back(sessions_.at(stream).State());
    return states;
  }

 private:
  struct UnderWay {
    Watchdog::Pass pass;
    std::map<std::string, Result<Objects>> read;
  };

  void GiveTurns() {
    while (const auto next = turns_.Next()) {
      const auto place = sessions_.find(*next);
      if (place == sessions_.end()) continue;
      place->second.SendNext();
      Track(*next, place->second);
    }
  }

  TimePoint Step(TimePoint now) {
    TakeEvents(now);
    if (auto pass = watchdog_.Step(now)) Begin(std::move(*pass));
    while (!deadlines_.empty() && deadlines_.begin()->first <= now) {
      const StreamId stream = deadlines_.begin()->second;
      End(stream, sessions_.at(stream).Overdue());
    }
    return deadlines_.empty() ? watchdog_.due()
                              : std::min(watchdog_.due(), deadlines_.begin()->first);
  }

  void TakeEvents(TimePoint now) {
    for (const std::string& type : changed_.Take()) watchdog_.Changed(type, now);
    if (events_ == nullptr) return;
    for (const auto& item : events_->Take()) {
      if (const auto* type = std::get_if<std::string>(&item)) {
        watchdog_.Changed(*type, now);
      } else {
        watchdog_.AllChanged(now);
      }
    }
  }

  void Begin(Watchdog::Pass pass) {
    under_way_.emplace(std::move(pass));
    for (const std::string& type : under_way_->pass.types)
      reader_.Read(type, [this, handle = loop_.handle(), type](Result<Objects> objects) mutable {
        handle.Post([this, type, objects = std::move(objects)]() mutable {
          HaveRead(type, std::move(objects));
        });
      });
  }

  void HaveRead(const std::string& type, Result<Objects> objects) {
    under_way_->read.insert_or_assign(type, std::move(objects));
    if (under_way_->read.size() < under_way_->pass.types.size()) return;
    const UnderWay done = std::move(*under_way_);
    under_way_.reset();
    bool succeeded = true;
    std::set<std::string> read;
    for (const auto& [name, content] : done.read) {
      if (content) {
        for (const std::string& odd : reconciler_.Update(name, *content))
          Tell({Code::kInvalidArgument, "the name of a resource is not UTF-8: " + odd},
               "type " + name);
        read.insert(name);
        continue;
      }
      succeeded = false;
      Tell(content.error(), "type " + name);
    }
    for (auto& [stream, session] : sessions_) {
      if (session.node().empty()) continue;
      succeeded &= Generate(session, read, done.pass.reason);
      Track(stream, session);
    }
    watchdog_.Finish(succeeded);
  }

  // The types that have been read are sent at once; the others come with the pass that reads them.
  void Begin(StreamId stream, DeltaSession& session) {
    const auto [place, is_new] = streams_.try_emplace(session.node(), stream);
    if (!is_new) {
      const StreamId replaced = std::exchange(place->second, stream);
      End(replaced, {Code::kAborted, "a newer stream of the node replaces this one"});
    }
    Generate(session, watchdog_.types(), PassReason::kResync);
  }

  bool Generate(DeltaSession& session, const std::set<std::string>& types, PassReason reason) {
    const auto generated = session.Generate(reconciler_, types, reason);
    if (!generated) Tell(generated.error(), "node " + session.node());
    return generated.has_value();
  }

  void Tell(const Error& error, const std::string& subject) {
    if (error.code == Code::kCanceled || options_.on_error == nullptr) return;
    options_.on_error({error.code, subject + ": " + error.message});
  }

  void End(StreamId stream, const Error& error) {
    DeltaSession& session = sessions_.at(stream);
    Tell(error, session.node().empty() ? "a stream without a node" : "node " + session.node());
    session.Close(error);
    Closed(stream);
  }

  // Keeps the session's deadline among the others.
  void Track(StreamId stream, const DeltaSession& session) {
    TimePoint& tracked = tracked_.try_emplace(stream, kNever).first->second;
    if (tracked == session.deadline()) return;
    deadlines_.erase({tracked, stream});
    tracked = session.deadline();
    if (tracked != kNever) deadlines_.emplace(tracked, stream);
  }

  const Clock& clock_;
  TypeReader& reader_;
  Metrics& metrics_;
  NamesBudget names_;
  SendingTurns turns_;
  const ControlPlaneOptions options_;
  Rng rng_;
  Watchdog watchdog_;
  Reconciler reconciler_;
  std::optional<UnderWay> under_way_;
  std::map<StreamId, DeltaSession> sessions_;
  std::map<std::string, StreamId> streams_;  // by node
  std::map<StreamId, TimePoint> tracked_;
  std::set<std::pair<TimePoint, StreamId>> deadlines_;
  std::atomic<StreamId> next_stream_ = 1;
  std::unique_ptr<Bus<std::string>::Subscription> events_;
  Loop loop_;
  SetTrigger<std::string> changed_;
};

ControlPlane::ControlPlane(Executor& executor, TypeReader& reader, Metrics& metrics,
                           ControlPlaneOptions options)
    : impl_(std::make_unique<Impl>(executor, reader, metrics, std::move(options))) {}
ControlPlane::~ControlPlane() = default;

void ControlPlane::Changed(const std::string& type) { impl_->Changed(type); }
void ControlPlane::Follow(Bus<std::string>& bus) { impl_->Follow(bus); }

ControlPlane::StreamId ControlPlane::Open(std::shared_ptr<DeltaCarrier> carrier) {
  const StreamId stream = impl_->NewStream();
  impl_->Post([impl = impl_.get(), stream, carrier = std::move(carrier)]() mutable {
    impl->Open(stream, std::move(carrier));
  });
  return stream;
}

void ControlPlane::Receive(StreamId stream, DeltaRequest request) {
  impl_->Post([impl = impl_.get(), stream, request = std::move(request)] {
    impl->Receive(stream, request);
  });
}

void ControlPlane::Sent(StreamId stream) {
  impl_->Post([impl = impl_.get(), stream] { impl->Sent(stream); });
}

void ControlPlane::Closed(StreamId stream) {
  impl_->Post([impl = impl_.get(), stream] { impl->Closed(stream); });
}

void ControlPlane::Ask(std::move_only_function<void(std::vector<NodeState>)> answer) {
  impl_->Post(
      [impl = impl_.get(), answer = std::move(answer)]() mutable { answer(impl->States()); });
}

}  // namespace kvorum::sync
