// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_STRICT_STRICT_SERVICE_H_
#define LOCUS_APPS_LOCUSD_STRICT_STRICT_SERVICE_H_

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/locusd/ids/id_service.h"
#include "apps/locusd/strict/strict_api.h"
#include "apps/locusd/strict/strict_node.h"
#include "apps/locusd/strict/strict_settings.h"
#include "locus/clock.h"
#include "locus/strict_sequencer.h"

namespace locus::locusd {

struct StrictServiceOptions {
  bool tls = false;  // whether the nodes' APIs speak TLS
  // The store is a cluster, and this process may be one of its nodes: the store may not answer
  // until this process listens. So Open does not wait for the store; if the set cannot be opened,
  // only the API and the log say why.
  bool opens_later = false;
  // By any thread. Must not wait, nor call the service. May be empty.
  std::function<void(const IdServiceEvent&)> on_event = {};
  // What happens to single sections, as StrictSequencerOptions::on_event. May be empty.
  std::function<void(const StrictEvent&)> on_section = {};
  Clock* clock = &Clock::System();
};

// A node of a set of strict sequences by its settings: it opens the set, finds the other nodes by
// the table in the store, tells them of itself, takes its part of the sections and gives away what
// is above it, by load.
//
// The store may be away at the start: the node then answers 503, with the reason, until it comes.
// Open takes nothing, so that a process that cannot listen leaves the sections to others.
//
// Thread safety: all methods may be called from any thread.
class StrictService {
 public:
  // So many sections are handed over at once: more take longer, during which no node has them.
  static constexpr size_t kSectionsAtOnce = 128;

  // FAILED_PRECONDITION, INVALID_ARGUMENT: the store says that something has to be mended, or a
  // file is wrong.
  static absl::StatusOr<std::unique_ptr<StrictService>> Open(const StrictSettings& settings,
                                                             StrictServiceOptions options);
  // Like kill -9: sections rest until their leases end.
  ~StrictService();
  StrictService(const StrictService&) = delete;
  StrictService& operator=(const StrictService&) = delete;

  StrictApi& api();
  // From now on it takes sections. Once, when others reach its API. UNAVAILABLE: no thread.
  absl::Status Begin();
  // Hands all sections over to the nodes that are alive, or to anybody, and takes no more. Blocks.
  void Leave();

 private:
  class Rep;
  explicit StrictService(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

// Whether the files that the settings name can be used, and an SQLite file is there or may be made.
// `tell` gets the status of each key, "strict.store".
void CheckFiles(const StrictSettings& settings,
                const std::function<void(const std::string& key, const absl::Status&)>& tell);
void CheckLocalPlaces(const StrictSettings& settings,
                      const std::function<void(const std::string& key, const absl::Status&)>& tell);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_STRICT_STRICT_SERVICE_H_
