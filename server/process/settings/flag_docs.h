// The sample of a configuration file, made from the table of flags.
#pragma once

#include <string>

namespace kvorum::server {

// deploy/kvorum.conf.yml.sample: every key with its default, as a comment.
std::string ConfigSample();

}  // namespace kvorum::server
