#include "tests/sim/clients/watchers.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace kvorum::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::size_t kMostWatches = 4;
const std::string kToTheEnd(1, '\0');

}  // namespace

Watchers::Watchers(World& world, std::vector<std::unique_ptr<Machine>>& machines,
                   const EventHistory& events, AuthJudge& judge, Users& users, Options options)
    : world_(world),
      machines_(machines),
      events_(events),
      judge_(judge),
      users_(users),
      options_(options) {}

void Watchers::Start() {
  for (std::size_t i = 0; i < options_.clients; ++i) {
    Client& client = clients_.emplace_back();
    client.number = i + 1;
    client.session = &users_.NewOfAnybody();
    client.wants_leader = world_.scheduler.rng().OneIn(3);
    ConnectLater(client, seconds(1));
    ActLater(client);
  }
}

// ---- their actions ----

void Watchers::ActLater(Client& client) {
  world_.scheduler.After(world_.scheduler.Between(Duration(0), 2 * options_.most_thinking),
                         [this, &client] {
                           if (live_) return;
                           Act(client);
                           ActLater(client);
                         });
}

void Watchers::Act(Client& client) {
  if (client.stream == nullptr) return;
  const std::uint64_t dice = world_.scheduler.rng().Below(100);
  if (dice < 40) return client.stream->Say(WatchProgressBody());
  if (dice < 58) return StopReading(client);
  if (dice < 72) {
    Leave(client);
    return ConnectLater(client, seconds(1));
  }
  if (dice < 84) return CancelOne(client);
  if (client.watches.size() < kMostWatches) Add(client);
}

Machine* Watchers::Choose() {
  if (!live_) return machines_[world_.scheduler.rng().Below(machines_.size())].get();
  const std::vector<Machine*> live = live_();
  return live.empty() ? nullptr : live[world_.scheduler.rng().Below(live.size())];
}

bool Watchers::IsLive(const Machine& machine) const {
  if (!live_) return true;
  const std::vector<Machine*> live = live_();
  return std::ranges::find(live, &machine) != live.end();
}

void Watchers::ConnectLater(Client& client, Duration most) {
  world_.scheduler.After(world_.scheduler.Between(milliseconds(1), most), [this, &client] {
    if (client.stream == nullptr && !client.logs_in) Connect(client);
  });
}

void Watchers::Connect(Client& client) {
  Machine* machine = Choose();
  if (machine == nullptr) return ConnectLater(client, seconds(1));
  client.machine = machine->number();
  client.logs_in = true;
  users_.Ready(*client.session, *machine, [this, &client] {
    client.logs_in = false;
    // A login takes time: the member may have gone.
    if (IsLive(*machines_[client.machine])) {
      OpenStream(client);
    } else {
      ConnectLater(client, milliseconds(100));
    }
  });
}

void Watchers::OpenStream(Client& client) {
  Machine& machine = *machines_[client.machine];
  client.reads = true;
  client.told_progress = 0;
  client.stream = std::make_shared<ClientStream>(
      world_, machine,
      ClientStream::Receiver{
          .on_message = [this, &client](std::string_view message) { OnMessage(client, message); },
          .on_end = [this, &client](const Error& status) { OnEnd(client, status); }});
  world_.Note("w{} watches at {}", client.number, machine.name());
  client.shown = *client.session;
  client.stream->Open("/etcdserverpb.Watch/Watch", client.wants_leader, client.shown.token);
  std::erase_if(client.watches, [](const Watched& watched) { return watched.cancel_asked; });
  for (Watched& watched : client.watches) {
    if (watched.next() > 1) world_.faults.Add(Fault::kWatchResumed);
    Open(client, watched);
  }
  if (client.watches.empty()) Add(client);
}

void Watchers::Leave(Client& client) {
  if (client.stream == nullptr) return;
  client.stream->Leave();
  client.stream = nullptr;
  client.awaiting.clear();
}

void Watchers::Add(Client& client) {
  Watched& watched = client.watches.emplace_back(
      world_, events_, RandomWatch(), fmt::format("w{}.{}", client.number, ++client.watches_made));
  Open(client, watched);
}

void Watchers::Open(Client& client, Watched& watched) {
  const WatchCreate& create = watched.Reopen();
  if (create.start_revision > events_.last_revision()) world_.faults.Add(Fault::kWatchFuture);
  if (create.no_put || create.no_delete) world_.faults.Add(Fault::kWatchFiltered);
  world_.Note("{}", watched.Describe());
  Machine& machine = *machines_[client.machine];
  auto asked = judge_.Ask(client.shown.user, client.shown.token, machine);
  if (machine.up()) judge_.Taken(asked);
  client.awaiting.emplace_back(&watched, std::move(asked));
  client.stream->Say(WatchCreateBody(create));
}

