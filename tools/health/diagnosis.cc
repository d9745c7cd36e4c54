#include "tools/health/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/majority.h"
#include "base/text/human_bytes.h"
#include "base/words.h"
#include "client/error_text.h"
#include "tools/health/replica_state.h"
#include "tools/session/table.h"

namespace kvorum::ctl {
namespace {

using std::chrono::days;

// The time-out of an election is a second by default, and a put waits for one sync: etcd's own
// guidance for disks.
constexpr double kSlowSync_s = 0.010;
constexpr double kSlowCommit_s = 0.025;
constexpr std::chrono::milliseconds kSlowRead(500);
// A server refuses writes at 5,000 entries that are committed and not applied.
constexpr std::uint64_t kManyEntries = 1'000;
// A leader keeps 5,000 entries: who is further behind needs a snapshot.
constexpr std::uint64_t kFarBehind = 5'000;
constexpr double kNearlyFull = 0.80;
constexpr double kFull = 0.95;
constexpr std::int64_t kMuchWaste_bytes = 64 << 20;
constexpr double kManyFiles = 0.80;
constexpr days kExpiresSoon(30);
constexpr days kExpiresNow(3);
constexpr double kManyElections = 3;
constexpr double kArchiveBehind_s = 60;

const etcdserverpb::StatusResponse* StatusOf(const ExaminedMember& member) {
  return member.reading.status ? &*member.reading.status : nullptr;
}

// Each rule adds what it finds.
class Rules {
 public:
  explicit Rules(const ClusterFacts& facts) : facts_(facts) {}

  std::vector<Finding> Run() {
    Reachability();
    Leadership();
    Alarms();
    Replicas();
    Hashes();
    EtcdMembers();
    Archive();
    Versions();
    Membership();
    Clocks();
    for (const ExaminedMember& member : facts_.members) {
      if (const auto* status = StatusOf(member)) {
        Reads(member);
        Space(member, *status);
        Lag(member, *status);
        Metrics(member);
      }
      if (const auto end = member.reading.certificate_end)
        Certificate(member.reading.Name(), "its certificate", *end);
    }
    for (const auto& [file, end] : facts_.own_certificates) Certificate("kvorumctl", file, end);
    std::ranges::stable_sort(findings_, std::greater(), &Finding::severity);
    return std::move(findings_);
  }

 private:
  void Add(Severity severity, std::string_view code, std::string subject, std::string what,
           std::string advice = {}) {
    findings_.push_back(
        {severity, std::string(code), std::move(subject), std::move(what), std::move(advice)});
  }

  static bool IsVoter(const ExaminedMember& member) {
    return member.reading.member.id != 0 && !member.reading.member.is_learner;
  }

  const ExaminedMember* Leader() const {
    for (const ExaminedMember& member : facts_.members)
      if (const auto* status = StatusOf(member); status != nullptr &&
                                                 status->leader() == status->header().member_id() &&
                                                 status->leader() != 0)
        return &member;
    return nullptr;
  }

  void Reachability() {
    if (!facts_.list.error.empty())
      Add(Severity::kCritical, "no-member-list", "cluster",
          "no endpoint gives the list of members: " + facts_.list.error,
          "check --endpoints, --user, the TLS flags and that the members run");
    std::size_t voters = 0;
    std::size_t reached = 0;
    for (const ExaminedMember& member : facts_.members) {
      if (!IsVoter(member)) continue;
      ++voters;
      if (StatusOf(member) != nullptr) ++reached;
    }
    const bool majority = reached >= Majority(voters);
    for (const ExaminedMember& member : facts_.members) {
      if (StatusOf(member) != nullptr) continue;
      if (!member.reading.member.is_started) {
        Add(Severity::kWarning, "not-started", fmt::format("{:x}", member.reading.member.id),
            "a member was added and has not started",
            "start it with the settings that `member add` printed, or remove it");
        continue;
      }
      if (client::IsApiError(member.reading.unreachable)) {
        Add(Severity::kCritical, "refused", member.reading.Name(),
            "refuses the request: " + member.reading.unreachable,
            "log in with --user as a user with the root role");
        continue;
      }
      Add(majority ? Severity::kWarning : Severity::kCritical, "unreachable", member.reading.Name(),
          fmt::format("does not answer at {}: {}", member.reading.member.endpoint,
                      member.reading.unreachable),
          "look at its log and that its process runs, and at the network between here and it");
    }
    if (voters > 0 && !majority)
      Add(Severity::kCritical, "no-majority", "cluster",
          fmt::format("only {} of {} voting members answer: there is no majority", reached, voters),
          "start the others; only if their data is lost for good, restart one with "
          "--force-new-cluster");
    if (voters > 0 && majority && reached <= Majority(voters) && reached < voters)
      Add(Severity::kWarning, "no-spare-member", "cluster", "writes stop if one more member fails",
          "bring the missing members back");
  }

