// Translates the flags and arguments of put, get and del to their requests, for the commands and
// for the lines of a txn.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "proto/rpc.pb.h"
#include "tools/shell/flags.h"
#include "tools/text/outcome.h"

namespace kvorum::ctl {

std::vector<Flag> PutFlags();
std::vector<Flag> GetFlags();
std::vector<Flag> DeleteFlags();

// Provides a put's value if it is not an argument; nothing if there is none.
using ValueSource = std::function<std::string()>;

Outcome<etcdserverpb::PutRequest> MakePut(const FlagSet& flags,
                                          const std::vector<std::string>& args,
                                          const ValueSource& value_source);
Outcome<etcdserverpb::RangeRequest> MakeRange(const FlagSet& flags,
                                              const std::vector<std::string>& args);
Outcome<etcdserverpb::DeleteRangeRequest> MakeDelete(const FlagSet& flags,
                                                     const std::vector<std::string>& args);

// "l" is false, "s" is true.
Outcome<bool> IsSerializable(const std::string& consistency);

}  // namespace kvorum::ctl
