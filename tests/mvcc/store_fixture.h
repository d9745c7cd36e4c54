// A store over the in-memory backend (or LMDB in a separate directory), whose executors the test
// runs by hand; with verbs for one-line tests. One entry is one batch unless a test says otherwise.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/api_errors.h"
#include "base/log/logging.h"
#include "mvcc/records/key_value.h"
#include "mvcc/store/store.h"
#include "tests/disk/memory_backend.h"
#include "tests/disk/sim_file_system.h"
#include "tests/mvcc/manual_executor.h"
#include "tests/mvcc/store_requests.h"

namespace kvorum::mvcc {

// Expects a value and returns it.
template <class T>
T Ok(Result<T> result) {
  if (!result.has_value()) {
    ADD_FAILURE() << "error: " << result.error().message;
    std::abort();
  }
  return *std::move(result);
}
inline void Ok(const Result<void>& result) {
  if (!result.has_value()) ADD_FAILURE() << "error: " << result.error().message;
}
template <class T>
testing::AssertionResult FailsWith(const Result<T>& result, const ApiError& error) {
  if (result.has_value()) return testing::AssertionFailure() << "no error";
  if (result.error() == error) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "error: " << result.error().message;
}

// key=value, with create/mod/version and the lease behind: "a=1 c2 m3 v2 l7".
inline std::string Show(std::string_view encoded) {
  const KeyValue kv = Ok(DecodeKeyValue(encoded));
  std::string text(kv.key);
  text.append("=").append(kv.value);
  text.append(" c").append(std::to_string(kv.create_revision));
  text.append(" m").append(std::to_string(kv.mod_revision));
  text.append(" v").append(std::to_string(kv.version));
  if (kv.lease != 0) text.append(" l").append(std::to_string(kv.lease));
  return text;
}
inline std::vector<std::string> Show(const RowBuffer& rows) {
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < rows.size(); ++i) shown.push_back(Show(rows[i]));
  return shown;
}
inline std::vector<std::string> KeysOf(const RowBuffer& rows) {
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    keys.emplace_back(Ok(DecodeKeyValue(rows[i])).key);
  }
  return keys;
}

class FakeLeases final : public LeaseChecker {
 public:
  bool LeaseExists(std::int64_t lease) const override { return leases.contains(lease); }
  std::set<std::int64_t> leases;
};

class StoreHarness {
 public:
  enum class Kind { kMemory, kLmdb };

  explicit StoreHarness(Kind kind = Kind::kMemory) : kind_(kind) {
    SetLogLevel(LogLevel::kWarn);
    options.leases = &leases;
    options.commit.on_fatal = [](const Error& error) { FAIL() << "fatal: " << error.message; };
    options.commit.on_durable = [this](std::uint64_t index) { durable_index = index; };
    if (kind_ == Kind::kLmdb) {
      folder_ = std::filesystem::temp_directory_path() / "kvorum-store-XXXXXX";
      std::string name = folder_.string();
      if (::mkdtemp(name.data()) == nullptr) std::abort();
      folder_ = name;
    } else {
      Ok(files.MakeDirectories("/data"));
      Ok(files.SyncDirectory("/"));
    }
    Open();
  }
  ~StoreHarness() {
    store.reset();
    if (kind_ == Kind::kLmdb) std::filesystem::remove_all(folder_);
  }

  void Open() {
    std::unique_ptr<Backend> opened = OpenBackend();
    backend = opened.get();
    store = Ok(Store::Open(options, std::move(opened), Executors()));
  }
  Result<std::unique_ptr<Store>> TryOpen() {
    return Store::Open(options, OpenBackend(), Executors());
  }
  // Durable data is there again; everything else is lost.
  void Reopen() {
    store.reset();
    executors = std::make_unique<ManualExecutors>();
    Open();
    index = store->recovered().consistent_index;
  }
  std::unique_ptr<Backend> OpenBackend() { return Ok(Opener()(DatabasePath())); }
  std::string DatabasePath() const {
    return kind_ == Kind::kMemory ? "/data/db" : (folder_ / "db").string();
  }
  BackendOpener Opener() {
    return [this](const std::string& path) -> Result<std::unique_ptr<Backend>> {
      if (kind_ == Kind::kMemory) return OpenMemoryBackend(files, path);
      return OpenLmdbBackend({.path = path, .map_size_bytes = std::uint64_t{4} << 30});
    };
  }
  StoreExecutors Executors() {
    return {.apply = executors->apply, .backend = executors->backend, .copier = executors->copier};
  }

  // ---- entries ----
  void Publish() { store->Publish(++index, 1); }
  Result<PutResult> TryPut(const PutRequest& request) {
    WriteTxn txn = store->Begin();
    Result<PutResult> result = txn.Put(request);
    txn.End();
    Publish();
    return result;
  }
  PutResult Put(const PutRequest& request) { return Ok(TryPut(request)); }
  PutResult Put(std::string_view key, std::string_view value, std::int64_t lease = 0) {
    return Put(mvcc::Put(key, value, lease));
  }
  DeleteRangeResult Delete(const DeleteRangeRequest& request) {
    WriteTxn txn = store->Begin();
    DeleteRangeResult result = Ok(txn.DeleteRange(request));
    txn.End();
    Publish();
    return result;
  }
  DeleteRangeResult Delete(std::string_view key, std::string_view end = {}) {
    return Delete(mvcc::Delete(key, end));
  }
  Result<TxnResult> TryTxn(const TxnRequest& request) {
    WriteTxn txn = store->Begin();
    Result<TxnResult> result = txn.ExecuteTxn(request);
    txn.End();
    Publish();
    return result;
  }
  TxnResult Txn(const TxnRequest& request) { return Ok(TryTxn(request)); }
  // Schedules; the work is done by Settle.
  Result<void> TryCompact(std::int64_t revision) {
    Result<void> result = store->Compact(revision, [this] { ++compactions_finished; });
    Publish();
    return result;
  }
  void Compact(std::int64_t revision) { Ok(TryCompact(revision)); }
  // Everything durable, compactions done.
  void Settle() { executors->RunAll(); }

  // ---- reading ----
  Result<RangeResult> TryRange(const RangeRequest& request) {
    return Ok(store->Read()).Range(request);
  }
  RangeResult Range(const RangeRequest& request) { return Ok(TryRange(request)); }
  std::vector<std::string> Rows(const RangeRequest& request) { return Show(Range(request).rows); }
  std::vector<std::string> Keys(const RangeRequest& request) { return KeysOf(Range(request).rows); }
  std::int64_t revision() const { return store->revision(); }

  SimFileSystem files;
  FakeLeases leases;
  StoreOptions options;
  std::unique_ptr<ManualExecutors> executors = std::make_unique<ManualExecutors>();
  std::unique_ptr<Store> store;
  Backend* backend = nullptr;  // the store's
  std::uint64_t index = 0;
  std::uint64_t durable_index = 0;
  int compactions_finished = 0;

 private:
  const Kind kind_;
  std::filesystem::path folder_;
};

class StoreTest : public testing::Test, public StoreHarness {};

}  // namespace kvorum::mvcc
