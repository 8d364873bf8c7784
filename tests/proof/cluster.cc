// SPDX-License-Identifier: Apache-2.0
#include "tests/proof/cluster.h"

#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "nlohmann/json.hpp"
#include "src/base/os/check.h"
#include "src/http/connection.h"
#include "tests/proof/places.h"
#include "tests/support/private_server.h"

namespace locus::proof {
namespace {

constexpr uint16_t kRaftPort = 7071;
constexpr uint16_t kApiPort = 7070;
constexpr size_t kMostAnswer = 1 << 20;
constexpr char kFiller[] = "/filler";

void WriteFile(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  LOCUS_CHECK((out << text << std::flush).good());
  LOCUS_CHECK(chmod(path.c_str(), 0600) == 0);
}

void OpenSsl(const std::string& directory, const std::string& words) {
  const MappedPage page(directory + "/openssl.page");
  page->clock_shift_ns = -absl::ToInt64Nanoseconds(Secrets::kAge);
  const std::string command =
      absl::StrCat("cd ", directory, " && LD_PRELOAD=", PreloadedFaults(), " ", kFaultPageVariable,
                   "=", page.path(), " openssl ", words, " >> openssl.log 2>&1");
  LOCUS_CHECK(std::system(command.c_str()) == 0);
}

}  // namespace

Secrets::Secrets(const std::string& directory)
    : authority(directory + "/authority.pem"),
      certificate(directory + "/node.pem"),
      key(directory + "/node.key"),
      token_file(directory + "/token"),
      token("a-token-of-the-proofs-own") {
  std::string names = "IP:127.0.0.1";
  for (int host = 0; host < 32; ++host) absl::StrAppend(&names, ",IP:", Network::AddressOf(host));
  OpenSsl(directory,
          "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 30 -subj "
          "/CN=proof -keyout authority.key "
          "-out authority.pem");
  OpenSsl(directory,
          "req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=node -addext "
          "subjectAltName=" +
              names + " -keyout node.key -out node.csr");
  OpenSsl(directory,
          "x509 -req -in node.csr -CA authority.pem -CAkey authority.key -CAcreateserial -days 30 "
          "-copy_extensions copy -out node.pem");
  LOCUS_CHECK(chmod(key.c_str(), 0600) == 0);
  WriteFile(token_file, token + "\n");
}

absl::StatusOr<std::string> AskNode(const std::string& endpoint, const http::TlsContext& tls,
                                    const std::string& token, std::string_view method,
                                    const std::string& target, const std::string& body) {
  const http::TimePoint until = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
  LOCUS_ASSIGN_OR_RETURN(const http::Endpoint parsed, http::Endpoint::Parse(endpoint));
  LOCUS_ASSIGN_OR_RETURN(auto connection, http::HttpConnection::Connect(parsed, &tls, until));
  const std::string bearer = "Bearer " + token;
  http::HttpRequest request{method, target, {}, body};
  request.headers.push_back({"Authorization", bearer});
  LOCUS_ASSIGN_OR_RETURN(http::HttpAnswer answer, connection->Send(request, kMostAnswer, until));
  if (answer.status >= 200 && answer.status < 300) return std::move(answer.body);
  return absl::UnavailableError(absl::StrCat(answer.status, " ", answer.body));
}

Cluster::Cluster(Network& network, std::string directory, const Secrets& secrets, int size,
                 uint64_t disk_bytes, int first_host, const std::string& more_api)
    : network_(network),
      directory_(std::move(directory)),
      secrets_(secrets),
      first_host_(first_host) {
  auto tls = http::TlsContext::Load({secrets.authority, "", ""});
  LOCUS_CHECK(tls.ok());
  tls_ = *std::move(tls);
  for (int i = 0; i < size; ++i) {
    const std::string own = absl::StrCat(directory_, "/node-", HostOf(i));
    std::filesystem::create_directory(own);
    auto place = std::make_unique<Place>(own + ".page");
    place->directory = own + "/data";
    place->config = own + ".toml";
    place->log = own + ".log";
    // A process that may not create network namespaces may not mount either.
    const std::string limit = absl::StrCat("mode=0700,size=", disk_bytes);
    LOCUS_CHECK(network_.of_proxies() ||
                mount("none", own.c_str(), "tmpfs", 0, limit.c_str()) == 0);
    network_.Serve(HostOf(i), kRaftPort);
    network_.Serve(HostOf(i), kApiPort);
    const std::string address = Network::AddressOf(HostOf(i));
    WriteFile(
        place->config,
        absl::StrCat("cluster = \"proof\"\ndata = \"", place->directory, "\"\n[raft]\nlisten = \"",
                     address, ":", kRaftPort,
                     "\"\nelection = \"600ms\"\ncompact_entries = 300\nauthority = \"",
                     secrets.authority, "\"\ncertificate = \"", secrets.certificate, "\"\nkey = \"",
                     secrets.key, "\"\n[api]\nlisten = \"", address, ":", kApiPort,
                     "\"\ntoken_files = [\"", secrets.token_file, "\"]\ncertificate = \"",
                     secrets.certificate, "\"\nkey = \"", secrets.key, "\"\n", more_api));
    places_.push_back(std::move(place));
  }
}

Cluster::~Cluster() {
  for (int i = 0; i < size(); ++i) {
    Kill(i);
    const std::string own = std::filesystem::path(places_[i]->directory).parent_path();
    if (!network_.of_proxies()) umount2(own.c_str(), MNT_DETACH);
  }
}

std::string Cluster::ApiOf(int node) const {
  return absl::StrCat(Network::AddressOf(HostOf(node)), ":", kApiPort);
}

std::vector<std::string> Cluster::Endpoints() const {
  std::vector<std::string> endpoints;
  for (int i = 0; i < size(); ++i) endpoints.push_back(ApiOf(i));
  return endpoints;
}

std::vector<std::string> Cluster::EndpointsFromHere() const {
  std::vector<std::string> endpoints;
  for (int i = 0; i < size(); ++i) endpoints.push_back(network_.FromHere(HostOf(i), kApiPort));
  return endpoints;
}

void Cluster::Launch(int node) {
  Place& place = *places_[node];
  Command command;
  command.words = {LocusdProgram(), "--config", place.config};
  if (node == 0 && !place.has_begun) command.words.push_back("--begin");
  place.has_begun = true;
  command.log = place.log;
  command.page = place.page.path();
  network_.Put(HostOf(node), command);
  place.start_again = absl::InfiniteFuture();
  place.process.Start(command);
}

void Cluster::Start(int node) {
  if (places_[node]->wanted) return;
  places_[node]->wanted = true;
  Launch(node);
}

void Cluster::Kill(int node) {
  Place& place = *places_[node];
  place.wanted = false;
  place.start_again = absl::InfiniteFuture();
  place.process.Kill();
}

void Cluster::FillDisk(int node) {
  if (network_.of_proxies()) {
    Page(node)->disk_full = 1;
    return;
  }
  const std::string path = places_[node]->directory + "/.." + kFiller;
  std::ofstream out(path, std::ios::binary | std::ios::app);
  const std::string block(4096, 'x');
  while (out << block << std::flush) continue;
}

void Cluster::FreeDisk(int node) {
  Page(node)->disk_full = 0;
  std::filesystem::remove(places_[node]->directory + "/.." + kFiller);
}

void Cluster::NoteEnd(int node, int how) {
  Place& place = *places_[node];
  place.start_again = absl::Now() + absl::Milliseconds(200);
  if (how == -SIGKILL && place.page->torn.exchange(0) != 0) {
    ++torn_;
    events_.push_back(absl::StrCat("node ", node, " died of a torn write"));
    return;
  }
  if (how == 1) {
    ++failures_;
    events_.push_back(absl::StrCat("node ", node, " failed, and is started again"));
    return;
  }
  wrong_.push_back(
      absl::StrCat("node ", node, " ended with ", how, "; its log ends:\n", TailOf(place.log)));
  if (how != -SIGKILL && how != 2) place.start_again = absl::InfiniteFuture();
}

void Cluster::Supervise() {
  for (int i = 0; i < size(); ++i) {
    Place& place = *places_[i];
    if (!place.wanted) continue;
    if (const std::optional<int> how = place.process.Ended()) NoteEnd(i, *how);
    if (absl::Now() >= place.start_again) Launch(i);
  }
}

absl::StatusOr<std::string> Cluster::Ask(int node, std::string_view method,
                                         const std::string& target, const std::string& body) {
  if (!places_[node]->process.running()) return absl::UnavailableError("it does not run");
  return AskNode(network_.FromHere(HostOf(node), kApiPort), *tls_, secrets_.token, method, target,
                 body);
}

std::optional<Cluster::Node> Cluster::StatusOf(int node) {
  const absl::StatusOr<std::string> body = Ask(node, "GET", "/v1/status", "");
  if (!body.ok()) return std::nullopt;
  const auto said = nlohmann::json::parse(*body, nullptr, false);
  if (said.is_discarded()) return std::nullopt;
  Node status;
  status.id = said["id"].get<std::string>();
  status.role = said["role"].get<std::string>();
  if (said["leader"].is_string()) status.leader = said["leader"].get<std::string>();
  status.term = said["term"].get<uint64_t>();
  status.commit = said["commit"].get<uint64_t>();
  status.applied = said["applied"].get<uint64_t>();
  status.members = said["members"].size();
  for (const auto& member : said["members"]) status.voters += member["voter"].get<bool>() ? 1 : 0;
  return status;
}

int Cluster::Leader() {
  int leader = -1;
  uint64_t term = 0;
  for (int i = 0; i < size(); ++i) {
    if (!places_[i]->wanted) continue;
    const std::optional<Node> status = StatusOf(i);
    if (status && status->role == "leader" && status->term >= term) {
      leader = i;
      term = status->term;
    }
  }
  return leader;
}

int Cluster::WaitForLeader() {
  int leader = -1;
  WaitUntil([&] {
    Supervise();
    return (leader = Leader()) >= 0;
  });
  return leader;
}

bool Cluster::Agrees() {
  // Each look is a TLS connection to each node.
  if (absl::Now() < next_look_) return false;
  next_look_ = absl::Now() + absl::Milliseconds(100);
  std::optional<Node> first;
  for (int i = 0; i < size(); ++i) {
    if (!places_[i]->wanted) continue;
    const std::optional<Node> status = StatusOf(i);
    if (!status || status->leader.empty()) return false;
    if (!first) first = status;
    if (status->term != first->term || status->leader != first->leader ||
        status->applied < first->commit) {
      return false;
    }
  }
  return first.has_value();
}

bool Cluster::TryToAdd(int node) {
  Start(node);
  if (absl::Now() < next_look_) return false;
  next_look_ = absl::Now() + absl::Milliseconds(100);
  const std::optional<Node> status = StatusOf(node);
  const int leader = Leader();
  if (!status || leader < 0) return false;
  const nlohmann::json body = {{"id", status->id},
                               {"address", absl::StrCat(Network::AddressOf(HostOf(node)), ":",
                                                        kRaftPort, " ", ApiOf(node))}};
  if (!Ask(leader, "POST", "/v1/members", body.dump()).ok()) return false;
  return Ask(leader, "POST", absl::StrCat("/v1/members/", status->id, ":promote"), "").ok();
}

bool Cluster::Begin(int count) {
  for (int i = 0; i < count; ++i) Start(i);
  const bool begun = WaitUntil(
      [&] {
        Supervise();
        return Leader() == 0;
      },
      absl::Minutes(3));
  for (int i = 1; begun && i < count; ++i) {
    const bool added = WaitUntil(
        [&] {
          Supervise();
          return TryToAdd(i);
        },
        absl::Minutes(3));
    if (!added) wrong_.push_back(absl::StrCat("node ", i, " could not be added"));
  }
  if (!begun) wrong_.push_back("node 0 does not lead; its log ends:\n" + TailOf(places_[0]->log));
  return wrong_.empty();
}

void Cluster::End() {
  for (int i = 0; i < size(); ++i) {
    Place& place = *places_[i];
    if (!place.wanted) continue;
    place.process.Signal(SIGTERM);
    std::optional<int> how;
    WaitUntil([&] { return !place.process.running() || (how = place.process.Ended()).has_value(); },
              absl::Minutes(1));
    if (how.value_or(-1) != 0) {
      wrong_.push_back(absl::StrCat("node ", i, " did not end well: ", how.value_or(-1),
                                    "; its log ends:\n", TailOf(place.log)));
    }
    Kill(i);
  }
}

}  // namespace locus::proof
