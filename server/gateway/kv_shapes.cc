// The messages of KV and Watch.
#include "server/gateway/message_shapes.h"

namespace kvorum::server::gateway {
namespace {

using enum ValueType;

constexpr std::string_view kEventEventTypeNames[] = {"PUT", "DELETE"};
constexpr std::string_view kRangeRequestSortOrderNames[] = {"NONE", "ASCEND", "DESCEND"};
constexpr std::string_view kRangeRequestSortTargetNames[] = {"KEY", "VERSION", "CREATE", "MOD",
                                                             "VALUE"};
constexpr std::string_view kCompareCompareResultNames[] = {"EQUAL", "GREATER", "LESS", "NOT_EQUAL"};
constexpr std::string_view kCompareCompareTargetNames[] = {"VERSION", "CREATE", "MOD", "VALUE",
                                                           "LEASE"};
constexpr std::string_view kWatchCreateRequestFilterTypeNames[] = {"NOPUT", "NODELETE"};

constexpr FieldShape kKeyValueFields[] = {
    One(1, "key", kBytes),     One(2, "create_revision", kInt64), One(3, "mod_revision", kInt64),
    One(4, "version", kInt64), One(5, "value", kBytes),           One(6, "lease", kInt64),
};
constexpr FieldShape kEventFields[] = {
    Enum(1, "type", kEventEventTypeNames),
    Part(2, "kv", kKeyValue),
    Part(3, "prev_kv", kKeyValue),
};
constexpr FieldShape kResponseHeaderFields[] = {
    One(1, "cluster_id", kUint64),
    One(2, "member_id", kUint64),
    One(3, "revision", kInt64),
    One(4, "raft_term", kUint64),
};
constexpr FieldShape kRangeRequestFields[] = {
    One(1, "key", kBytes),
    One(2, "range_end", kBytes),
    One(3, "limit", kInt64),
    One(4, "revision", kInt64),
    Enum(5, "sort_order", kRangeRequestSortOrderNames),
    Enum(6, "sort_target", kRangeRequestSortTargetNames),
    One(7, "serializable", kBool),
    One(8, "keys_only", kBool),
    One(9, "count_only", kBool),
    One(10, "min_mod_revision", kInt64),
    One(11, "max_mod_revision", kInt64),
    One(12, "min_create_revision", kInt64),
    One(13, "max_create_revision", kInt64),
};
constexpr FieldShape kRangeResponseFields[] = {
    Part(1, "header", kResponseHeader),
    Many(Part(2, "kvs", kKeyValue)),
    One(3, "more", kBool),
    One(4, "count", kInt64),
};
constexpr FieldShape kPutRequestFields[] = {
    One(1, "key", kBytes),    One(2, "value", kBytes),       One(3, "lease", kInt64),
    One(4, "prev_kv", kBool), One(5, "ignore_value", kBool), One(6, "ignore_lease", kBool),
};
constexpr FieldShape kPutResponseFields[] = {Part(1, "header", kResponseHeader),
                                             Part(2, "prev_kv", kKeyValue)};
constexpr FieldShape kDeleteRangeRequestFields[] = {
    One(1, "key", kBytes),
    One(2, "range_end", kBytes),
    One(3, "prev_kv", kBool),
};
constexpr FieldShape kDeleteRangeResponseFields[] = {
    Part(1, "header", kResponseHeader),
    One(2, "deleted", kInt64),
    Many(Part(3, "prev_kvs", kKeyValue)),
};
constexpr FieldShape kRequestOpFields[] = {
    Either(Part(1, "request_range", kRangeRequest)),
    Either(Part(2, "request_put", kPutRequest)),
    Either(Part(3, "request_delete_range", kDeleteRangeRequest)),
    Either(Part(4, "request_txn", kTxnRequest)),
};
constexpr FieldShape kResponseOpFields[] = {
    Either(Part(1, "response_range", kRangeResponse)),
    Either(Part(2, "response_put", kPutResponse)),
    Either(Part(3, "response_delete_range", kDeleteRangeResponse)),
    Either(Part(4, "response_txn", kTxnResponse)),
};
constexpr FieldShape kCompareFields[] = {
    Enum(1, "result", kCompareCompareResultNames),
    Enum(2, "target", kCompareCompareTargetNames),
    One(3, "key", kBytes),
    Either(One(4, "version", kInt64)),
    Either(One(5, "create_revision", kInt64)),
    Either(One(6, "mod_revision", kInt64)),
    Either(One(7, "value", kBytes)),
    Either(One(8, "lease", kInt64)),
    One(64, "range_end", kBytes),
};
constexpr FieldShape kTxnRequestFields[] = {
    Many(Part(1, "compare", kCompare)),
    Many(Part(2, "success", kRequestOp)),
    Many(Part(3, "failure", kRequestOp)),
};
constexpr FieldShape kTxnResponseFields[] = {
    Part(1, "header", kResponseHeader),
    One(2, "succeeded", kBool),
    Many(Part(3, "responses", kResponseOp)),
};
constexpr FieldShape kCompactionRequestFields[] = {One(1, "revision", kInt64),
                                                   One(2, "physical", kBool)};
constexpr FieldShape kWatchRequestFields[] = {
    Either(Part(1, "create_request", kWatchCreateRequest)),
    Either(Part(2, "cancel_request", kWatchCancelRequest)),
    Either(Part(3, "progress_request", kWatchProgressRequest)),
};
constexpr FieldShape kWatchCreateRequestFields[] = {
    One(1, "key", kBytes),
    One(2, "range_end", kBytes),
    One(3, "start_revision", kInt64),
    One(4, "progress_notify", kBool),
    Many(Enum(5, "filters", kWatchCreateRequestFilterTypeNames)),
    One(6, "prev_kv", kBool),
    One(7, "watch_id", kInt64),
    One(8, "fragment", kBool),
};
constexpr FieldShape kWatchCancelRequestFields[] = {One(1, "watch_id", kInt64)};
constexpr FieldShape kWatchResponseFields[] = {
    Part(1, "header", kResponseHeader), One(2, "watch_id", kInt64),
    One(3, "created", kBool),           One(4, "canceled", kBool),
    One(5, "compact_revision", kInt64), One(6, "cancel_reason", kString),
    One(7, "fragment", kBool),          Many(Part(11, "events", kEvent)),
};

}  // namespace

constinit const MessageShape kKeyValue{"mvccpb.KeyValue", kKeyValueFields};
constinit const MessageShape kEvent{"mvccpb.Event", kEventFields};
constinit const MessageShape kResponseHeader{"etcdserverpb.ResponseHeader", kResponseHeaderFields};
constinit const MessageShape kRangeRequest{"etcdserverpb.RangeRequest", kRangeRequestFields};
constinit const MessageShape kRangeResponse{"etcdserverpb.RangeResponse", kRangeResponseFields};
constinit const MessageShape kPutRequest{"etcdserverpb.PutRequest", kPutRequestFields};
constinit const MessageShape kPutResponse{"etcdserverpb.PutResponse", kPutResponseFields};
constinit const MessageShape kDeleteRangeRequest{"etcdserverpb.DeleteRangeRequest",
                                                 kDeleteRangeRequestFields};
constinit const MessageShape kDeleteRangeResponse{"etcdserverpb.DeleteRangeResponse",
                                                  kDeleteRangeResponseFields};
constinit const MessageShape kRequestOp{"etcdserverpb.RequestOp", kRequestOpFields,
                                        "etcdserverpb.RequestOp.request"};
constinit const MessageShape kResponseOp{"etcdserverpb.ResponseOp", kResponseOpFields,
                                         "etcdserverpb.ResponseOp.response"};
constinit const MessageShape kCompare{"etcdserverpb.Compare", kCompareFields,
                                      "etcdserverpb.Compare.target_union"};
constinit const MessageShape kTxnRequest{"etcdserverpb.TxnRequest", kTxnRequestFields};
constinit const MessageShape kTxnResponse{"etcdserverpb.TxnResponse", kTxnResponseFields};
constinit const MessageShape kCompactionRequest{"etcdserverpb.CompactionRequest",
                                                kCompactionRequestFields};
constinit const MessageShape kCompactionResponse{"etcdserverpb.CompactionResponse", kHeaderAlone};
constinit const MessageShape kWatchRequest{"etcdserverpb.WatchRequest", kWatchRequestFields,
                                           "etcdserverpb.WatchRequest.request_union"};
constinit const MessageShape kWatchCreateRequest{"etcdserverpb.WatchCreateRequest",
                                                 kWatchCreateRequestFields};
constinit const MessageShape kWatchCancelRequest{"etcdserverpb.WatchCancelRequest",
                                                 kWatchCancelRequestFields};
constinit const MessageShape kWatchProgressRequest{"etcdserverpb.WatchProgressRequest", {}};
constinit const MessageShape kWatchResponse{"etcdserverpb.WatchResponse", kWatchResponseFields};

}  // namespace kvorum::server::gateway
