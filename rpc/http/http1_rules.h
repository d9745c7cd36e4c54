// Rules of HTTP/1.1 (RFC 9112) for a request's head beyond those of Beast's parser: its host, the
// form of its target, and a framing that no intermediary can read differently. Shared by both
// ports. Pure functions.
//
// The refusals are those of Go's server, except for a length together with an encoding, and a
// target whose host is empty: Go accepts both.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace kvorum::rpc {

// Counted while the fields are visited. Used by one thread at a time.
class Http1Head {
 public:
  struct Refusal {
    unsigned status = 0;
    std::string_view text;  // the answer's
  };

  void AddHost(std::string_view value);
  void AddTransferEncoding(std::string_view value);
  void AddContentLength() { ++lengths_; }
  std::optional<Refusal> Judge(bool is_http_1_0, bool is_connect) const;

 private:
  std::size_t hosts_ = 0;
  std::size_t encodings_ = 0;
  std::size_t lengths_ = 0;
  bool host_is_valid_ = true;
  bool is_chunked_ = false;
};

// A proxy's form of a target, "http://host:1/path?query" (section 3.2.2): `target` becomes the path
// and the query, `host` the authority, which counts in place of the Host field. A user before the
// host is dropped, as in Go. Targets of any other form stay as they are, `host` too. Refused: a
// host that is empty or has other bytes than a Host field may have.
std::optional<Http1Head::Refusal> ToOriginForm(std::string& target, std::string& host);

}  // namespace kvorum::rpc
