// The keys of a mirror as a tree of files: a key that has keys below it (a, beside a/b) is a
// folder, and has no file until they are gone. So what is a file follows from the keys
// alone, and not from the order in which they came.
//
// For one thread. Cost: O(depth · log n), and a key's path in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace kvorum::ctl {

class MirrorTree {
 public:
  struct Added {
    bool is_file = false;                    // nothing is below it
    std::optional<std::string> hidden = {};  // a file until now, which has become a folder
  };
  Added Put(const std::string& path, std::int64_t mod_revision);

  struct Removed {
    bool was_file = false;
    std::optional<std::string> shown = {};  // a folder until now, whose key is to be a file
  };
  Removed Erase(const std::string& path);

  bool IsFile(std::string_view path) const;
  // The mod revision of the key's value; 0: there is no such key.
  std::int64_t revision(std::string_view path) const;
  std::size_t size() const { return keys_.size(); }

 private:
  bool HasKeysBelow(std::string_view path) const;
  // The nearest key above.
  std::optional<std::string> KeyAbove(std::string_view path) const;

  std::map<std::string, std::int64_t, std::less<>> keys_;
};

}  // namespace kvorum::ctl
