#include "server/process/bootstrap/cluster_discovery.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>

#include "api/member.h"
#include "base/log/logging.h"
#include "base/text/duration_text.h"
#include "base/text/go_number.h"
#include "base/words.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kRegistry = "/_etcd/registry";
// Past it a size is a mistake: members wait, and hold what they have found.
constexpr std::int64_t kMostMembers = 1'000;
constexpr unsigned kMostDoublings = 8;

constexpr std::string_view kSizeNotFound = "discovery: size key not found";
constexpr std::string_view kBadSize = "discovery: size key is bad";
constexpr std::string_view kFull = "discovery: cluster is full";
constexpr std::string_view kInvalidUrl = "discovery: invalid peer URL";

std::unexpected<Error> Refused(std::string_view text) {
  return Fail(Code::kFailedPrecondition, std::string(text));
}

// The folder of a token, cleaned as etcd does it: a token may have slashes and dots.
std::string FolderOf(const std::string& token) {
  std::string folder = std::filesystem::path(kRegistry).append(token).lexically_normal().string();
  while (folder.ends_with('/')) folder.pop_back();
  return folder;
}

std::string EndOfPrefix(std::string prefix) {
  ++prefix.back();  // a letter
  return prefix;
}

// The cluster as it is known so far.
struct Found {
  std::vector<RegisteredKey> members;  // by create_revision
  std::size_t size = 0;                // of the complete cluster
  std::int64_t revision = 0;
  bool is_complete() const { return members.size() >= size; }
};

class Joining {
 public:
  Joining(DiscoveryService& service, const DiscoveringMember& member,
          const std::function<void(Duration)>& sleep)
      : service_(service),
        member_(member),
        sleep_(sleep),
        size_key_(FolderOf(member.token) + "/_config/size"),
        members_prefix_(FolderOf(member.token) + "/members"),
        own_key_(members_prefix_ + "/" + member.id) {}

  Result<std::string> Run() {
    KV_RETURN_IF_ERROR(Look());
    Register();
    KV_TRY(Found found, Look());
    while (!found.is_complete()) {
      if (WaitForMembers(found)) break;
      Pause("waiting for peers");
      KV_TRY(found, Look());
    }
    return InitialClusterOf(found);
  }

 private:
  // The size and the members; tries until the service answers. An error is final: the size is
  // missing or bad, or other members have taken all places.
  Result<Found> Look() {
    while (true) {
      const auto size = ReadSize();
      if (!size.has_value() && size.error().code == Code::kFailedPrecondition)
        return std::unexpected(size.error());
      if (size.has_value()) {
        auto found = ReadMembers();
        if (found.has_value()) {
          attempts_ = 0;
          found->size = *size;
          if (HasPlace(*found)) return found;
          return Refused(kFull);
        }
      }
      Pause("cluster status check");
    }
  }

  Result<std::size_t> ReadSize() {
    const auto listing = service_.Get(size_key_, {});
    if (!listing.has_value()) {
      // An answer of the service must not be taken for the key's own fault.
      Warn("failed to get cluster size from discovery service", "clusterSizeKey", size_key_,
           listing.error());
      return Fail(Code::kUnavailable, listing.error().message);
    }
    if (listing->rows.empty()) return Refused(kSizeNotFound);
    const auto size = ParseInt(listing->rows.front().value, 10);
    if (!size.has_value() || *size <= 0 || *size > kMostMembers) return Refused(kBadSize);
    return static_cast<std::size_t>(*size);
  }

  Result<Found> ReadMembers() {
    const auto listing = service_.Get(members_prefix_, EndOfPrefix(members_prefix_));
    if (!listing.has_value()) {
      Warn("failed to get cluster members from discovery service", "membersKeyPrefix",
           members_prefix_, listing.error());
      return std::unexpected(listing.error());
    }
    Found found;
    found.revision = listing->revision;
    for (const RegisteredKey& row : listing->rows) Add(found, row);
    return found;
  }

  // True if this member is among the first, or fewer have come than there are places.
  bool HasPlace(const Found& found) const {
    const std::size_t places = std::min(found.members.size(), found.size);
    const auto end = found.members.begin() + static_cast<std::ptrdiff_t>(places);
    return places < found.size ||
           std::find_if(
               found.members.begin(), end,
               [this](const RegisteredKey& row) { return row.key == own_key_; }) != end;
  }

