#include "tools/session/member_probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <thread>

#include "client/endpoint.h"
#include "client/error_text.h"

namespace kvorum::ctl {
namespace {

// "host:port" of an endpoint in any form.
std::string Address(const std::string& endpoint) { return client::ParseEndpoint(endpoint).target; }

std::string WhyFailed(const Error& error, const MemberProbe::Connection& connection) {
  const bool nobody = error.code == Code::kDeadlineExceeded && !connection.unreachable->empty();
  return nobody ? *connection.unreachable : client::ErrorText(error);
}

}  // namespace

std::chrono::seconds ClockAhead(std::chrono::sys_seconds date,
                                std::chrono::system_clock::time_point before,
                                std::chrono::system_clock::time_point after) {
  using std::chrono::floor;
  using std::chrono::seconds;
  // Its clock showed a time from `date` to just before the next second.
  if (date > after) return floor<seconds>(date - after);
  const auto latest = date + seconds(1);
  if (latest < before) return -floor<seconds>(before - latest);
  return seconds(0);
}

std::string MemberReading::Name() const {
  if (!member.name.empty()) return member.name;
  return member.endpoint.empty() ? fmt::format("{:x}", member.id) : member.endpoint;
}

std::vector<ListedMember> WithEndpoints(const etcdserverpb::MemberListResponse& list,
                                        const std::vector<std::string>& given) {
  std::vector<ListedMember> members;
  std::set<std::string> used;
  for (const etcdserverpb::Member& listed : list.members()) {
    ListedMember member{.id = listed.id(),
                        .name = listed.name(),
                        .is_started = !listed.name().empty(),
                        .is_learner = listed.islearner()};
    for (const std::string& url : listed.clienturls()) {
      if (member.endpoint.empty()) member.endpoint = url;
      const auto own = std::ranges::find(given, Address(url), Address);
      if (own == given.end()) continue;
      if (!used.contains(member.endpoint)) member.endpoint = *own;
      used.insert(*own);
    }
    members.push_back(std::move(member));
  }
  for (const std::string& endpoint : given)
    if (!used.contains(endpoint)) members.push_back({.endpoint = endpoint});
  return members;
}

MemberProbe::MemberProbe(const Session& session, std::chrono::nanoseconds timeout)
    : session_(session), timeout_(timeout) {}
MemberProbe::~MemberProbe() = default;

MemberProbe::Connection& MemberProbe::To(const std::string& endpoint) {
  auto [it, added] = connections_.try_emplace(endpoint);
  Connection& connection = it->second;
  if (connection.client != nullptr) return connection;
  connection.unreachable = std::make_shared<std::string>();
  client::Options options = session_.options();
  options.endpoints = {endpoint};
  options.on_unreachable = [unreachable = connection.unreachable](const std::string& why) {
    *unreachable = why;
  };
  auto client = Session::ConnectWith(options);
  if (client) {
    connection.client = *std::move(client);
  } else {
    connection.why_not =
        connection.unreachable->empty() ? client.error().message : *connection.unreachable;
  }
  return connection;
}

MemberList MemberProbe::List() {
  MemberList list;
  etcdserverpb::MemberListRequest request;  // serializable: it must be had without a leader too
  const std::vector<std::string>& given = session_.options().endpoints;
  for (const std::string& endpoint : given) {
    Connection& connection = To(endpoint);
    if (connection.client == nullptr) {
      list.error = connection.why_not;
      continue;
    }
    const auto answer = connection.client->MemberList(request, Call());
    if (!answer) {
      list.error = WhyFailed(answer.error(), connection);
      continue;
    }
    list.cluster = answer->header().cluster_id();
    list.members = WithEndpoints(*answer, given);
    list.error.clear();
    return list;
  }
  for (const std::string& endpoint : given) list.members.push_back({.endpoint = endpoint});
  return list;
}

MemberReading MemberProbe::ReadOne(const ListedMember& member, Connection& connection) const {
  MemberReading reading{.member = member};
  if (connection.client == nullptr) {
    reading.unreachable = connection.why_not;
    return reading;
  }
  auto status = connection.client->Status(Call());
  if (!status) {
    reading.unreachable = WhyFailed(status.error(), connection);
    return reading;
  }
  reading.status = *std::move(status);
  const auto before = std::chrono::system_clock::now();
  auto page = HttpGet(member.endpoint, "/metrics", session_.options().tls, timeout_);
  const auto after = std::chrono::system_clock::now();
  if (!page) {
    reading.no_metrics = page.error().message;
    return reading;
  }
  reading.certificate_end = page->certificate_end;
  if (page->date) reading.clock_ahead = ClockAhead(*page->date, before, after);
  if (page->status == 200)
    reading.metrics = MetricsPage::Parse(page->body);
  else
    reading.no_metrics = "/metrics answers " + std::to_string(page->status);
  return reading;
}

std::vector<MemberReading> MemberProbe::Read(const MemberList& list) {
  std::vector<MemberReading> readings(list.members.size());
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < list.members.size(); ++i) {
      const ListedMember& member = list.members[i];
      if (member.endpoint.empty()) {
        readings[i] = {.member = member, .unreachable = "it has not started yet"};
        continue;
      }
      Connection& connection = To(member.endpoint);
      threads.emplace_back([this, &member, &connection, &reading = readings[i]] {
        reading = ReadOne(member, connection);
      });
    }
  }
  // An endpoint through another address than the listed ones.
  std::vector<MemberReading> merged;
  for (MemberReading& reading : readings) {
    const std::uint64_t id = reading.status ? reading.status->header().member_id() : 0;
    const auto listed = std::ranges::find_if(
        merged, [id](const MemberReading& other) { return id != 0 && other.member.id == id; });
    if (reading.member.id != 0 || listed == merged.end()) {
      merged.push_back(std::move(reading));
    } else if (!listed->status) {
      reading.member = {.id = id,
                        .name = listed->member.name,
                        .endpoint = reading.member.endpoint,
                        .is_started = true,
                        .is_learner = listed->member.is_learner};
      *listed = std::move(reading);
    }
  }
  return merged;
}

}  // namespace kvorum::ctl
