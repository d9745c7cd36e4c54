#include "server/call/quarantine.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/api_errors.h"
#include "base/log/logging.h"

namespace kvorum::server {

Result<void> Quarantine::Load() {
  KV_TRY(const bool exists, fs_.Exists(path_));
  if (!exists) return {};
  stands_.store(true, std::memory_order_release);
  KV_ERROR(
      "this member's database is known to differ from the other members'; it serves no keys "
      "until it is re-seeded (kvorumctl member reseed)",
      {"file", path_});
  return {};
}

Result<void> Quarantine::Write(const std::string& reason) {
  KV_TRY(const auto file, fs_.Open(path_, FileSystem::OpenMode::kCreate));
  const std::array<std::string_view, 1> parts = {reason};
  KV_RETURN_IF_ERROR(file->WriteAt(0, parts));
  KV_RETURN_IF_ERROR(file->Sync());
  return fs_.SyncDirectory(std::filesystem::path(path_).parent_path().string());
}

void Quarantine::Begin(const std::string& reason) {
  std::vector<std::weak_ptr<rpc::ServerStream>> streams;
  {
    std::lock_guard lock(mutex_);
    if (stands_.exchange(true)) return;
    streams = std::exchange(streams_, {});
  }
  KV_ERROR(
      "this member's database differs from the other members'; it serves no keys until it is "
      "re-seeded (kvorumctl member reseed)",
      {"alarm", "CORRUPT"}, {"reason", reason});
  if (const auto written = Write(reason); !written.has_value())
    KV_ERROR("cannot note that for the next start", {"error", written.error().message});
  for (const auto& weak : streams) {
    if (const auto stream = weak.lock(); stream != nullptr) stream->Finish(kErrCorrupt.ToError());
  }
}

void Quarantine::End() {
  if (!stands()) return;
  if (const auto removed = fs_.Remove(path_); !removed.has_value())
    KV_WARN("cannot remove a file", {"file", path_}, {"error", removed.error().message});
  stands_.store(false, std::memory_order_release);
  KV_INFO("this member has a new database, and serves again");
}

bool Quarantine::Refuses(const rpc::CallContext& call) const {
  if (!stands()) return false;
  if (call.method() == nullptr) return true;
  const std::string_view service = call.method()->service;
  return service != "etcdserverpb.Maintenance" && service != "etcdserverpb.Cluster" &&
         service != "etcdserverpb.Auth" && service != "kvorumpb.Replica";
}

void Quarantine::Watch(const std::shared_ptr<rpc::ServerStream>& stream) const {
  {
    std::lock_guard lock(mutex_);
    if (!stands()) {
      if (streams_.size() >= sweep_at_) {
        std::erase_if(streams_, [](const auto& known) { return known.expired(); });
        sweep_at_ = std::max<std::size_t>(64, 2 * streams_.size());
      }
      streams_.push_back(stream);
      return;
    }
  }
  stream->Finish(kErrCorrupt.ToError());
}

}  // namespace kvorum::server
