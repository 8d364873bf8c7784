// SPDX-License-Identifier: Apache-2.0
#include "tests/proof/seeds.h"

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "apps/proof/lease/spaces.h"
#include "locus/engine/locusd.h"
#include "tests/proof/clients.h"
#include "tests/proof/cluster.h"
#include "tests/proof/network.h"
#include "tests/proof/plan.h"
#include "tests/proof/run.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus::proof {
namespace {

constexpr uint64_t kDiskBytes = 8 << 20;
constexpr char kSummary[] = "summary ";

void Append(const std::vector<std::string>& more, std::vector<std::string>& wrong) {
  wrong.insert(wrong.end(), more.begin(), more.end());
}

Verdict RunPlan(const Plan& plan, const std::string& directory) {
  Verdict verdict;
  const Secrets secrets(directory);
  const int hosts = plan.nodes + 1;
  auto network = MakeNetwork(hosts + plan.clients, directory);
  if (!network.ok()) {
    verdict.wrong.push_back(network.status().ToString());
    return verdict;
  }
  Cluster cluster(**network, directory, secrets, hosts, kDiskBytes);
  Clients::Options options;
  options.count = plan.clients;
  options.first_host = hosts;
  options.seed = plan.seed;
  options.workers = static_cast<uint64_t>(plan.clients) + 1;
  options.endpoints = cluster.Endpoints();
  Clients clients(**network, directory, secrets, options);
  const bool works = cluster.Begin(plan.nodes) && MakeSpaces(secrets, cluster.EndpointsFromHere());
  Run run(plan, **network, cluster, clients);
  if (works) {
    clients.StartAll();
    run.Do();
    clients.KillAll();
    cluster.End();
    std::cout << run.story();
    JudgeIds(clients.outs(), verdict);
    JudgeHistories(clients.outs(), plan.seed, verdict);
    verdict.torn = cluster.torn();
    verdict.failures = cluster.failures();
  } else {
    verdict.wrong.push_back("the cluster did not come up");
  }
  Append(run.wrong(), verdict.wrong);
  Append(clients.wrong(), verdict.wrong);
  Append(cluster.wrong(), verdict.wrong);
  return verdict;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Network>> MakeNetwork(int hosts, const std::string& directory,
                                                     const std::set<int>& there) {
  absl::Status entered = absl::CancelledError("LOCUS_PROOF_PROXIES is set");
  if (std::getenv("LOCUS_PROOF_PROXIES") == nullptr) entered = EnterOwnNamespaces();
  if (entered.ok()) return Network::Make(hosts, there);
  std::cout << "proxies, and no namespaces: " << entered << "\n";
  return Network::MakeOfProxies(hosts, directory, there);
}

bool MakeSpaces(const Secrets& secrets, const std::vector<std::string>& endpoints) {
  LocusdOptions options;
  options.endpoints = endpoints;
  options.token = secrets.token;
  options.tls = {true, secrets.authority};
  auto store = LocusdWorkerLeaseStore::Open(options);
  if (!store.ok()) return false;
  for (const char* name : {kIdSpace, kHistorySpace}) {
    const SpaceName space = SpaceName::Parse(name).value();
    if (!WaitUntil([&] { return (*store)->Create(space, {.first_ever = true}, absl::Now()).ok(); },
                   absl::Minutes(3))) {
      return false;
    }
  }
  return true;
}

bool RunSeed(uint64_t seed, absl::Duration length, bool keep) {
  const Plan plan = PlanOf(seed, length);
  std::cout << plan.Text() << std::flush;
  TemporaryDirectory directory;
  const Verdict verdict = RunPlan(plan, directory.str());
  for (const std::string& each : verdict.wrong) std::cout << "WRONG: " << each << "\n";
  const bool good = verdict.wrong.empty();
  if (!good && keep) {
    const std::string kept = absl::StrCat("/tmp/locus-proof-", seed);
    std::error_code ignored;
    std::filesystem::remove_all(kept, ignored);
    std::filesystem::copy(directory.str(), kept, std::filesystem::copy_options::recursive, ignored);
    std::cout << "kept in " << kept << "\n";
  }
  std::cout << Summary(verdict) << std::flush;
  return good;
}

bool JudgeKept(const std::string& directory) {
  std::vector<std::string> outs;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    if (entry.path().extension() == ".log" &&
        entry.path().filename().string().starts_with("client")) {
      outs.push_back((entry.path().parent_path() / entry.path().stem()).string());
    }
  }
  Verdict verdict;
  JudgeIds(outs, verdict);
  JudgeHistories(outs, 1, verdict);
  for (const std::string& each : verdict.wrong) std::cout << "WRONG: " << each << "\n";
  std::cout << Summary(verdict);
  return verdict.wrong.empty();
}

std::string Summary(const Verdict& verdict) {
  return absl::StrCat(kSummary, verdict.ids, " IDs ", verdict.leases, " leases ", verdict.calls,
                      " calls ", verdict.stale_reads, " stale-reads-found ", verdict.torn,
                      " torn-writes ", verdict.failures, " disk-failures ", verdict.wrong.size(),
                      " wrong\n");
}

bool AddSummary(const std::string& text, Verdict& sum) {
  const size_t at = text.rfind(kSummary);
  if (at == std::string::npos) return false;
  std::istringstream in(text.substr(at + sizeof kSummary - 1));
  std::string word;
  uint64_t ids = 0, leases = 0, calls = 0, stale_reads = 0, torn = 0, failures = 0;
  in >> ids >> word >> leases >> word >> calls >> word >> stale_reads >> word >> torn >> word >>
      failures >> word;
  if (!in) return false;
  sum.ids += ids;
  sum.leases += leases;
  sum.calls += calls;
  sum.stale_reads += stale_reads;
  sum.torn += torn;
  sum.failures += failures;
  return true;
}

}  // namespace locus::proof
