// The folder that a mirror keeps: files that appear whole or not at all, and nothing that is not
// the mirror's.
//
// A batch is written beside the files (in .kvorum-mirror), is made durable with one sync, and is
// then renamed into place, so that a power cut leaves of each file the old content or the new.
// Paths are walked part by part from the folder's descriptor and no symbolic link is followed, so
// that nothing outside is touched. .kvorum-mirror/files lists what was made, ahead of making it:
// a line with the prefix, and then +PATH or -PATH (mirror_path.h). A torn last line is ignored.
// The list's files are removed later, so its paths go through the rules for keys. A folder or list
// of another owner, or that others may write, is refused.
//
// A file at a key's path becomes the mirror's, even if another program made it; one elsewhere is
// never touched. One mirror at a time has a folder. For one thread; every call waits for the disk.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "rpc/tls/socket.h"
#include "tools/mirror/mirror_mark.h"

namespace kvorum::ctl {

struct FileChange {
  std::string path;                    // as MirrorPath gives it
  std::optional<std::string> content;  // nothing: the file is to go
};

class MirrorFolder {
 public:
  // Makes the folder if it is missing. kFailedPrecondition: another mirror has it, it mirrors
  // another prefix, or its list may be somebody else's. kDataLoss: a line of the list is damaged.
  static Result<std::unique_ptr<MirrorFolder>> Open(const std::string& folder,
                                                    const std::string& prefix);

  struct Failed {
    FileChange change;
    std::string why;
  };
  struct Outcome {
    std::vector<std::string> written;  // a file whose content is equal is not among them
    std::vector<std::string> removed;
    std::vector<Failed> failed;
  };
  // Files go before others come. A folder that is left empty goes as well.
  Outcome Apply(std::vector<FileChange> changes);

  const std::set<std::string, std::less<>>& files() const { return files_; }
  // Set whenever files are about to change. Thread-safe.
  MirrorMark& mark() { return mark_; }

 private:
  MirrorFolder(FileDescriptor root, FileDescriptor own, std::string prefix)
      : root_(std::move(root)), own_(std::move(own)), prefix_(std::move(prefix)) {}

  Result<void> ReadList();
  Result<void> WriteList();
  Result<void> AppendToList(const std::string& lines);
  // Returns the list's lines about those that are gone.
  std::string RemoveAll(std::vector<FileChange> removals, Outcome& outcome);
  bool HoldsEqual(const FileChange& change) const;
  // The folder that the path's file is in; makes what is missing, and lets files that are in the
  // way go if they are the mirror's.
  Result<FileDescriptor> MakeParent(std::string_view path);
  Result<FileDescriptor> FindParent(std::string_view path) const;
  // True if there was one.
  Result<bool> RemoveFile(const std::string& path);
  void RemoveEmptyFolders(std::string_view path) const;
  void RemoveStaged() const;
  Result<void> Stage(std::size_t number, const std::string& content) const;
  Result<void> Place(std::size_t number, const std::string& path);
  Result<void> SyncStaged(std::size_t count) const;

  const FileDescriptor root_;  // locked
  const FileDescriptor own_;   // .kvorum-mirror
  const std::string prefix_;
  MirrorMark mark_;
  FileDescriptor list_;
  std::size_t list_lines_ = 0;
  bool is_list_whole_ = false;  // else its last line may be torn
  std::set<std::string, std::less<>> files_;
};

}  // namespace kvorum::ctl
