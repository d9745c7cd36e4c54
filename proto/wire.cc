#include "proto/wire.h"

#include <array>

namespace kvorum::wire {

void Reader::Skip() {
  switch (type_) {
    case Type::kVarint:
      ReadVarint();
      return;
    case Type::kFixed64:
      ReadFixed<std::uint64_t>();
      return;
    case Type::kFixed32:
      ReadFixed<std::uint32_t>();
      return;
    case Type::kLengthDelimited:
      ReadLengthDelimited();
      return;
    case Type::kStartGroup:
      SkipGroup();
      return;
    case Type::kEndGroup:  // an end without a start
      Stop();
      return;
  }
}

void Reader::SkipGroup() {
  // Nested groups are tracked here instead of by recursion: the depth comes from outside.
  std::array<std::uint32_t, 32> open_groups;
  std::size_t depth = 0;
  open_groups[depth++] = field_;
  while (depth > 0) {
    if (!Next()) {
      Stop();
      return;
    }
    if (type_ == Type::kStartGroup) {
      if (depth == open_groups.size()) {
        Stop();
        return;
      }
      open_groups[depth++] = field_;
    } else if (type_ == Type::kEndGroup) {
      if (open_groups[--depth] != field_) {
        Stop();
        return;
      }
    } else {
      Skip();
    }
  }
}

}  // namespace kvorum::wire
