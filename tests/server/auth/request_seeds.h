// The seeds of the fuzz target request_decoders that come from the table of calls: for each method
// of the API a request with every field set, of a caller without and of one with auth.
#pragma once

#include <map>
#include <string>

namespace kvorum::server {

// Inputs by the names of their files: "KV.Put", "KV.Put-auth".
std::map<std::string, std::string> RequestSeeds();

}  // namespace kvorum::server
