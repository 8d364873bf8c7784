// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_PROOF_CLUSTER_H_
#define LOCUS_TESTS_PROOF_CLUSTER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "src/http/tls_context.h"
#include "tests/proof/network.h"
#include "tests/proof/process.h"

namespace locus::proof {

// The certificates and the token of a cluster: files in a directory.
struct Secrets {
  // How long ago they were made: a node whose clock is behind refuses certificates that are not
  // valid yet.
  static constexpr absl::Duration kAge = absl::Hours(48);
  // Made once by the program openssl, for all addresses that a Network gives.
  explicit Secrets(const std::string& directory);
  std::string authority, certificate, key, token_file, token;
};

// The body of a node's answer with 2xx. UNAVAILABLE: there is none within 500 ms.
absl::StatusOr<std::string> AskNode(const std::string& endpoint, const http::TlsContext& tls,
                                    const std::string& token, std::string_view method,
                                    const std::string& target, const std::string& body = "");

// Processes of locusd on the first hosts of a network, each with its own directory, and their
// supervisor.
// Thread safety: none.
class Cluster {
 public:
  struct Node {
    std::string id;
    std::string role;
    std::string leader;
    uint64_t term = 0;
    uint64_t commit = 0;
    uint64_t applied = 0;
    uint64_t members = 0;
    uint64_t voters = 0;
  };

  // Nodes 0..size-1, of which none is started, on as many hosts from `first_host` on. `disk_bytes`:
  // of the file system of each node's data, which is in memory. `more_api`: lines for that section
  // of the configuration.
  Cluster(Network& network, std::string directory, const Secrets& secrets, int size,
          uint64_t disk_bytes, int first_host = 0, const std::string& more_api = "");
  // Kills the nodes and takes their file systems away, so that the directory can be removed.
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  int size() const { return static_cast<int>(places_.size()); }
  std::string ApiOf(int node) const;
  int HostOf(int node) const { return first_host_ + node; }
  // Of all nodes: for clients, and for this process.
  std::vector<std::string> Endpoints() const;
  std::vector<std::string> EndpointsFromHere() const;

  // Starts nodes 0..count-1 and makes a cluster of them; false, with wrong(): not within a minute.
  bool Begin(int count);
  // Starts a node that is in no cluster yet, and adds it as a voter. Call it until it is true: it
  // tries now and then.
  bool TryToAdd(int node);

  void Start(int node);
  // kill -9; it stays down until Start.
  void Kill(int node);
  void Stall(int node) { places_[node]->process.Signal(SIGSTOP); }
  void Resume(int node) { places_[node]->process.Signal(SIGCONT); }
  bool started(int node) const { return places_[node]->wanted; }
  FaultPage* Page(int node) { return places_[node]->page.operator->(); }
  // Fills the disk up; or takes away what filled it.
  void FillDisk(int node);
  void FreeDisk(int node);

  // Starts nodes again that have ended by themselves, as a supervisor does, and notes the ones that
  // ended for a wrong reason. Call it often.
  void Supervise();
  // Asks the node. nullopt: no answer within 500 ms.
  std::optional<Node> StatusOf(int node);
  // The body of a 2xx answer within 500 ms; otherwise UNAVAILABLE, with the answer.
  absl::StatusOr<std::string> Get(int node, const std::string& target) {
    return Ask(node, "GET", target, "");
  }
  // The node that leads now, by what the nodes say; -1: none.
  int Leader();
  // The same, once there is one; -1: none within two minutes.
  int WaitForLeader();
  // Whether all of the started nodes work, follow one leader and have applied what it committed.
  // Call it until it is true: it looks now and then.
  bool Agrees();
  // Sends SIGTERM to all of them. Notes the ones that do not exit cleanly.
  void End();

  // Failures of processes, one line each.
  const std::vector<std::string>& wrong() const { return wrong_; }
  // Nodes that asked to be started again, because their disk failed.
  uint64_t failures() const { return failures_; }
  // Nodes that died of a torn write.
  uint64_t torn() const { return torn_; }
  // Events of nodes since the last call, for the story, one line each.
  std::vector<std::string> TakeEvents() { return std::exchange(events_, {}); }
  std::string LogOf(int node) const { return places_[node]->log; }

 private:
  struct Place {
    explicit Place(const std::string& page_path) : page(page_path) {}
    std::string directory, config, log;
    bool wanted = false;  // started, and not killed
    bool has_begun = false;
    MappedPage page;
    Process process;
    absl::Time start_again = absl::InfiniteFuture();
  };
  void Launch(int node);
  void NoteEnd(int node, int how);
  absl::StatusOr<std::string> Ask(int node, std::string_view method, const std::string& target,
                                  const std::string& body);

  Network& network_;
  const std::string directory_;
  const Secrets& secrets_;
  const int first_host_;
  std::unique_ptr<http::TlsContext> tls_;
  std::vector<std::unique_ptr<Place>> places_;
  std::vector<std::string> wrong_;
  std::vector<std::string> events_;
  absl::Time next_look_ = absl::InfinitePast();
  uint64_t failures_ = 0;
  uint64_t torn_ = 0;
};

}  // namespace locus::proof

#endif  // LOCUS_TESTS_PROOF_CLUSTER_H_
