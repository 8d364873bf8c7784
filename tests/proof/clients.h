// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_PROOF_CLIENTS_H_
#define LOCUS_TESTS_PROOF_CLIENTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/proof/cluster.h"
#include "tests/proof/network.h"
#include "tests/proof/process.h"

namespace locus::proof {

// Processes of lease_client, each on a host of its own, and their files. One more, on the host of
// this process, which is never cut off, asks each node separately. Thread safety: none.
class Clients {
 public:
  struct Options {
    int count = 4;
    int first_host = 0;  // of the network
    uint64_t seed = 1;
    bool steady = false;     // they keep their leases as long as they can
    uint64_t rate = 80'000;  // IDs a second, of each
    // That they share; and of the histories.
    uint64_t first_worker = 0;
    uint64_t workers = 5;
    std::vector<std::string> endpoints;
  };
  Clients(Network& network, std::string directory, const Secrets& secrets, Options options);

  int count() const { return static_cast<int>(places_.size()); }
  int HostOf(int client) const { return options_.first_host + client; }
  void StartAll();
  // kill -9, and another process in its place.
  void Replace(int client);
  void Stall(int client);
  void Resume(int client);
  bool stalled(int client) const { return places_[client]->stalled; }
  FaultPage* Page(int client) { return places_[client]->page.operator->(); }
  void KillAll();
  // Notes the clients that ended by themselves.
  void Supervise();

  // How many bytes of IDs the present process of this client has written: it rises while it makes
  // IDs.
  uint64_t Written(int client) const;
  // The files of all processes that there were, without endings.
  const std::vector<std::string>& outs() const { return outs_; }
  const std::vector<std::string>& wrong() const { return wrong_; }

 private:
  struct Place {
    explicit Place(const std::string& page_path) : page(page_path) {}
    MappedPage page;
    Process process;
    std::string out;
    bool stalled = false;
  };
  void Launch(int client);
  void LaunchProber();
  Command CommandOf(const std::string& out, uint64_t seed, uint64_t rate) const;

  Network& network_;
  const std::string directory_;
  const Secrets& secrets_;
  const Options options_;
  std::vector<std::unique_ptr<Place>> places_;
  Process prober_;
  std::vector<std::string> outs_;
  std::vector<std::string> wrong_;
};

}  // namespace locus::proof

#endif  // LOCUS_TESTS_PROOF_CLIENTS_H_
