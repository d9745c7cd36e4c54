#include "datadir/acting_as_owner.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/openat2.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/check.h"
#include "base/file_descriptor.h"
#include "base/file_system.h"

namespace kvorum::datadir {
namespace {

constexpr uid_t kRoot = 0;
// A folder that was given to a user alone has root's group still, which the user is not in.
constexpr gid_t kNoGroup = 65534;

FileDescriptor OpenFolder(int at, const std::string& name, int flags) {
  return FileDescriptor(::openat(at, name.c_str(), flags | O_DIRECTORY | O_CLOEXEC));
}

FileDescriptor OpenWithoutLinks(const std::string& path) {
  open_how how{};
  how.flags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  how.resolve = RESOLVE_NO_SYMLINKS;
  return FileDescriptor(
      static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof how)));
}

std::unexpected<Error> Failed(const std::string& what, int error) {
  const Code code = error == EPERM || error == EACCES ? Code::kPermissionDenied : Code::kUnknown;
  return Fail(code, what + ": " + ErrnoText(error));
}

bool IsThere(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0;
}

// The path's part that is there, and the names that are missing behind it.
struct SplitPath {
  std::string there;
  std::vector<std::string> missing;
};
SplitPath Split(std::string path) {
  std::vector<std::string> missing;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  while (!IsThere(path) && path != "." && path != "/") {
    missing.insert(missing.begin(), path.substr(path.rfind('/') + 1));
    path = ParentDirectory(path);
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  }
  return {.there = std::move(path), .missing = std::move(missing)};
}

void ReplaceAll(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

}  // namespace

class ActingAsOwner::Rights {
 public:
  Rights(uid_t user, gid_t group) : user_(user), group_(group == 0 ? kNoGroup : group) {}
  ~Rights() {
    if (!taken_) return;
    KV_CHECK(::seteuid(kRoot) == 0 && ::setegid(own_group_) == 0 &&
                 ::setgroups(own_groups_.size(), own_groups_.data()) == 0,
             "root does not get its rights back");
    ::prctl(PR_SET_DUMPABLE, dumpable_);
  }
  Rights(const Rights&) = delete;
  Rights& operator=(const Rights&) = delete;

  Result<void> Take() {
    dumpable_ = ::prctl(PR_GET_DUMPABLE);
    own_group_ = ::getegid();
    const int count = ::getgroups(0, nullptr);
    own_groups_.resize(static_cast<std::size_t>(count < 0 ? 0 : count));
    if (count < 0 || ::getgroups(count, own_groups_.data()) < 0)
      return Failed("read the groups of this process", errno);
    // The destructor undoes every change.
    if (::setgroups(0, nullptr) != 0) return Failed("act as " + Who(), errno);
    taken_ = true;
    if (::setegid(group_) != 0 || ::seteuid(user_) != 0) return Failed("act as " + Who(), errno);
    return {};
  }

  std::string Who() const { return "user " + std::to_string(user_); }

  std::string Reach(const std::string& folder) {
    SplitPath path;
    FileDescriptor opened(-1);
    {
      const AsRoot root(*this);
      path = Split(folder);
      opened = OpenFolder(AT_FDCWD, path.there, O_PATH);
    }
    struct stat status{};
    if (OpenFolder(AT_FDCWD, path.there, O_PATH).get() >= 0 || opened.get() < 0 ||
        ::fstat(opened.get(), &status) != 0 || status.st_uid != user_)
      return folder;
    std::string alias = "/proc/self/fd/" + std::to_string(opened.get());
    aliases_.push_back(
        {.descriptor = std::move(opened), .alias = alias, .name = std::move(path.there)});
    for (const std::string& name : path.missing) alias.append("/").append(name);
    return alias;
  }

