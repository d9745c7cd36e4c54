// All keys with a prefix, values and metas, at one revision, in pages.
//
// Calls back on the work, once. Error: the store's, kDeadlineExceeded if a page takes longer than
// kHoldTimeout, or kResourceExhausted if there is more than an answer may have. Memory: the keys
// and values, and a page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "consul/kv/kv_form.h"
#include "consul/kv/work.h"
#include "sync/store/store.h"

namespace kvorum::consul {

// The bound of an answer, about as it is written.
inline constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 20U;

struct TreeRequest {
  std::string prefix = {};       // the key, if is_key
  bool is_key = false;           // the key alone
  bool keys_only = false;        // and the metas are not read
  bool is_serializable = false;  // any member answers
  std::int64_t revision = 0;     // 0: the newest
  std::size_t max_bytes = kMaxAnswerBytes;
};

struct Tree {
  std::int64_t revision = 0;
  std::vector<KvPair> pairs = {};  // in order of their keys
};

using OnTree = std::move_only_function<void(Result<Tree> tree)>;
void ReadTree(std::shared_ptr<sync::Store> store, const KvKeys& keys, const Work& work,
              TreeRequest request, OnTree on_tree);

// The pair's size in an answer, estimated.
std::size_t AnswerBytes(const KvPair& pair);

}  // namespace kvorum::consul