  void Leadership() {
    std::set<std::uint64_t> clusters;
    std::map<std::uint64_t, std::set<std::uint64_t>> leaders;  // by term
    for (const ExaminedMember& member : facts_.members) {
      const auto* status = StatusOf(member);
      if (status == nullptr) continue;
      clusters.insert(status->header().cluster_id());
      if (status->leader() != 0)
        leaders[status->raftterm()].insert(status->leader());
      else
        Add(Severity::kCritical, "no-leader", member.reading.Name(), "it knows no leader",
            "check that it reaches the other members' peer ports; a majority must be up");
    }
    if (clusters.size() > 1)
      Add(Severity::kCritical, "several-clusters", "cluster",
          "the endpoints belong to different clusters",
          "give --endpoints of one cluster; a member started with other data founded its own");
    if (clusters.size() > 1) return;
    for (const auto& [term, ids] : leaders)
      if (ids.size() > 1)
        Add(Severity::kCritical, "several-leaders", "cluster",
            fmt::format("members name different leaders of term {}", term),
            "two members must not run on copies of the same data");
    if (!leaders.empty() && leaders.size() > 1)
      Add(Severity::kWarning, "several-terms", "cluster",
          "members are at different terms: an election is under way, or one of them is cut off",
          "run this again; if it stays so, check the network between the members");
  }

  void Alarms() {
    const bool any = std::ranges::any_of(
        facts_.members, [](const ExaminedMember& m) { return StatusOf(m) != nullptr; });
    if (any && !facts_.no_alarms.empty())
      Add(Severity::kNote, "alarms-unknown", "cluster",
          "the alarms are not known: " + facts_.no_alarms);
    for (const etcdserverpb::AlarmMember& alarm : facts_.alarms) {
      if (alarm.alarm() == etcdserverpb::NOSPACE)
        Add(Severity::kCritical, "alarm-nospace", MemberName(alarm.memberid()),
            "the alarm NOSPACE is on: the cluster refuses writes",
            "compact, defragment each member, or raise --quota-backend-bytes; then `kvorumctl "
            "alarm disarm`");
      else
        Add(Severity::kCritical, "alarm-corrupt", MemberName(alarm.memberid()),
            fmt::format("the alarm {} is on: its data differs from the others'",
                        etcdserverpb::AlarmType_Name(alarm.alarm())),
            "run `kvorumctl member reseed` at that member, then `kvorumctl alarm "
            "disarm`");
    }
  }

  std::string MemberName(std::uint64_t id) const {
    for (const ExaminedMember& member : facts_.members)
      if (member.reading.member.id == id) return member.reading.Name();
    return fmt::format("{:x}", id);
  }

  // By the check that members make all the time (docs/operations/damage.md).
  void Replicas() {
    bool is_explained = false;
    std::vector<std::string> apart;
    for (const ExaminedMember& member : facts_.members) {
      const std::string& name = member.reading.Name();
      switch (ReplicaStateOf(member.reading)) {
        case ReplicaState::kGood:
          break;
        case ReplicaState::kDiffers:
          apart.push_back(name);
          break;
        case ReplicaState::kDamaged:
          is_explained = true;
          Add(Severity::kCritical, "database-damaged", name,
              "its database lacks records or has records that it did not write, and it keeps "
              "serving",
              "look at its disk and its log; bring a majority of healthy members up, then run "
              "`kvorumctl member reseed` at it");
          break;
        case ReplicaState::kQuarantined:
          is_explained = true;
          Add(Severity::kCritical, "quarantined", name,
              "it does not serve keys: its database differs from the other members'",
              fmt::format("look at its disk, then `kvorumctl --endpoints {} member reseed`",
                          member.reading.member.endpoint));
          break;
      }
    }
    if (is_explained || apart.empty()) return;
    Add(Severity::kCritical, "replicas-differ", "cluster",
        fmt::format("members hold different keys, as {} found", Join(apart, " and ")),
        "the line `members hold different keys` in their logs names the minority and the revision; "
        "`kvorumctl diff` between two members shows the keys; then `kvorumctl member reseed` at "
        "those that are wrong");
  }

