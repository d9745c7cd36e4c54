// The text of a transaction: lines of compares, of operations if they hold, of operations if not;
// an empty line ends each block.
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "proto/rpc.pb.h"
#include "tools/text/outcome.h"

namespace kvorum::ctl {

// target("key") op "value", where target is version, create, mod, value, lease or a short form
// (ver, c, m, val) and op is =, !=, > or <. A lease's value is its id in hexadecimal.
Outcome<etcdserverpb::Compare> ParseCompare(std::string_view line);

// A line of get, put or del with their flags.
Outcome<etcdserverpb::RequestOp> ParseOp(std::string_view line);

// Words separated by spaces; a word in single quotes is taken verbatim, one in double quotes with
// escapes.
Outcome<std::vector<std::string>> SplitWords(std::string_view line);

// Reads all three blocks; calls `prompt` with the name of each before it.
Outcome<etcdserverpb::TxnRequest> ReadTxn(std::istream& in,
                                          const std::function<void(std::string_view)>& prompt);

}  // namespace kvorum::ctl