  void Register() {
    while (true) {
      const auto put = service_.Put(own_key_, member_.peer_urls);
      if (put.has_value()) break;
      Warn("failed to register members itself to the discovery service", "memberKey", own_key_,
           put.error());
      Pause("register member itself");
    }
    attempts_ = 0;
    KV_INFO("register member itself successfully", {"discovery-token", member_.token},
            {"discovery-endpoints", member_.endpoints}, {"memberKey", own_key_},
            {"memberInfo", member_.peer_urls});
  }

  // False if the watch has ended before there were enough.
  bool WaitForMembers(Found& found) {
    LogProgress("waiting for peers from discovery service", found);
    const auto watched =
        service_.Watch(members_prefix_, EndOfPrefix(members_prefix_), found.revision + 1,
                       [this, &found](const RegisteredKey& change) {
                         Add(found, change);
                         return !found.is_complete();
                       });
    if (found.is_complete()) {
      LogProgress("found all needed peers from discovery service", found);
      return true;
    }
    Warn("failed to watch cluster members in discovery service", "membersKeyPrefix",
         members_prefix_,
         watched.has_value() ? Error{Code::kUnavailable, "the watch has ended"} : watched.error());
    return false;
  }

  void LogProgress(std::string_view message, const Found& found) const {
    KV_INFO(message, {"discovery-token", member_.token}, {"discovery-endpoints", member_.endpoints},
            {"clusterSize", found.size}, {"found-peers", found.members.size()});
  }

  void Add(Found& found, const RegisteredKey& row) const {
    const RegisteredKey member{std::string(Trim(row.key)), std::string(Trim(row.value)),
                               row.create_revision};
    if (const auto fault = FaultOf(found, member)) {
      KV_WARN(*fault, {"discovery-token", member_.token},
              {"discovery-endpoints", member_.endpoints}, {"memberKey", member.key},
              {"memberInfo", member.value});
      return;
    }
    KV_INFO("found peer from discovery service", {"discovery-token", member_.token},
            {"discovery-endpoints", member_.endpoints}, {"memberKey", member.key},
            {"memberInfo", member.value});
    const auto later = std::ranges::upper_bound(found.members, member.create_revision, {},
                                                &RegisteredKey::create_revision);
    found.members.insert(later, member);
  }

  std::optional<std::string_view> FaultOf(const Found& found, const RegisteredKey& member) const {
    if (!member.key.starts_with(members_prefix_)) return "invalid peer registry key";
    if (member.value.find('=') == std::string::npos)
      return "invalid peer info returned from discovery service";
    if (std::ranges::find(found.members, member.key, &RegisteredKey::key) != found.members.end())
      return "found duplicate peer from discovery service";
    return std::nullopt;
  }

  Result<std::string> InitialClusterOf(const Found& found) const {
    std::string cluster;
    for (std::size_t i = 0; i < found.size; ++i)
      cluster += (i == 0 ? "" : ",") + found.members[i].value;
    if (!ParseInitialCluster(cluster, member_.token).has_value()) return Refused(kInvalidUrl);
    return cluster;
  }

  void Warn(std::string_view message, std::string_view name, const std::string& key,
            const Error& error) const {
    KV_WARN(message, {"discovery-token", member_.token}, {"discovery-endpoints", member_.endpoints},
            {name, key}, {"error", error.message});
  }

  // Twice as long after each attempt in a row, from 2 s up to 256 s.
  void Pause(std::string_view step) {
    attempts_ = std::min(attempts_ + 1, kMostDoublings);
    const Duration pause = std::chrono::seconds(std::uint64_t{1} << attempts_);
    KV_WARN("retry connecting to discovery service", {"discovery-token", member_.token},
            {"discovery-endpoints", member_.endpoints}, {"reason", step},
            {"backoff", FormatDuration(pause)});
    sleep_(pause);
  }

  DiscoveryService& service_;
  const DiscoveringMember& member_;
  const std::function<void(Duration)>& sleep_;
  const std::string size_key_;
  const std::string members_prefix_;
  const std::string own_key_;
  unsigned attempts_ = 0;
};

}  // namespace

Result<std::string> JoinByDiscovery(DiscoveryService& service, const DiscoveringMember& member,
                                    const std::function<void(Duration)>& sleep) {
  auto cluster = Joining(service, member, sleep).Run();
  if (cluster.has_value()) {
    KV_INFO("discovery joined cluster successfully", {"discovery-token", member.token},
            {"discovery-endpoints", member.endpoints}, {"cluster", *cluster});
  } else {
    KV_ERROR("discovery failed to join cluster", {"discovery-token", member.token},
             {"discovery-endpoints", member.endpoints}, {"cluster", ""},
             {"error", cluster.error().message});
  }
  return cluster;
}

}  // namespace kvorum::server
