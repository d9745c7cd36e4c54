#include "mvcc/lmdb/backend_lmdb_write.h"

#include "mvcc/lmdb/backend_lmdb_format.h"

namespace kvorum::mvcc {

using lmdb_format::TreeKey;

// Ending a write transaction also closes its cursor.
LmdbWrite::~LmdbWrite() {
  if (transaction_ != nullptr) mdb_txn_abort(transaction_);
}

int LmdbWrite::Begin(LmdbEnvironment& environment) {
  if (const int code = mdb_txn_begin(environment.env(), nullptr, 0, &transaction_); code != 0) {
    return code;
  }
  return mdb_cursor_open(transaction_, kLmdbTree, &cursor_);
}

int LmdbWrite::PutWith(std::string_view tree_key, std::string_view value, unsigned flags) {
  MDB_val key = ToLmdb(tree_key);
  MDB_val stored{value.size() + lmdb_format::kChecksumSizeBytes, nullptr};
  const int code = mdb_cursor_put(cursor_, &key, &stored, flags | MDB_RESERVE);
  if (code == 0) lmdb_format::Seal(tree_key, value, static_cast<char*>(stored.mv_data));
  return code;
}

int LmdbWrite::Append(std::string_view tree_key, std::string_view value) {
  return PutWith(tree_key, value, MDB_APPEND);
}

int LmdbWrite::Put(std::string_view tree_key, std::string_view value) {
  return PutWith(tree_key, value, 0);
}

int LmdbWrite::AppendSealed(std::string_view tree_key, std::string_view stored) {
  MDB_val key = ToLmdb(tree_key);
  MDB_val value = ToLmdb(stored);
  return mdb_cursor_put(cursor_, &key, &value, MDB_APPEND);
}

int LmdbWrite::PutSealed(std::string_view tree_key, std::string_view stored) {
  MDB_val key = ToLmdb(tree_key);
  MDB_val value = ToLmdb(stored);
  return mdb_cursor_put(cursor_, &key, &value, 0);
}

int LmdbWrite::Remove(std::string_view tree_key) {
  MDB_val key = ToLmdb(tree_key);
  const int code = mdb_del(transaction_, kLmdbTree, &key, nullptr);
  return code == MDB_NOTFOUND ? 0 : code;
}

int LmdbWrite::RemoveRevision(Revision revision) {
  const RevisionKey revision_key(revision);
  const TreeKey tree_key(Bucket::kKey, revision_key.view());
  MDB_val found = ToLmdb(tree_key.view());
  MDB_val stored;
  // The record's key is this one, or this one followed by the tombstone's mark.
  const int code = mdb_cursor_get(cursor_, &found, &stored, MDB_SET_RANGE);
  if (code == MDB_NOTFOUND) return 0;
  if (code != 0 || !FromLmdb(found).starts_with(tree_key.view())) return code;
  return mdb_cursor_del(cursor_, 0);
}

int LmdbWrite::Commit() { return mdb_txn_commit(std::exchange(transaction_, nullptr)); }

}  // namespace kvorum::mvcc
