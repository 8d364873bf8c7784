// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_PROOF_NETWORK_H_
#define LOCUS_TESTS_PROOF_NETWORK_H_

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "tests/proof/process.h"
#include "tests/support/fault_proxy.h"

namespace locus::proof {

// Gives this process network and mount namespaces of its own, where it may do as it likes; all of
// it goes when the process and its children end, however they end. Without root by a user
// namespace. To be called before there are threads. FAILED_PRECONDITION: the system refuses.
absl::Status EnterOwnNamespaces();

// Hosts, each in a network namespace, with a veth pair to a bridge in the namespace of this
// process, which is one more host. Frames from one host to another vanish silently while that way
// is cut. Thread safety: none.
class Network {
 public:
  // After EnterOwnNamespaces, once. Hosts 0..hosts-1 are at one bridge with this process; those of
  // `there` at a second one, which a link joins to the first.
  static absl::StatusOr<std::unique_ptr<Network>> Make(int hosts, const std::set<int>& there = {});
  // Where namespaces are refused: all hosts are this one, and between each two of them are proxies
  // of the test's own. A way that is cut then holds back what is sent until it is healed, also the
  // answers on connections of that way. `directory` is for files.
  static std::unique_ptr<Network> MakeOfProxies(int hosts, const std::string& directory,
                                                const std::set<int>& there = {});
  ~Network();
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  int size() const { return static_cast<int>(hosts_.size()); }
  static std::string AddressOf(int host);
  bool of_proxies() const { return !directory_.empty(); }
  // The host will listen at this port. Before any process is started.
  void Serve(int host, uint16_t port);
  // Makes the command run on a host; -1: on that of this process.
  void Put(int host, Command& command) const;
  // Where this process reaches a port of a host.
  std::string FromHere(int host, uint16_t port) const;

  // One way only.
  void Cut(int from, int to);
  void Heal(int from, int to);
  // Both ways between these hosts and all others.
  void CutOff(const std::set<int>& hosts);
  // One way in four. Returns how long to leave it so: 0.5 to 4.5 s.
  absl::Duration CutAtRandom(std::mt19937_64& random);
  // The link between the bridges.
  void CutLink() { SetLink(true); }
  void HealLink() { SetLink(false); }
  void HealAll();

 private:
  struct Host {
    int fd = -1;
    std::vector<bool> cut;  // by the other host
  };
  Network() = default;
  absl::Status Build(int hosts, const std::set<int>& there);
  void SetWay(int from, int to, bool cut);
  void SetLink(bool cut);
  std::string RoutesOf(int host) const;

  std::vector<Host> hosts_;
  std::set<int> there_;
  // Of proxies.
  std::string directory_;
  std::map<std::pair<int, uint16_t>, uint16_t> real_ports_;  // of host and port
  std::map<std::pair<int, int>, std::vector<std::unique_ptr<FaultProxy>>> proxies_;  // from, to
};

}  // namespace locus::proof

#endif  // LOCUS_TESTS_PROOF_NETWORK_H_