  Result<void> MakeFolders(const std::string& path) {
    const AsRoot root(*this);
    const auto [there, missing] = Split(path);
    FileDescriptor at = OpenWithoutLinks(there);
    struct stat status{};
    if (at.get() < 0 || ::fstat(at.get(), &status) != 0 || status.st_uid != kRoot ||
        (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
      return {};
    // The next folder is made while the last one is root's: no other user can change its content.
    std::vector<FileDescriptor> folders;
    for (const std::string& name : missing) {
      if (name == "." || name == "..") return {};
      if (::mkdirat(at.get(), name.c_str(), S_IRWXU) != 0) return Failed("make " + path, errno);
      FileDescriptor made = OpenFolder(at.get(), name, O_RDONLY | O_NOFOLLOW);
      if (made.get() < 0) return Failed("open " + path, errno);
      made_.push_back({.parent = std::move(at), .name = name});
      at = FileDescriptor(::fcntl(made.get(), F_DUPFD_CLOEXEC, 0));
      folders.push_back(std::move(made));
    }
    for (const FileDescriptor& folder : folders) {
      if (::fchown(folder.get(), user_, group_) != 0) return Failed("give " + path, errno);
    }
    return {};
  }

  void RemoveMadeFolders() {
    const AsRoot root(*this);
    for (; !made_.empty(); made_.pop_back())
      ::unlinkat(made_.back().parent.get(), made_.back().name.c_str(), AT_REMOVEDIR);
  }

  std::string Named(std::string text) const {
    for (const Alias& each : aliases_) ReplaceAll(text, each.alias, each.name);
    return text;
  }

 private:
  class AsRoot {
   public:
    explicit AsRoot(const Rights& rights) : rights_(rights) {
      KV_CHECK(::seteuid(kRoot) == 0, "root does not get its rights back");
    }
    ~AsRoot() { KV_CHECK(::seteuid(rights_.user_) == 0, "root does not give its rights up"); }
    AsRoot(const AsRoot&) = delete;
    AsRoot& operator=(const AsRoot&) = delete;

   private:
    const Rights& rights_;
  };
  struct Alias {
    FileDescriptor descriptor;
    std::string alias;
    std::string name;
  };
  struct MadeFolder {
    FileDescriptor parent;
    std::string name;
  };

  const uid_t user_;
  const gid_t group_;
  gid_t own_group_ = 0;
  std::vector<gid_t> own_groups_;
  // The kernel takes it away from a process that changes its user.
  int dumpable_ = 1;
  bool taken_ = false;
  std::vector<Alias> aliases_;
  std::vector<MadeFolder> made_;
};

ActingAsOwner::ActingAsOwner(std::unique_ptr<Rights> rights) : rights_(std::move(rights)) {}
ActingAsOwner::ActingAsOwner(ActingAsOwner&& other) noexcept = default;
ActingAsOwner::~ActingAsOwner() = default;

Result<ActingAsOwner> ActingAsOwner::OfFirst(const std::vector<std::string>& paths) {
  if (::geteuid() != kRoot) return ActingAsOwner(nullptr);
  for (const std::string& path : paths) {
    struct stat status{};
    if (::stat(path.c_str(), &status) != 0 || status.st_uid == kRoot) continue;
    auto rights = std::make_unique<Rights>(status.st_uid, status.st_gid);
    KV_RETURN_IF_ERROR(rights->Take());
    return ActingAsOwner(std::move(rights));
  }
  return ActingAsOwner(nullptr);
}

Result<ActingAsOwner> ActingAsOwner::OfMember(const std::string& data_dir) {
  return OfFirst({data_dir + "/member/snap", data_dir + "/member", data_dir});
}

Result<ActingAsOwner> ActingAsOwner::OfFolder(const std::string& folder) {
  return OfFirst({Split(folder).there});
}

std::string ActingAsOwner::Reach(const std::string& folder) {
  return rights_ == nullptr || folder.empty() ? folder : rights_->Reach(folder);
}

Result<void> ActingAsOwner::MakeFolders(const std::string& path) {
  return rights_ == nullptr ? Result<void>() : rights_->MakeFolders(path);
}

void ActingAsOwner::RemoveMadeFolders() {
  if (rights_ != nullptr) rights_->RemoveMadeFolders();
}

std::string ActingAsOwner::Named(std::string text) const {
  return rights_ == nullptr ? text : rights_->Named(std::move(text));
}

Error ActingAsOwner::Named(Error error) const {
  if (rights_ == nullptr) return error;
  error.message = rights_->Named(std::move(error.message));
  if (error.code == Code::kPermissionDenied)
    error.message += "; root works there with the rights of " + rights_->Who() + ", the owner";
  return error;
}

}  // namespace kvorum::datadir
