// Keys as paths: the parts of a key between separators.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kvorum::ctl {

// The folders of a key, each with its separator, and the name behind the last one, which may be
// empty: "/registry/pods/a" has /registry/, pods/ and a. Separators at the start belong to the
// first part. The separator is not empty.
std::vector<std::string_view> PathParts(std::string_view key, std::string_view separator);

// The first `depth` folders of the key, or all of them if there are fewer.
std::string_view FolderOf(std::string_view key, std::string_view separator, std::size_t depth);

// A key or a name for a person: as it is if it is printable, quoted otherwise.
std::string ShownKey(std::string_view key);

// Draws keys, which come in their order, as an indented tree, line by line as soon as each is
// known. Folders below the depth are counted, not drawn. Memory: one key. Used by one thread.
class KeyTree {
 public:
  struct Line {
    std::size_t level = 0;  // 0: a folder or key at the top
    std::string_view name;  // a part of a key
    bool is_folder = false;
    std::size_t keys = 0;  // of a folder whose keys are only counted; else 0
  };
  using OnLine = std::function<void(const Line& line)>;
  // Depth 0: no limit.
  KeyTree(std::string separator, std::size_t depth, OnLine on_line);

  void Add(std::string_view key);
  // Draws what is still counted; to be called once, at the end.
  void Finish();

  std::size_t folders() const { return folders_; }
  std::size_t keys() const { return keys_; }

 private:
  const std::string separator_;
  const std::size_t depth_;
  const OnLine on_line_;
  std::vector<std::string> open_;  // the folders drawn last, from the top
  std::string counted_;            // the folder whose keys are counted
  std::size_t counted_keys_ = 0;
  std::size_t folders_ = 0;
  std::size_t keys_ = 0;
};

}  // namespace kvorum::ctl
