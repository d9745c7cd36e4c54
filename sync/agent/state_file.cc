#include "sync/agent/state_file.h"

#include <utility>

#include "base/file_system.h"
#include "base/own_file.h"

namespace kvorum::sync {
namespace {

// Far above what any list of services needs, so that a wrong file is not read into memory.
constexpr std::uint64_t kMaxStateBytes = std::uint64_t{1} << 30U;

}  // namespace

class StateFile::Lock {
 public:
  explicit Lock(std::unique_ptr<FileLock> lock) : lock_(std::move(lock)) {}

 private:
  std::unique_ptr<FileLock> lock_;
};

Result<std::unique_ptr<StateFile>> StateFile::Open(const std::string& path) {
  for (const std::string& name : {path, path + ".lock"}) KV_RETURN_IF_ERROR(CheckOwnFileAt(name));
  KV_TRY(std::unique_ptr<FileLock> lock, OwnFileSystem().Lock(path + ".lock"));
  return std::unique_ptr<StateFile>(new StateFile(path, std::make_unique<Lock>(std::move(lock))));
}

StateFile::StateFile(std::string path, std::unique_ptr<Lock> lock)
    : path_(std::move(path)), lock_(std::move(lock)), writer_("sync-state") {}

StateFile::~StateFile() { writer_.Stop(); }

Result<AgentState> StateFile::Load() const {
  const auto text = ReadWholeFile(OwnFileSystem(), path_, kMaxStateBytes);
  if (!text && text.error().code == Code::kNotFound) return AgentState{};
  if (!text) return std::unexpected(text.error());
  auto state = DecodeState(*text);
  if (!state) return Fail(state.error().code, path_ + ": " + state.error().message);
  return state;
}

void StateFile::Save(std::string state, std::move_only_function<void(Result<void>)> on_saved) {
  writer_.Post([this, state = std::move(state), on_saved = std::move(on_saved)]() mutable {
    on_saved(WriteFileAtomically(OwnFileSystem(), path_, state));
  });
}

}  // namespace kvorum::sync
