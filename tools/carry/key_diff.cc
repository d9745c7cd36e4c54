#include "tools/carry/key_diff.h"

namespace kvorum::ctl {

Result<void> CompareKeys(const NextKey& next_left, const NextKey& next_right,
                         const OnDifference& on_difference) {
  KV_TRY(const mvccpb::KeyValue* left, next_left());
  KV_TRY(const mvccpb::KeyValue* right, next_right());
  while (left != nullptr || right != nullptr) {
    const bool left_first = right == nullptr || (left != nullptr && left->key() < right->key());
    const bool right_first = left == nullptr || (right != nullptr && right->key() < left->key());
    if (left_first)
      on_difference(left, nullptr);
    else if (right_first)
      on_difference(nullptr, right);
    else if (left->value() != right->value())
      on_difference(left, right);
    if (!right_first) {
      KV_TRY(left, next_left());
    }
    if (!left_first) {
      KV_TRY(right, next_right());
    }
  }
  return {};
}

}  // namespace kvorum::ctl
