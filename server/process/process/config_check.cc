#include "server/process/process/config_check.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include "api/member.h"
#include "base/error.h"
#include "base/file_system.h"
#include "base/net/resolved_url.h"
#include "base/net/url.h"
#include "datadir/first_members.h"
#include "rpc/tls/socket.h"
#include "server/process/bootstrap/discovery_client.h"
#include "server/process/certificates/client_tls.h"
#include "server/process/certificates/member_tls.h"
#include "server/process/settings/flag_table.h"
#include "server/process/settings/secret_flags.h"
#include "server/process/settings/settings_reader.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kFolderScheme = "file://";

class Checker {
 public:
  explicit Checker(const Reading& reading) : reading_(reading), options_(reading.parsed.options) {}

  CheckReport Run() {
    ListSettings();
    for (const UsageError& fault : reading_.faults) faults_.push_back(fault.message);
    if (faults_.empty()) {
      CheckAddresses();
      CheckCertificates();
      CheckFolders();
      CheckBootstrap();
    }
    List("warnings", reading_.parsed.warnings);
    List("faults", faults_);
    report_.text += faults_.empty() ? "\nThe configuration is valid.\n"
                                    : fmt::format("\n{} fault{}.\n", faults_.size(),
                                                  faults_.size() == 1 ? "" : "s");
    report_.exit_code = faults_.empty() ? 0 : 1;
    return std::move(report_);
  }

 private:
  std::string SourceOf(std::string_view flag) const {
    // Settings given beside the file are ignored.
    if (flag == "config-file" && !reading_.parsed.config_file.empty())
      return "flag or environment (" + EnvironmentName(flag) + ")";
    const auto given = reading_.parsed.given.find(flag);
    if (given == reading_.parsed.given.end()) return "default";
    switch (given->second.source) {
      case SettingSource::kFlag:
        return "flag";
      case SettingSource::kEnvironment:
        return "environment (" + EnvironmentName(flag) + ")";
      case SettingSource::kFile:
        return "file (" + reading_.parsed.config_file + ")";
    }
    return "";
  }

  // The value in force, which is not the given one where an empty one means another.
  std::string ValueOf(const Flag& flag) const {
    const auto given = reading_.parsed.given.find(flag.name);
    const bool is_given = given != reading_.parsed.given.end();
    if (is_given && IsSecretFlag(flag.name)) return std::string(kHiddenValue);
    if (flag.name == "data-dir") return options_.data_dir;
    if (flag.name == "initial-cluster")
      return FindsCluster() ? "" : options_.EffectiveInitialCluster();
    if (flag.name == "feature-gates") return options_.feature_gates;
    if (flag.name == "config-file") return reading_.parsed.config_file;
    return is_given ? given->second.text : std::string(flag.default_text);
  }

  bool FindsCluster() const {
    return !options_.discovery_srv.empty() || !options_.discovery_endpoints.empty();
  }

  void ListSettings() {
    std::string_view section;
    for (const Flag& flag : Flags()) {
      if (flag.section != section) {
        section = flag.section;
        report_.text += fmt::format("{}{}:\n", report_.text.empty() ? "" : "\n", section);
      }
      const std::string note = flag.support == Support::kIgnored ? ", accepted without effect" : "";
      const std::string value = ValueOf(flag);
      report_.text += fmt::format("  {} = {}  [{}{}]\n", flag.name, value.empty() ? "\"\"" : value,
                                  SourceOf(flag.name), note);
    }
  }

  void List(std::string_view title, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    report_.text += fmt::format("\n{}:\n", title);
    for (const std::string& line : lines) report_.text += "  - " + line + "\n";
  }

  void Fault(const Result<void>& outcome, std::string_view what) {
    if (!outcome.has_value())
      faults_.push_back(fmt::format("{}: {}", what, outcome.error().message));
  }

  void CheckAddresses() {
    for (const Flag& flag : Flags()) {
      if (flag.check != CheckUrls || !flag.name.starts_with("listen-")) continue;
      const auto urls = ParseUrls(ValueOf(flag));
      if (!urls.has_value()) continue;  // none, or reported already
      for (const Url& url : *urls)
        Fault(CanListen(url), fmt::format("--{} {}", flag.name, url.text()));
    }
  }

