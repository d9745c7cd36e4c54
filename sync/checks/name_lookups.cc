#include "sync/checks/name_lookups.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace kvorum::sync {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// Shared by the lookups and their threads, some of which may outlive them.
class NameLookups::Threads {
 public:
  Threads(asio::io_context& io, NameLookups& lookups) : io_(io), lookups_(&lookups) {}

  // True if a thread has to be started, which then does Run.
  bool Add(const Address& address) {
    const std::lock_guard lock(mutex_);
    queue_.push_back(address);
    if (running_ == kMaxThreads) return false;
    ++running_;
    return true;
  }

  // False if the address is being looked up.
  bool Withdraw(const Address& address) {
    const std::lock_guard lock(mutex_);
    return std::erase(queue_, address) != 0;
  }

  void Run() {
    while (const std::optional<Address> address = Next()) {
      asio::io_context io;
      error_code error;
      const Found found = tcp::resolver(io).resolve(address->host, address->port, error);
      Answer(*address, error, found);
    }
  }

  void Stop() {
    const std::lock_guard lock(mutex_);
    lookups_ = nullptr;
    queue_.clear();
  }

 private:
  // Nothing if the thread is to end.
  std::optional<Address> Next() {
    const std::lock_guard lock(mutex_);
    if (queue_.empty()) {
      --running_;
      return std::nullopt;
    }
    Address address = std::move(queue_.front());
    queue_.pop_front();
    return address;
  }

  // Under the lock, so that the io_context is still there.
  void Answer(const Address& address, const error_code& error, const Found& found) {
    const std::lock_guard lock(mutex_);
    if (lookups_ == nullptr) return;
    asio::post(io_, [lookups = lookups_, address, error, found] {
      lookups->Ended(address, error, found);
    });
  }

  std::mutex mutex_;
  asio::io_context& io_;
  NameLookups* lookups_;  // null: they have ended, perhaps with the io_context
  std::deque<Address> queue_;
  std::size_t running_ = 0;
};

NameLookups::NameLookups(asio::io_context& io) : threads_(std::make_shared<Threads>(io, *this)) {}

NameLookups::~NameLookups() { threads_->Stop(); }

std::uint64_t NameLookups::Begin(const Address& address, OnFound on_found) {
  const auto [found, is_new] = waiting_.try_emplace(address);
  found->second.emplace(++last_id_, std::move(on_found));
  // Detached: a lookup cannot be interrupted, so joining would be waiting for it.
  if (is_new && threads_->Add(address))
    std::thread([threads = threads_] { threads->Run(); }).detach();
  return last_id_;
}

void NameLookups::Cancel(const Address& address, std::uint64_t id) {
  const auto found = waiting_.find(address);
  if (found == waiting_.end()) return;
  const auto dropped = found->second.extract(id);
  if (found->second.empty() && threads_->Withdraw(address)) waiting_.erase(found);
}

void NameLookups::Ended(const Address& address, const error_code& error, const Found& found) {
  const auto waiting = waiting_.extract(address);
  if (waiting.empty()) return;
  for (const auto& [id, on_found] : waiting.mapped()) on_found(error, found);
}

}  // namespace kvorum::sync
