// The words of the language. A handler prints what a client or an operator would see.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "api/alarm.h"
#include "api/auth_messages.h"
#include "api/lease_messages.h"
#include "proto/rpc.pb.h"
#include "server/integrity/older_members.h"
#include "server/state/raft_status.h"
#include "tests/scenarios/story.h"
#include "tests/server/cluster_service_fixture.h"
#include "tests/server/replica/mebibyte.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using Output = Result<std::string>;
using enum StoryWord::Needs;

const std::string kNothingToSay;

std::string Line(std::string text) { return std::move(text) + "\n"; }
std::string NumberOf(std::size_t i) { return std::to_string(i + 1); }
std::unexpected<Error> NotSo(const std::string& what) {
  return Fail(Code::kFailedPrecondition, what);
}

std::string Propose(Story& story, std::size_t i, RequestKind kind, const std::string& body) {
  return Line(story.cluster().Propose(i, kind, body, story.user()));
}

// ---- processes and disks ----

Output Cluster(Story& story, const Slots& slots) {
  KV_RETURN_IF_ERROR(story.Begin(slots));
  for (std::size_t i = 0; i < story.machines().size(); ++i)
    KV_RETURN_IF_ERROR(story.cluster().Start(i));
  const auto leader = story.machines().WaitForLeader();
  if (!leader.has_value()) return NotSo("no member leads");
  if (*leader != 0) story.cluster().Move(0);
  if (!story.machines().CatchUp()) return NotSo("a member does not catch up");
  // Every follower has heard of it, and of what is committed.
  story.machines().RunFor(std::chrono::seconds(1));
  return kNothingToSay;
}

Output StartWith(Story& story, std::size_t i, const std::function<void(LocalMember&)>& on_open) {
  const auto started = story.cluster().Start(i, on_open);
  return started.has_value() ? kNothingToSay : Line("refused: " + started.error().message);
}

Output StartBesideOlder(Story& story, const Slots& slots) {
  const OlderMember older{
      .id = raft::MemberId{9}, .name = "old", .version = Version::Parse("3.6.5").value()};
  return StartWith(story, slots.Member(0), [&](LocalMember& member) {
    member.RefuseAuthWhileJoining(OlderMembersRefusal({older}));
  });
}

template <SimFileSystem::Keep kKeep>
Output Crash(Story& story, const Slots& slots) {
  story.cluster().Kill(slots.Member(0));
  story.machines().Crash(slots.Member(0), kKeep);
  return kNothingToSay;
}

Output Replace(Story& story, std::size_t i, std::unique_ptr<SimFileSystem> disk) {
  if (disk == nullptr) return NotSo("no copy has that name");
  story.cluster().Kill(i);
  story.machines().ReplaceDisk(i, std::move(disk));
  return kNothingToSay;
}

template <bool kPaused>
Output Pause(Story& story, const Slots& slots) {
  story.machines().Pause(slots.Member(0), kPaused);
  return kNothingToSay;
}

// ---- the network ----

template <bool kCut>
Output Link(Story& story, const Slots& slots) {
  SmallNetwork& network = story.machines().network();
  const raft::MemberId one = story.machines().id(slots.Member(0));
  const raft::MemberId other = story.machines().id(slots.Member(1));
  for (const auto& [from, to] : {std::pair(one, other), std::pair(other, one)}) {
    if (kCut) {
      network.Cut(from, to);
    } else {
      network.Mend(from, to);
    }
  }
  return kNothingToSay;
}

// ---- clients ----

Output PutOnLease(Story& story, const Slots& slots) {
  std::string body = PutBody(slots.Text(0), slots.Text(1));
  wire::AppendInt(body, 3, slots.Revision(2));
  return Propose(story, slots.Member(3), RequestKind::kPut, body);
}

Output Fill(Story& story, const Slots& slots) {
  for (std::uint64_t n = 1; n <= slots.Number(0); ++n) {
    const std::string key = "fill" + std::to_string(n % 7);
    const std::string value = std::to_string(n) + std::string(n % 50 * 5, 'x');
    const std::string text = story.cluster().Propose(slots.Member(1), RequestKind::kPut,
                                                     PutBody(key, value), story.user());
    if (!text.starts_with("revision") || n == slots.Number(0)) return Line(text);
  }
  return kNothingToSay;
}

Output Value(Story& story, std::size_t i, const std::string& key) {
  KV_TRY(const auto value, story.machines().member(i).Get(key, 0));
  return Line(value.has_value() ? key + "=" + *value : "no " + key);
}

