// A folder of services: each *.json holds one entry, whose source is the file's name.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"
#include "sync/agent/syncer.h"

namespace kvorum::ctl {

struct ServiceFolder {
  struct BadFile {
    std::string name;
    std::string problem;  // begins with the file's path
  };
  std::vector<sync::Entry> entries = {};
  std::vector<BadFile> bad = {};
};

// In the order of the files' names; of two entries with one id the first counts. Fails if the
// folder cannot be read.
Result<ServiceFolder> ReadServiceFolder(const std::string& path);

struct FolderChanges {
  std::size_t registered = 0;  // new, or with another definition
  std::size_t deregistered = 0;
};
// Makes the syncer's entries that came from files equal to the folder, in one change. The entry of
// a file that is bad stays as it is, and so do those that came from elsewhere.
FolderChanges ApplyServiceFolder(const ServiceFolder& folder, sync::Syncer& syncer);

}  // namespace kvorum::ctl
