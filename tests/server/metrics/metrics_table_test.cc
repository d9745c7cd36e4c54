// The metrics that the tables name, beside those of the API level and those of the manual.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "archive/ship/archive_status.h"
#include "base/executor.h"
#include "server/locks/waiting_calls.h"
#include "server/metrics/metrics_http.h"
#include "server/metrics/sources.h"
#include "server/process/process/metrics_server.h"
#include "server/process/process/process_queues.h"

namespace kvorum::server {
namespace {

std::string JoinedLabels(const std::vector<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels) text += (text.empty() ? "" : ",") + label;
  return text.empty() ? "-" : text;
}

class MetricsTableTest : public testing::Test {
 protected:
  MetricsTableTest() {
    sources_.times_calls = true;
    AddAllMetrics(registry_, sources_);
    AddProcessQueues(registry_, locks_, elections_, metrics_server_);
  }

  WaitingCalls locks_{{}};
  WaitingCalls elections_{{}};
  MetricsServer metrics_server_;
  MetricSources sources_;
  MetricsRegistry registry_;
  ThreadExecutor executor_{"metrics"};
  MetricsHttp http_{registry_, executor_};
};

TEST_F(MetricsTableTest, HasEveryMetricOfTheApiLevel) {
  std::ifstream file(KVORUM_METRICS_OF_API_LEVEL);
  std::size_t count = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    std::string name;
    std::string type;
    std::string labels;
    fields >> name >> type >> labels;
    ++count;
    const auto row = registry_.rows().find(name);
    ASSERT_NE(row, registry_.rows().end()) << name;
    EXPECT_EQ(Name(row->second.type), type) << name;
    EXPECT_EQ(JoinedLabels(row->second.labels), labels) << name;
  }
  EXPECT_GT(count, 150u);
}

// The manual lists each with its state, one row each.
TEST_F(MetricsTableTest, IsTheManuals) {
  std::ifstream file(KVORUM_METRICS_MANUAL);
  std::map<std::string, std::string> listed;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `")) continue;
    const std::size_t end = line.find('`', 3);
    listed[line.substr(3, end - 3)] = line;
  }
  for (const auto& [name, row] : registry_.rows()) {
    const std::string labels = row.labels.empty() ? "" : " `" + JoinedLabels(row.labels) + "`";
    const std::string state =
        row.zero_because.empty()
            ? std::string(row.help)
            : (row.labels.empty() ? "0: " : "no series: ") + std::string(row.zero_because);
    const std::string expected = "| `" + std::string(name) + "`" + labels + " | " +
                                 std::string(Name(row.type)) + " | " + state + " |";
    EXPECT_EQ(listed[std::string(name)], expected);
    listed.erase(std::string(name));
  }
  EXPECT_EQ(listed.size(), 0u) << listed.begin()->first;
}

TEST_F(MetricsTableTest, OpenReadTransactionsAreTheReadersOfTheDatabase) {
  const std::atomic<unsigned> readers{3};
  sources_.database_readers = &readers;
  const auto& row = registry_.rows().at("etcd_mvcc_db_open_read_transactions");
  Samples samples("readers", row.labels);
  row.collect(samples);
  std::string text;
  samples.Write(row.type, "Help.", text);
  EXPECT_EQ(text, "# HELP readers Help.\n# TYPE readers gauge\nreaders 3\n");
}

std::string PageOf(const MetricsRegistry& registry, std::string_view name) {
  const auto& row = registry.rows().at(name);
  Samples samples(name, row.labels);
  row.collect(samples);
  std::string text;
  samples.Write(row.type, "Help.", text);
  return text.substr(std::min(text.size(), text.find('\n', text.find("# TYPE")) + 1));
}

TEST_F(MetricsTableTest, TheArchivesRowsHaveSeriesWhereThereIsOne) {
  EXPECT_EQ(PageOf(registry_, "kvorum_archive_state"), "");
  EXPECT_EQ(PageOf(registry_, "kvorum_archive_lag_seconds"), "");
  EXPECT_EQ(PageOf(registry_, "kvorum_archive_gaps_total"), "");
  archive::ArchiveStatus status;
  status.Set({.state = archive::ShipState::kFailing,
              .archived = {.index = 7, .revision = 5, .time_ms = 1'500},
              .base = {.index = 3, .revision = 2, .time_ms = 500},
              .error = {}});
  status.gaps.Add(2);
  sources_.archive = &status;
  sources_.archive_lag_ms = [] { return 2'500; };
  EXPECT_EQ(PageOf(registry_, "kvorum_archive_state"),
            "kvorum_archive_state{state=\"starting\"} 0\n"
            "kvorum_archive_state{state=\"following\"} 0\n"
            "kvorum_archive_state{state=\"archiving\"} 0\n"
            "kvorum_archive_state{state=\"failing\"} 1\n"
            "kvorum_archive_state{state=\"refused\"} 0\n");
  EXPECT_EQ(PageOf(registry_, "kvorum_archive_index"), "kvorum_archive_index 7\n");
  EXPECT_EQ(PageOf(registry_, "kvorum_archive_revision"), "kvorum_archive_revision 5\n");
  EXPECT_EQ(PageOf(registry_, "kvorum_archive_time_seconds"), "kvorum_archive_time_seconds 1.5\n");
  EXPECT_EQ(PageOf(registry_, "kvorum_archive_base_time_seconds"),
            "kvorum_archive_base_time_seconds 0.5\n");
  EXPECT_EQ(PageOf(registry_, "kvorum_archive_lag_seconds"), "kvorum_archive_lag_seconds 2.5\n");
  EXPECT_EQ(PageOf(registry_, "kvorum_archive_gaps_total"), "kvorum_archive_gaps_total 2\n");
}

// Every row names the queues that show it, or says why none does; every queue has a row.
TEST_F(MetricsTableTest, HasAQueueForEveryBoundOfTheArchitecture) {
  std::ifstream file(KVORUM_ARCHITECTURE);
  std::set<std::string, std::less<>> queues;
  for (const auto& row : registry_.queues()) queues.insert(std::string(row.name));
  ASSERT_FALSE(queues.empty());
  std::set<std::string, std::less<>> named;
  std::string line;
  while (std::getline(file, line) && line != "| what | bound | then | `queue` |") {
  }
  std::getline(file, line);
  std::size_t rows = 0;
  while (std::getline(file, line) && line.starts_with("| ")) {
    ++rows;
    ASSERT_TRUE(line.ends_with(" |")) << line;
    std::string cell = line.substr(0, line.size() - 2);
    cell = cell.substr(cell.rfind(" | ") + 3);
    if (cell.starts_with("none: ")) continue;
    ASSERT_TRUE(cell.starts_with('`')) << line;
    std::istringstream names(cell);
    for (std::string name; names >> name;) {
      name = name.substr(1, name.rfind('`') - 1);
      EXPECT_TRUE(queues.contains(name)) << name << ": " << line;
      named.insert(name);
    }
  }
  EXPECT_GE(rows, 40u);
  EXPECT_EQ(named, queues);
}

}  // namespace
}  // namespace kvorum::server
