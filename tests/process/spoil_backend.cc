// Spoils the database of a member that is stopped, in ways that no checksum shows:
//   kvorum-spoil-backend FILE change KEY   the last byte of the key's newest value is another one
//   kvorum-spoil-backend FILE lose KEY     the record of the key's newest revision is gone
#include <lmdb.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "mvcc/lmdb/backend_lmdb_format.h"
#include "mvcc/records/key_value.h"

namespace {

using namespace kvorum::mvcc;

[[noreturn]] void Give(const char* what) {
  std::fprintf(stderr, "kvorum-spoil-backend: %s\n", what);
  std::exit(1);
}

void Must(int code) {
  if (code != MDB_SUCCESS) Give(mdb_strerror(code));
}

std::string_view View(const MDB_val& bytes) {
  return {static_cast<const char*>(bytes.mv_data), bytes.mv_size};
}

MDB_val Bytes(const std::string& text) {
  return {.mv_size = text.size(), .mv_data = const_cast<char*>(text.data())};
}

struct Record {
  std::string tree_key;
  std::string value;
};

std::optional<Record> NewestOf(MDB_txn* txn, MDB_dbi tree, std::string_view key) {
  MDB_cursor* cursor = nullptr;
  Must(mdb_cursor_open(txn, tree, &cursor));
  std::optional<Record> newest;
  MDB_val at{};
  MDB_val stored{};
  while (mdb_cursor_get(cursor, &at, &stored, MDB_NEXT) == MDB_SUCCESS) {
    if (View(at).front() != lmdb_format::kRevisionTag) continue;
    const auto value = lmdb_format::Unseal(View(at), View(stored));
    if (!value.has_value()) Give("a record is spoiled already");
    const auto kv = DecodeKeyValue(*value);
    if (kv.has_value() && kv->key == key)
      newest = Record{.tree_key = std::string(View(at)), .value = std::string(*value)};
  }
  mdb_cursor_close(cursor);
  return newest;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) Give("FILE change|lose KEY");
  const std::string_view how = argv[2];
  MDB_env* env = nullptr;
  Must(mdb_env_create(&env));
  Must(mdb_env_set_mapsize(env, std::size_t{1} << 30));
  Must(mdb_env_open(env, argv[1], MDB_NOSUBDIR, 0600));
  MDB_txn* txn = nullptr;
  Must(mdb_txn_begin(env, nullptr, 0, &txn));
  MDB_dbi tree = 0;
  Must(mdb_dbi_open(txn, nullptr, 0, &tree));
  std::optional<Record> record = NewestOf(txn, tree, argv[3]);
  if (!record.has_value()) Give("no such key");
  MDB_val at = Bytes(record->tree_key);
  if (how == "lose") {
    Must(mdb_del(txn, tree, &at, nullptr));
  } else if (how == "change") {
    record->value.back() = static_cast<char>(record->value.back() ^ 1);
    std::string sealed(record->value.size() + lmdb_format::kChecksumSizeBytes, '\0');
    lmdb_format::Seal(record->tree_key, record->value, sealed.data());
    MDB_val stored = Bytes(sealed);
    Must(mdb_put(txn, tree, &at, &stored, 0));
  } else {
    Give("FILE change|lose KEY");
  }
  Must(mdb_txn_commit(txn));
  mdb_env_close(env);
  return 0;
}
