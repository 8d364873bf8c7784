// SPDX-License-Identifier: Apache-2.0
#include "tests/locusd/ids_process.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "gtest/gtest.h"
#include "locus/open.h"
#include "locus/worker_lease_store.h"
#include "src/http/endpoint.h"

namespace locus {
namespace {

constexpr char kServes[] = "info serves";

std::string TextOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

size_t CountOf(const std::string& text, const std::string& part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

LocusdRun RunLocusd(const std::string& arguments, const TemporaryDirectory& directory) {
  const std::string out = directory / "run.out";
  const int status =
      std::system(absl::StrCat(LOCUSD_BINARY, " ", arguments, " > ", out, " 2>&1").c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, TextOf(out)};
}

void WriteSecret(const std::string& path, const std::string& text) {
  const std::string fresh = path + ".new";
  std::ofstream(fresh) << text;
  chmod(fresh.c_str(), 0600);
  ASSERT_EQ(std::rename(fresh.c_str(), path.c_str()), 0);
}

std::string IdsOnOneFile(const TemporaryDirectory& directory, const std::string& more_ids) {
  const std::string uri = absl::StrCat("\"sqlite:", directory / "ids.db", "\"\ncreate = true\n");
  MakeFirstSpace("sqlite:" + (directory / "ids.db"));
  MarkFirstSequences("sqlite:" + (directory / "ids.db"));
  return absl::StrCat("[ids]\n", more_ids, "[ids.orders]\nstore = ", uri,
                      "[ids.sequences]\nstore = ", uri, "[ids.snowflake]\nleases = ", uri);
}

void MakeFirstSpace(const std::string& uri, const std::string& password) {
  StoreUriOptions options{.create = true};
  if (!password.empty()) {
    options.password = [&password]() -> absl::StatusOr<std::string_view> { return password; };
  }
  absl::Status made;
  // A cluster that has just begun has no leader yet.
  EXPECT_TRUE(WaitUntil([&] {
    auto leases = OpenWorkerLeaseStore(uri, options);
    made = leases.status();
    if (made.ok()) made = (*leases)->Create(SpaceName(), {.first_ever = true}, absl::Now());
    return made.ok();
  })) << made;
}

void MarkFirstSequences(const std::string& uri, const std::string& password) {
  SequencerUriOptions options;
  options.password = [&password]() -> absl::StatusOr<std::string_view> { return password; };
  absl::Status marked;
  EXPECT_TRUE(WaitUntil([&] {
    marked = OpenSegmentStore(uri, {.password = options.password, .create = true}).status();
    if (marked.ok()) marked = MarkFirstStart(uri, options, absl::Now()).status();
    return marked.ok();
  })) << marked;
}

IdsProcess::IdsProcess(const TemporaryDirectory& directory, const std::string& name)
    : config_(directory / (name + ".toml")), log_(directory / (name + ".log")) {}

std::string IdsProcess::api() const { return absl::StrCat("127.0.0.1:", port_); }

void IdsProcess::Write(const std::string& top, const std::string& more_api,
                       const std::string& rest) {
  const std::string fresh = config_ + ".new";
  std::ofstream(fresh) << top << "[api]\nlisten = \"" << api() << "\"\n" << more_api << rest;
  ASSERT_EQ(std::rename(fresh.c_str(), config_.c_str()), 0);
}

bool IdsProcess::Start(bool begin) {
  return StartUntil(begin, [this] { return Serves(); });
}
bool IdsProcess::Launch(bool begin) {
  return StartUntil(begin, [] { return true; });
}

bool IdsProcess::StartUntil(bool begin, const std::function<bool()>& is_up) {
  std::vector<std::string> command = {LOCUSD_BINARY, "--config", config_};
  if (begin) command.push_back("--begin");
  served_before_ = CountOf(LogText(), kServes);
  process_ = std::make_unique<PrivateServer>(command, log_);
  return process_->Start(is_up);
}

bool IdsProcess::Serves() const { return CountOf(LogText(), kServes) > served_before_; }

int IdsProcess::WaitForEnd() {
  siginfo_t end = {};
  // Left for the object that started it.
  waitid(P_PID, static_cast<id_t>(process_->pid()), &end, WEXITED | WNOWAIT);
  return end.si_code == CLD_EXITED ? end.si_status : -end.si_status;
}

std::string IdsProcess::LogText() const { return TextOf(log_); }
bool IdsProcess::Logged(const std::string& text) const {
  return LogText().find(text) != std::string::npos;
}
bool IdsProcess::Logs(const std::string& text) const {
  return WaitUntil([&] { return Logged(text); });
}
bool IdsProcess::LogsAfter(const std::function<void()>& action, const std::string& text) {
  const size_t before = CountOf(LogText(), text);
  action();
  return WaitUntil([&] { return CountOf(LogText(), text) > before; });
}

absl::StatusOr<http::HttpAnswer> IdsProcess::Ask(const std::string& method,
                                                 const std::string& target, const std::string& body,
                                                 const Headers& headers) const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  auto connection = http::HttpConnection::Connect(*http::Endpoint::Parse(api()), tls, deadline);
  if (!connection.ok()) return connection.status();
  const std::string bearer = "Bearer " + token;
  http::HttpRequest request{method, target, {}, body};
  if (!token.empty()) request.headers.emplace_back("Authorization", bearer);
  for (const auto& [name, value] : headers) request.headers.emplace_back(name, value);
  return (*connection)->Send(request, 16 << 20, deadline);
}

unsigned IdsProcess::StatusOf(const std::string& method, const std::string& target,
                              const std::string& body) const {
  const auto answer = Ask(method, target, body);
  return answer.ok() ? answer->status : 0;
}

nlohmann::json IdsProcess::Good(const std::string& method, const std::string& target,
                                const std::string& body) const {
  const auto answer = Ask(method, target, body);
  EXPECT_TRUE(answer.ok()) << target << ": " << answer.status();
  if (!answer.ok()) return {};
  EXPECT_EQ(answer->status, 200u) << target << ": " << answer->body;
  return nlohmann::json::parse(answer->body, nullptr, false);
}

std::string IdsProcess::Metric(const std::string& name) const {
  const auto answer = Ask("GET", "/metrics");
  if (!answer.ok()) return "";
  for (const auto line : absl::StrSplit(answer->body, '\n')) {
    const std::string text(line);
    if (text.starts_with(name + " ")) return text.substr(name.size() + 1);
  }
  return "";
}

}  // namespace locus