  // Hashes can be compared where the same history was forgotten.
  void Hashes() {
    std::map<std::int64_t, std::map<std::uint32_t, std::vector<std::string>>> by_compaction;
    for (const ExaminedMember& member : facts_.members) {
      if (member.hash)
        by_compaction[member.hash->compact_revision][member.hash->hash].push_back(
            member.reading.Name());
      else if (!member.no_hash.empty())
        Add(Severity::kNote, "hash-unknown", member.reading.Name(),
            "its data was not compared: " + member.no_hash);
    }
    for (const auto& [compaction, groups] : by_compaction) {
      if (groups.size() < 2) continue;
      std::vector<std::string> parts;
      for (const auto& [hash, names] : groups)
        parts.push_back(fmt::format("{} has {}", Join(names, " and "), hash));
      Add(Severity::kCritical, "hash-differs", "cluster",
          fmt::format("members' data differs at revision {}: {}", facts_.hash_revision,
                      Join(parts, ", ")),
          "find out which member is right before you replace any: `kvorumctl diff` between two "
          "members shows the keys");
    }
    if (by_compaction.size() > 1)
      Add(Severity::kNote, "compaction-differs", "cluster",
          "not all members' data could be compared: a compaction is under way", "run this again");
  }

  // By what our members find out (docs/operations/moving.md).
  void EtcdMembers() {
    bool decide_otherwise = false;
    bool differ = false;
    for (const ExaminedMember& member : facts_.members) {
      if (!member.reading.metrics) continue;
      const MetricsPage& metrics = *member.reading.metrics;
      decide_otherwise |= metrics.Value("kvorum_etcd_members_deciding_otherwise").value_or(0) > 0;
      differ |= metrics.Value("kvorum_etcd_hash_agreement").value_or(1) == 0;
    }
    if (decide_otherwise)
      Add(Severity::kCritical, "older-etcd", "cluster",
          "an old etcd member applies transactions that the others refuse while auth is on: the "
          "members' keys diverge without an error",
          "update it to at least 3.6.11, 3.5.30 or 3.4.44, then compare the members (`kvorumctl "
          "endpoint hashkv --cluster`)");
    if (differ)
      Add(Severity::kCritical, "etcd-differs", "cluster",
          "an etcd member holds different keys than the kvorum members",
          "`kvorumctl diff` between two members shows the keys; find out which member is right "
          "before you replace any");
  }

  // Only the leader archives; the others read its last mark.
  void Archive() {
    double newest_s = 0;
    double now_s = 0;
    for (const ExaminedMember& member : facts_.members) {
      if (!member.reading.metrics) continue;
      const MetricsPage& page = *member.reading.metrics;
      const auto archived_s = page.Value("kvorum_archive_time_seconds");
      if (!archived_s) continue;
      ArchiveOf(member.reading.Name(), page);
      newest_s = std::max(newest_s, *archived_s);
      const auto ahead_s = static_cast<double>(member.reading.clock_ahead.count());
      now_s = std::max(now_s, static_cast<double>(facts_.now.time_since_epoch().count()) + ahead_s);
    }
    if (now_s == 0 || now_s - newest_s < kArchiveBehind_s) return;
    const std::string since =
        newest_s == 0
            ? "no member has archived anything since its start"
            : fmt::format("the archive has everything only up to {:.0f} s ago", now_s - newest_s);
    Add(Severity::kCritical, "archive-behind", "cluster", since,
        "what came later is lost with the cluster: look at the members' lines about the archive "
        "and at its store");
  }

  void ArchiveOf(const std::string& name, const MetricsPage& page) {
    const auto is_in = [&](std::string_view state) {
      return page.Value("kvorum_archive_state", state).value_or(0) > 0;
    };
    if (is_in("state=\"refused\""))
      Add(Severity::kCritical, "archive-refused", name,
          "it archives nothing: the archive is of other data, or ahead of this member's",
          "its log has the reason; use another --archive-url, or begin a new history by "
          "--archive-new-history");
    if (is_in("state=\"failing\""))
      Add(Severity::kWarning, "archive-failing", name, "the archive's store fails",
          "its log has the store's error: look at the store, the credentials and the space");
    if (page.Value("kvorum_archive_gaps_total").value_or(0) > 0)
      Add(Severity::kWarning, "archive-gap", name,
          "the archive lacks entries that the log no longer had: states in between cannot be "
          "restored",
          "`kvorumutl archive ls` shows what can; raise --archive-max-log-bytes for longer outages "
          "of the store");
  }

