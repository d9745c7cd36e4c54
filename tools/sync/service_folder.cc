#include "tools/sync/service_folder.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/file_system.h"
#include "sync/agent/agent_state.h"

namespace kvorum::ctl {
namespace {

constexpr std::uint64_t kMaxEntryFileBytes = std::uint64_t{1} << 20U;

Result<sync::Entry> ReadEntry(const std::string& path) {
  KV_TRY(const std::string text, ReadWholeFile(PosixFileSystem(), path, kMaxEntryFileBytes));
  auto entry = sync::DecodeEntry(text);
  if (!entry) return Fail(Code::kInvalidArgument, path + ": " + entry.error().message);
  return entry;
}

// Results of checks do not count.
bool IsSameRegistration(const sync::Entry& a, const sync::Entry& b) {
  return a.name == b.name && a.value == b.value && a.source == b.source &&
         std::ranges::equal(a.checks, b.checks, {}, &sync::Check::definition,
                            &sync::Check::definition);
}

}  // namespace

Result<ServiceFolder> ReadServiceFolder(const std::string& path) {
  ServiceFolder folder;
  std::set<std::string> ids;
  KV_TRY(const auto names, PosixFileSystem().List(path));
  for (const std::string& name : names) {
    if (!name.ends_with(".json")) continue;
    const std::string file = std::string(path).append("/").append(name);
    auto entry = ReadEntry(file);
    if (entry && !ids.insert(entry->id).second)
      entry = Fail(Code::kInvalidArgument, file + ": another file has the id " + entry->id);
    if (!entry) {
      folder.bad.push_back({.name = name, .problem = entry.error().message});
      continue;
    }
    entry->source = name;
    folder.entries.push_back(*std::move(entry));
  }
  return folder;
}

FolderChanges ApplyServiceFolder(const ServiceFolder& folder, sync::Syncer& syncer) {
  const sync::PauseGuard together(syncer.pause());
  FolderChanges changes;
  std::map<std::string, sync::Entry> here;
  for (auto& listed : syncer.List(sync::Registry::Which::kVisible))
    here.emplace(listed.entry.id, std::move(listed.entry));
  for (const sync::Entry& entry : folder.entries) {
    const auto old = here.find(entry.id);
    const bool is_equal = old != here.end() && IsSameRegistration(old->second, entry);
    if (old != here.end()) here.erase(old);
    // DecodeEntry has found it valid.
    if (!is_equal && syncer.Register(entry)) ++changes.registered;
  }
  for (const auto& [id, entry] : here) {
    const bool is_kept = entry.source.empty() ||
                         std::ranges::find(folder.bad, entry.source,
                                           &ServiceFolder::BadFile::name) != folder.bad.end();
    if (!is_kept && syncer.Deregister(id)) ++changes.deregistered;
  }
  return changes;
}

}  // namespace kvorum::ctl