void Watchers::CancelOne(Client& client) {
  if (client.watches.empty()) return;
  const auto chosen =
      static_cast<std::ptrdiff_t>(world_.scheduler.rng().Below(client.watches.size()));
  Watched& watched = *std::next(client.watches.begin(), chosen);
  if (!watched.is_created() || std::exchange(watched.cancel_asked, true)) return;
  client.stream->Say(WatchCancelBody(watched.id()));
}

void Watchers::StopReading(Client& client) {
  if (!client.reads) return;
  client.reads = false;
  client.stream->SetReading(false);
  world_.scheduler.After(world_.scheduler.Between(milliseconds(20), seconds(6)),
                         [&client, stream = client.stream] {
                           if (client.stream != stream || client.reads) return;
                           client.reads = true;
                           stream->SetReading(true);
                         });
}

WatchCreate Watchers::RandomWatch() {
  Rng& rng = world_.scheduler.rng();
  WatchCreate create;
  switch (rng.Below(6)) {
    case 0:
    case 1:
      create.key = fmt::format("k{}", rng.Below(options_.keys));
      break;
    case 2:  // those of the leases
      create.key = "kl";
      create.range_end = "km";
      break;
    case 3:
      create.key = fmt::format("k{}", rng.Below(options_.keys));
      create.range_end = kToTheEnd;
      break;
    case 4:
      create.key = "k";
      create.range_end = "l";
      break;
    default:
      create.key = "k0";
      create.range_end = fmt::format("k{}", 1 + rng.Below(options_.keys));
  }
  const auto last = static_cast<std::uint64_t>(events_.last_revision());
  switch (rng.Below(4)) {
    case 0:
      create.start_revision = static_cast<std::int64_t>(1 + rng.Below(last));
      break;
    case 1:
      create.start_revision = static_cast<std::int64_t>(last + rng.Below(20));
      break;
    default:
      break;
  }
  create.progress_notify = rng.OneIn(3);
  create.no_put = rng.OneIn(8);
  create.no_delete = rng.OneIn(8);
  create.prev_kv = rng.OneIn(2);
  create.fragment = rng.OneIn(2);
  return create;
}

// ---- responses ----

Watched* Watchers::Find(Client& client, std::int64_t id) {
  const auto found = std::ranges::find(client.watches, id, &Watched::id);
  return found == client.watches.end() ? nullptr : &*found;
}

void Watchers::OnMessage(Client& client, std::string_view message) {
  if (world_.failed()) return;
  const auto answer = ReadWatchAnswer(message);
  if (!answer.has_value()) return world_.Fail("w{} is told what is no answer", client.number);
  world_.Note("w{} hears of {}: {}{}revision {}, {} events{}", client.number, answer->watch_id,
              answer->created ? "created, " : "", answer->canceled ? "canceled, " : "",
              answer->revision, answer->events.size(), answer->fragment ? ", and more" : "");
  if (answer->created) return OnCreated(client, *answer);
  if (answer->canceled) return OnCanceled(client, *answer);
  if (answer->is_progress()) return OnProgress(client, *answer);
  Watched* watched = Find(client, answer->watch_id);
  if (watched == nullptr)
    return world_.Fail("w{} is given events of a watcher that it has not", client.number);
  watched->OnEvents(*answer);
}

bool Watchers::OnDenied(Client& client, const WatchAnswer& answer) {
  constexpr std::string_view kBefore = " desc = ";
  const std::size_t at = answer.cancel_reason.find(kBefore);
  if (!world_.has_auth || at == std::string_view::npos || client.awaiting.empty()) return false;
  const Error error{Code::kUnknown, std::string(answer.cancel_reason.substr(at + kBefore.size()))};
  // A member that would refuse a user checks again after a leader's answer, which may not come.
  const bool is_unknown = answer.cancel_reason.find("code = Unavailable") != std::string_view::npos;
  if (!AuthJudge::IsRefusal(error) && !is_unknown) return false;
  const auto& [watched, asked] = client.awaiting.front();
  judge_.Refused(asked, {.keys = {watched->Need()}}, error);
  if (!is_unknown) world_.faults.Add(Fault::kAuthWatchDenied);
  users_.Told(*client.session, error);
  Leave(client);
  ConnectLater(client, seconds(1));
  return true;
}

