// Reads everything that a cluster's members tell, and changes nothing: for doctor and top.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/rpc.pb.h"
#include "tools/session/session.h"
#include "tools/text/http_get.h"
#include "tools/text/metrics_page.h"
#include "tools/text/outcome.h"

namespace kvorum::ctl {

// A member as the cluster lists it, and the endpoint to ask it at.
struct ListedMember {
  std::uint64_t id = 0;  // 0: an endpoint that the list does not have
  std::string name = {};
  std::string endpoint = {};
  bool is_started = true;
  bool is_learner = false;
};

struct MemberReading {
  ListedMember member;
  std::string unreachable = {};  // why it does not answer; empty: it does
  std::optional<etcdserverpb::StatusResponse> status = {};
  // The metrics page, and what came with it.
  std::optional<MetricsPage> metrics = {};
  std::string no_metrics = {};  // why there are none
  std::optional<std::chrono::sys_seconds> certificate_end = {};
  // By how much its clock is ahead of ours, at the least; negative: behind. Within the second that
  // HTTP dates are exact to it is 0.
  std::chrono::seconds clock_ahead{0};

  // Its name for a person: one that has not started yet has neither name nor endpoint.
  std::string Name() const;
};

struct MemberList {
  std::uint64_t cluster = 0;
  std::vector<ListedMember> members = {};
  std::string error = {};  // why there is no list; then the members are the given endpoints
};

// Asks members again and again over the same connections. Used by one thread, which the methods
// block; the members are asked at once.
class MemberProbe {
 public:
  // `timeout` is for each question. The session outlives the probe.
  MemberProbe(const Session& session, std::chrono::nanoseconds timeout);
  ~MemberProbe();
  MemberProbe(const MemberProbe&) = delete;
  MemberProbe& operator=(const MemberProbe&) = delete;

  // The members, also without a majority, and given endpoints that do not belong to a member.
  MemberList List();
  // One reading per member, in the list's order; an endpoint that turns out to be a listed member
  // is left out.
  std::vector<MemberReading> Read(const MemberList& list);

  // A connection to the endpoint; null, with the reason, if there cannot be one.
  struct Connection {
    std::unique_ptr<client::Client> client;
    std::string why_not = {};
    std::shared_ptr<std::string> unreachable;  // written when a call reaches no server
  };
  Connection& To(const std::string& endpoint);
  client::CallOptions Call() const { return client::CallOptions::Within(timeout_); }

 private:
  MemberReading ReadOne(const ListedMember& member, Connection& connection) const;

  const Session& session_;
  const std::chrono::nanoseconds timeout_;
  std::map<std::string, Connection> connections_;
};

// By how much a clock that showed `date`, a time cut off to seconds, between these two moments is
// ahead at the least.
std::chrono::seconds ClockAhead(std::chrono::sys_seconds date,
                                std::chrono::system_clock::time_point before,
                                std::chrono::system_clock::time_point after);

// The members with an endpoint each: a given one if it is among the member's own. Then the given
// ones that belong to no member.
std::vector<ListedMember> WithEndpoints(const etcdserverpb::MemberListResponse& list,
                                        const std::vector<std::string>& given);

}  // namespace kvorum::ctl
