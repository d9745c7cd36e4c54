#include "tools/utl/utl_restore.h"

#include <string_view>

#include "api/member_id.h"
#include "base/words.h"
#include "datadir/acting_as_owner.h"
#include "tools/text/json.h"
#include "tools/utl/utl_log.h"

namespace kvorum::utl {
namespace {

using ctl::FlagType;

// etcdutl's line; the member that restores has no id there.
void LogMember(ctl::World& world, std::uint64_t cluster_id, const server::Member& member) {
  std::string urls;
  for (const std::string& url : member.peer_urls)
    urls += (urls.empty() ? "" : ", ") + ctl::JsonString(url);
  LogInfo(world, "added member",
          {{"cluster-id", ctl::JsonString(server::IdText(cluster_id))},
           {"local-member-id", "\"0\""},
           {"added-peer-id", ctl::JsonString(server::IdText(member.id))},
           {"added-peer-peer-urls", "[" + urls + "]"},
           {"added-peer-is-learner", member.is_learner ? "true" : "false"}});
}

}  // namespace

std::vector<ctl::Flag> RestoreFlags() {
  return {{"data-dir", FlagType::kString, "", "Path to the output data directory"},
          {"wal-dir", FlagType::kString, "",
           "Path to the WAL directory (use --data-dir if none given)"},
          {"initial-cluster", FlagType::kString, "default=http://localhost:2380",
           "Initial cluster configuration for restore bootstrap"},
          {"initial-cluster-token", FlagType::kString, "etcd-cluster",
           "Initial cluster token for the etcd cluster during restore bootstrap"},
          {"initial-advertise-peer-urls", FlagType::kString, "http://localhost:2380",
           "List of this member's peer URLs to advertise to the rest of the cluster"},
          {"name", FlagType::kString, "default", "Human-readable name for this member"}};
}

datadir::RestoreOptions RestoreOptionsOf(const ctl::FlagSet& flags) {
  datadir::RestoreOptions options{.data_dir = flags.String("data-dir"),
                                  .wal_dir = flags.String("wal-dir"),
                                  .name = flags.String("name"),
                                  .initial_cluster = flags.String("initial-cluster"),
                                  .initial_cluster_token = flags.String("initial-cluster-token")};
  if (options.data_dir.empty()) options.data_dir = options.name + ".etcd";
  for (const std::string_view url : Split(flags.String("initial-advertise-peer-urls"), ','))
    options.advertise_peer_urls.emplace_back(url);
  return options;
}

Result<std::unique_ptr<mvcc::Backend>> OpenUnfinished(const std::string& path) {
  return mvcc::OpenLmdbBackend({.path = path, .sync = mvcc::CommitSync::kByHand});
}

Result<void> RestoreAsOwner(
    datadir::RestoreOptions options,
    const std::function<Result<void>(const datadir::RestoreOptions& as_owner)>& restore) {
  KV_TRY(datadir::ActingAsOwner acting, datadir::ActingAsOwner::OfFolder(options.data_dir));
  options.data_dir = acting.Reach(options.data_dir);
  options.make_wal_dir = [&] { return acting.MakeFolders(options.wal_dir); };
  auto restored = restore(options);
  if (restored.has_value()) return {};
  acting.RemoveMadeFolders();
  return kvorum::Fail(acting.Named(std::move(restored).error()));
}

void LogAdded(ctl::World& world, const AddedMembers& added) {
  for (const auto& [cluster_id, member] : added) LogMember(world, cluster_id, member);
}

}  // namespace kvorum::utl
