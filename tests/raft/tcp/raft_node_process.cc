// SPDX-License-Identifier: Apache-2.0
// One node of a cluster that keeps a list, for tests that kill it:
//   raft_node_process LOG PORT CLIENT_PORT [MOST_BYTES_OF_A_FILE]
// Answers each line that a client sends: "append X" by "ok PLACE", "no" (never) or "unknown";
// "read" by "ok LENGTH" or "no"; "list" by all lines between spaces, without asking others;
// "status" by "ROLE TERM SNAPSHOT". Ends with 3 when the node fails.
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <future>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "src/raft/node/node.h"
#include "src/raft/tcp/tcp_transport.h"
#include "tests/raft/tcp/list_machine.h"

namespace locus::raft {
namespace {

std::string Answer(Node& node, ListMachine& machine, const std::string& line) {
  auto promise = std::make_shared<std::promise<std::string>>();
  auto future = promise->get_future();
  if (absl::StartsWith(line, "append ")) {
    node.Propose(line.substr(7), [promise](const absl::StatusOr<std::string>& answer) {
      promise->set_value(answer.ok()                        ? "ok " + *answer
                         : IsCommitUnknown(answer.status()) ? "unknown"
                                                            : "no");
    });
    return future.get();
  }
  if (line == "read") {
    node.Read([promise, &machine](const absl::Status& status) {
      promise->set_value(status.ok() ? absl::StrCat("ok ", machine.lines().size()) : "no");
    });
    return future.get();
  }
  if (line == "list") return absl::StrJoin(machine.lines(), " ");
  const NodeStatus status = node.Status();
  return absl::StrCat(status.leads_for_sure ? "leader " : "other ", status.term, " ",
                      status.snapshot);
}

void Serve(int fd, Node& node, ListMachine& machine) {
  std::string buffer;
  char chunk[4096];
  while (true) {
    const ssize_t got = recv(fd, chunk, sizeof chunk, 0);
    if (got <= 0) break;
    buffer.append(chunk, static_cast<size_t>(got));
    for (size_t end = buffer.find('\n'); end != std::string::npos; end = buffer.find('\n')) {
      const std::string answer = Answer(node, machine, buffer.substr(0, end)) + "\n";
      buffer.erase(0, end + 1);
      if (send(fd, answer.data(), answer.size(), MSG_NOSIGNAL) < 0) break;
    }
  }
  close(fd);
}

int Run(int argc, char** argv) {
  if (argc < 4) return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  auto store = LogStore::Open(argv[1], "lists");
  if (!store.ok()) {
    std::fprintf(stderr, "%s\n", std::string(store.status().message()).c_str());
    return 4;
  }
  if (argc > 4) {
    signal(SIGXFSZ, SIG_IGN);
    const rlim_t most = std::strtoull(argv[4], nullptr, 10);
    const rlimit limit{most, most};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  TcpOptions tcp;
  tcp.self = (*store)->self();
  tcp.cluster = "lists";
  tcp.listen = std::string("127.0.0.1:") + argv[2];
  auto transport = TcpTransport::Create(tcp);
  if (!transport.ok()) {
    std::fprintf(stderr, "%s\n", std::string(transport.status().message()).c_str());
    return 5;
  }
  ListMachine machine;
  NodeOptions options;
  options.shell.compact_entries = 500;
  options.shell.limits.kept = 100;
  options.on_change = [](const NodeStatus& status) {
    if (status.failure.ok()) return;
    std::fprintf(stderr, "%s\n", std::string(status.failure.message()).c_str());
    _exit(3);
  };
  auto node = Node::Start(*std::move(store), machine, **transport, options);
  if (!node.ok()) {
    std::fprintf(stderr, "%s\n", std::string(node.status().message()).c_str());
    return 6;
  }
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(static_cast<uint16_t>(std::atoi(argv[3])));
  if (bind(listener, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) return 7;
  if (listen(listener, 64) != 0) return 8;
  while (true) {
    const int fd = accept(listener, nullptr, nullptr);
    if (fd >= 0) std::thread(Serve, fd, std::ref(**node), std::ref(machine)).detach();
  }
}

}  // namespace
}  // namespace locus::raft

int main(int argc, char** argv) { return locus::raft::Run(argc, argv); }
