// The pages that are made from the table of flags: the list of all of them, and a sample of the
// configuration file.
#pragma once

#include <string>

namespace kvorum::server {

// docs/operations/flags.md: every flag, variable, key of the file and feature gate, with its state.
std::string FlagsPage();

// deploy/kvorum.conf.yml.sample: every key with its default, as a comment.
std::string ConfigSample();

}  // namespace kvorum::server
