#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <ostream>
#include <thread>

#include "base/api_errors.h"
#include "base/text/human_bytes.h"
#include "client/error_text.h"
#include "tools/health/diagnosis.h"
#include "tools/health/health_commands.h"
#include "tools/session/session.h"
#include "tools/session/table.h"
#include "tools/shell/colors.h"
#include "tools/shell/command_groups.h"
#include "tools/text/json.h"

namespace kvorum::ctl {
namespace {

// Hashing a large keyspace takes its time.
constexpr std::chrono::minutes kHashTimeout(5);

// A read that needs a majority. A refusal for lack of permission took one too.
void ReadOnce(ExaminedMember& member, client::Client& client, const client::CallOptions& call) {
  const auto start = std::chrono::steady_clock::now();
  etcdserverpb::RangeRequest request;
  request.set_key("health");
  const auto read = client.Range(request, call);
  member.read_took = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - start);
  const bool learner = member.reading.status->islearner();
  if (!read && !learner && read.error().message != kErrPermissionDenied.message)
    member.read_error = client::ErrorText(read.error());
}

void HashOnce(ExaminedMember& member, client::Client& client, std::int64_t revision) {
  etcdserverpb::HashKVRequest request;
  request.set_revision(revision);
  const auto hash = client.HashKV(request, client::CallOptions::Within(kHashTimeout));
  if (hash)
    member.hash = MemberHash{hash->hash(), hash->compact_revision()};
  else
    member.no_hash = client::ErrorText(hash.error());
}

// The last revision that every member which answers has.
std::int64_t CommonRevision(const std::vector<ExaminedMember>& members) {
  std::int64_t common = std::numeric_limits<std::int64_t>::max();
  for (const ExaminedMember& member : members)
    if (member.reading.status)
      common = std::min(common, member.reading.status->header().revision());
  return common == std::numeric_limits<std::int64_t>::max() ? 0 : common;
}

void AskAlarms(ClusterFacts& facts, MemberProbe& probe) {
  facts.no_alarms = "no member answers";
  for (const ExaminedMember& member : facts.members) {
    if (!member.reading.status) continue;
    const auto alarms = probe.To(member.reading.member.endpoint).client->AlarmList(probe.Call());
    if (alarms) {
      facts.alarms.assign(alarms->alarms().begin(), alarms->alarms().end());
      facts.no_alarms.clear();
      return;
    }
    facts.no_alarms = client::ErrorText(alarms.error());
  }
}

ClusterFacts Examine(const Invocation& invocation, const Session& session) {
  MemberProbe probe(session, invocation.flags.Duration("command-timeout"));
  ClusterFacts facts{
      .now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now())};
  facts.list = probe.List();
  for (MemberReading& reading : probe.Read(facts.list))
    facts.members.push_back({.reading = std::move(reading)});
  facts.hash_revision = CommonRevision(facts.members);
  {
    std::vector<std::jthread> threads;
    for (ExaminedMember& member : facts.members) {
      if (!member.reading.status) continue;
      client::Client& client = *probe.To(member.reading.member.endpoint).client;
      threads.emplace_back([&, call = probe.Call()] {
        ReadOnce(member, client, call);
        if (invocation.flags.Switch("hash")) HashOnce(member, client, facts.hash_revision);
      });
    }
  }
  AskAlarms(facts, probe);
  const client::TlsOptions& tls = session.options().tls;
  for (const std::string& file : {tls.certificate_file, tls.ca_file})
    if (!file.empty())
      if (const auto end = CertificateEnd(file)) facts.own_certificates.emplace_back(file, *end);
  return facts;
}

std::string Role(const MemberReading& reading) {
  if (!reading.status) return "-";
  if (reading.status->leader() == reading.status->header().member_id()) return "leader";
  return reading.member.is_learner ? "learner" : "follower";
}

std::string MillisecondsText(const MemberReading& reading, std::string_view histogram) {
  if (!reading.metrics) return "-";
  const auto p99 = Quantile(reading.metrics->Histogram(histogram), 0.99);
  return p99 ? fmt::format("{:.1f} ms", *p99 * 1000) : "-";
}

