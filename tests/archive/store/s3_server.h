// A stand-in for S3 on a loopback port, strict where others are lenient: it computes the signature
// of each request anew from the bytes that arrived, checks the body against every sum that is
// announced, and refuses what differs. Faults are ordered for requests to come.
//
// Thread-safe: a thread for each connection, one lock around the state.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

struct ssl_ctx_st;

namespace kvorum::archive {

class S3Server {
 public:
  static constexpr const char* kAccessKey = "AKIDTEST";
  static constexpr const char* kSecretKey = "secret/with+signs=";
  static constexpr const char* kBucket = "bucket";

  enum class Fault : std::uint8_t {
    kNone,
    kSlowDown,       // 503 with its code
    kInternalError,  // 500
    kConflict,       // 409
    kErrorInside,    // 200 with an error's text
    kCutAnswer,      // the connection ends in the middle of the answer's body
    kNoAnswer,       // done, and the connection ends without an answer
    kDropped,        // not done, and the connection ends without an answer
    kStall,          // no answer, and the connection stays
    kRedirect,       // 301 to another region
    kHugeAnswer,     // 200 with a body of two megabytes
    kWrongOrder,     // of a list
  };

  struct Object {
    std::string bytes;
    std::string version;
    bool is_locked = false;
  };

  struct Request {
    std::string method;
    std::string path;   // as it arrived
    std::string query;  // as it arrived
    std::map<std::string, std::string> headers;
    std::string body;
  };

  // With the files of a certificate and its key over TLS.
  explicit S3Server(const std::string& certificate = "", const std::string& key = "");
  ~S3Server();
  S3Server(const S3Server&) = delete;
  S3Server& operator=(const S3Server&) = delete;

  std::string endpoint() const {
    return (tls_ == nullptr ? "http" : "https") + ("://127.0.0.1:" + std::to_string(port_));
  }

  // For the next requests, one each.
  void Next(std::deque<Fault> faults);
  void SetUnixSeconds(std::int64_t seconds) { unix_seconds_ = seconds; }
  void SetSessionToken(const std::string& token);
  void SetPageSize(std::size_t keys) { page_size_ = keys; }
  // HEAD tells no checksum, as older stores.
  void ForgetChecksums() { tells_checksums_ = false; }
  void Set(const std::string& key, const std::string& bytes, bool is_locked = false);
  std::map<std::string, Object> objects();
  std::vector<Request> requests();
  // Connections taken so far.
  std::size_t connections() const { return connections_; }

 private:
  struct Answer;

  void Accept();
  void Serve(int fd);
  Answer Handle(const Request& request, Fault fault);
  std::string Refusal(const Request& request);
  Answer HandleObject(const Request& request, const std::string& key);
  Answer HandleList(const Request& request, bool wrong_order);
  Answer HandleDelete(const Request& request);
  Answer Failure(int status, std::string_view code, std::string_view message);

  ssl_ctx_st* tls_ = nullptr;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<std::int64_t> unix_seconds_ = 0;
  std::atomic<std::size_t> page_size_ = 1000;
  std::atomic<std::size_t> connections_ = 0;
  std::atomic<bool> tells_checksums_ = true;
  std::mutex mutex_;
  std::deque<Fault> faults_;
  std::string session_token_;
  std::map<std::string, Object> objects_;
  std::uint64_t versions_ = 0;
  std::vector<Request> requests_;
  std::set<int> open_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

}  // namespace kvorum::archive
