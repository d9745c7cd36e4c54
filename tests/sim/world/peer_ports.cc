#include "tests/sim/world/peer_ports.h"

#include <fmt/core.h>

#include <charconv>

#include "api/member_id.h"
#include "base/check.h"
#include "server/replica/recovery/joining.h"

namespace kvorum::sim {
namespace {

constexpr std::string_view kHostBegin = "http://10.0.0.";

}  // namespace

std::string PeerUrlOf(std::size_t machine, bool other_port) {
  return fmt::format("{}{}:{}", kHostBegin, machine + 1, other_port ? 2381 : 2380);
}

std::size_t MachineAt(std::string_view peer_url) {
  KV_CHECK(peer_url.starts_with(kHostBegin), "a peer URL that the simulation has not made");
  std::size_t number = 0;
  const std::string_view rest = peer_url.substr(kHostBegin.size());
  std::from_chars(rest.data(), rest.data() + rest.size(), number);
  return number - 1;
}

void PeerPorts::AskAll(std::string_view, const std::vector<std::string>& urls,
                       std::string_view path, Duration, const Take& take) {
  // Any may be the first to answer.
  const std::size_t first = urls.empty() ? 0 : world_.scheduler.rng().Below(urls.size());
  for (std::size_t i = 0; i < urls.size(); ++i) {
    const std::string& url = urls[(first + i) % urls.size()];
    if (take(url, AskOne(url, path))) return;
  }
}

Result<server::PeerAnswer> PeerPorts::AskOne(const std::string& url, std::string_view path) {
  const std::size_t to = MachineAt(url);
  const bool answers = to < machines_.size() && machines_[to]->up() &&
                       !machines_[number_]->insists() && network_.Reaches(number_, to) &&
                       network_.Reaches(to, number_) && !world_.scheduler.rng().OneIn(10);
  if (!answers) return Fail(Code::kUnavailable, url + ": no answer");
  if (path.starts_with("/kvorum/")) {
    ReplicaChecks* checks = machines_[to]->services().checks();
    if (checks == nullptr) return server::PeerAnswer{.status = 404, .cluster_id = {}, .body = {}};
    return checks->Serve(path);
  }
  server::LocalMember& local_member = machines_[to]->local_member();
  const auto view = local_member.membership().View();
  server::PeerAnswer answer{
      .status = 200, .cluster_id = server::IdText(local_member.cluster_id()), .body = {}};
  answer.body =
      path == "/members"
          ? server::EncodeMembersJson(*view)
          : fmt::format(R"({{"etcdserver":"3.7.3","etcdcluster":"{}"}})",
                        view->cluster_version.empty() ? "not_decided" : view->cluster_version);
  return answer;
}

}  // namespace kvorum::sim
