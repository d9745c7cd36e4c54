// Objects as files below a folder, which members on several machines may share (NFS).
//
// A Put writes a file in `.tmp` below the folder, makes it durable and renames it, with if_absent
// only to a name that is free: at each moment a key has a whole object or none. `.tmp` has names of
// <unix ms>-<16 hex digits>; one that a crash left is removed when a store is opened a day later.
// Files have mode 0600 and folders 0700. Symbolic links below the folder are not followed: such a
// name is an error for Put and Get, and List passes it over. Names that begin with a dot are never
// objects. A folder that loses its last object is removed, but for the store's own.
//
// Objects have no versions here. Used by one thread at a time (object_store.h). List holds the
// names of one folder and of those around it.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>

#include "archive/store/object_store.h"
#include "archive/store/stop_signal.h"
#include "base/clock.h"
#include "base/file_system.h"
#include "base/rng.h"

namespace kvorum::archive {

struct FolderOptions {
  // Without a slash at its end.
  std::string folder;
  // Nothing is written, made durable or tidied up: for a folder on which only reading is allowed.
  bool read_only = false;
  // For the names of temporary files.
  std::uint64_t seed = EntropySeed();
};

class FolderStore final : public ObjectStore {
 public:
  // Makes the folder if it is missing, unless read_only.
  static StoreResult<std::unique_ptr<FolderStore>> Open(FileSystem& files, const Clock& clock,
                                                        const StopSignal& stop,
                                                        FolderOptions options);

  StoreResult<void> Put(const std::string& key, std::string_view bytes,
                        const PutOptions& options) override;
  StoreResult<ObjectInfo> Get(const std::string& key, const GetOptions& options,
                              const PieceSink& sink) override;
  StoreResult<ObjectInfo> Head(const std::string& key) override;
  StoreResult<void> List(const ListOptions& options, const ListSink& sink) override;
  StoreResult<std::vector<DeleteFailure>> Delete(std::span<const std::string> keys) override;
  void RenewConnection() override {}
  const std::string& name() const override { return name_; }

 private:
  FolderStore(FileSystem& files, const Clock& clock, const StopSignal& stop, FolderOptions options);

  std::string PathOf(const std::string& key) const { return options_.folder + "/" + key; }
  StoreResult<void> CheckCall(const std::string& key) const;
  StoreResult<void> CheckWrite() const;
  StoreResult<void> MakeFolder(const std::string& path);
  StoreResult<void> MakeFoldersOf(const std::string& key);
  StoreResult<void> CheckFoldersOf(const std::string& key);
  StoreResult<FileSystem::Status> LookAt(const std::string& key);
  StoreResult<std::string> WriteTemporary(std::string_view bytes);
  StoreResult<void> GiveName(const std::string& temporary, const std::string& key, bool if_absent);
  StoreResult<bool> ListFolder(const std::string& relative, const ListOptions& options,
                               const ListSink& sink);
  StoreResult<void> DeleteOne(const std::string& key);
  void RemoveLeftOvers();

  FileSystem& files_;
  const Clock& clock_;
  const StopSignal& stop_;
  const FolderOptions options_;
  const std::string name_;
  Rng rng_;
  // Folders whose names this store has made durable: at most kMaxFoldersKnown.
  std::set<std::string> durable_folders_;
};

}  // namespace kvorum::archive
