// Shared by the backend's tests: a disk and a way to open a backend on it for each implementation,
// batches that own their bytes, and a backend's content as a value.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "mvcc/lmdb/backend.h"
#include "tests/disk/memory_backend.h"
#include "tests/disk/sim_file_system.h"

namespace kvorum::mvcc {

// A separate directory that is removed at the end of the test.
class TestFolder {
 public:
  TestFolder() {
    // In memory where there is such a folder: these tests sync thousands of times.
    path_ = std::filesystem::exists("/dev/shm") ? "/dev/shm" : "/tmp";
    path_ += "/kvorum-XXXXXX";
    EXPECT_NE(::mkdtemp(path_.data()), nullptr);
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { Remove(); }
  void Remove() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

struct LmdbWorld {
  TestFolder folder;
  std::string path = folder / "db";
  Result<std::unique_ptr<Backend>> Open(CommitSync sync = CommitSync::kEachCommit) {
    return OpenLmdbBackend({.path = path, .sync = sync});
  }
  // For a process that ends without destructors: the process of a death test has a folder of its
  // own.
  void RemoveFiles() { folder.Remove(); }
};

struct MemoryWorld {
  SimFileSystem files;
  std::string path = "/data/db";
  MemoryWorld() {
    EXPECT_TRUE(files.MakeDirectories("/data").has_value());
    EXPECT_TRUE(files.SyncDirectory("/").has_value());
  }
  Result<std::unique_ptr<Backend>> Open(CommitSync sync = CommitSync::kEachCommit) {
    return OpenMemoryBackend(files, path, sync);
  }
  void RemoveFiles() {}
};

// The types of a test of each implementation.
using Worlds = ::testing::Types<LmdbWorld, MemoryWorld>;

// A batch with the bytes it borrows.
class OwnedBatch {
 public:
  OwnedBatch& Append(Revision revision, std::string value, bool tombstone = false) {
    values_.push_back(std::move(value));
    records_.push_back({revision, values_.back(), tombstone});
    return *this;
  }
  OwnedBatch& Delete(Revision revision) {
    batch_.deletions.push_back(revision);
    return *this;
  }
  OwnedBatch& Put(Bucket bucket, std::string_view key, std::string_view value) {
    batch_.changes.Put(bucket, key, value);
    return *this;
  }
  OwnedBatch& Remove(Bucket bucket, std::string_view key) {
    batch_.changes.Remove(bucket, key);
    return *this;
  }
  const WriteBatch& batch() {
    batch_.appends.assign(records_.empty() ? 0 : 1, records_);
    return batch_;
  }

 private:
  std::deque<std::string> values_;
  std::vector<RevisionRecord> records_;
  WriteBatch batch_;
};

inline void Commit(Backend& backend, OwnedBatch& batch) {
  const Result<void> done = backend.Commit(batch.batch());
  ASSERT_TRUE(done.has_value()) << done.error().message;
}
inline void Commit(Backend& backend, OwnedBatch&& batch) { Commit(backend, batch); }

// Every bucket's keys and values.
using Content = std::map<std::pair<Bucket, std::string>, std::string>;

inline Result<Content> ReadContent(Snapshot& snapshot) {
  Content content;
  for (std::size_t i = 0; i < kBucketNames.size(); ++i) {
    const auto bucket = static_cast<Bucket>(i);
    std::string last;
    KV_RETURN_IF_ERROR(
        snapshot.Scan(bucket, {}, {}, [&](std::string_view key, std::string_view value) {
          EXPECT_LT(last, key) << "scans go upwards";
          last = key;
          content[{bucket, std::string(key)}] = value;
          return true;
        }));
  }
  return content;
}

inline Content ContentOf(Backend& backend) {
  Result<Reader> reader = backend.NewReader();
  EXPECT_TRUE(reader.has_value());
  Result<Content> content = ReadContent(**reader);
  EXPECT_TRUE(content.has_value()) << content.error().message;
  return content.value_or(Content{});
}

// The same batch done to a Content.
inline void ApplyTo(Content& content, const WriteBatch& batch) {
  for (const auto records : batch.appends) {
    for (const RevisionRecord& record : records) {
      const RevisionKey key(record.revision, record.tombstone);
      content[{Bucket::kKey, std::string(key.view())}] = record.value;
    }
  }
  for (const Revision revision : batch.deletions) {
    content.erase({Bucket::kKey, std::string(RevisionKey(revision).view())});
    content.erase({Bucket::kKey, std::string(RevisionKey(revision, true).view())});
  }
  for (const auto& [key, value] : batch.changes.map()) {
    if (value.has_value()) {
      content[{key.bucket, key.key}] = *value;
    } else {
      content.erase({key.bucket, key.key});
    }
  }
}

inline Result<void> Defragment(Backend& backend) {
  KV_TRY(std::unique_ptr<DefragmentCopy> copy, backend.StartDefragment());
  KV_RETURN_IF_ERROR(copy->Copy());
  auto finished = backend.FinishDefragment(std::move(copy));
  if (!finished.has_value()) return Fail(finished.error().error);
  return {};
}

}  // namespace kvorum::mvcc