Table MembersTable(const ClusterFacts& facts) {
  Table table{{"member", "endpoint", "role", "version", "db size", "quota", "index", "not applied",
               "sync p99", "commit p99", "clock", "hash"},
              {}};
  for (const ExaminedMember& member : facts.members) {
    const MemberReading& reading = member.reading;
    std::vector<std::string> row = {reading.Name(), reading.member.endpoint, Role(reading)};
    if (const auto& status = reading.status) {
      const auto bytes = [](std::int64_t n) { return HumanBytes(static_cast<std::uint64_t>(n)); };
      row.insert(row.end(),
                 {status->version(), bytes(status->dbsize()),
                  status->dbsizequota() > 0 ? bytes(status->dbsizequota()) : "-",
                  std::to_string(status->raftindex()),
                  std::to_string(status->raftindex() -
                                 std::min(status->raftindex(), status->raftappliedindex())),
                  MillisecondsText(reading, "etcd_disk_wal_fsync_duration_seconds"),
                  MillisecondsText(reading, "etcd_disk_backend_commit_duration_seconds"),
                  reading.metrics ? fmt::format("{:+d} s", reading.clock_ahead.count()) : "-",
                  member.hash ? std::to_string(member.hash->hash) : "-"});
    } else {
      row.resize(table.header.size(), "-");
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::string Colored(Severity severity, const Colors& colors) {
  const std::string_view name = SeverityName(severity);
  switch (severity) {
    case Severity::kCritical:
      return colors.Red(name);
    case Severity::kWarning:
      return colors.Yellow(name);
    case Severity::kNote:
      return std::string(name);
  }
  return {};
}

void ShowFindingsText(const ClusterFacts& facts, const std::vector<Finding>& findings, bool table,
                      const Colors& colors, std::ostream& out) {
  const std::uint64_t cluster = facts.list.cluster;
  out << fmt::format("cluster {}: {} members, looked at revision {}\n",
                     cluster == 0 ? "unknown" : fmt::format("{:x}", cluster), facts.members.size(),
                     facts.hash_revision);
  if (table) out << DrawTable(MembersTable(facts));
  for (const Finding& finding : findings) {
    out << fmt::format("{}: {}: {} [{}]\n", Colored(finding.severity, colors), finding.subject,
                       finding.what, finding.code);
    if (!finding.advice.empty()) out << "    to do: " << finding.advice << '\n';
  }
  const bool fine = std::ranges::none_of(
      findings, [](const Finding& f) { return f.severity != Severity::kNote; });
  if (fine) out << colors.Green("no problem found") << '\n';
}

std::string JsonMember(const ExaminedMember& member) {
  const MemberReading& reading = member.reading;
  JsonObject object;
  object.Add("id", JsonString(fmt::format("{:x}", reading.member.id)))
      .Add("name", JsonString(reading.member.name))
      .Add("endpoint", JsonString(reading.member.endpoint))
      .Add("role", JsonString(Role(reading)));
  if (!reading.unreachable.empty()) object.Add("unreachable", JsonString(reading.unreachable));
  if (reading.status) object.Add("status", JsonMessage(*reading.status));
  if (member.hash) object.Add("hash", std::to_string(member.hash->hash));
  if (reading.metrics) object.Add("clock_ahead_s", std::to_string(reading.clock_ahead.count()));
  if (reading.certificate_end)
    object.Add("certificate_end_unix_s",
               std::to_string(reading.certificate_end->time_since_epoch().count()));
  return object.Finish();
}

std::string JsonFinding(const Finding& finding) {
  return JsonObject()
      .Add("severity", JsonString(SeverityName(finding.severity)))
      .Add("code", JsonString(finding.code))
      .Add("subject", JsonString(finding.subject))
      .Add("what", JsonString(finding.what))
      .Add("advice", JsonString(finding.advice))
      .Finish();
}

void ShowFindingsJson(const ClusterFacts& facts, const std::vector<Finding>& findings,
                      std::ostream& out) {
  out << JsonObject()
             .Add("cluster", JsonString(fmt::format("{:x}", facts.list.cluster)))
             .Add("revision", std::to_string(facts.hash_revision))
             .Add("severity",
                  JsonString(findings.empty() ? "none" : SeverityName(findings.front().severity)))
             .Add("members", JsonList(facts.members, JsonMember))
             .Add("findings", findings.empty() ? "[]" : JsonList(findings, JsonFinding))
             .Finish()
      << '\n';
}

Outcome<void> RunDoctor(Invocation& invocation) {
  if (!invocation.args.empty()) return BadArguments("doctor takes no arguments");
  KV_TRY(const auto session, Session::Open(invocation));
  KV_TRY(const std::string format, FormatAmong(invocation, {"simple", "json", "table"}));
  if (session.options().endpoints.empty())
    return Fail(ExitCode::kBadConnection, "etcdclient: no available endpoints");
  const ClusterFacts facts = Examine(invocation, session);
  const std::vector<Finding> findings = Diagnose(facts);
  if (format == "json")
    ShowFindingsJson(facts, findings, invocation.world.out);
  else
    ShowFindingsText(facts, findings, format == "table" || invocation.world.out_is_terminal,
                     Colors(invocation), invocation.world.out);
  if (findings.empty() || findings.front().severity == Severity::kNote) return {};
  const bool is_critical = findings.front().severity == Severity::kCritical;
  return Fail(is_critical ? ExitCode::kBadConnection : ExitCode::kError, "");
}

}  // namespace

Command DoctorCommand() {
  return {
      .use = "doctor",
      .brief = "Examines the cluster and reports each problem with its remedy",
      .description =
          R"(Looks at every member (those of --endpoints and all that the cluster lists): does it answer, who
leads, alarms, hashes of all data at one revision, versions, size against quota, how far it is
behind, elections, learners, disks, clocks, certificates. It reads only, and changes nothing.

Each finding is critical, a warning or a note, and has a name in brackets for scripts. The exit code is
0 if nothing is wrong, 1 if there are warnings, 2 if something is critical.

Disks, elections and clocks are read from the members' /metrics, where that is served.
)",
      .group = kClusterGroup,
      .flags = {{.name = "hash",
                 .default_value = "true",
                 .help = "compare the members' data (each member reads all of it)"}},
      .run = RunDoctor};
}

}  // namespace kvorum::ctl
