#include "server/peer/transport/peer_transport.h"

#include <algorithm>
#include <future>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "api/member_id.h"
#include "api/version.h"
#include "base/background/aside.h"
#include "base/check.h"
#include "base/inbox.h"
#include "base/log/logging.h"
#include "server/peer/io/incarnation.h"
#include "server/peer/io/request_checks.h"
#include "server/peer/streams/snapshot_receiver.h"
#include "server/peer/transport/peer.h"
#include "server/peer/transport/probe.h"

namespace kvorum::server {
namespace {

// Senders that are not members as far as we know, whose URLs are kept to answer them.
constexpr std::size_t kMaxRemotes = 16;
constexpr std::size_t kMaxRefused = 64;
constexpr std::size_t kMaxLoggedUrls = 200;  // bytes of a stranger's
// Messages that Send handed over and the loop has not processed yet.
constexpr std::size_t kMaxOutbox = 65'536;
constexpr std::size_t kMaxPlainBodyBytes = std::size_t{64} << 10;
// The bytes read of a post that is refused for its sender.
constexpr std::size_t kMaxRefusedBodyBytes = std::size_t{64} << 10;

rpc::HttpResponse NotAMessage() { return HttpError(400, "error unmarshalling raft message"); }

std::vector<Url> UsableUrls(const std::vector<std::string>& texts) {
  std::vector<Url> urls;
  for (const std::string& text : texts) {
    if (auto url = Url::Parse(text); url.has_value()) urls.push_back(*std::move(url));
  }
  return urls;
}

}  // namespace

struct PeerTransport::Impl {
  explicit Impl(const Options& o)
      : options(o),
        dialer(loop, handshakes, options.tls.has_value() ? &*options.tls : nullptr,
               options.near_address),
        links{.loop = loop, .dialer = dialer, .disk = disk, .options = options.peers},
        server(loop, options.server) {}

  // ---- on the loop's thread ----
  void Drain();
  void UseMembers(std::shared_ptr<const MembershipView> next);
  Peer* FindPeer(raft::MemberId id);
  void Remember(raft::MemberId id, std::string_view peer_urls);
  void DropPeer(raft::MemberId id);
  std::unique_ptr<Peer> MakePeer(raft::MemberId id, std::vector<Url> urls);
  void SetActive(raft::MemberId id, bool is_active);
  void Deliver(raft::MemberId sender, std::vector<raft::Message> messages);
  void CheckInvariants() const;

  RequestPlan OnRequest(const rpc::HttpHead& head);
  RequestPlan Plan(const rpc::HttpHead& head);
  RequestPlan PlanStream(const rpc::HttpHead& head);
  RequestPlan PlanPipeline(const rpc::HttpHead& head);
  RequestPlan PlanSnapshot(const rpc::HttpHead& head);
  std::expected<raft::MemberId, rpc::HttpResponse> SenderOfPost(const rpc::HttpHead& head);
  // Refuses a sender's post with any content, or with none.
  std::optional<rpc::HttpResponse> RefuseSender(const rpc::HttpHead& head, raft::MemberId sender);
  RequestPlan PlanRefusedPost(const rpc::HttpHead& head, rpc::HttpResponse refusal);
  // Completes, counts and logs the refusal of a request under /raft.
  rpc::HttpResponse Refused(const rpc::HttpHead& head, rpc::HttpResponse answer);
  void NoteRefusal(const rpc::HttpHead& head, unsigned status);
  RequestPlan PlanProbe();
  RequestPlan PlanPlain();
  rpc::HttpResponse TakePosted(raft::MemberId sender, const SharedBytes& body);
  // Senders with invented ids share kNone's limit once there are too many.
  LogLimit& RefusalsOf(raft::MemberId sender) {
    const bool has_room = refusals.size() < kMaxRefused || refusals.contains(sender);
    return refusals[has_room ? sender : raft::kNone];
  }
  bool KnowsMember(raft::MemberId id) const { return view->members.contains(id); }
  std::vector<rpc::HttpHeader> OwnHeaders() const;
  std::optional<rpc::HttpResponse> RefuseIncarnation(const rpc::HttpHead& head,
                                                     raft::MemberId sender);

