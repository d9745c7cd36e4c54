#include "server/messages/empty_message.h"

#include "server/messages/tables.h"

namespace kvorum::server {
namespace {

constexpr auto kEmpty = Describe<EmptyMessage>(
    "etcdserverpb.LeaseLeasesRequest etcdserverpb.StatusRequest etcdserverpb.DefragmentRequest "
    "etcdserverpb.HashRequest etcdserverpb.AuthEnableRequest etcdserverpb.AuthDisableRequest "
    "etcdserverpb.AuthStatusRequest etcdserverpb.AuthUserListRequest "
    "etcdserverpb.AuthRoleListRequest");
constexpr const wire::Table* kEmptyTables[] = {&kEmpty};

}  // namespace

MessageTables EmptyTables() { return kEmptyTables; }

Result<EmptyMessage> DecodeEmptyMessage(std::string_view bytes) {
  return wire::DecodeRequest(kEmpty, bytes);
}

}  // namespace kvorum::server