Output Get(Story& story, const Slots& slots) {
  const auto read = story.machines().ReadIndex(slots.Member(1));
  if (!read.has_value()) return Line("refused: " + read.error().message);
  return Value(story, slots.Member(1), slots.Text(0));
}

Output Defragment(Story& story, const Slots& slots) {
  std::optional<Result<void>> outcome;
  story.cluster().member(slots.Member(0)).store().Defragment([&](Result<void> done) {
    outcome = std::move(done);
  });
  if (!story.machines().RunUntil([&] { return outcome.has_value(); })) return Line("no outcome");
  return outcome->has_value() ? kNothingToSay : Line("refused: " + outcome->error().message);
}

// Hashes are compared, as members do, where the same is compacted.
Output Hash(Story& story, const Slots& slots) {
  struct Group {
    mvcc::KvHash first;
    std::string agree{};
    std::string differ{};
  };
  std::map<std::int64_t, Group> groups;
  std::string lines;
  for (std::size_t i = 0; i < story.machines().size(); ++i) {
    if (!story.machines().is_up(i)) continue;
    const auto hash = story.cluster().member(i).store().HashKv(slots.Revision(0));
    if (!hash.has_value()) {
      lines += NumberOf(i) + " refuses: " + hash.error().message + "\n";
      continue;
    }
    Group& group = groups.try_emplace(hash->compact_revision, Group{.first = *hash}).first->second;
    (group.first.Agrees(hash->hash) ? group.agree : group.differ) += " " + NumberOf(i);
  }
  for (const auto& [compacted, group] : groups) {
    lines += "compacted at " + std::to_string(compacted) + ":" + group.agree + " agree";
    lines += (group.differ.empty() ? "" : ", not with" + group.differ) + "\n";
  }
  return lines;
}

// ---- leases ----

Output GrantLease(Story& story, const Slots& slots) {
  const auto ttl = std::chrono::duration_cast<std::chrono::seconds>(slots.Time(1));
  return Propose(story, slots.Member(2), RequestKind::kLeaseGrant,
                 EncodeLeaseGrant({.ttl_s = ttl.count(), .id = slots.Revision(0)}));
}

Output KeepLease(Story& story, const Slots& slots) {
  using enum Leases::Renewal;
  const auto renewed =
      story.cluster().member(slots.Member(1)).leases().Renew(slots.Revision(0), nullptr);
  switch (renewed.outcome) {
    case kRenewed:
      return Line("renewed for " + std::to_string(renewed.ttl_s) + " s");
    case kNotFound:
      return Line("no such lease");
    case kNotPrimary:
      return Line("this member does not decide about leases");
    case kExpired:
      return Line("it has expired");
    case kNeedsCheckpoint:
      return Line("its checkpoint goes first");
  }
  return kNothingToSay;
}

// ---- members ----

Output Moved(Story& story, const Slots& slots) {
  return Line(story.cluster().Move(slots.Member(0)));
}

// The cluster's next member.
Output Add(Story& story, const Slots& slots, bool is_learner) {
  const std::size_t next = story.machines().size();
  if (slots.Number(0) != next + 1) return NotSo("the next member is " + NumberOf(next));
  const auto added =
      story.cluster()
          .services(slots.Member(1))
          .Call<AddResponse>(kAdd, AddBody({SmallCluster::PeerUrlOf(next)}, is_learner));
  if (!added.has_value()) return Line("refused: " + added.error().message);
  story.cluster().AddMachine(raft::MemberId{added->member().id()});
  return kNothingToSay;
}

// The low 16 bits of the member's id are what etcd makes request ids of, beside the time.
Output AddTwin(Story& story, const Slots& slots) {
  const raft::MemberId twin{0x7700'0000'0000'0000 |
                            (story.machines().id(slots.Member(1)).value() & 0xffff)};
  const std::string text = story.cluster().AddWithId(slots.Member(2), twin);
  if (text == "done") story.cluster().AddMachine(twin);
  return text == "done" ? kNothingToSay : Line(text);
}

Output ChangeMember(Story& story, const Slots& slots, std::string_view method) {
  const auto changed = story.cluster()
                           .services(slots.Member(1))
                           .Send(method, IdBody(story.machines().id(slots.Member(0))));
  if (!story.machines().RunUntil([&] { return changed->has_value(); })) return Line("no answer");
  if (!(*changed)->has_value()) return Line("refused: " + (*changed)->error().message);
  return kNothingToSay;
}

