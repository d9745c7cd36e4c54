#include "server/call/api.h"

#include <algorithm>
#include <array>

#include "auth/auth_record.h"
#include "base/api_errors.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kHealthService = "grpc.health.v1.Health";

Result<void> CheckName(std::string_view name) {
  if (name.size() > auth::kMaxNameSizeBytes) return kErrNameTooLong.Fail();
  return {};
}

template <const auto& method>
Result<void> CheckRequest(std::string_view bytes) {
  const auto request = method.decode(bytes);
  if (!request.has_value()) return std::unexpected(request.error());
  return {};
}

template <const auto& row>
constexpr ApiMethod WithoutTypes() {
  ApiMethod method{.service = row.service, .name = row.name, .json = row.json};
  method.span = row.span;
  if constexpr (std::is_same_v<decltype(row), const StreamMethod&>) {
    method.kind = row.kind;
  } else {
    method.slow = row.slow;
    method.check_request = CheckRequest<row>;
  }
  return method;
}

template <const auto&... rows>
constexpr auto AllOf(api::RowList<rows...>) {
  return std::array{
      WithoutTypes<rows>()..., ApiMethod{.service = kHealthService, .name = "Check"},
      ApiMethod{.service = kHealthService, .name = "List"},
      ApiMethod{
          .service = kHealthService, .name = "Watch", .kind = rpc::MethodKind::kServerStream}};
}

constexpr auto kMethods = AllOf(api::Rows());

}  // namespace

Result<void> CheckNewUser(const UserPasswordRequest& user, std::size_t) {
  return CheckName(user.name);
}
Result<void> CheckNewRole(const std::string_view& name, std::size_t) { return CheckName(name); }

std::span<const ApiMethod> ApiMethods() { return kMethods; }

const ApiMethod* FindApiMethod(std::string_view path) {
  const auto found = std::ranges::find_if(kMethods, [path](const ApiMethod& method) {
    return path.size() == method.service.size() + method.name.size() + 2 &&
           path.substr(1).starts_with(method.service) && path.ends_with(method.name);
  });
  return found == kMethods.end() ? nullptr : &*found;
}

CallSpan SpanOf(std::string_view path) {
  const ApiMethod* const method = FindApiMethod(path);
  return method == nullptr ? CallSpan::kPlain : method->span;
}

}  // namespace kvorum::server
