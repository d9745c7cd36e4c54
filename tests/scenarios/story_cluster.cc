#include "tests/scenarios/story_cluster.h"

#include <algorithm>
#include <charconv>
#include <utility>
#include <variant>

#include "api/member_id.h"
#include "base/check.h"
#include "proto/rpc.pb.h"
#include "server/services/maintenance/reseed.h"
#include "server/state/member_change.h"
#include "server/state/raft_status.h"
#include "tests/server/request_bodies.h"
#include "wal/format.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kWatchMethod = "/etcdserverpb.Watch/Watch";

std::string Number(std::size_t i) { return std::to_string(i + 1); }

std::string RevisionText(const ApplyResult::Value& value) {
  return std::visit(
      [](const auto& result) -> std::string {
        if constexpr (requires { result.revision; })
          return "revision " + std::to_string(result.revision);
        return "done";
      },
      value);
}

// The offset of the last byte of an entry's data in a segment; nullopt if it is not there.
std::optional<std::uint64_t> EndOfEntry(std::string_view segment, std::uint64_t index) {
  std::optional<std::uint64_t> end;
  std::uint64_t at = 0;
  while (at + wal::kFrameHeaderBytes <= segment.size()) {
    std::uint64_t length = 0;
    for (std::size_t i = wal::kFrameHeaderBytes; i > 0; --i)
      length = length << 8 | static_cast<unsigned char>(segment[at + i - 1]);
    const auto size = length == 0 ? std::nullopt : wal::DecodeLength(length);
    at += wal::kFrameHeaderBytes;
    if (!size.has_value() || size->body_bytes() > segment.size() - at) break;
    const auto record = wal::DecodeRecord(segment.substr(at, size->record_bytes));
    if (record.has_value() && record->type == wal::RecordType::kEntry) {
      const auto entry = raft::DecodeEntry(SharedBytes::Copy(record->data));
      if (entry.has_value() && entry->index == index) end = at + size->record_bytes - 1;
    }
    at += size->body_bytes();
  }
  return end;
}

}  // namespace

std::size_t StoryMemberOfName(std::string_view name) {
  const std::size_t begin = name.starts_with("http") ? name.rfind('.') + 1 : 1;
  std::size_t number = 0;
  std::from_chars(name.data() + begin, name.data() + name.size(), number);
  return name.starts_with("http") ? number - 1 : number;
}

// The others' peer ports, as far as the links to them are whole.
class StoryCluster::PeerPort final : public PeerRequester {
 public:
  PeerPort(StoryCluster& story, std::size_t number) : story_(story), number_(number) {}
  void AskAll(std::string_view, const std::vector<std::string>& urls, std::string_view path,
              Duration, const Take& take) override {
    for (const std::string& url : urls) {
      if (take(url, AnswerOf(url, path))) return;
    }
  }
  std::string Resolve(const std::string& url) override { return url; }

 private:
  Result<PeerAnswer> AnswerOf(const std::string& url, std::string_view path) {
    SmallCluster& cluster = story_.cluster_;
    const std::size_t asked = StoryMemberOfName(url);
    const raft::MemberId from = cluster.id(number_);
    if (!cluster.is_up(asked) || cluster.network().IsCut(from, cluster.id(asked)) ||
        cluster.network().IsCut(cluster.id(asked), from))
      return Fail(Code::kUnavailable, url + ": connection refused");
    LocalMember& member = story_.member(asked);
    PeerAnswer answer{.status = 200, .cluster_id = IdText(member.cluster_id()), .body = {}};
    answer.body = path == "/members" ? EncodeMembersJson(*member.membership().View())
                                     : R"({"etcdserver":"3.7.3","etcdcluster":"3.7.0"})";
    return answer;
  }

  StoryCluster& story_;
  const std::size_t number_;
};

