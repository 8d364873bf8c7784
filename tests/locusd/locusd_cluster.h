// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_LOCUSD_LOCUSD_CLUSTER_H_
#define LOCUS_TESTS_LOCUSD_LOCUSD_CLUSTER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "locus/engine/locusd.h"
#include "src/http/connection.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus {

// What a node has besides the usual: lines for these sections of its configuration, and for its
// end.
struct LocusdWish {
  std::string more_raft = {};
  std::string more_api = {};
  std::string more = {};
  std::string token = {};  // of the requests that Ask sends
};

// A node of locusd: its process, its file and its directory, with ports of its own.
// Thread safety: none.
class LocusdNode {
 public:
  LocusdNode(const TemporaryDirectory& directory, const std::string& name,
             const LocusdWish& wish = {});

  // Starts it, and waits until it answers.
  bool Start(bool begin = false);
  PrivateServer& process() { return *process_; }
  // Its exit code; minus the signal that ended it.
  int WaitForEnd();

  const std::string& config() const { return config_; }
  std::string data() const { return data_; }
  std::string raft() const;
  std::string api() const;
  std::string log() const { return log_; }
  // Its log's content.
  std::string LogText() const;

  // The body of an answer of this status; nullopt: there was none, or another.
  std::optional<std::string> Ask(const std::string& method, const std::string& target,
                                 unsigned status, const std::string& body = "");
  // 0: no answer.
  unsigned StatusOf(const std::string& method, const std::string& target,
                    const std::string& body = "", const std::string& token = "");
  // As GET /v1/status has it; empty: no answer.
  std::string Id();
  bool Leads();
  size_t Members();

 private:
  absl::StatusOr<http::HttpAnswer> Send(const std::string& method, const std::string& target,
                                        const std::string& body, const std::string& token);
  const std::string config_;
  const std::string data_;
  const std::string log_;
  const uint16_t raft_port_;
  const uint16_t api_port_;
  const LocusdWish wish_;
  std::unique_ptr<PrivateServer> process_;
};

// Nodes that form a cluster: the first began it, the others were added.
class LocusdCluster {
 public:
  explicit LocusdCluster(int nodes, const LocusdWish& wish = {});

  LocusdNode& node(int number) { return *nodes_[static_cast<size_t>(number)]; }
  int size() const { return static_cast<int>(nodes_.size()); }
  const TemporaryDirectory& directory() const { return directory_; }
  // One more node, which is started, but not a member.
  LocusdNode& StartAnother();
  // Makes a started node a voter, or a learner. False: the cluster did not take it within a minute.
  bool Add(LocusdNode& node, bool promote = true);
  // The running node that leads, once it is the same for all that run; -1: none within a minute.
  int WaitForLeader();
  // Kills all nodes, and begins another cluster in their empty directories.
  bool BeginAnew();
  // Of clients that know all nodes.
  LocusdOptions Options(absl::Duration timeout = absl::Seconds(30)) const;
  std::unique_ptr<LocusdWorkerLeaseStore> Connect(absl::Duration timeout = absl::Seconds(30));

 private:
  TemporaryDirectory directory_;
  const LocusdWish wish_;
  std::vector<std::unique_ptr<LocusdNode>> nodes_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_LOCUSD_LOCUSD_CLUSTER_H_
