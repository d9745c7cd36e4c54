// One write transaction of an LMDB file, in terms of tree keys. Aborted unless committed. Used on
// one thread. Its calls return LMDB's codes, 0 for success: only the caller knows how to handle a
// full map.
#pragma once

#include <lmdb.h>

#include <string_view>
#include <utility>

#include "mvcc/lmdb/backend_lmdb_environment.h"
#include "mvcc/records/revision.h"

namespace kvorum::mvcc {

class LmdbWrite {
 public:
  LmdbWrite() = default;
  LmdbWrite(const LmdbWrite&) = delete;
  LmdbWrite& operator=(const LmdbWrite&) = delete;
  ~LmdbWrite();

  int Begin(LmdbEnvironment& environment);
  // The key must be after all others of the tree, else MDB_KEYEXIST.
  int Append(std::string_view tree_key, std::string_view value);
  int Put(std::string_view tree_key, std::string_view value);
  // The same with a value that is already sealed.
  int AppendSealed(std::string_view tree_key, std::string_view stored);
  int PutSealed(std::string_view tree_key, std::string_view stored);
  // Removing a missing key is fine.
  int Remove(std::string_view tree_key);
  int RemoveRevision(Revision revision);
  // Ends the transaction.
  int Commit();

 private:
  int PutWith(std::string_view tree_key, std::string_view value, unsigned flags);

  MDB_txn* transaction_ = nullptr;
  MDB_cursor* cursor_ = nullptr;
};

}  // namespace kvorum::mvcc
