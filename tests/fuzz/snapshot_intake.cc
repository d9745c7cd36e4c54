// Any bytes as the body of POST /raft/snapshot, in either format: the message in front, then the
// content up to the end. It is refused and leaves no file, or is a database that this member can
// start from.
//
// The first byte of the input is the size of the pieces in which the content comes, in units of 64.
#include "server/replica/snapshots/snapshot_intake.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "base/log/logging.h"
#include "mvcc/store/restore.h"
#include "mvcc/store/store.h"
#include "server/peer/streams/snapshot_receiver.h"
#include "server/state/leases.h"
#include "server/state/replicated_state.h"
#include "tests/disk/memory_backend.h"
#include "tests/disk/sim_file_system.h"

namespace {

using namespace kvorum;
using namespace kvorum::server;

constexpr const char* kFolder = "/snap";

void Require(bool condition) {
  if (!condition) std::abort();
}

struct Follower {
  SimFileSystem files;
  int delivered = 0;
  SnapshotIntake intake{files, kFolder,
                        [this](const std::string& path) { return OpenBackend(path); },
                        [this](const raft::Message&) {
                          ++delivered;
                          return true;
                        }};

  Follower() { Require(files.MakeDirectories(kFolder).has_value()); }
  Result<std::unique_ptr<mvcc::Backend>> OpenBackend(const std::string& path) {
    return mvcc::OpenMemoryBackend(files, path);
  }

  Result<void> Receive(raft::Message message, std::string_view content, std::size_t piece_bytes) {
    KV_TRY(const auto sink, intake.Begin(std::move(message)));
    while (!content.empty()) {
      const std::string_view piece = content.substr(0, piece_bytes);
      content.remove_prefix(piece.size());
      KV_RETURN_IF_ERROR(sink->Write(piece));
    }
    return sink->Finish();
  }

  // Both the start of a member and the installation of a snapshot can read the file.
  void RequireUsable(const std::string& name, raft::Index index) {
    const auto backend = OpenBackend(std::string(kFolder) + "/" + name);
    Require(backend.has_value());
    const mvcc::Reader reader = (*backend)->NewReader().value();
    const auto recovered = mvcc::Store::ReadRecovered(*reader);
    Require(recovered.has_value() && recovered->consistent_index == index.value());
    Require(LoadReplicatedState(*reader).has_value() && Leases::Load(*reader).has_value());
    Require(mvcc::RestoreIndex(**backend, {.at_least_revision = 1,
                                           .compact_revision = -1,
                                           .threads = 1,
                                           .on_lease_attachment = {}})
                .has_value());
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  SetLogLevel(LogLevel::kFatal);
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto front = SnapshotMessageBytes(body);
  if (!front.has_value() || !front->has_value()) return 0;
  auto message = DecodeSnapshotMessage(body.substr(0, **front));
  if (!message.has_value()) return 0;
  const raft::Index index = message->snapshot->metadata.index;
  const std::string_view content = body.substr(**front);

  Follower member;
  const bool taken =
      member.Receive(*std::move(message), content, (1 + std::size_t{data[0]}) * 64).has_value();
  Require(member.delivered == (taken ? 1 : 0));
  const auto names = member.files.List(kFolder).value();
  Require(names.size() == (taken ? 1U : 0U));
  if (taken) member.RequireUsable(names[0], index);
  return 0;
}