StoryCluster::Process::Process(SmallCluster& cluster, std::size_t i)
    : services(cluster, i),
      hub(cluster.member(i).store(), cluster.member(i).lanes().watch(), {}),
      watches(services.parts().services.reads, hub) {
  // Followers of this network do not hear of each other.
  services.parts().limits.strict_reconfig_check = false;
  hub.NewShard(cluster.member(i).lanes().io());
  cluster.member(i).store().SetPublishListener(&hub);
  MethodRegistrar methods(router, services.guard().call);
  watches.Register(methods);
}

StoryCluster::StoryCluster(std::size_t size, std::uint64_t seed,
                           std::function<void(LocalMemberOptions&)> options)
    : change_options_(std::move(options)), cluster_(size, seed, [this](LocalMemberOptions& of) {
        change_options_(of);
        const std::size_t i = StoryMemberOfName(of.name);
        if (ports_[i] == nullptr) ports_[i] = std::make_unique<PeerPort>(*this, i);
        of.peers = ports_[i].get();
        of.on_removed = [this, i] { removed_.push_back(i); };
      }) {}

StoryCluster::~StoryCluster() {
  for (std::size_t i = 0; i < cluster_.size(); ++i) Kill(i);
}

Result<void> StoryCluster::Start(std::size_t i, const std::function<void(LocalMember&)>& on_open) {
  ends_[i].clear();
  if (auto started = cluster_.Start(i, on_open); !started.has_value()) {
    cluster_.Kill(i);
    return started;
  }
  processes_[i] = std::make_unique<Process>(cluster_, i);
  // Every process publishes itself: so others know that the member has been started.
  cluster_.member(i).Propose(
      RequestKind::kMemberAttributesSet,
      EncodeMemberAttributes({.member = cluster_.id(i),
                              .name = SmallCluster::NameOf(i),
                              .client_urls = {"http://10.0.0." + Number(i) + ":2379"}}),
      [](const auto&) {});
  return {};
}

void StoryCluster::Kill(std::size_t i) {
  const auto process = processes_.find(i);
  if (process == processes_.end()) return;
  for (const auto& stream : process->second->streams)
    stream->context().Cancel({Code::kCanceled, "context canceled"});
  cluster_.Kill(i);
  processes_.erase(process);
}

bool StoryCluster::Stop(std::size_t i) {
  bool stopped = false;
  member(i).Stop([&] { stopped = true; });
  const bool in_time = cluster_.RunUntil([&] { return stopped; });
  Kill(i);
  return in_time;
}

std::string StoryCluster::TakeNews() {
  std::string news;
  for (const std::size_t i : std::exchange(removed_, {}))
    news += Number(i) + " learns that it was removed\n";
  for (std::size_t i = 0; i < cluster_.size(); ++i) {
    if (!cluster_.is_up(i) || !cluster_.member(i).fatal().has_value()) continue;
    ends_[i] = Readable(cluster_.member(i).fatal()->message);
    Kill(i);
    news += Number(i) + " ends: " + ends_[i] + "\n";
  }
  return news;
}

std::string StoryCluster::NumberOf(raft::MemberId id) const {
  for (std::size_t i = 0; i < cluster_.size(); ++i)
    if (cluster_.id(i) == id) return Number(i);
  return IdText(id);
}

std::string StoryCluster::Readable(std::string text) const {
  for (std::size_t i = 0; i < cluster_.size(); ++i) {
    const std::string id = IdText(cluster_.id(i));
    for (std::size_t at = text.find(id); at != std::string::npos; at = text.find(id))
      text.replace(at, id.size(), "<" + Number(i) + ">");
  }
  return text;
}

std::string StoryCluster::Propose(std::size_t i, RequestKind kind, const std::string& body,
                                  const StoryUser& user) {
  auth::Identity identity{.username = user.name};
  if (!user.name.empty())
    identity.revision = user.auth_revision.value_or(member(i).auth_states().Newest()->revision());
  const auto outcome = cluster_.Propose(i, kind, body, identity);
  return outcome.has_value() ? RevisionText(*outcome) : "refused: " + outcome.error().message;
}