void Watchers::OnCreated(Client& client, const WatchAnswer& answer) {
  if (answer.canceled && OnDenied(client, answer)) return;
  if (answer.canceled || client.awaiting.empty() || Find(client, answer.watch_id) != nullptr) {
    return world_.Fail("w{} is told that watcher {} is created: {}", client.number, answer.watch_id,
                       answer.cancel_reason);
  }
  const auto& [watched, asked] = client.awaiting.front();
  if (world_.has_auth) judge_.LetIn(asked, {.keys = {watched->Need()}});
  watched->OnCreated(answer);
  client.awaiting.pop_front();
}

void Watchers::OnCanceled(Client& client, const WatchAnswer& answer) {
  Watched* watched = Find(client, answer.watch_id);
  if (watched == nullptr)
    return world_.Fail("w{} is told of the end of what it has not", client.number);
  if (answer.compact_revision != 0) {
    watched->OnCompacted(answer.compact_revision);
    world_.faults.Add(Fault::kWatchCompacted);
    if (world_.failed()) return;
    if (!watched->cancel_asked) return Open(client, *watched);
    watched->ended = true;  // the answer to the cancel is still to come
  } else if (!watched->cancel_asked) {
    // A database whose bits rot may not be readable.
    if (answer.cancel_reason.empty() || world_.faults[Fault::kBitRot] == 0) {
      return world_.Fail("{} is canceled: {}", watched->Describe(), answer.cancel_reason);
    }
    Leave(client);
    return ConnectLater(client, seconds(1));
  } else {
    world_.faults.Add(Fault::kWatchCanceled);
    std::erase_if(client.watches, [&](const Watched& each) { return &each == watched; });
  }
}

void Watchers::OnProgress(Client& client, const WatchAnswer& answer) {
  if (answer.watch_id != Watched::kNotCreated) {
    Watched* watched = Find(client, answer.watch_id);
    if (watched == nullptr)
      return world_.Fail("w{} is told of progress of a watcher that it has not", client.number);
    world_.faults.Add(Fault::kWatchNotified);
    return watched->OnProgress(answer.revision);
  }
  world_.faults.Add(Fault::kWatchProgress);
  client.told_progress = answer.revision;
  for (Watched& watched : client.watches) {
    if (watched.is_created() && !watched.ended) watched.OnProgress(answer.revision);
  }
}

void Watchers::OnEnd(Client& client, const Error& status) {
  world_.Note("w{} is cut off: {}", client.number, status.message);
  if (status.message == "etcdserver: no leader") world_.faults.Add(Fault::kWatchNoLeader);
  Leave(client);
  ConnectLater(client, milliseconds(500));
}

// ---- the end ----

void Watchers::Settle(std::function<std::vector<Machine*>()> live) {
  live_ = std::move(live);
  const std::vector<Machine*> stay = live_();
  for (Client& client : clients_) {
    // So that nothing keeps them from getting everything.
    if (world_.has_auth) users_.Become(*client.session, Users::kRoot);
    if (client.stream == nullptr) continue;
    const bool stays = std::ranges::find(stay, machines_[client.machine].get()) != stay.end();
    if (!stays) {
      Leave(client);
      ConnectLater(client, milliseconds(100));
    } else if (!client.reads) {
      client.reads = true;
      client.stream->SetReading(true);
    }
  }
}

bool Watchers::AreAtEnd() const {
  return std::ranges::all_of(clients_, [](const Client& client) {
    return client.stream != nullptr &&
           std::ranges::all_of(client.watches, [](const Watched& watched) {
             return watched.cancel_asked || watched.IsAtEnd();
           });
  });
}

void Watchers::AskForProgress() {
  for (Client& client : clients_) {
    if (client.stream != nullptr) client.stream->Say(WatchProgressBody());
  }
}

// One that waits for a later start keeps the progress of its stream back.
bool Watchers::KnowTheEnd() const {
  return std::ranges::all_of(clients_, [this](const Client& client) {
    const bool waits = std::ranges::any_of(
        client.watches, [](const Watched& watched) { return watched.StartsLater(); });
    return waits || client.watches.empty() || client.told_progress == events_.last_revision();
  });
}

std::string Watchers::Behind() const {
  std::string text;
  for (const Client& client : clients_) {
    text += fmt::format("w{} at {}{}", client.number, machines_[client.machine]->name(),
                        client.stream == nullptr ? " (not connected)" : "");
    for (const Watched& watched : client.watches) {
      if (!watched.IsAtEnd()) text += " " + watched.Describe();
    }
    text += fmt::format(", told of progress to {} of {}; ", client.told_progress,
                        events_.last_revision());
  }
  return text;
}

}  // namespace kvorum::sim