Output AlarmsAt(Story& story, const Slots& slots) {
  std::string lines;
  for (const Alarm& alarm : story.cluster().member(slots.Member(0)).alarms().List())
    lines += AlarmName(alarm.type) + " of " + story.cluster().NumberOf(alarm.member) + "\n";
  return lines.empty() ? Line("none") : lines;
}

// ---- users ----

// Without a password.
Output AddUser(Story& story, const Slots& slots) {
  std::string body;
  wire::AppendBytes(body, 1, slots.Text(0));
  wire::AppendBytesAlways(body, 3, std::string_view("\x08\x01", 2));
  return Propose(story, slots.Member(1), RequestKind::kUserAdd, body);
}

Output Allow(Story& story, const Slots& slots) {
  return Propose(
      story, slots.Member(2), RequestKind::kRoleGrantPermission,
      logged::EncodeGrantPermission(
          {.role = slots.Text(0),
           .permission = auth::Permission{
               .type = auth::PermissionType::kReadWrite, .key = slots.Text(1), .range_end = {}}}));
}

// ---- what is so ----

Output Settle(Story& story, const Slots&) {
  if (!story.machines().CatchUp(std::chrono::minutes(10))) return NotSo("members do not catch up");
  return story.cluster().Compare();
}

Output Status(Story& story, const Slots&) {
  std::string lines;
  for (std::size_t i = 0; i < story.machines().size(); ++i) {
    lines += NumberOf(i) + ": ";
    if (!story.machines().is_up(i)) {
      lines += "down\n";
      continue;
    }
    Replica& replica = story.machines().replica(i);
    if (replica.leader() == raft::kNone) {
      lines += "knows no leader";
    } else if (replica.leader() == story.machines().id(i)) {
      lines += "leads";
    } else {
      lines += "follows " + story.cluster().NumberOf(replica.leader());
    }
    lines += ", revision " + std::to_string(story.cluster().member(i).store().revision());
    const auto view = story.cluster().member(i).membership().View();
    const auto own = view->members.find(story.machines().id(i));
    if (own != view->members.end() && own->second.is_learner) lines += ", a learner";
    if (replica.status().lost_data() != 0) lines += ", lacks data";
    lines += "\n";
  }
  return lines;
}

bool Has(Story& story, std::size_t i, const std::string& key,
         const std::optional<std::string>& value) {
  const auto read = story.machines().member(i).Get(key, 0);
  return read.has_value() && *read == value;
}

Output ExpectAtAll(Story& story, const std::string& key, const std::optional<std::string>& value) {
  const auto all = [&] {
    for (std::size_t i = 0; i < story.machines().size(); ++i)
      if (story.machines().is_up(i) && !Has(story, i, key, value)) return false;
    return true;
  };
  if (story.machines().RunUntil(all)) return kNothingToSay;
  std::string lines;
  for (std::size_t i = 0; i < story.machines().size(); ++i) {
    if (!story.machines().is_up(i) || Has(story, i, key, value)) continue;
    KV_TRY(const std::string text, Value(story, i, key));
    lines += NumberOf(i) + " has " + text;
  }
  return NotSo(lines);
}

Output ExpectLeader(Story& story, const Slots& slots) {
  const auto leads = [&] { return story.machines().Leader() == slots.Member(0); };
  if (story.machines().RunUntil(leads)) return kNothingToSay;
  return NotSo("it does not lead");
}

Output ExpectNoLeader(Story& story, const Slots&) {
  story.machines().RunFor(std::chrono::seconds(30));
  const auto leader = story.machines().Leader();
  if (leader.has_value()) return NotSo(NumberOf(*leader) + " leads");
  return kNothingToSay;
}

Output ExpectEnd(Story& story, const Slots& slots) {
  const std::size_t i = slots.Member(0);
  std::string news;
  story.machines().RunUntil([&] {
    news += story.cluster().TakeNews();
    return !story.cluster().end_of(i).empty();
  });
  const std::string& end = story.cluster().end_of(i);
  if (end.empty()) return NotSo("it has not ended by itself");
  if (end.find(slots.Text(1)) == std::string::npos) return NotSo("it has ended: " + end);
  return news;
}

Output ExpectRefusal(Story& story, const Slots& slots) {
  const auto started = story.cluster().Start(slots.Member(0));
  if (started.has_value()) return NotSo("it has started");
  const std::string text = story.cluster().Readable(started.error().message);
  if (text.find(slots.Text(1)) == std::string::npos) return NotSo("it refuses: " + text);
  return Line("refused: " + text);
}