std::string StoryCluster::ProposeBoth(std::size_t i, const std::string& body, std::size_t j,
                                      const std::string& other_body) {
  using Outcome = std::optional<Result<ApplyResult::Value>>;
  const auto outcomes = std::make_shared<std::pair<Outcome, Outcome>>();
  cluster_.member(i).Propose(RequestKind::kPut, body,
                             [outcomes](auto value) { outcomes->first = std::move(value); });
  cluster_.member(j).Propose(RequestKind::kPut, other_body,
                             [outcomes](auto value) { outcomes->second = std::move(value); });
  cluster_.RunUntil([&] { return outcomes->first.has_value() && outcomes->second.has_value(); });
  const auto text = [](const Outcome& outcome) -> std::string {
    if (!outcome.has_value()) return "no outcome";
    return outcome->has_value() ? RevisionText(**outcome) : "refused: " + outcome->error().message;
  };
  return text(outcomes->first) + ", " + text(outcomes->second);
}

std::string StoryCluster::AddWithId(std::size_t at, raft::MemberId id) {
  struct DoneWaiter final : Waiter {
    std::shared_ptr<std::optional<std::string>> done;
    void Applied(ApplyResult result) override {
      *done = result.value.has_value() ? "done" : "refused: " + result.value.error().message;
    }
    void Failed(const Error& error) override { *done = "refused: " + error.message; }
  };
  auto waiter = std::make_unique<DoneWaiter>();
  const auto done = waiter->done = std::make_shared<std::optional<std::string>>();
  Member added;
  added.id = id;
  added.peer_urls = {SmallCluster::PeerUrlOf(cluster_.size())};
  const std::uint64_t request = member(at).ids().Next();
  std::vector<Proposal> proposals;
  proposals.push_back({.id = request,
                       .data = SharedBytes::Own(raft::Encode(
                           EncodeMemberChange(request, MemberChange::Add(std::move(added))))),
                       .deadline = cluster_.scheduler().clock().Now() + std::chrono::seconds(7),
                       .waiter = std::move(waiter),
                       .type = raft::EntryType::kConfChange});
  cluster_.replica(at).Propose(std::move(proposals));
  cluster_.RunUntil([&] { return done->has_value(); });
  return done->value_or("no outcome");
}

void StoryCluster::AddMachine(raft::MemberId id) {
  std::string initial;
  for (std::size_t i = 0; i <= cluster_.size(); ++i)
    initial += (i == 0 ? "" : ",") + SmallCluster::NameOf(i) + "=" + SmallCluster::PeerUrlOf(i);
  cluster_.AddMachine(id, initial, true);
}

std::string StoryCluster::Move(std::size_t to) {
  const auto leader = cluster_.WaitForLeader();
  if (!leader.has_value()) return "no leader";
  if (*leader == to) return "leads already";
  const auto outcome = std::make_shared<std::optional<Result<void>>>();
  cluster_.replica(*leader).MoveLeader(
      cluster_.id(to), cluster_.scheduler().clock().Now() + std::chrono::seconds(5),
      [outcome](Result<void> moved) { *outcome = std::move(moved); });
  if (!cluster_.RunUntil([&] { return outcome->has_value(); })) return "no outcome";
  if (!(*outcome)->has_value()) return "refused: " + (*outcome)->error().message;
  cluster_.WaitForLeader();
  return "from " + Number(*leader) + " to " + Number(to);
}

std::string StoryCluster::Reseed(std::size_t i) {
  const auto leader = cluster_.WaitForLeader();
  if (!leader.has_value()) return "no leader";
  const auto outcome = std::make_shared<std::optional<Result<void>>>();
  SendFreshSnapshot(services(*leader).parts().services.proposer,
                    services(*leader).guard().quarantine, cluster_.id(i),
                    [outcome](Result<void> begun) { *outcome = std::move(begun); });
  if (!cluster_.RunUntil([&] { return outcome->has_value(); })) return "no outcome";
  if (!(*outcome)->has_value()) return "refused: " + (*outcome)->error().message;
  return "begun by " + Number(*leader);
}

