// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CONSOLE_EVENT_HUB_H_
#define LOCUS_APPS_LOCUSD_CONSOLE_EVENT_HUB_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "src/base/run/mutex.h"
#include "src/http/body_stream.h"

namespace locus::locusd {

struct EventHubOptions {
  // Streams at once. More: more connections and kernel memory for consoles.
  size_t most_streams = 128;
  // What may wait for one reader, beside the largest event.
  size_t most_waiting_bytes = size_t{256} << 10;
  // A stream without events gets a comment so often.
  absl::Duration beat = absl::Seconds(5);
  // A stream ends then, and its reader comes again with its token, which may have been withdrawn.
  absl::Duration longest = absl::Minutes(10);
};

// Hands events on to any number of streams (text/event-stream). What a kind of event said last is
// what a new stream begins with. Each event is written once, for all.
// Thread safety: all methods may be called from any thread. Times are of one steady clock.
class EventHub {
 public:
  explicit EventHub(const EventHubOptions& options) : options_(options) {}
  ~EventHub();
  EventHub(const EventHub&) = delete;
  EventHub& operator=(const EventHub&) = delete;

  // A body that begins with the last event of each kind. UNAVAILABLE: there are as many as may be.
  absl::StatusOr<std::shared_ptr<http::BodyStream>> Open(absl::Duration now);
  // `json`: one value; its line breaks are between tokens. False: it is what this kind said last,
  // and nobody was told again.
  bool Publish(std::string_view kind, std::string_view json, absl::Duration now);
  // The same for streams to come only.
  void Keep(std::string_view kind, std::string_view json);
  // To be called every second or so: comments, and the end of streams that are old or not read.
  void Tick(absl::Duration now);

  struct Stats {
    size_t streams = 0;   // open
    uint64_t opened = 0;  // since the start
    uint64_t slow = 0;    // of these, ended because their reader was too slow
    uint64_t refused = 0;
  };
  Stats stats() const;
  size_t most_streams() const { return options_.most_streams; }

 private:
  struct Stream {
    std::shared_ptr<http::BodyStream> body;
    absl::Duration end;
  };

  void WriteToAll(const http::BodyStream::Piece& piece) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const EventHubOptions options_;
  mutable internal::Mutex mutex_;
  std::vector<Stream> streams_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, http::BodyStream::Piece, std::less<>> last_ ABSL_GUARDED_BY(mutex_);
  absl::Duration told_at_ ABSL_GUARDED_BY(mutex_) = -absl::InfiniteDuration();
  Stats stats_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CONSOLE_EVENT_HUB_H_