  void Versions() {
    std::map<std::string, std::vector<std::string>> versions;
    for (const ExaminedMember& member : facts_.members) {
      const auto* status = StatusOf(member);
      if (status == nullptr) continue;
      versions[status->version()].push_back(member.reading.Name());
      if (status->downgradeinfo().enabled())
        Add(Severity::kNote, "downgrade", member.reading.Name(),
            "a downgrade to " + status->downgradeinfo().targetversion() + " is under way");
    }
    if (versions.size() < 2) return;
    std::vector<std::string> parts;
    for (const auto& [version, names] : versions)
      parts.push_back(fmt::format("{}: {}", version, Join(names, ", ")));
    Add(Severity::kWarning, "versions-differ", "cluster",
        "the members have different versions (" + Join(parts, "; ") + ")",
        "finish the upgrade; until then the cluster has only the oldest version's features");
  }

  void Membership() {
    std::size_t voters = 0;
    for (const ExaminedMember& member : facts_.members) {
      if (IsVoter(member)) ++voters;
      if (member.reading.member.is_learner)
        Add(Severity::kNote, "learner", member.reading.Name(),
            "it is a learner: it has no vote and serves no linearizable reads",
            "`kvorumctl member promote` it once it has caught up");
    }
    if (voters > 0 && voters % 2 == 0)
      Add(Severity::kWarning, "even-voters", "cluster",
          fmt::format("{} voting members tolerate no more failures than {}", voters, voters - 1),
          "use an odd number of voting members");
    if (voters == 1)
      Add(Severity::kNote, "single-member", "cluster",
          "there is one voting member: its failure stops the cluster",
          "three members tolerate the failure of one");
  }

  void Clocks() {
    std::chrono::seconds least(0);
    std::chrono::seconds most(0);
    bool known = false;
    for (const ExaminedMember& member : facts_.members) {
      if (!member.reading.metrics) continue;
      const auto ahead = member.reading.clock_ahead;
      least = known ? std::min(least, ahead) : ahead;
      most = known ? std::max(most, ahead) : ahead;
      known = true;
      if (ahead != std::chrono::seconds(0))
        Add(Severity::kNote, "clock", member.reading.Name(),
            fmt::format("its clock is at least {} s {} this machine's", std::abs(ahead.count()),
                        ahead.count() > 0 ? "ahead of" : "behind"));
    }
    if (known && most - least >= std::chrono::seconds(1))
      Add(Severity::kWarning, "clocks-differ", "cluster",
          fmt::format("the members' clocks differ by at least {} s", (most - least).count()),
          "synchronise them by NTP: certificates, tokens and logs depend on them");
  }

  void Reads(const ExaminedMember& member) {
    if (!member.read_error.empty())
      Add(Severity::kCritical, "read-failed", member.reading.Name(),
          "a linearizable read failed: " + member.read_error,
          "check that it reaches the leader and that the leader has a majority");
    else if (member.read_took >= kSlowRead)
      Add(Severity::kWarning, "slow-read", member.reading.Name(),
          fmt::format("a linearizable read took {} ms", member.read_took.count()),
          "look at the load, the disks and the network between the members");
  }

  void Space(const ExaminedMember& member, const etcdserverpb::StatusResponse& status) {
    const std::string& name = member.reading.Name();
    const auto size = static_cast<double>(status.dbsize());
    const auto text = [](std::int64_t bytes) {
      return HumanBytes(static_cast<std::uint64_t>(bytes));
    };
    if (const std::int64_t quota = status.dbsizequota(); quota > 0) {
      const double share = size / static_cast<double>(quota);
      if (share >= kNearlyFull)
        Add(share >= kFull ? Severity::kCritical : Severity::kWarning, "quota", name,
            fmt::format("its database has {} of the {} that its quota allows ({:.0f} %)",
                        text(status.dbsize()), text(quota), share * 100),
            "compact the history, then defragment; or raise --quota-backend-bytes");
    }
    const std::int64_t waste = status.dbsize() - status.dbsizeinuse();
    if (waste >= kMuchWaste_bytes && static_cast<double>(waste) > size / 2)
      Add(Severity::kNote, "waste", name,
          fmt::format("{} of its database's {} are free pages", text(waste), text(status.dbsize())),
          "`kvorumctl defrag` returns them to the file system; the database reuses them anyway");
    for (const std::string& error : status.errors())
      if (!error.contains("alarm:"))
        Add(Severity::kWarning, "status-error", name, "it reports: " + error);
  }

