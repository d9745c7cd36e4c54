// The tables of all messages of this folder (proto/fields.h), for those who know a message by its
// name alone: the gateway's JSON, lines of the log, and the test that compares tables with the
// .proto files. Constants; thread-safe.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace kvorum::wire {
struct Table;
}

namespace kvorum::server {

using MessageTables = std::span<const wire::Table* const>;
std::vector<MessageTables> AllMessageTables();

// "etcdserverpb.PutRequest"; null for a message that has no table. It looks through all of them.
const wire::Table* MessageNamed(std::string_view full_name);

}  // namespace kvorum::server
