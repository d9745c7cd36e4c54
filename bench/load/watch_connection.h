// One client connection that only watches: streams of watchers. It counts their events and reads
// the time in each latest event, as lean as nghttp2 allows.
//
// Used by one thread; the socket is non-blocking and belongs in the owner's epoll set. Errors are
// final.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

struct nghttp2_session;

namespace kvorum::bench {

// A stream's watchers: `watchers` of them, each on the prefix or (with `own_keys`) on the key of
// that number, counted from first_key on.
struct WatchShape {
  std::size_t watchers = 1;
  bool own_keys = false;
  std::uint64_t first_key = 0;
  std::size_t key_size = 32;
  std::string prefix;
};

class WatchObserver {
 public:
  virtual ~WatchObserver() = default;
  virtual void OnCreated() = 0;
  // A response with so many events; the value of the last.
  virtual void OnEvents(std::size_t events, std::string_view last_value) = 0;
};

class WatchConnection {
 public:
  static Result<std::unique_ptr<WatchConnection>> Open(const std::string& endpoint,
                                                       WatchObserver& observer);
  ~WatchConnection();
  WatchConnection(const WatchConnection&) = delete;
  WatchConnection& operator=(const WatchConnection&) = delete;

  int fd() const { return fd_; }
  Result<void> OpenStream(const WatchShape& shape);
  // Reads once and passes on the events; then writes what is due.
  Result<void> Receive();
  Result<void> Flush();

 private:
  struct Callbacks;
  struct Stream {
    std::string requests;  // messages not sent yet
    std::size_t sent = 0;
    std::string partial;  // of a response
  };

  explicit WatchConnection(int fd, std::string authority, WatchObserver& observer);
  void OnData(Stream& stream, std::string_view bytes);
  void OnResponse(std::string_view message);

  const int fd_;
  const std::string authority_;
  WatchObserver& observer_;
  nghttp2_session* session_ = nullptr;
  std::vector<std::unique_ptr<Stream>> streams_;
  std::vector<char> in_;
  std::string out_;
  std::string failure_;
};

}  // namespace kvorum::bench
