// The manual's list of log lines beside the sources: a line that it calls the same, or names, is
// written somewhere.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace kvorum::server {
namespace {

// All of the server's sources, with literals that are cut in two joined.
std::string Sources() {
  std::string all;
  for (const char* folder : {"api", "base", "datadir", "mvcc", "rpc", "server", "wal", "watch"}) {
    const std::filesystem::path root = std::filesystem::path(KVORUM_SOURCE_DIR) / folder;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (entry.path().extension() != ".cc") continue;
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      all += text.str();
    }
  }
  std::string joined;
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t next = all.find_first_not_of(" \n", at + 1);
    if (all[at] == '"' && next != std::string::npos && next > at + 1 && all[next] == '"') {
      at = next + 1;
    } else {
      joined += all[at++];
    }
  }
  return joined;
}

// The text between the first two backquotes.
std::string Quoted(std::string_view cell) {
  const std::size_t begin = cell.find('`') + 1;
  return std::string(cell.substr(begin, cell.find('`', begin) - begin));
}

TEST(LogLinesTest, TheManualsLinesAreWritten) {
  const std::string sources = Sources();
  ASSERT_GT(sources.size(), 1'000'000u);
  std::ifstream manual(KVORUM_SOURCE_DIR "/docs/operations/log_lines.md");
  std::size_t rows = 0;
  for (std::string line; std::getline(manual, line);) {
    if (!line.starts_with("| `")) continue;
    ++rows;
    const std::string here = line.substr(line.find("` | ") + 4);
    if (here.starts_with("none: ")) continue;
    ASSERT_TRUE(here.starts_with("the same") || here.starts_with('`')) << line;
    const std::string text = Quoted(here.starts_with('`') ? here : line);
    EXPECT_NE(sources.find(text), std::string::npos) << text;
  }
  EXPECT_GT(rows, 25u);
}

}  // namespace
}  // namespace kvorum::server
