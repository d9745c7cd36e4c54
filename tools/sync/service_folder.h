// A folder of services: each *.json holds one entry of our own form (sync/agent/agent_state.h), or
// services and checks of Consul's (consul/model/definitions.h). Their source is the file's name.
//
// Definitions run programs and hold tokens, so neither the folder nor a file is believed that
// another user than root and the agent's may have written (base/own_file.h).
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
  std::vector<std::string> warnings =
      {};  // what was changed to be valid; begins with the file's path
};

// In the order of the files' names; of two files with one id the first counts. A *.hcl is a bad
// file. The address is that of services in Consul's form without one of their own. Fails if the
// folder cannot be read.
Result<ServiceFolder> ReadServiceFolder(const std::string& path,
                                        const std::string& node_address = {});

struct FolderChanges {
  std::size_t registered = 0;  // new, or with another definition
  std::size_t deregistered = 0;
  std::vector<std::string> refused = {};  // begins with the file's name
};
// Makes the syncer's entries that came from files equal to the folder, in one change. The entries
// of a file that is bad stay as they are, and so do those that came from elsewhere, unless a file
// has their id.
FolderChanges ApplyServiceFolder(const ServiceFolder& folder, sync::Syncer& syncer);

}  // namespace kvorum::ctl
