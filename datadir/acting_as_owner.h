// Root that works on a directory of another user's has only that user's rights meanwhile. So it
// does nothing that the user could not do, even if the directory holds links, and what it makes is
// the user's, whose server starts from it.
//
// The rights are the whole process's: one thread takes and returns them, and no other one works
// with files that it opens by name. Objects end in the reverse order of their beginning.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"

namespace kvorum::datadir {

class ActingAsOwner {
 public:
  // Acts as the owner of member/snap, of member or of the directory itself: the first of them that
  // exists and is not root's. If there is none, or this process is not root's, nothing changes.
  // kPermissionDenied if root may not do this here.
  static Result<ActingAsOwner> OfMember(const std::string& data_dir);
  // The owner of the folder, or where that is missing, of the nearest one above it.
  static Result<ActingAsOwner> OfFolder(const std::string& folder);
  ActingAsOwner(ActingAsOwner&& other) noexcept;
  ActingAsOwner& operator=(ActingAsOwner&&) = delete;
  ~ActingAsOwner();

  // A path of the folder, which need not exist, by which the owner reaches it. It is another one,
  // good while this object lives, if a folder above is closed to the owner: as in a copy in a
  // folder of root's.
  std::string Reach(const std::string& folder);

  // Makes what is missing of the path and gives it to the owner, if only root may make folders
  // there. Goes through no link. Where it makes nothing, the owner may be able to do it.
  Result<void> MakeFolders(const std::string& path);
  // Takes back what MakeFolders has made, as far as it is empty.
  void RemoveMadeFolders();

  // With the folders' own names in place of those of Reach. An error of missing rights tells whose
  // rights they are.
  std::string Named(std::string text) const;
  Error Named(Error error) const;

 private:
  class Rights;
  explicit ActingAsOwner(std::unique_ptr<Rights> rights);
  static Result<ActingAsOwner> OfFirst(const std::vector<std::string>& paths);

  std::unique_ptr<Rights> rights_;  // null: the process has kept its own
};

}  // namespace kvorum::datadir
