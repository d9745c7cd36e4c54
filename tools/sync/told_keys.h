// The keys that the program of --exec has been run for and not yet for their deletion, in a file:
// the next start runs it for those that were deleted while nothing ran, or whose last run failed.
//
// A line with the prefix, then lines of +KEY and -KEY; prefix and keys in base64. A line is durable
// before the program makes anything of a new key, and behind its success for a deleted one. A torn
// last line is ignored. The file grows to twice the lines that it needs and is then written anew;
// mode 0600. One process at a time has it; one that another user may have written is refused.
//
// For one thread at a time. Memory: the keys.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file_system.h"

namespace kvorum::ctl {

class ToldKeys {
 public:
  // kFailedPrecondition: another process has the file, it is of another prefix, or it may be
  // somebody else's. kDataLoss: a line is damaged.
  static Result<std::unique_ptr<ToldKeys>> Open(const std::string& path, const std::string& prefix);

  const std::set<std::string, std::less<>>& keys() const { return keys_; }
  // Nothing is written for a key that is there, or is not there, already.
  Result<void> Add(const std::string& key);
  Result<void> Remove(const std::string& key);

 private:
  ToldKeys(std::string path, std::string prefix, std::unique_ptr<FileLock> lock)
      : path_(std::move(path)), prefix_(std::move(prefix)), lock_(std::move(lock)) {}
  Result<void> Read();
  Result<void> ReadLine(std::string_view line);
  Result<void> WriteAnew();
  Result<void> Append(char sign, const std::string& key);

  const std::string path_;
  const std::string prefix_;
  const std::unique_ptr<FileLock> lock_;
  std::set<std::string, std::less<>> keys_;
  std::unique_ptr<File> file_;
  std::uint64_t size_bytes_ = 0;
  std::size_t lines_ = 0;
};

}  // namespace kvorum::ctl
