#include "datadir/first_members.h"

#include <algorithm>
#include <utility>

#include "api/member_id.h"
#include "base/shared_bytes.h"
#include "base/words.h"

namespace kvorum::datadir {

using server::Member;

namespace {

// `prefix` and each element of the first list that the second lacks, in order.
std::vector<std::string> Missing(std::vector<std::string> urls,
                                 const std::vector<std::string>& others,
                                 const std::string& prefix) {
  std::ranges::sort(urls);
  std::vector<std::string> missing;
  for (const std::string& url : urls) {
    if (std::ranges::find(others, url) == others.end()) missing.push_back(prefix + url);
  }
  return missing;
}

// Prints a list of strings as Go does.
std::string Quoted(const std::vector<std::string>& parts) {
  return "[\"" + Join(parts, "\" \"") + "\"]";
}

// The text about two lists that differ.
std::string Difference(const std::vector<std::string>& advertised,
                       const std::vector<std::string>& expected) {
  if (advertised.size() != expected.size())
    return "(len(" + Quoted(advertised) + ") != len(" + Quoted(expected) + "))";
  const auto differs = std::ranges::mismatch(advertised, expected);
  return "(resolved urls: \"" + *differs.in1 + "\" != \"" + *differs.in2 + "\")";
}

// The refusal of a member that advertises other URLs than --initial-cluster has for it.
Error AdvertisedMismatch(const Member& self, const std::vector<std::string>& advertised) {
  std::vector<std::string> ours = advertised;
  std::ranges::sort(ours);
  std::vector<std::string> expected = self.peer_urls;
  std::ranges::sort(expected);
  const std::string name = self.name + "=";
  if (const auto missing = Missing(expected, ours, name); !missing.empty()) {
    return {Code::kInvalidArgument, "--initial-cluster has " + Join(missing, ",") +
                                        " but missing from --initial-advertise-peer-urls=" +
                                        Join(ours, ",") + " " + Difference(ours, expected)};
  }
  return {Code::kInvalidArgument,
          "--initial-advertise-peer-urls has " + Join(Missing(ours, expected, ""), ",") +
              " but missing from --initial-cluster=" + Join(Missing(ours, {}, name), ",")};
}

}  // namespace

Result<const Member*> FindSelf(const std::vector<Member>& members, std::string_view name) {
  const auto self = std::ranges::find(members, name, &Member::name);
  if (self == members.end()) {
    return Fail(Code::kInvalidArgument, "couldn't find local name \"" + std::string(name) +
                                            "\" in the initial cluster configuration");
  }
  return &*self;
}

std::uint64_t ClusterIdOf(const std::vector<Member>& members) {
  std::vector<raft::MemberId> ids;
  for (const Member& member : members) ids.push_back(member.id);
  return server::ComputeClusterId(std::move(ids));
}

raft::Bootstrap FirstEntriesOf(const std::vector<Member>& members) {
  std::vector<raft::FirstMember> first;
  for (const Member& member : members)
    first.push_back({.id = member.id, .context = SharedBytes::Own(EncodeMemberJson(member))});
  return raft::MakeBootstrap(first);
}

Result<void> CheckAdvertisedUrls(const UrlResolver& resolve, const Member& self,
                                 const std::vector<std::string>& advertised) {
  if (SameUrls(resolve, advertised, self.peer_urls)) return {};
  return std::unexpected(AdvertisedMismatch(self, advertised));
}

}  // namespace kvorum::datadir
