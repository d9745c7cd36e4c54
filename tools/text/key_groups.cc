#include "tools/text/key_groups.h"

#include <utility>

#include "base/text/go_quote.h"

namespace kvorum::ctl {

std::vector<std::string_view> PathParts(std::string_view key, std::string_view separator) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  std::size_t from = 0;
  while (key.substr(from).starts_with(separator)) from += separator.size();
  while (true) {
    const std::size_t at = key.find(separator, from);
    if (at == std::string_view::npos) break;
    parts.push_back(key.substr(start, at + separator.size() - start));
    start = from = at + separator.size();
  }
  parts.push_back(key.substr(start));
  return parts;
}

std::string_view FolderOf(std::string_view key, std::string_view separator, std::size_t depth) {
  const auto parts = PathParts(key, separator);
  std::size_t size_bytes = 0;
  for (std::size_t i = 0; i + 1 < parts.size() && i < depth; ++i) size_bytes += parts[i].size();
  return key.substr(0, size_bytes);
}

std::string ShownKey(std::string_view key) {
  std::string quoted = GoQuote(key);
  const bool is_plain = !key.empty() && quoted.size() == key.size() + 2;
  return is_plain ? std::string(key) : quoted;
}

KeyTree::KeyTree(std::string separator, std::size_t depth, OnLine on_line)
    : separator_(std::move(separator)), depth_(depth), on_line_(std::move(on_line)) {}

void KeyTree::Add(std::string_view key) {
  ++keys_;
  const auto parts = PathParts(key, separator_);
  const std::size_t folders = parts.size() - 1;
  const bool is_counted = depth_ > 0 && folders >= depth_;
  // The last folder drawn for a key that is counted is drawn with its count.
  const std::size_t drawn = is_counted ? depth_ - 1 : folders;
  if (is_counted && counted_keys_ > 0 && counted_ == FolderOf(key, separator_, depth_)) {
    ++counted_keys_;
    return;
  }
  Finish();
  std::size_t same = 0;
  while (same < drawn && same < open_.size() && open_[same] == parts[same]) ++same;
  open_.resize(same);
  for (std::size_t level = same; level < drawn; ++level) {
    on_line_({.level = level, .name = parts[level], .is_folder = true});
    open_.emplace_back(parts[level]);
    ++folders_;
  }
  if (is_counted) {
    counted_ = FolderOf(key, separator_, depth_);
    counted_keys_ = 1;
  } else {
    on_line_({.level = folders, .name = parts.back()});
  }
}

void KeyTree::Finish() {
  if (counted_keys_ == 0) return;
  const auto parts = PathParts(counted_, separator_);
  on_line_({.level = depth_ - 1,
            .name = parts[depth_ - 1],
            .is_folder = true,
            .keys = std::exchange(counted_keys_, 0)});
  ++folders_;
}

}  // namespace kvorum::ctl