Result<void> StoryCluster::WriteAlone(std::size_t i, const std::string& key,
                                      const std::string& value) {
  mvcc::WriteTxn txn = member(i).store().Begin();
  const auto put = txn.Put({.key = key, .value = value});
  txn.End();
  if (!put.has_value()) return std::unexpected(put.error());
  bool flushed = false;
  member(i).store().Flush([&] { flushed = true; });
  cluster_.RunUntil([&] { return flushed; });
  return {};
}

Result<void> StoryCluster::CorruptLogEntry(std::size_t i, std::uint64_t index) {
  SimFileSystem& disk = cluster_.disk(i);
  KV_TRY(std::vector<std::string> names, disk.List(SmallMember::kWalDir));
  std::ranges::sort(names, std::greater());
  for (const std::string& name : names) {
    if (!name.ends_with(".wal")) continue;
    const std::string path = std::string(SmallMember::kWalDir) + "/" + name;
    KV_TRY(const std::string segment, ReadWholeFile(disk, path, 1 << 24));
    const auto end = EndOfEntry(segment, index);
    if (!end.has_value()) continue;
    KV_CHECK(disk.Corrupt(path, *end, 0x01), "a file that is shorter than what was read");
    return {};
  }
  return Fail(Code::kNotFound, "its log does not have that entry");
}

void StoryCluster::Watch(std::size_t i, std::string_view key, const std::string& name) {
  Process& process = *processes_.at(i);
  auto stream =
      std::make_shared<FakeStream>(cluster_.member(i).lanes().io(), std::deque<std::string>{});
  stream->StayOpen();
  process.streams.push_back(stream);
  process.router.Find(kWatchMethod)->stream(stream);
  etcdserverpb::WatchRequest request;
  request.mutable_create_request()->set_key(std::string(key));
  stream->Say(request.SerializeAsString());
  watching_[name] = {.stream = std::move(stream)};
  cluster_.RunUntil([&] { return !watching_[name].stream->messages().empty(); });
}

Result<std::string> StoryCluster::EventsOf(const std::string& name) {
  const auto found = watching_.find(name);
  if (found == watching_.end()) return Fail(Code::kNotFound, "no watch is named " + name);
  cluster_.RunFor(std::chrono::milliseconds(50));
  Watching& watching = found->second;
  std::string text;
  const auto& messages = watching.stream->messages();
  for (; watching.told < messages.size(); ++watching.told) {
    etcdserverpb::WatchResponse response;
    if (!response.ParseFromString(messages[watching.told]))
      return Fail(Code::kDataLoss, "not a watch's answer");
    if (response.canceled()) text += "canceled: " + response.cancel_reason() + "\n";
    for (const auto& event : response.events()) {
      const auto& kv = event.kv();
      text += event.type() == mvccpb::Event::DELETE ? "delete " + kv.key()
                                                    : "put " + kv.key() + "=" + kv.value();
      text += ", revision " + std::to_string(kv.mod_revision()) + "\n";
    }
  }
  return text.empty() ? "nothing\n" : text;
}

std::string StoryCluster::Compare() {
  std::optional<std::size_t> first;
  std::string differing;
  for (std::size_t i = 0; i < cluster_.size(); ++i) {
    if (!cluster_.is_up(i)) continue;
    if (!first.has_value()) {
      first = i;
      continue;
    }
    mvcc::Store& own = member(i).store();
    mvcc::Store& other = member(*first).store();
    own.CheckInvariants();
    if (own.revision() != other.revision()) {
      differing += Number(i) + " is at revision " + std::to_string(own.revision()) + ", and " +
                   Number(*first) + " at " + std::to_string(other.revision()) + "\n";
    } else if (own.HashKv(0)->hash != other.HashKv(0)->hash) {
      differing += Number(i) + " has other keys than " + Number(*first) + "\n";
    }
  }
  if (!first.has_value()) return "none is up\n";
  if (!differing.empty()) return differing;
  return "equal at revision " + std::to_string(member(*first).store().revision()) + "\n";
}

}  // namespace kvorum::server
