#include "api/watch_codec.h"

#include <algorithm>
#include <vector>

#include "api/client_messages.h"
#include "api/event_fields.h"
#include "api/tables.h"
#include "proto/wire.h"

namespace kvorum::server {
namespace {

namespace events = watch::event_fields;

constexpr std::string_view kEventTypes[] = {"PUT", "DELETE"};
constexpr auto kEvent =
    Describe<ReceivedEvent, Enum<events::kType, &ReceivedEvent::type, kEventTypes, "type">,
             Nested<events::kKv, &ReceivedEvent::row, kKeyValue, "kv">,
             Nested<events::kPrevKv, &ReceivedEvent::previous, kKeyValue, "prev_kv">>(
        "mvccpb.Event");

}  // namespace

constexpr wire::Message<WatchAnswer> kWatchResponse =
    Describe<WatchAnswer, Nested<1, &WatchAnswer::header, kResponseHeader, "header">,
             Field<2, &WatchAnswer::watch_id, "watch_id">,
             Field<3, &WatchAnswer::created, "created">,
             Field<4, &WatchAnswer::canceled, "canceled">,
             Field<5, &WatchAnswer::compact_revision, "compact_revision">,
             Text<6, &WatchAnswer::cancel_reason, "cancel_reason">,
             Field<7, &WatchAnswer::fragment, "fragment">,
             Nested<events::kEvents, &WatchAnswer::events, kEvent, "events">>(
        "etcdserverpb.WatchResponse");

namespace {

// Its head is written by hand with each batch of events.
constexpr std::uint32_t kWatchId = wire::NumberOf(kWatchResponse.rows, "watch_id");
constexpr std::uint32_t kCreated = wire::NumberOf(kWatchResponse.rows, "created");
constexpr std::uint32_t kCanceled = wire::NumberOf(kWatchResponse.rows, "canceled");
constexpr std::uint32_t kCompactRevision = wire::NumberOf(kWatchResponse.rows, "compact_revision");
constexpr std::uint32_t kCancelReason = wire::NumberOf(kWatchResponse.rows, "cancel_reason");
constexpr std::uint32_t kFragment = wire::NumberOf(kWatchResponse.rows, "fragment");

using wire::OneOf;

constexpr std::string_view kFilterTypes[] = {"NOPUT", "NODELETE"};
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
    Describe<Create, Field<1, &Create::key, "key">, Field<2, &Create::range_end, "range_end">,
             Field<3, &Create::start_revision, "start_revision">,
             Field<4, &Create::progress_notify, "progress_notify">,
             wire::Packed<Enum<5, &Create::filters, kFilterTypes, "filters">>,
             Field<6, &Create::prev_kv, "prev_kv">, Field<7, &Create::watch_id, "watch_id">,
             Field<8, &Create::fragment, "fragment">>("etcdserverpb.WatchCreateRequest");
constexpr auto kCancel =
    Describe<WatchCancelRequest, Field<1, &WatchCancelRequest::watch_id, "watch_id">>(
        "etcdserverpb.WatchCancelRequest");
constexpr auto kProgress = Describe<WatchProgressRequest>("etcdserverpb.WatchProgressRequest");

struct Request {
  std::variant<std::monostate, Create, WatchCancelRequest, WatchProgressRequest> kind;
};
constexpr auto kWatchRequest = Describe<
    Request, OneOf<1, &Request::kind, Create, kCreate, "create_request", "request_union">,
    OneOf<2, &Request::kind, WatchCancelRequest, kCancel, "cancel_request", "request_union">,
    OneOf<3, &Request::kind, WatchProgressRequest, kProgress, "progress_request", "request_union">>(
    "etcdserverpb.WatchRequest");

constexpr const wire::Table* kWatchTables[] = {&kEvent,  &kWatchResponse, &kCreate,
                                               &kCancel, &kProgress,      &kWatchRequest};

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

WatchResponseHead ReadWatchResponseHead(std::string_view beginning) {
  WatchResponseHead head;
  wire::Reader reader(beginning);
  while (reader.Next()) {
    switch (reader.tag()) {
      case wire::VarintTag(kWatchId):
        head.watch_id = reader.Int();
        break;
      case wire::VarintTag(kCreated):
        head.created = reader.Bool();
        break;
      case wire::VarintTag(kCanceled):
        head.canceled = reader.Bool();
        break;
      default:
        reader.Skip();
    }
  }
  return head;
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