  void Lag(const ExaminedMember& member, const etcdserverpb::StatusResponse& status) {
    const std::string& name = member.reading.Name();
    const auto behind = [](std::uint64_t from, std::uint64_t to) {
      return to > from ? to - from : 0;
    };
    const std::uint64_t unapplied = behind(status.raftappliedindex(), status.raftindex());
    if (status.raftappliedindex() > 0 && unapplied >= kManyEntries)
      Add(Severity::kWarning, "apply-lag", name,
          fmt::format("{} entries are committed and not applied", unapplied),
          "its disk or processor does not keep up; past 5,000 entries it refuses writes");
    const ExaminedMember* leader = Leader();
    if (leader == nullptr || leader == &member) return;
    const std::uint64_t missing = behind(status.raftindex(), StatusOf(*leader)->raftindex());
    if (missing >= kFarBehind)
      Add(Severity::kWarning, "replication-lag", name,
          fmt::format("it is {} entries behind the leader", missing),
          "look at the network from the leader to it, and at its disk");
  }

  void Metrics(const ExaminedMember& member) {
    const std::string& name = member.reading.Name();
    if (!member.reading.metrics) {
      Add(Severity::kNote, "no-metrics", name,
          "its metrics can't be read: " + member.reading.no_metrics,
          "without metrics, disks, elections and clocks were not checked");
      return;
    }
    const MetricsPage& page = *member.reading.metrics;
    const auto slow = [&](std::string_view metric, double limit_s, std::string_view code,
                          std::string_view what) {
      const auto p99 = Quantile(page.Histogram(metric), 0.99);
      if (p99 && *p99 > limit_s)
        Add(Severity::kWarning, code, name,
            fmt::format("{}: the 99th percentile is {:.1f} ms (up to {:.0f} ms is good)", what,
                        *p99 * 1000, limit_s * 1000),
            "give it a faster, dedicated disk, and check what else writes to it");
    };
    slow("etcd_disk_wal_fsync_duration_seconds", kSlowSync_s, "slow-sync",
         "syncs of its log are slow");
    slow("etcd_disk_backend_commit_duration_seconds", kSlowCommit_s, "slow-commit",
         "commits of its database are slow");
    Elections(name, page);
    const auto used = page.Value("process_open_fds");
    const auto limit = page.Value("process_max_fds");
    if (used && limit && *limit > 0 && *used / *limit >= kManyFiles)
      Add(Severity::kWarning, "files", name,
          fmt::format("it has {:.0f} of at most {:.0f} files open", *used, *limit),
          "raise the limit of open files (LimitNOFILE), or find the client that leaks connections");
  }

  void Elections(const std::string& name, const MetricsPage& page) {
    const auto changes = page.Value("etcd_server_leader_changes_seen_total");
    const auto start = page.Value("process_start_time_seconds");
    if (!changes || *changes < kManyElections) return;
    const auto now = static_cast<double>(facts_.now.time_since_epoch().count());
    const double up_h = start ? std::max((now - *start) / 3600, 1.0) : 1;
    if (*changes / up_h > 1)
      Add(Severity::kWarning, "elections", name,
          fmt::format("it has seen {:.0f} leader changes in {:.0f} h", *changes, up_h),
          "look for pauses of the leader: disk, processor, network; --election-timeout must be ten "
          "times the round trip between members");
  }

  void Certificate(const std::string& subject, const std::string& which,
                   std::chrono::sys_seconds end) {
    const auto left = std::chrono::floor<days>(end - facts_.now);
    if (left >= kExpiresSoon) return;
    const std::string what = end < facts_.now
                                 ? which + " has expired"
                                 : fmt::format("{} expires in {} days", which, left.count());
    Add(left < kExpiresNow ? Severity::kCritical : Severity::kWarning, "certificate", subject, what,
        "replace the certificate's file; the member reads it again without a restart");
  }

  const ClusterFacts& facts_;
  std::vector<Finding> findings_;
};

}  // namespace

std::string_view SeverityName(Severity severity) {
  switch (severity) {
    case Severity::kNote:
      return "note";
    case Severity::kWarning:
      return "warning";
    case Severity::kCritical:
      return "critical";
  }
  return "";
}

std::vector<Finding> Diagnose(const ClusterFacts& facts) { return Rules(facts).Run(); }

}  // namespace kvorum::ctl
