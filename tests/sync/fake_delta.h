// Stands in for the store and for the wire in the control plane's tests.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sync/delta/control_plane.h"

namespace kvorum::sync {

// Types in memory. Counts what is read, and answers at once or, held, when it is let go.
class FakeTypes final : public TypeReader {
 public:
  void Put(const std::string& type, const std::string& name, std::string text) {
    types_[type][name] = std::make_shared<const std::string>(std::move(text));
  }
  void Remove(const std::string& type, const std::string& name) { types_[type].erase(name); }
  void Fail(const std::string& type, Error error) { errors_[type] = std::move(error); }
  void Recover() { errors_.clear(); }
  void Hold() { is_held_ = true; }
  void LetGo() {
    is_held_ = false;
    for (auto& [type, done] : std::exchange(waiting_, {})) Answer(type, std::move(done));
  }
  std::map<std::string, int> TakeReads() { return std::exchange(reads_, {}); }

  void Read(const std::string& type, Done done) override {
    ++reads_[type];
    if (is_held_) {
      waiting_.emplace_back(type, std::move(done));
    } else {
      Answer(type, std::move(done));
    }
  }

 private:
  void Answer(const std::string& type, Done done) {
    if (const auto error = errors_.find(type); error != errors_.end())
      return done(kvorum::Fail(error->second));
    done(types_[type]);
  }

  std::map<std::string, Objects> types_;
  std::map<std::string, Error> errors_;
  std::map<std::string, int> reads_;
  std::vector<std::pair<std::string, Done>> waiting_;
  bool is_held_ = false;
};

// FakeTypes of the one type "dp", for several threads.
class SharedTypes final : public TypeReader {
 public:
  void Put(const std::string& name, std::string text) {
    const std::lock_guard lock(mutex_);
    types_.Put("dp", name, std::move(text));
  }
  void Remove(const std::string& name) {
    const std::lock_guard lock(mutex_);
    types_.Remove("dp", name);
  }
  void Read(const std::string& type, Done done) override {
    const std::lock_guard lock(mutex_);
    types_.Read(type, std::move(done));
  }

 private:
  std::mutex mutex_;
  FakeTypes types_;
};

// One stream whose subscriber is the test.
class FakeCarrier final : public DeltaCarrier {
 public:
  void Send(const DeltaResponse& response) override { sent.push_back(response); }
  void Proceed() override { ++requests_done; }
  void Close(const Error& error) override { closed = error; }

  std::deque<DeltaResponse> sent;
  int requests_done = 0;
  std::optional<Error> closed;
};

}  // namespace kvorum::sync
