// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_LOCUSD_STRICT_CONNECTIONS_H_
#define LOCUS_SRC_ENGINE_LOCUSD_STRICT_CONNECTIONS_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "src/base/run/mutex.h"
#include "src/http/connection.h"
#include "src/http/endpoint.h"
#include "src/http/tls_context.h"

namespace locus::locusd {

// Connections to several servers, kept open between the calls that use them.
// Thread safety: all methods may be called from any thread.
class Connections {
 public:
  // `tls` nullptr: plain text; otherwise it outlives the connections.
  explicit Connections(const http::TlsContext* tls) : tls_(tls) {}

  // One that was given back and is still open, or a new one.
  absl::StatusOr<std::unique_ptr<http::HttpConnection>> Take(const http::Endpoint& endpoint,
                                                             http::TimePoint deadline);
  // Its last answer was read to the end.
  void GiveBack(const http::Endpoint& endpoint, std::unique_ptr<http::HttpConnection> connection);
  // In a forked child: the sockets are the parent's.
  void Abandon() ABSL_NO_THREAD_SAFETY_ANALYSIS;

 private:
  using Idle = std::vector<std::unique_ptr<http::HttpConnection>>;

  const http::TlsContext* const tls_;
  internal::Mutex mutex_;
  std::map<std::string, Idle> idle_ ABSL_GUARDED_BY(mutex_);  // by the text of the endpoint
};

}  // namespace locus::locusd

#endif  // LOCUS_SRC_ENGINE_LOCUSD_STRICT_CONNECTIONS_H_
