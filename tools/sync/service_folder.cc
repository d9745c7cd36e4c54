#include "tools/sync/service_folder.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "base/file_system.h"
#include "base/own_file.h"
#include "consul/model/definitions.h"
#include "sync/agent/agent_state.h"
#include "sync/kernel/json_bytes.h"

namespace kvorum::ctl {
namespace {

constexpr std::string_view kJson = ".json";
constexpr std::string_view kHcl = ".hcl";
constexpr std::uint64_t kMaxEntryFileBytes = std::uint64_t{1} << 20U;

Result<consul::DefinitionFile> ParseFile(const std::string& text, const std::string& address) {
  KV_TRY(const sync::Json json, sync::ParseObject("the file", text));
  if (consul::IsDefinitionFile(json)) {
    return consul::ParseDefinitionFile(
        text, {.is_file = true, .scripts = consul::Scripts::kLocal, .node_address = address});
  }
  KV_TRY(sync::Entry entry, sync::DecodeEntry(text));
  return consul::DefinitionFile{.entries = {std::move(entry)}};
}

// The entries of a file; the error begins with its path.
Result<consul::DefinitionFile> ReadFile(const std::string& path, const std::string& address) {
  if (path.ends_with(kHcl)) {
    return Fail(Code::kInvalidArgument,
                path + ": HCL is not read; write the same definitions as JSON, in a file *.json");
  }
  KV_TRY(const std::string text, ReadWholeFile(TrustedFileSystem(), path, kMaxEntryFileBytes));
  auto read = ParseFile(text, address);
  if (!read) return Fail(Code::kInvalidArgument, path + ": " + read.error().message);
  return read;
}

// Fails if another file has one of their ids.
Result<void> TakeIds(const std::string& path, const std::vector<sync::Entry>& entries,
                     std::set<std::string>& ids) {
  for (const sync::Entry& entry : entries) {
    if (ids.contains(entry.id))
      return Fail(Code::kInvalidArgument, path + ": another file has the id " + entry.id);
  }
  for (const sync::Entry& entry : entries) ids.insert(entry.id);
  return {};
}

// Results of checks do not count.
bool IsSameRegistration(const sync::Entry& a, const sync::Entry& b) {
  return a.name == b.name && a.value == b.value && a.source == b.source && a.kind == b.kind &&
         a.details == b.details && a.token == b.token &&
         std::ranges::equal(a.checks, b.checks, {}, &sync::Check::definition,
                            &sync::Check::definition);
}

}  // namespace

Result<ServiceFolder> ReadServiceFolder(const std::string& path, const std::string& node_address) {
  ServiceFolder folder;
  std::set<std::string> ids;
  KV_TRY(const auto names, TrustedFileSystem().List(path));
  for (const std::string& name : names) {
    if (!name.ends_with(kJson) && !name.ends_with(kHcl)) continue;
    const std::string file = std::string(path).append("/").append(name);
    auto read = ReadFile(file, node_address);
    const auto taken = read ? TakeIds(file, read->entries, ids) : Fail(read.error());
    if (!taken) {
      folder.bad.push_back({.name = name, .problem = taken.error().message});
      continue;
    }
    for (const std::string& warning : read->warnings)
      folder.warnings.push_back(std::string(file).append(": ").append(warning));
    for (sync::Entry& entry : read->entries) {
      entry.source = name;
      folder.entries.push_back(std::move(entry));
    }
  }
  return folder;
}

FolderChanges ApplyServiceFolder(const ServiceFolder& folder, sync::Syncer& syncer) {
  const sync::PauseGuard together(syncer.pause());
  FolderChanges changes;
  std::map<std::string, sync::Entry> here;
  for (auto& listed : syncer.List(sync::Registry::Which::kVisible))
    here.emplace(listed.entry.id, std::move(listed.entry));
  for (sync::Entry entry : folder.entries) {
    const auto old = here.find(entry.id);
    if (old != here.end()) consul::KeepMaintenance(old->second, entry);
    const bool is_equal = old != here.end() && IsSameRegistration(old->second, entry);
    if (old != here.end()) here.erase(old);
    if (is_equal) continue;
    if (const auto registered = syncer.Register(entry))
      ++changes.registered;
    else
      changes.refused.push_back(entry.source + ": " + registered.error().message);
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
