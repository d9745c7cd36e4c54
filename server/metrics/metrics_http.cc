#include "server/metrics/metrics_http.h"

#include <malloc.h>
#include <sys/resource.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "api/member_id.h"
#include "base/text/gzip.h"
#include "server/call/cluster_facts.h"
#include "server/replica/drive/replica.h"
#include "server/services/maintenance/http_handlers.h"

namespace kvorum::server {
namespace {

constexpr const char* kContentType =
    "text/plain; version=0.0.4; charset=utf-8; escaping=underscores";

// True unless gzip is not named, or named with q=0.
bool AcceptsGzip(const rpc::HttpRequest& request) {
  const std::string_view accepted = request.Header("accept-encoding").value_or("");
  const std::size_t at = accepted.find("gzip");
  if (at == std::string_view::npos) return false;
  const std::string_view rest = accepted.substr(at + 4, accepted.find(',', at) - at - 4);
  return !rest.starts_with(";q=0") || rest.starts_with(";q=0.");
}

}  // namespace

MetricsHttp::MetricsHttp(MetricsRegistry& registry, Executor& executor)
    : registry_(registry), executor_(executor) {
  registry.Family("promhttp_metric_handler_requests_total", MetricType::kCounter, {"code"},
                  "Scrapes by the status of their answer.", [this](Samples& out) {
                    out.Add({"200"}, static_cast<double>(served_.value()));
                    out.Add({"500"}, 0.0);
                    out.Add({"503"}, static_cast<double>(refused_.value()));
                  });
  registry.Gauge("promhttp_metric_handler_requests_in_flight", "Scrapes not answered yet.",
                 [this] { return waiting_.load(); });
  registry.Queue(
      "scrapes", "requests", [this] { return waiting_.load(); }, [] { return kMostWaiting; });
}

void MetricsHttp::AddRoutes(rpc::HttpMux& mux) {
  mux.Handle("/metrics", [this](rpc::HttpRequest request, rpc::HttpReply reply) {
    Serve(request, std::move(reply));
  });
}

void MetricsHttp::Serve(const rpc::HttpRequest& request, rpc::HttpReply reply) {
  if (waiting_.fetch_add(1) >= kMostWaiting) {
    waiting_.fetch_sub(1);
    refused_.Add();
    return reply.Send(rpc::HttpResponse::Text(503, "too many scrapes are waiting\n"));
  }
  executor_.Post([this, gzip = AcceptsGzip(request), reply = std::move(reply)]() mutable {
    std::string text = registry_.Scrape();
    rpc::HttpResponse response =
        rpc::HttpResponse::Text(200, gzip ? GzipWriter().Finish(text) : std::move(text));
    response.content_type = kContentType;
    if (gzip) response.headers.push_back({"Content-Encoding", "gzip"});
    served_.Add();
    waiting_.fetch_sub(1);
    reply.Send(std::move(response));
  });
}

void AddDebugVars(rpc::HttpMux& mux, const ClusterFacts& cluster,
                  const std::vector<std::string>& arguments) {
  mux.Handle("/debug/vars", [&cluster, &arguments](const rpc::HttpRequest& request,
                                                   rpc::HttpReply reply) {
    if (!MethodIsGet(request, reply)) return;
    rlimit files{};
    getrlimit(RLIMIT_NOFILE, &files);
    const struct mallinfo2 heap = mallinfo2();
    const Replica& replica = cluster.replica;
    const bool leads = replica.leader() == cluster.member_id;
    const nlohmann::ordered_json memory = {{"Alloc", heap.uordblks + heap.hblkhd},
                                           {"Sys", heap.arena + heap.hblkhd},
                                           {"HeapAlloc", heap.uordblks + heap.hblkhd},
                                           {"HeapSys", heap.arena + heap.hblkhd},
                                           {"HeapIdle", heap.fordblks},
                                           {"HeapInuse", heap.uordblks}};
    const nlohmann::ordered_json raft = {{"id", IdText(cluster.member_id)},
                                         {"term", replica.term().value()},
                                         {"commit", replica.commit_index().value()},
                                         {"lead", IdText(replica.leader())},
                                         {"raftState", leads ? "StateLeader" : "StateFollower"},
                                         {"applied", replica.applied_index().value()}};
    const auto line = [](const char* name, const nlohmann::ordered_json& value) {
      return "\"" + std::string(name) +
             "\": " + value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
    };
    rpc::HttpResponse response = rpc::HttpResponse::Text(
        200, "{\n" + line("cmdline", arguments) + ",\n" +
                 line("file_descriptor_limit", files.rlim_cur) + ",\n" + line("memstats", memory) +
                 ",\n" + line("raft.status", raft) + "\n}\n");
    response.content_type = "application/json; charset=utf-8";
    reply.Send(std::move(response));
  });
}

}  // namespace kvorum::server
