// Addresses of names, looked up beside the thread of an io_context. Nothing can interrupt a lookup,
// which takes as long as the name servers do not answer. So at most kMaxThreads are under way, none
// twice for one name, and the end waits for none: its thread ends by itself.
//
// On the thread of the io_context; Boost's headers, so only for the library's own sources.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace kvorum::sync {

struct Address {
  std::string host;
  std::string port;

  friend auto operator<=>(const Address&, const Address&) = default;
};

class NameLookups {
 public:
  static constexpr std::size_t kMaxThreads = 4;
  using Found = boost::asio::ip::tcp::resolver::results_type;
  using OnFound = std::function<void(const boost::system::error_code& error, const Found& found)>;

  // The io_context outlives the lookups, and runs nothing any more when they are destroyed.
  explicit NameLookups(boost::asio::io_context& io);
  ~NameLookups();
  NameLookups(const NameLookups&) = delete;
  NameLookups& operator=(const NameLookups&) = delete;

  // Returns what Cancel takes. A name waits for a thread, as long as somebody waits for it.
  std::uint64_t Begin(const Address& address, OnFound on_found);
  // Drops the callback, if it has not been called.
  void Cancel(const Address& address, std::uint64_t id);

 private:
  class Threads;
  void Ended(const Address& address, const boost::system::error_code& error, const Found& found);

  std::uint64_t last_id_ = 0;
  // For addresses that are being looked up, or wait for it.
  std::map<Address, std::map<std::uint64_t, OnFound>> waiting_;
  const std::shared_ptr<Threads> threads_;
};

}  // namespace kvorum::sync