  const Options options;
  PeerLoop loop{"peer"};
  PeerLoop handshakes{"peer-tls"};  // runs if there is TLS
  PeerDialer dialer;
  BackgroundExecutor disk{"peer-snap"};
  PeerLinks links;
  Hooks hooks;
  PeerServer server;
  std::shared_ptr<const MembershipView> view = std::make_shared<MembershipView>();
  std::map<raft::MemberId, std::unique_ptr<Peer>> peers;
  std::vector<raft::MemberId> remotes;          // the peers that are not members; oldest first
  std::map<raft::MemberId, LogLimit> refusals;  // by sender
  LogLimit unknown;
  // Anybody can invent ids of senders: these lines come once a minute for all of them.
  LogLimit heard_strangers;
  LogLimit dropped_strangers;
  bool said_removed = false;

  struct Outbox {
    std::vector<raft::Message> messages;
    std::set<raft::MemberId> overflowed;  // peers whose messages found no room in it
  };
  Inbox<Outbox> outbox{loop, [this] { Drain(); }};

  mutable std::mutex seen_mutex;  // guards the next two
  std::map<raft::MemberId, TimePoint> active_since;
};

// Takes everything that Send was called with since the loop last looked; each stream then writes
// once.
void PeerTransport::Impl::Drain() {
  Outbox sent = outbox.Take();
  for (raft::Message& message : sent.messages) {
    if (Peer* peer = FindPeer(message.to); peer != nullptr) {
      peer->Push(std::move(message));
      continue;
    }
    links.counters.dropped_messages.fetch_add(1, std::memory_order_relaxed);
    if (unknown.Allows(loop.clock().Now())) {
      KV_WARN("dropped a message to a peer that is not known", {"peer", IdText(message.to)},
              {"type", raft::Name(message.type)}, {"dropped-so-far", unknown.count()});
    }
  }
  for (auto& [id, peer] : peers) peer->Flush();
  for (const raft::MemberId id : sent.overflowed) links.receiver->Unreachable(id);
}

Peer* PeerTransport::Impl::FindPeer(raft::MemberId id) {
  const auto found = peers.find(id);
  return found == peers.end() ? nullptr : found->second.get();
}

std::unique_ptr<Peer> PeerTransport::Impl::MakePeer(raft::MemberId id, std::vector<Url> urls) {
  return std::make_unique<Peer>(
      links, id, std::move(urls),
      Peer::Hooks{
          .on_messages =
              [this, id](std::vector<raft::Message> messages) { Deliver(id, std::move(messages)); },
          .on_activity = [this, id](bool is_active) { SetActive(id, is_active); },
          .on_round_trip =
              [this, id](Duration round_trip) {
                links.metrics[id].round_trips.Observe(round_trip);
              }});
}

void PeerTransport::Impl::UseMembers(std::shared_ptr<const MembershipView> next) {
  view = std::move(next);
  std::vector<raft::MemberId> gone;
  for (const auto& [id, peer] : peers) {
    const bool stays = KnowsMember(id) || (!peer->is_member() && !view->removed.contains(id));
    if (!stays) gone.push_back(id);
  }
  for (const raft::MemberId id : gone) DropPeer(id);
  for (const auto& [id, member] : view->members) {
    if (id == links.identity.member_id) continue;
    std::vector<Url> urls = UsableUrls(member.peer_urls);
    if (urls.empty()) {
      KV_WARN("a member has no URL that can be used", {"peer", IdText(id)});
      continue;
    }
    std::unique_ptr<Peer>& peer = peers[id];
    if (peer == nullptr) {
      peer = MakePeer(id, std::move(urls));
    } else {
      peer->SetUrls(std::move(urls));
    }
    if (peer->is_member()) continue;
    std::erase(remotes, id);
    KV_INFO("added a peer", {"peer", IdText(id)}, {"url", member.peer_urls.front()});
    peer->BecomeMember();
  }
}

void PeerTransport::Impl::DropPeer(raft::MemberId id) {
  const Peer* const peer = FindPeer(id);
  if ((peer != nullptr && peer->is_member()) || dropped_strangers.Allows(loop.clock().Now()))
    KV_INFO("dropped a peer", {"peer", IdText(id)},
            {"strangers-dropped-so-far", dropped_strangers.count()});
  std::erase(remotes, id);
  peers.erase(id);
  SetActive(id, false);
}

// An unknown sender may be a new member that we have not heard of yet. So it is answered.
void PeerTransport::Impl::Remember(raft::MemberId id, std::string_view peer_urls) {
  if (id == links.identity.member_id || id == raft::kNone || peers.contains(id) ||
      view->removed.contains(id)) {
    return;
  }
  auto urls = ParseUrls(peer_urls);
  if (!urls.has_value()) return;
  if (remotes.size() >= kMaxRemotes) DropPeer(remotes.front());
  if (heard_strangers.Allows(loop.clock().Now()))
    KV_INFO("heard of a peer that is not known as a member", {"peer", IdText(id)},
            {"urls", peer_urls.substr(0, kMaxLoggedUrls)},
            {"heard-so-far", heard_strangers.count()});
  peers[id] = MakePeer(id, *std::move(urls));
  remotes.push_back(id);
}

void PeerTransport::Impl::SetActive(raft::MemberId id, bool is_active) {
  std::lock_guard lock(seen_mutex);
  if (is_active) {
    active_since.emplace(id, loop.clock().Now());
  } else {
    active_since.erase(id);
  }
}

void PeerTransport::Impl::Deliver(raft::MemberId sender, std::vector<raft::Message> messages) {
  std::erase_if(messages, [&](const raft::Message& message) {
    const std::string_view refusal =
        RefusalOf(message, sender, KnowsMember(sender), links.identity.member_id);
    if (refusal.empty()) return false;
    links.counters.refused_messages.fetch_add(1, std::memory_order_relaxed);
    LogLimit& limit = RefusalsOf(sender);
    if (limit.Allows(loop.clock().Now())) {
      KV_WARN("refused a peer's message", {"peer", IdText(sender)},
              {"type", raft::Name(message.type)}, {"reason", refusal},
              {"refused-so-far", limit.count()});
    }
    return true;
  });
  links.counters.received_messages.fetch_add(messages.size(), std::memory_order_relaxed);
  if (!messages.empty()) links.receiver->ReceiveAll(std::move(messages));
}

std::vector<rpc::HttpHeader> PeerTransport::Impl::OwnHeaders() const {
  std::vector<rpc::HttpHeader> headers = {
      {"X-Etcd-Cluster-Id", IdText(links.identity.cluster_id)},
      {"X-Server-Version", std::string(kApiVersion)},
      {std::string(kSnapshotFormatHeader), std::string(kSnapshotFormat)}};
  if (const IncarnationGuard* guard = links.identity.incarnations; guard != nullptr)
    headers.push_back({std::string(kIncarnationHeader), guard->Own()});
  return headers;
}

// A member that has lost data and does not know it is not heard, until it does.
std::optional<rpc::HttpResponse> PeerTransport::Impl::RefuseIncarnation(const rpc::HttpHead& head,
                                                                        raft::MemberId sender) {
  using Told = IncarnationGuard::Told;
  IncarnationGuard* guard = links.identity.incarnations;
  const Told how = links.identity.callers_show_certificates ? Told::kByItsUrl : Told::kByACaller;
  if (guard == nullptr || !KnowsMember(sender) ||
      guard->Admits(sender, head.Header("x-kvorum-incarnation"), how)) {
    return std::nullopt;
  }
  rpc::HttpResponse refusal = HttpError(412, "the sender has lost data");
  refusal.headers.push_back({std::string(kDataLostHeader), "1"});
  return refusal;
}

RequestPlan PeerTransport::Impl::OnRequest(const rpc::HttpHead& head) {
  const std::string_view path = head.Path();
  const bool is_raft = path == kPipelinePath || path.starts_with("/raft/");
  RequestPlan plan = Plan(head);
  if (auto* answer = std::get_if<rpc::HttpResponse>(&plan.action); answer != nullptr && is_raft)
    *answer = Refused(head, std::move(*answer));
  return plan;
}

rpc::HttpResponse PeerTransport::Impl::Refused(const rpc::HttpHead& head,
                                               rpc::HttpResponse answer) {
  NoteRefusal(head, answer.status);
  std::ranges::move(OwnHeaders(), std::back_inserter(answer.headers));
  return answer;
}

void PeerTransport::Impl::NoteRefusal(const rpc::HttpHead& head, unsigned status) {
  links.counters.refused_requests.fetch_add(1, std::memory_order_relaxed);
  LogLimit& limit = RefusalsOf(ParseMemberId(head.Header("x-server-from")).value_or(raft::kNone));
  if (limit.Allows(loop.clock().Now())) {
    KV_WARN("refused a request of a peer", {"from", head.Header("x-server-from").substr(0, 64)},
            {"path", head.Path().substr(0, 200)}, {"status", status},
            {"refused-so-far", limit.count()});
  }
}

RequestPlan PeerTransport::Impl::Plan(const rpc::HttpHead& head) {
  const std::string_view path = head.Path();
  if (path == kPipelinePath) return PlanPipeline(head);
  if (path == kSnapshotPath) return PlanSnapshot(head);
  if (path.starts_with(kStreamPrefix)) return PlanStream(head);
  if (path == kProbingPath) return PlanProbe();
  return PlanPlain();
}

RequestPlan PeerTransport::Impl::PlanStream(const rpc::HttpHead& head) {
  if (auto refusal = RefuseRequest(head, "GET", links.identity.cluster_id))
    return {.action = *std::move(refusal)};
  auto request = CheckStreamRequest(head, links.identity.member_id, *view);
  if (!request.has_value()) {
    if (request.error().unknown_sender != raft::kNone)
      Remember(request.error().unknown_sender, head.Header("x-peerurls"));
    return {.action = std::move(request.error().response)};
  }
  if (auto refusal = RefuseIncarnation(head, request->from)) return {.action = *std::move(refusal)};
  const auto attach = [this, request = *request](std::unique_ptr<PeerSocket> socket) {
    Peer* peer = FindPeer(request.from);  // it may be gone meanwhile
    if (peer != nullptr && peer->is_member()) peer->Attach(request.kind, std::move(socket));
  };
  return {.action = TakeConnection{.headers = OwnHeaders(), .taker = attach},
          .is_from_member = true};
}

std::expected<raft::MemberId, rpc::HttpResponse> PeerTransport::Impl::SenderOfPost(
    const rpc::HttpHead& head) {
  if (auto refusal = RefuseRequest(head, "POST", links.identity.cluster_id))
    return std::unexpected(*std::move(refusal));
  const auto sender = ParseMemberId(head.Header("x-server-from"));
  if (!sender.has_value()) return std::unexpected(HttpError(400, "invalid X-Server-From"));
  return *sender;
}

std::optional<rpc::HttpResponse> PeerTransport::Impl::RefuseSender(const rpc::HttpHead& head,
                                                                   raft::MemberId sender) {
  if (view->removed.contains(sender))
    return HttpError(403, "cannot process message from removed member");
  Remember(sender, head.Header("x-peerurls"));
  if (FindPeer(sender) == nullptr) return HttpError(403, "unknown sender");
  return RefuseIncarnation(head, sender);
}

// Nonsense is reported first, as by etcd's peers, for any sender, as long as checking is cheap.
RequestPlan PeerTransport::Impl::PlanRefusedPost(const rpc::HttpHead& head,
                                                 rpc::HttpResponse refusal) {
  if (head.content_length.value_or(0) > kMaxRefusedBodyBytes) return {.action = std::move(refusal)};
  const auto take = [this, refusal = std::move(refusal)](
                        const rpc::HttpHead& of, const SharedBytes& body, rpc::HttpReply reply) {
    const bool is_message = raft::DecodeMessage(body).has_value();
    reply.Send(Refused(of, is_message ? refusal : NotAMessage()));
  };
  return {.action = GatherBody{.max_bytes = kMaxRefusedBodyBytes, .handle = take}};
}

RequestPlan PeerTransport::Impl::PlanPipeline(const rpc::HttpHead& head) {
  auto sender = SenderOfPost(head);
  if (!sender.has_value()) return {.action = std::move(sender).error()};
  if (auto refusal = RefuseSender(head, *sender)) return PlanRefusedPost(head, *std::move(refusal));
  const auto take = [this, sender = *sender](const rpc::HttpHead&, const SharedBytes& body,
                                             rpc::HttpReply reply) {
    if (Peer* peer = FindPeer(sender); peer != nullptr) peer->Hurry();
    rpc::HttpResponse answer = TakePosted(sender, body);
    std::ranges::move(OwnHeaders(), std::back_inserter(answer.headers));
    reply.Send(std::move(answer));
  };
  return {.action = GatherBody{.max_bytes = options.peers.max_frame_bytes, .handle = take},
          .is_from_member = KnowsMember(*sender)};
}

RequestPlan PeerTransport::Impl::PlanSnapshot(const rpc::HttpHead& head) {
  auto sender = SenderOfPost(head);
  if (!sender.has_value()) return {.action = std::move(sender).error()};
  auto refusal = RefuseSender(head, *sender);
  const bool is_refused = refusal.has_value();
  const std::string_view format = head.Header("x-kvorum-snapshot-format");
  if (!is_refused && !format.empty() && format != kSnapshotFormat)
    refusal = HttpError(415, "a snapshot of another format");
  if (refusal.has_value()) NoteRefusal(head, refusal->status);
  return {.action = StreamBody{.receiver = std::make_unique<SnapshotReceiver>(links, *sender,
                                                                              std::move(refusal)),
                               .headers = OwnHeaders()},
          .is_from_member = !is_refused && KnowsMember(*sender)};
}

rpc::HttpResponse PeerTransport::Impl::TakePosted(raft::MemberId sender, const SharedBytes& body) {
  const auto refuse = [this](rpc::HttpResponse answer) {
    links.counters.refused_messages.fetch_add(1, std::memory_order_relaxed);
    return answer;
  };
  auto message = raft::DecodeMessage(body);
  if (!message.has_value()) return refuse(NotAMessage());
  if (view->removed.contains(message->from))
    return refuse(HttpError(403, "cannot process message from removed member"));
  if (message->to != links.identity.member_id)
    return refuse(HttpError(403, "cannot process message to mismatch member"));
  links.counters.received_bytes.fetch_add(body.size(), std::memory_order_relaxed);
  links.metrics[sender].received_bytes.Add(body.size());
  std::vector<raft::Message> messages;
  messages.push_back(*std::move(message));
  Deliver(sender, std::move(messages));
  return rpc::HttpResponse{.status = 204, .content_type = {}, .headers = {}, .body = {}};
}

// Not counted as a refusal, and allowed without any of a peer's headers.
RequestPlan PeerTransport::Impl::PlanProbe() {
  return {.action = GatherBody{
              .max_bytes = kMaxPlainBodyBytes,
              .handle = [this](const rpc::HttpHead&, const SharedBytes&, rpc::HttpReply reply) {
                rpc::HttpResponse answer =
                    rpc::HttpResponse::Text(200, EncodeProbeAnswer(loop.clock().WallNanos()));
                answer.headers = OwnHeaders();
                reply.Send(std::move(answer));
              }}};
}

RequestPlan PeerTransport::Impl::PlanPlain() {
  return {.action = GatherBody{
              .max_bytes = kMaxPlainBodyBytes,
              .handle = [this](const rpc::HttpHead& head, SharedBytes body, rpc::HttpReply reply) {
                rpc::HttpRequest request;
                request.method = head.method;
                request.target = head.target;
                request.headers = head.headers;
                request.body = std::move(body);
                hooks.http(std::move(request), std::move(reply));
              }}};
}

PeerTransport::PeerTransport(const Options& options) : impl_(std::make_unique<Impl>(options)) {}

PeerTransport::~PeerTransport() { Stop(); }

Result<std::string> PeerTransport::Bind(const Url& url) {
  if (!url.tls()) return impl_->server.Bind(url);
  const std::optional<PeerTls>& tls = impl_->options.tls;
  if (!tls.has_value() || (tls->context->options().certificate_file.empty() &&
                           tls->context->options().key_file.empty())) {
    return Fail(Code::kInvalidArgument, "cannot listen on TLS for " + HostOf(url) +
                                            ": KeyFile and CertFile are not presented");
  }
  return impl_->server.BindTls(url, impl_->handshakes, *tls);
}

Result<void> PeerTransport::Listen() { return impl_->server.Listen(); }

void PeerTransport::Start(PeerIdentity identity, TransportReceiver& receiver, Hooks hooks) {
  impl_->links.identity = std::move(identity);
  impl_->links.receiver = &receiver;
  impl_->hooks = std::move(hooks);
  impl_->links.on_removed = [impl = impl_.get()] {
    if (std::exchange(impl->said_removed, true) || impl->hooks.on_removed == nullptr) return;
    impl->hooks.on_removed();
  };
  impl_->loop.Post([impl = impl_.get()] {
    impl->server.Start([impl](const rpc::HttpHead& head) { return impl->OnRequest(head); });
  });
  impl_->loop.Start();
  if (impl_->options.tls.has_value()) impl_->handshakes.Start();
}

void PeerTransport::Impl::CheckInvariants() const {
  std::uint64_t streams = 0;
  std::size_t active = 0;
  for (const auto& [id, peer] : peers) {
    peer->CheckInvariants();
    streams += peer->standing_writers();
    active += peer->standing_readers() > 0 ? 1 : 0;
  }
  KV_CHECK(links.counters.open_streams.load() == streams,
           "other streams are open than are counted");
  KV_CHECK(remotes.size() <= kMaxRemotes, "more strangers are remembered than may");
  std::lock_guard lock(seen_mutex);
  KV_CHECK(active_since.size() == active, "another number of peers is shown as active");
  for (const auto& [id, since] : active_since)
    KV_CHECK(peers.contains(id), "an active peer is gone");
}

void PeerTransport::CheckInvariants() const {
  std::promise<void> checked;
  const std::future<void> done = checked.get_future();
  impl_->loop.Post([impl = impl_.get(), checked = std::move(checked)]() mutable {
    impl->CheckInvariants();
    checked.set_value();
  });
  done.wait();
}

void PeerTransport::Stop() {
  Impl* impl = impl_.get();
  impl->loop.Post([impl] {
    impl->server.Close();
    impl->peers.clear();
  });
  impl->loop.Stop();
  impl->handshakes.Post([impl] { impl->dialer.Close(); });
  impl->handshakes.Stop();
  impl->disk.Stop();
}

void PeerTransport::Send(std::vector<raft::Message> messages) {
  Impl& impl = *impl_;
  impl.outbox.Put([&](Impl::Outbox& outbox) {
    if (outbox.messages.size() + messages.size() > kMaxOutbox) {
      impl.links.counters.dropped_messages.fetch_add(messages.size(), std::memory_order_relaxed);
      for (const raft::Message& message : messages) outbox.overflowed.insert(message.to);
    } else if (outbox.messages.empty()) {
      outbox.messages = std::move(messages);
    } else {
      std::ranges::move(messages, std::back_inserter(outbox.messages));
    }
  });
}

void PeerTransport::SendSnapshot(raft::Message message,
                                 std::unique_ptr<mvcc::SnapshotSource> content) {
  impl_->loop.Post(
      [impl = impl_.get(), message = std::move(message), content = std::move(content)]() mutable {
        Peer* peer = impl->FindPeer(message.to);
        if (peer != nullptr) return peer->SendSnapshot(std::move(message), std::move(content));
        impl->disk.Post([content = std::move(content)] {});
        impl->links.receiver->SnapshotSent(message.to, false);
      });
}

void PeerTransport::Post(raft::MemberId to, std::string path, SharedBytes body, Duration timeout,
                         Done done) {
  impl_->loop.Post([impl = impl_.get(), to, path = std::move(path), body = std::move(body), timeout,
                    done = std::move(done)]() mutable {
    Peer* peer = impl->FindPeer(to);
    if (peer != nullptr)
      return peer->Post(std::move(path), std::move(body), timeout, std::move(done));
    done(Fail(Code::kUnavailable, "no such peer"));
  });
}

void PeerTransport::SetMembers(std::shared_ptr<const MembershipView> view) {
  impl_->loop.Post([impl = impl_.get(), view = std::move(view)]() mutable {
    impl->UseMembers(std::move(view));
  });
}

std::optional<TimePoint> PeerTransport::ActiveSince(raft::MemberId peer) const {
  std::lock_guard lock(impl_->seen_mutex);
  const auto found = impl_->active_since.find(peer);
  if (found == impl_->active_since.end()) return std::nullopt;
  return found->second;
}

const PeerServerStats& PeerTransport::server_stats() const { return impl_->server.stats(); }

const PeerCounters& PeerTransport::counters() const { return impl_->links.counters; }
const PeerTransport::Options& PeerTransport::options() const { return impl_->options; }
const PeerMetrics& PeerTransport::metrics() const { return impl_->links.metrics; }

}  // namespace kvorum::server
