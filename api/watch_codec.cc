#include "api/watch_codec.h"

#include <algorithm>
#include <vector>

#include "api/client_messages.h"
#include "api/tables.h"
#include "proto/wire.h"

namespace kvorum::server {
namespace {

using wire::OneOf;

// WatchResponse, which is written with each batch of events
constexpr std::uint32_t kWatchId = 2;
constexpr std::uint32_t kCreated = 3;
constexpr std::uint32_t kCanceled = 4;
constexpr std::uint32_t kCompactRevision = 5;
constexpr std::uint32_t kCancelReason = 6;
constexpr std::uint32_t kFragment = 7;

// Unknown numbers filter nothing.
enum class Filter : std::int32_t { kNoPut = 0, kNoDelete = 1 };

struct Create {
  std::string_view key;
  std::string_view range_end;
  std::int64_t start_revision = 0;
  bool progress_notify = false;
  std::vector<Filter> filters;
  bool prev_kv = false;
  std::int64_t watch_id = 0;
  bool fragment = false;
};
constexpr auto kCreate =
    Describe<Create, Field<1, &Create::key>, Field<2, &Create::range_end>,
             Field<3, &Create::start_revision>, Field<4, &Create::progress_notify>,
             wire::Packed<Field<5, &Create::filters>>, Field<6, &Create::prev_kv>,
             Field<7, &Create::watch_id>, Field<8, &Create::fragment>>(
        "etcdserverpb.WatchCreateRequest");
constexpr auto kCancel = Describe<WatchCancelRequest, Field<1, &WatchCancelRequest::watch_id>>(
    "etcdserverpb.WatchCancelRequest");
constexpr auto kProgress = Describe<WatchProgressRequest>("etcdserverpb.WatchProgressRequest");

struct Request {
  std::variant<std::monostate, Create, WatchCancelRequest, WatchProgressRequest> kind;
};
constexpr auto kWatchRequest = Describe<Request, OneOf<1, &Request::kind, Create, kCreate>,
                                        OneOf<2, &Request::kind, WatchCancelRequest, kCancel>,
                                        OneOf<3, &Request::kind, WatchProgressRequest, kProgress>>(
    "etcdserverpb.WatchRequest");

constexpr const wire::Table* kWatchTables[] = {&kCreate, &kCancel, &kProgress, &kWatchRequest};

bool Has(const std::vector<Filter>& filters, Filter filter) {
  return std::ranges::find(filters, filter) != filters.end();
}

struct ToWatchRequest {
  WatchRequest operator()(const Create& create) const {
    return watch::CreateRequest{.key = create.key,
                                .range_end = create.range_end,
                                .start_revision = create.start_revision,
                                .watch_id = create.watch_id,
                                .progress_notify = create.progress_notify,
                                .wanted = {.no_put = Has(create.filters, Filter::kNoPut),
                                           .no_delete = Has(create.filters, Filter::kNoDelete),
                                           .prev_kv = create.prev_kv,
                                           .fragment = create.fragment}};
  }
  WatchRequest operator()(const auto& other) const { return other; }
};

}  // namespace

MessageTables WatchTables() { return kWatchTables; }

std::string EncodeWatchCreate(std::string_view key, std::string_view range_end,
                              std::int64_t start_revision) {
  Create create;
  create.key = key;
  create.range_end = range_end;
  create.start_revision = start_revision;
  return wire::Encode(kWatchRequest, Request{.kind = create});
}

Result<WatchRequest> DecodeWatchRequest(std::string_view bytes) {
  KV_TRY(const Request request, wire::DecodeRequest(kWatchRequest, bytes));
  return std::visit(ToWatchRequest(), request.kind);
}

void AppendWatchResponse(std::string& out, const ResponseHeader& header,
                         const watch::Response& response) {
  AppendHeader(out, header);
  wire::AppendInt(out, kWatchId, response.watch_id);
  wire::AppendBool(out, kCreated, response.created);
  wire::AppendBool(out, kCanceled, response.canceled);
  wire::AppendInt(out, kCompactRevision, response.compact_revision);
  wire::AppendBytes(out, kCancelReason, response.cancel_reason);
  wire::AppendBool(out, kFragment, response.fragment);
}

}  // namespace kvorum::server