Output ExpectEqual(Story& story, const Slots&) {
  if (!story.machines().CatchUp(std::chrono::minutes(10))) return NotSo("members do not catch up");
  std::string compared;
  const auto equal = [&] { return (compared = story.cluster().Compare()).starts_with("equal"); };
  if (story.machines().RunUntil(equal)) return compared;
  return NotSo(compared);
}

constexpr StoryWord kWords[] = {
    {"cluster COUNT OPTION=NUMBER...",
     "A new cluster of so many members. All are started, and 1 leads. Options: `seed`, "
     "`snapshot_count`, `append_bytes`, `kept_log_memory_bytes`, `segment_bytes`.",
     kNothing, Cluster},

    {"start N", "Its process starts; prints why it refuses to.", kDown,
     [](Story& story, const Slots& slots) { return StartWith(story, slots.Member(0), {}); }},
    {"start N beside an older etcd",
     "The same, in a cluster with a member of etcd 3.6.5, as far as N can tell.", kDown,
     StartBesideOlder},
    {"stop N", "Its process ends in good order.", kUp,
     [](Story& story, const Slots& slots) -> Output {
       return story.cluster().Stop(slots.Member(0)) ? kNothingToSay : Line("it does not stop");
     }},
    {"kill N", "Its process is killed. Its disk keeps everything, synced or not.", kUp,
     [](Story& story, const Slots& slots) -> Output {
       story.cluster().Kill(slots.Member(0));
       return kNothingToSay;
     }},
    {"pause N", "Its process is stopped (SIGSTOP), and messages wait for it.", kUp, Pause<true>},
    {"resume N", "Its process goes on.", kUp, Pause<false>},
    {"crash N losing unsynced", "Its power fails. The disk has what was synced.", kCluster,
     Crash<SimFileSystem::Keep::kNothing>},
    {"crash N tearing unsynced", "The same, but each sector that was not synced may have survived.",
     kCluster, Crash<SimFileSystem::Keep::kRandom>},
    {"crash N with garbage", "The same, and new sectors may hold anything.", kCluster,
     Crash<SimFileSystem::Keep::kGarbage>},
    {"cut power of N at write COUNT",
     "Its power fails at that write from now on; the process ends by itself, and crash says what "
     "became of its disk.",
     kUp,
     [](Story& story, const Slots& slots) -> Output {
       story.machines().disk(slots.Member(0)).PowerOffAt(slots.Number(1));
       return kNothingToSay;
     }},
    {"wipe N", "Its process ends, and its disk is empty.", kCluster,
     [](Story& story, const Slots& slots) {
       return Replace(story, slots.Member(0), std::make_unique<SimFileSystem>());
     }},
    {"copy disk of N to NAME", "A copy of its disk as it is now.", kCluster,
     [](Story& story, const Slots& slots) -> Output {
       story.KeepDisk(slots.Text(1), story.machines().CopyOfDisk(slots.Member(0)));
       return kNothingToSay;
     }},
    {"restore N from NAME", "Its process ends, and its disk is that copy.", kCluster,
     [](Story& story, const Slots& slots) {
       return Replace(story, slots.Member(0), story.TakeDisk(slots.Text(1)));
     }},
    {"corrupt N log entry COUNT", "One bit of that entry is flipped in the log's file.", kDown,
     [](Story& story, const Slots& slots) -> Output {
       KV_RETURN_IF_ERROR(story.cluster().CorruptLogEntry(slots.Member(0), slots.Number(1)));
       return kNothingToSay;
     }},
    {"limit disk of N to COUNT MiB", "Its files may have so many bytes together.", kCluster,
     [](Story& story, const Slots& slots) -> Output {
       story.machines().disk(slots.Member(0)).SetCapacity(slots.Number(1) * kMiB);
       return kNothingToSay;
     }},
    {"free disk of N", "Its disk has room again.", kCluster,
     [](Story& story, const Slots& slots) -> Output {
       story.machines().disk(slots.Member(0)).SetCapacity(std::nullopt);
       return kNothingToSay;
     }},

    {"cut N from N", "The link between the two loses everything.", kCluster, Link<true>},
    {"cut N from all", "All its links lose everything.", kCluster,
     [](Story& story, const Slots& slots) -> Output {
       story.machines().Isolate(slots.Member(0));
       return kNothingToSay;
     }},
    {"mend N with N", "The link is whole again.", kCluster, Link<false>},
    {"mend all", "All links are whole again.", kCluster,
     [](Story& story, const Slots&) -> Output {
       story.machines().network().MendAll();
       return kNothingToSay;
     }},
    {"slow snapshots to TIME a piece", "Each piece of a database takes so long to be sent.",
     kCluster,
     [](Story& story, const Slots& slots) -> Output {
       story.machines().network().SetChunkTime(slots.Time(0));
       return kNothingToSay;
     }},

    {"put KEY=VALUE at N", "A client's put; prints the revision, or why it was refused.", kUp,
     [](Story& story, const Slots& slots) -> Output {
       return Propose(story, slots.Member(2), RequestKind::kPut,
                      PutBody(slots.Text(0), slots.Text(1)));
     }},
    {"put KEY=VALUE on lease COUNT at N", "The same, with a lease.", kUp, PutOnLease},
    {"put KEY=VALUE at N and KEY=VALUE at N", "Two puts at the same time.", kUp,
     [](Story& story, const Slots& slots) -> Output {
       return Line(
           story.cluster().ProposeBoth(slots.Member(2), PutBody(slots.Text(0), slots.Text(1)),
                                       slots.Member(5), PutBody(slots.Text(3), slots.Text(4))));
     }},
    {"fill COUNT puts at N", "So many puts of seven keys.", kUp, Fill},
    {"delete KEY at N", "A client's delete.", kUp,
     [](Story& story, const Slots& slots) -> Output {
       return Propose(story, slots.Member(1), RequestKind::kDeleteRange, DeleteBody(slots.Text(0)));
     }},
    {"txn KEY=VALUE at N", "A transaction with that put.", kUp,
     [](Story& story, const Slots& slots) -> Output {
       return Propose(story, slots.Member(2), RequestKind::kTxn,
                      PutTxnBody({slots.Text(0)}, slots.Text(1)));
     }},
    {"write KEY=VALUE only at N",
     "The member applies a put that is in no log, so that it differs from the others.", kUp,
     [](Story& story, const Slots& slots) -> Output {
       KV_RETURN_IF_ERROR(
           story.cluster().WriteAlone(slots.Member(2), slots.Text(0), slots.Text(1)));
       return kNothingToSay;
     }},
    {"get KEY at N", "A linearizable read.", kUp, Get},
    {"peek KEY at N", "A serializable read.", kUp,
     [](Story& story, const Slots& slots) { return Value(story, slots.Member(1), slots.Text(0)); }},
    {"compact COUNT at N", "A compaction to that revision.", kUp,
     [](Story& story, const Slots& slots) -> Output {
       return Propose(story, slots.Member(1), RequestKind::kCompaction,
                      CompactBody(slots.Revision(0), true));
     }},
    {"defragment N", "Its database is copied into a new file.", kUp, Defragment},
    {"hash at COUNT", "HashKV of that revision at all that are up, compared as members do.",
     kCluster, Hash},
    {"watch KEY at N into NAME", "A watch of a key from now on.", kUp,
     [](Story& story, const Slots& slots) -> Output {
       story.cluster().Watch(slots.Member(1), slots.Text(0), slots.Text(2));
       return kNothingToSay;
     }},
    {"events of NAME", "The events that the watch was given since the last time.", kCluster,
     [](Story& story, const Slots& slots) { return story.cluster().EventsOf(slots.Text(0)); }},

    {"grant lease COUNT of TIME at N", "A new lease of that id.", kUp, GrantLease},
    {"keep lease COUNT at N", "It is renewed, if that member decides about leases.", kUp,
     KeepLease},

    {"add voter COUNT at N", "The cluster's next member, which is not started yet.", kUp,
     [](Story& story, const Slots& slots) { return Add(story, slots, false); }},
    {"add learner COUNT at N", "The same as a learner.", kUp,
     [](Story& story, const Slots& slots) { return Add(story, slots, true); }},
    {"add voter COUNT like N at N",
     "The same with an id whose low 16 bits are those of the first N.", kUp, AddTwin},
    {"promote N at N", "A learner becomes a voter.", kCluster,
     [](Story& story, const Slots& slots) { return ChangeMember(story, slots, kPromote); }},
    {"remove N at N", "It leaves the cluster.", kCluster,
     [](Story& story, const Slots& slots) { return ChangeMember(story, slots, kRemove); }},
    {"lead N", "The leader hands over to it.", kUp, Moved},
    {"reseed N", "The leader sends it a fresh database, however much of the log it has.", kUp,
     [](Story& story, const Slots& slots) -> Output {
       return Line(story.cluster().Reseed(slots.Member(0)));
     }},
    {"alarms at N", "The alarms that stand.", kUp, AlarmsAt},

    {"add user NAME at N", "A user without a password.", kUp, AddUser},
    {"add role NAME at N", "A role without rights.", kUp,
     [](Story& story, const Slots& slots) -> Output {
       return Propose(story, slots.Member(1), RequestKind::kRoleAdd,
                      logged::EncodeName(slots.Text(0)));
     }},
    {"allow NAME KEY at N", "That role may read and write the key.", kUp, Allow},
    {"give NAME role NAME at N", "The user gets the role.", kUp,
     [](Story& story, const Slots& slots) -> Output {
       return Propose(story, slots.Member(2), RequestKind::kUserGrantRole,
                      logged::EncodeUserRole({.user = slots.Text(0), .role = slots.Text(1)}));
     }},
    {"enable auth at N", "Requests are checked from now on.", kUp,
     [](Story& story, const Slots& slots) -> Output {
       return Propose(story, slots.Member(0), RequestKind::kAuthEnable, "");
     }},
    {"auth revision at N", "The revision of users and roles there.", kUp,
     [](Story& story, const Slots& slots) -> Output {
       return Line(std::to_string(
           story.cluster().member(slots.Member(0)).auth_states().Newest()->revision()));
     }},

    {"time TIME", "So much time passes.", kCluster,
     [](Story& story, const Slots& slots) -> Output {
       story.machines().RunFor(slots.Time(0));
       return kNothingToSay;
     }},
    {"settle", "All that are up catch up; prints which differ.", kCluster, Settle},
    {"status", "A line for each member.", kCluster, Status},
    {"snapshots", "The number of databases that have arrived so far.", kCluster,
     [](Story& story, const Slots&) -> Output {
       return Line(std::to_string(story.machines().network().snapshots_delivered()));
     }},

    {"expect equal", "Within a minute all that are up have the same keys at the same revision.",
     kCluster, ExpectEqual},
    {"expect N leads", "Within a minute it leads.", kCluster, ExpectLeader},
    {"expect no leader", "No member leads half a minute from now.", kCluster, ExpectNoLeader},
    {"expect N ends: TEXT",
     "Within a minute its process ends by itself, with an error that contains the text.", kCluster,
     ExpectEnd},
    {"expect N refuses: TEXT", "It is started, and refuses with an error that contains the text.",
     kDown, ExpectRefusal},
    {"expect KEY=VALUE at all", "Within a minute all that are up have it.", kCluster,
     [](Story& story, const Slots& slots) {
       return ExpectAtAll(story, slots.Text(0), slots.Text(1));
     }},
    {"expect no KEY at all", "Within a minute none that is up has it.", kCluster,
     [](Story& story, const Slots& slots) {
       return ExpectAtAll(story, slots.Text(0), std::nullopt);
     }},

    {"member on lmdb with a map of COUNT MiB",
     "A cluster of one member, on LMDB, the machine's own disk and threads.", kNothing,
     [](Story& story, const Slots& slots) -> Output {
       story.lone() = std::make_unique<LoneMember>(slots.Number(0) * kMiB);
       return kNothingToSay;
     }},
    {"write COUNT values of COUNT bytes", "So many puts, until they are in its database.",
     kLoneMember,
     [](Story& story, const Slots& slots) -> Output {
       return Line(story.lone()->Write(static_cast<int>(slots.Number(0)), slots.Number(1)));
     }},
    {"begin a save", "A client saves its database, and reads no more than the first piece.",
     kLoneMember, [](Story& story, const Slots&) -> Output { return story.lone()->Save(); }},
    {"read the save", "The client reads the rest; prints how the save ends.", kLoneMember,
     [](Story& story, const Slots&) -> Output { return Line(story.lone()->ReadSave()); }},
    {"hash", "HashKV at it.", kLoneMember,
     [](Story& story, const Slots&) -> Output { return Line(story.lone()->Hash()); }},
    {"map", "Whether its database's map has grown.", kLoneMember,
     [](Story& story, const Slots&) -> Output { return Line(story.lone()->Map()); }},
};

}  // namespace

std::span<const StoryWord> StoryWords() { return kWords; }

}  // namespace kvorum::server
