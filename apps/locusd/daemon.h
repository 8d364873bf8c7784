// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_DAEMON_H_
#define LOCUS_APPS_LOCUSD_DAEMON_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "apps/locusd/cluster_role.h"
#include "apps/locusd/config/config.h"
#include "apps/locusd/log.h"

namespace locus::locusd {

// All of locusd by its file but signals and its supervisor: its roles behind one front and one
// server. Thread safety: none; `on_end` is called by threads of its own.
class Daemon {
 public:
  using Start = ClusterRole::Start;

  // `on_end` is called once the node works no more: it failed, or was removed from the cluster. It
  // must not wait. `log` outlives the daemon. Errors: those of LogStore, TcpTransport, TlsContext,
  // Server and CheckFiles; FAILED_PRECONDITION: the data directory cannot be used.
  static absl::StatusOr<std::unique_ptr<Daemon>> Open(const Config& config, Start start, Log& log,
                                                      std::function<void()> on_end);
  // Like kill -9: hands nothing over.
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  // Whether the node is at work; false: it failed, or was removed. Does not return while the node's
  // thread is stuck, so that a watchdog notices.
  bool Works();
  // LogStore::InPlace: somebody removed or replaced the node's files. The process must end.
  absl::Status FilesInPlace();
  // Logs what has become of the audit and of the probes. By one thread, once a second.
  void Tell();
  // Whether it was removed from the cluster, and is of no use any more.
  bool removed();
  // As NodeStatus::failure.
  absl::Status failure();

  // Takes over what may change while it runs: tokens, the API's certificate, the key ring, the
  // place of the routing table, the log's level. All or nothing: after an error everything is as
  // before. Counts, also that the file could not be read. FAILED_PRECONDITION, INVALID_ARGUMENT,
  // UNAVAILABLE: what is wrong, also that there are no tokens, and the API listens beyond loopback.
  absl::Status Reload(const absl::StatusOr<Config>& config);
  // /readyz says no, for api.drain_delay; hands the sections of strict sequences over; then takes
  // nothing new, answers what is under way, gives the worker ID back and hands the leadership over.
  void Close();

 private:
  class Rep;
  explicit Daemon(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_DAEMON_H_
