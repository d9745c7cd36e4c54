// One request of Consul's API, parsed, and the right to answer it once.
//
// Movable; used by one thread at a time, answered from any. Dropped without an answer it answers
// 500; a second answer is dropped. Query parameters are looked up by their exact names; the first
// of several counts unless said otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/task.h"
#include "rpc/http/http.h"

namespace kvorum::consul {

using Json = nlohmann::ordered_json;

class Exchange {
 public:
  // Without an executor, the loop of the request's connection is taken.
  Exchange(rpc::HttpRequest request, rpc::HttpReply reply, Executor* loop = nullptr);
  Exchange(Exchange&&) noexcept;
  Exchange& operator=(Exchange&&) noexcept;
  ~Exchange();

  std::string_view method() const;
  // The whole path, decoded ("%2F" is a slash, as in Go).
  const std::string& path() const;
  // False: the path or the query is malformed (a broken escape, a byte that cannot be
  // printed).
  bool has_sound_path() const;
  bool has_sound_query() const;
  // The path behind the route's pattern, decoded: of "/v1/kv/" + "a/b" it is "a/b".
  const std::string& rest() const;
  void SetRest(std::string rest);

  bool Has(std::string_view parameter) const;
  std::optional<std::string> Parameter(std::string_view name) const;  // empty text if it is bare
  std::vector<std::string> Parameters(std::string_view name) const;
  std::optional<std::string_view> Header(std::string_view lower_name) const;
  std::string_view body() const;
  // The first of ?token, X-Consul-Token, Authorization: Bearer; empty: none.
  const std::string& token() const;
  Executor& loop() const;  // the connection's
  // Runs on the loop if the client leaves before the answer; call on the loop.
  void OnGone(std::move_only_function<void()> callback);

  void SetHeader(std::string name, std::string value);
  // X-Consul-Index; 0 is written as 1.
  void SetIndex(std::uint64_t index);

  // The answers. A success is exactly 200.
  void Ok();                       // an empty body
  void OkJson(const Json& value);  // ?pretty is honoured
  void OkText(std::string text, std::string content_type = "text/plain; charset=utf-8");
  void Text(unsigned status, std::string text);         // an error: the bare text
  void JsonAnswer(unsigned status, const Json& value);  // as of a refused transaction
  // Packed by gzip if the client takes that and the body is worth it.
  void Send(rpc::HttpResponse response);
  // The store's error in the API's form: 403 for permission, 500 `No cluster leader`, else 500.
  void StoreError(const Error& error);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

inline constexpr std::size_t kMaxBodyBytes = std::size_t{512} << 10U;

// A route: exact path, or a prefix that ends in '/', whose rest the handler gets. Methods are a
// list as in Allow: "GET", "PUT", "GET,PUT,DELETE".
struct Route {
  std::string path;
  std::string methods;
  bool writes = false;  // refused with --http-read-only (PUT and DELETE always are)
  std::function<void(Exchange exchange)> handle;
  std::size_t max_body_bytes = kMaxBodyBytes;  // a larger one is refused with 413
};

// The text of that refusal; `body_bytes` is 0 if the size is not known.
std::string TooLargeText(std::uint64_t body_bytes, std::size_t max_bytes);

// The body as JSON: 400 with the prefix (`Request decode failed: `) and the fault has been answered
// if it is not JSON, or nested deeper than anything that we read.
std::optional<Json> JsonBody(Exchange& exchange, std::string_view error_prefix);

}  // namespace kvorum::consul
