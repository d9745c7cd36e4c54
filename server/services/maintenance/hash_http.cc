#include "server/services/maintenance/hash_http.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/log/logging.h"
#include "base/words.h"
#include "rpc/http/http_error.h"
#include "server/call/cluster_header.h"
#include "server/call/reads.h"
#include "server/services/maintenance/http_handlers.h"

namespace kvorum::server {
namespace {

constexpr int kMaxWaiting = 64;
// Texts of the store's errors have it on the API, not among members.
constexpr std::string_view kApiPrefix = "etcdserver: ";

// Takes the revision out of an object; false ends the parse.
class RevisionReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::int64_t revision() const { return revision_; }

  bool null() override { return depth_ > 0; }
  bool boolean(bool) override { return IsIgnored(); }
  bool number_integer(number_integer_t value) override { return Take(value); }
  bool number_unsigned(number_unsigned_t value) override {
    if (IsIgnored()) return true;
    return std::in_range<std::int64_t>(value) && Take(static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t, const string_t&) override { return IsIgnored(); }
  bool string(string_t&) override { return IsIgnored(); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return depth_ == 0 ? Enter() : start_array(0); }
  bool start_array(std::size_t) override { return IsIgnored() && Enter(); }
  bool end_object() override { return --depth_ >= 0; }
  bool end_array() override { return --depth_ >= 0; }
  bool key(string_t& name) override {
    if (depth_ == 1) is_revision_ = IsRevision(name);
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  static bool IsRevision(std::string_view name) {
    return std::ranges::equal(name, std::string_view("revision"), {},
                              [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  }
  bool IsIgnored() const { return depth_ > 1 || (depth_ == 1 && !is_revision_); }
  bool Enter() {
    ++depth_;
    return true;
  }
  bool Take(std::int64_t value) {
    if (!IsIgnored()) revision_ = value;
    return depth_ > 0;
  }

  int depth_ = 0;
  bool is_revision_ = false;  // the member of the outer object that is being read
  std::int64_t revision_ = 0;
};

void Answer(const Reads& reads, std::int64_t revision, rpc::HttpReply& reply) {
  const auto hash = reads.store.HashKv(revision);
  if (!hash.has_value()) {
    KV_WARN("failed to get hashKV", {"requested-revision", revision},
            {"error", hash.error().message});
    std::string_view text = hash.error().message;
    if (text.starts_with(kApiPrefix)) text.remove_prefix(kApiPrefix.size());
    return reply.Send(rpc::HttpError(400, text));
  }
  nlohmann::ordered_json body = {{"header", {{"revision", reads.store.revision()}}}};
  if (hash->hash != 0) body["hash"] = hash->hash;
  if (hash->compact_revision != 0) body["compact_revision"] = hash->compact_revision;
  if (hash->revision != 0) body["hash_revision"] = hash->revision;
  reply.Send(WithClusterId(reads.cluster, rpc::HttpResponse::Json(200, body.dump())));
}

// Counts a request that waits, for as long as it lives.
class Place {
 public:
  explicit Place(std::shared_ptr<std::atomic<int>> taken)
      : taken_(std::move(taken)), is_free_(taken_->fetch_add(1) < kMaxWaiting) {}
  Place(Place&&) noexcept = default;
  Place& operator=(Place&&) = delete;
  ~Place() {
    if (taken_ != nullptr) taken_->fetch_sub(1);
  }
  bool is_free() const { return is_free_; }

 private:
  std::shared_ptr<std::atomic<int>> taken_;
  bool is_free_;
};

}  // namespace

std::optional<std::int64_t> DecodeHashKvJson(std::string_view json) {
  // Only null leaves everything as it is without being an object.
  if (Trim(json) == "null") return 0;
  RevisionReader reader;
  if (!nlohmann::json::sax_parse(json, &reader)) return std::nullopt;
  return reader.revision();
}

void HandleHashKv(rpc::HttpMux& mux, const Reads& reads) {
  const auto taken = std::make_shared<std::atomic<int>>(0);
  mux.Handle(std::string(kHashKvPath),
             [&reads, taken](const rpc::HttpRequest& request, rpc::HttpReply reply) {
               if (!MethodIsGet(request, reply)) return;
               if (IsOtherCluster(request, reads.cluster.cluster_id))
                 return reply.Send(rpc::HttpError(412, "cluster ID mismatch"));
               const auto revision = DecodeHashKvJson(request.body.view());
               if (!revision.has_value())
                 return reply.Send(rpc::HttpError(400, "error unmarshalling request"));
               Place place(taken);
               if (!place.is_free()) return reply.Send(rpc::HttpError(503, "too many requests"));
               reads.executors.hasher->Post(
                   [&reads, revision = *revision, place = std::move(place),
                    reply = std::move(reply)]() mutable { Answer(reads, revision, reply); });
             });
}

}  // namespace kvorum::server