  // A socket that is a file is not made: its folder must be there.
  static Result<void> CanListen(const Url& url) {
    if (url.unix_socket()) {
      KV_RETURN_IF_ERROR(url.CheckAddress());
      return CanWrite(std::filesystem::path(url.socket_path()).parent_path());
    }
    KV_TRY(const rpc::ListenSocket socket, rpc::ListenSocket::Tcp(url.host(), url.port()));
    return socket.Listen();
  }

  // A folder that would be made needs one above it that can be written.
  static Result<void> CanWrite(std::filesystem::path folder) {
    if (folder.empty()) folder = ".";
    std::error_code error;
    while (!std::filesystem::exists(folder, error) && folder.has_parent_path() &&
           folder.parent_path() != folder) {
      folder = folder.parent_path();
    }
    if (!std::filesystem::exists(folder, error)) folder = ".";
    if (!std::filesystem::is_directory(folder, error))
      return Fail(Code::kInvalidArgument, folder.string() + " is not a directory");
    if (::access(folder.c_str(), W_OK | X_OK) == 0) return {};
    return Fail(Code::kInvalidArgument,
                folder.string() + " cannot be written: " + ErrnoText(errno));
  }

  // Certificates that this server would make for itself are not made.
  void CheckCertificates() {
    Options options = options_;
    options.auto_tls = false;
    options.peer_auto_tls = false;
    const std::int64_t now_s = std::time(nullptr);
    if (!options_.auto_tls || !options_.cert_file.empty()) {
      const auto tls = OpenClientTls(PosixFileSystem(), options, now_s);
      if (!tls.has_value()) faults_.push_back("TLS for clients: " + tls.error().message);
    }
    if (!options_.peer_auto_tls || !options_.peer_cert_file.empty()) {
      const auto tls = OpenPeerTls(PosixFileSystem(), options, now_s);
      if (!tls.has_value()) faults_.push_back("TLS between members: " + tls.error().message);
    }
    if (options_.discovery_endpoints.empty()) return;
    if (const auto client = DiscoveryClient::Open(options_); !client.has_value())
      faults_.push_back("discovery: " + client.error().message);
  }

  void CheckFolders() {
    Fault(CanWrite(options_.data_dir), "--data-dir");
    if (!options_.wal_dir.empty()) Fault(CanWrite(options_.wal_dir), "--wal-dir");
    if (options_.archive_url.starts_with(kFolderScheme))
      Fault(CanWrite(options_.archive_url.substr(kFolderScheme.size())), "--archive-url");
    for (const std::string& output : options_.log_outputs) {
      if (output == "default" || output == "stderr" || output == "stdout" ||
          output == "systemd/journal") {
        continue;
      }
      Fault(CanWrite(std::filesystem::path(output).parent_path()), "--log-outputs " + output);
    }
  }

  // The first start of a member; later ones go by its data.
  void CheckBootstrap() {
    const std::filesystem::path data = std::filesystem::path(options_.data_dir) / "member";
    std::error_code error;
    if (std::filesystem::exists(data / "snap" / "db", error)) return;
    if (FindsCluster()) return;  // others say at the start
    const auto members =
        ParseInitialCluster(options_.EffectiveInitialCluster(), options_.initial_cluster_token);
    if (!members.has_value()) {
      faults_.push_back("--initial-cluster: " + members.error().message);
      return;
    }
    const auto self = std::ranges::find(*members, options_.name, &Member::name);
    if (self == members->end()) {
      faults_.push_back("couldn't find local name \"" + options_.name +
                        "\" in the initial cluster configuration");
      return;
    }
    const auto urls = ParseUrls(options_.initial_advertise_peer_urls);
    if (!urls.has_value()) return;  // reported already
    std::vector<std::string> advertised;
    for (const Url& url : *urls) advertised.push_back(url.text());
    Fault(datadir::CheckAdvertisedUrls(ResolvedUrl, *self, advertised),
          "--initial-advertise-peer-urls");
  }

  const Reading& reading_;
  const Options& options_;
  CheckReport report_;
  std::vector<std::string> faults_;
};

}  // namespace

CheckReport CheckSettings(const Reading& reading) { return Checker(reading).Run(); }

}  // namespace kvorum::server
