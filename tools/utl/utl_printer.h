// The output formats of kvorumutl: those of etcdutl, of which protobuf can show nothing.
#pragma once

#include <memory>
#include <string_view>

#include "tools/shell/command.h"
#include "tools/text/outcome.h"

namespace kvorum::datadir {
struct DatabaseStatus;
struct Verified;
}  // namespace kvorum::datadir
namespace kvorum::mvcc {
struct KvHash;
}  // namespace kvorum::mvcc

namespace kvorum::utl {

// Refuses a --write-out that is not a format, before anything is read.
ctl::Outcome<void> CheckFormat(const ctl::Invocation& invocation);

ctl::Outcome<void> PrintStatus(const ctl::Invocation& invocation,
                               const datadir::DatabaseStatus& status);
ctl::Outcome<void> PrintHashKv(const ctl::Invocation& invocation, const mvcc::KvHash& hash);
ctl::Outcome<void> PrintVerified(const ctl::Invocation& invocation, const datadir::Verified& found);

}  // namespace kvorum::utl
