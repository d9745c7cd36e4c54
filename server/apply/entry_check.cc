#include "server/apply/entry_check.h"

#include "api/entries/entry_kinds.h"
#include "api/entries/internal_request.h"
#include "server/state/member_change.h"

namespace kvorum::server {
namespace {

Result<void> CheckRequest(const InternalRequest& request) {
  return VisitEntryKind(request.kind, [&]<class Kind>(Kind) -> Result<void> {
    KV_TRY(const auto body, Kind::Decode(request.body));
    return Kind::Check(body);
  });
}

}  // namespace

Result<void> CheckPeersEntry(const raft::Entry& entry) {
  switch (entry.type) {
    case raft::EntryType::kNormal: {
      if (entry.data.empty()) return {};
      KV_TRY(const InternalRequest request, DecodeInternalRequest(entry.data.view()));
      return CheckRequest(request);
    }
    case raft::EntryType::kConfChange: {
      KV_TRY(const raft::ConfChange change, raft::DecodeConfChange(entry.data));
      KV_RETURN_IF_ERROR(DecodeMemberChange(change));
      return {};
    }
    case raft::EntryType::kConfChangeV2:
      break;
  }
  return Fail(Code::kUnimplemented, "a kind of entry that this version does not know");
}

}  // namespace kvorum::server
