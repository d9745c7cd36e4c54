// The differences between two ordered lists of keys, found in one walk over both.
#pragma once

#include <functional>

#include "base/error.h"
#include "proto/kv.pb.h"

namespace kvorum::ctl {

// Goes on to the next key, which is valid until the next call; null after the last.
using NextKey = std::function<Result<const mvccpb::KeyValue*>()>;

// One of them is null if the key is on the other side only.
using OnDifference =
    std::function<void(const mvccpb::KeyValue* left, const mvccpb::KeyValue* right)>;

// Keys and values count; revisions, versions and leases do not.
Result<void> CompareKeys(const NextKey& next_left, const NextKey& next_right,
                         const OnDifference& on_difference);

}  // namespace kvorum::ctl
