// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_IDS_ID_SERVICE_H_
#define LOCUS_APPS_LOCUSD_IDS_ID_SERVICE_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/locusd/ids/id_api.h"
#include "apps/locusd/ids/id_parts.h"
#include "apps/locusd/ids/id_settings.h"
#include "locus/key_ring.h"
#include "locus/routing/table_publisher.h"
#include "locus/worker_lease_store.h"

namespace locus::locusd {

// What happened to an ID service, for a log.
struct IdServiceEvent {
  enum class Level { kInfo, kWarn, kError };
  Level level = Level::kInfo;
  std::string what;  // "order IDs: the store lost leases"
  std::string why;   // "": that is all
};

struct IdServiceOptions {
  // Whether the start leaves what a cluster of locusd keeps to be opened later. For a process that
  // is a node of a cluster, perhaps of that one: it does not answer before it listens.
  bool clusters_later = false;
  // By any thread. Must not wait, nor call the service. May be empty.
  std::function<void(const IdServiceEvent&)> on_event = {};
};

// An ID service by its settings. What stores and tables are asked for is in their places alone, so
// that a service may be started while one of these does not answer: nothing is handed out by the
// part that needs it, requests for it get 503 with the reason, and Ready says so. It is asked again
// until it answers. Other parts work meanwhile.
//
// Thread safety: all methods may be called from any thread, but for Prepare, Commit and Close, by
// one.
class IdService {
 public:
  // Asks each place once, but for those that are asked later. FAILED_PRECONDITION,
  // INVALID_ARGUMENT: a file is wrong, or a place says that something has to be mended: what is
  // missing there, credentials, options that differ. UNAVAILABLE: no thread.
  static absl::StatusOr<std::unique_ptr<IdService>> Start(const IdSettings& settings,
                                                          IdServiceOptions options);
  ~IdService();
  IdService(const IdService&) = delete;
  IdService& operator=(const IdService&) = delete;

  IdApi& api();
  // What requests work with now.
  std::shared_ptr<const IdParts> parts() const;
  // The table's place, for a publisher of its own; with the password's file. NOT_FOUND: there is no
  // table.
  absl::StatusOr<std::unique_ptr<TablePublisher>> OpenPublisher() const;
  // The place of worker leases. NOT_FOUND: there is none.
  absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenLeases() const;

  // The key ring and the routing table of other settings, opened, but not yet in use.
  struct Reloaded {
    bool keys = false;  // whether the key ring is another one
    bool table = false;
    std::optional<KeyRing> ring;
    std::shared_ptr<const OrderNoCodec> order_no_codec;
    IdPart<Router> router;
    IdSettings settings;
  };
  // Changes nothing. FAILED_PRECONDITION, INVALID_ARGUMENT: the files or the table cannot be used;
  // a version of the ring has another key than now, or is gone without having been retired; the
  // table is another one (table_id), or older than the one in force. UNAVAILABLE: a new place of
  // tables does not answer.
  absl::StatusOr<Reloaded> Prepare(const IdSettings& settings);
  // Puts it in force. Requests under way end with what they began with.
  void Commit(Reloaded reloaded);

  // For Prometheus, beside those of the API.
  std::string Metrics() const;

  // Gives the worker ID back; order IDs and numbers go on. What is not there any more answers 503.
  void Release();

 private:
  class Rep;
  explicit IdService(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_IDS_ID_SERVICE_H_
