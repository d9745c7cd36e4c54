#include "proto/wire.h"

#include <vector>

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
  std::vector<std::uint32_t> open_groups{field_};
  while (!open_groups.empty()) {
    if (!Next()) {
      Stop();
      return;
    }
    if (type_ == Type::kStartGroup) {
      if (open_groups.size() == kMaxGroupDepth) {
        Stop();
        return;
      }
      open_groups.push_back(field_);
    } else if (type_ == Type::kEndGroup) {
      if (open_groups.back() != field_) {
        Stop();
        return;
      }
      open_groups.pop_back();
    } else {
      Skip();
    }
  }
}

}  // namespace kvorum::wire
