// The output formats of kvorumutl: those of etcdutl, of which protobuf can show nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
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

// The state of an archive that a member was restored to.
struct RestoredState {
  std::string history;
  std::uint64_t index = 0;
  std::int64_t revision = 0;
  std::string time;
};

// Refuses a --write-out that is not a format, before anything is read.
ctl::Outcome<void> CheckFormat(const ctl::Invocation& invocation);

ctl::Outcome<void> PrintStatus(const ctl::Invocation& invocation,
                               const datadir::DatabaseStatus& status);
ctl::Outcome<void> PrintHashKv(const ctl::Invocation& invocation, const mvcc::KvHash& hash);
ctl::Outcome<void> PrintRestored(const ctl::Invocation& invocation, const RestoredState& state);
ctl::Outcome<void> PrintVerified(const ctl::Invocation& invocation, const datadir::Verified& found);

}  // namespace kvorum::utl
