#include "tests/scenarios/lone_member.h"

#include <future>
#include <utility>

#include "mvcc/store/store.h"
#include "tests/mapped_bytes.h"

namespace kvorum::server {
namespace {

constexpr auto kPatience = std::chrono::seconds(20);
constexpr const char* kNoAnswer = "no answer";

}  // namespace

LoneMember::LoneMember(std::uint64_t map_bytes) : first_map_bytes_(map_bytes), saving_(map_bytes) {}

LoneMember::~LoneMember() {
  if (save_ != nullptr) SavingMember::Cancel(*save_);
  saving_.Stop();
}

std::string LoneMember::Write(int count, std::size_t value_bytes) {
  std::future<int> put = member_.Put("key", count, std::string(value_bytes, 'v'));
  if (put.wait_for(kPatience) != std::future_status::ready) return kNoAnswer;
  const auto flushed = std::make_shared<std::promise<void>>();
  member_.member().store().Flush([flushed] { flushed->set_value(); });
  if (flushed->get_future().wait_for(kPatience) != std::future_status::ready) return kNoAnswer;
  return std::to_string(put.get()) + " acknowledged";
}

std::string LoneMember::Hash() {
  const auto answer = std::make_shared<std::promise<std::string>>();
  saving_.router.Find("/etcdserverpb.Maintenance/HashKV")
      ->unary(
          std::make_shared<rpc::CallContext>(), SharedBytes(),
          rpc::UnaryReply::ToFunction([answer](const Result<ByteChain>& reply) {
            answer->set_value(reply.has_value() ? "answered" : "refused: " + reply.error().message);
          }));
  std::future<std::string> text = answer->get_future();
  return text.wait_for(kPatience) == std::future_status::ready ? text.get() : kNoAnswer;
}

std::string LoneMember::Save() {
  save_ = std::make_shared<SavingStream>();
  saving_.router.Find("/etcdserverpb.Maintenance/Snapshot")->stream(save_);
  return Eventually([this] { return save_->waits(); }) ? "" : kNoAnswer;
}

std::string LoneMember::ReadSave() {
  save_->TakeAll();
  const Error status = save_->status().value_or(Error{Code::kUnknown, "it goes on"});
  return status.code == Code::kOk ? "whole" : "ended: " + status.message;
}

std::string LoneMember::Map() const {
  return MappedBytesOf(member_.database()) > first_map_bytes_ ? "grown" : "as it was";
}

}  // namespace kvorum::server
