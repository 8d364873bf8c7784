// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_MACHINE_REMEMBERED_REQUESTS_H_
#define LOCUS_SRC_CLUSTER_MACHINE_REMEMBERED_REQUESTS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "src/cluster/machine/command.h"

namespace locus::cluster_machine {

// The requests that changed the machine, with their answers, ascending by the time they were made.
// Once the machine's time is past RequestId::made + kRemembered, a request is forgotten, and from
// the same moment it is refused: there is no time at which it could be carried out twice.
//
// A request that changed nothing need not be remembered: until it changes something, sending it is
// as if it had not been sent. Most refusals are such requests, so that cheap ones do not fill the
// memory. A refused renewal that showed a loss did change the machine: sent again, it would make
// the space rest once more. The price: a copy that the network delivers late, after its caller was
// refused and gave up, may be granted: an acquire's ID then rests for its ttl, as after a crash of
// its holder. A late release frees only what the caller said it no longer uses; one that found
// nothing to free is OK, and sent again ABORTED once the ID has another holder.
class RememberedRequests {
 public:
  struct Remembered {
    uint64_t fingerprint = 0;  // FingerprintOf the request
    Answer answer;

    friend bool operator==(const Remembered&, const Remembered&) = default;
  };

  // DEADLINE_EXCEEDED: it would have been forgotten by now. FAILED_PRECONDITION: it was made later
  // than the client's clock may be ahead.
  static absl::Status CheckTime(const RequestId& id, absl::Time now);

  const Remembered* Find(const RequestId& id) const;
  bool full() const { return requests_.size() >= kMostRemembered; }
  void Remember(const RequestId& id, Remembered remembered);
  void ForgetBefore(absl::Time now);

  auto begin() const { return requests_.begin(); }
  auto end() const { return requests_.end(); }
  size_t size() const { return requests_.size(); }
  std::optional<RequestId> last() const {
    if (requests_.empty()) return std::nullopt;
    return requests_.rbegin()->first;
  }

 private:
  std::map<RequestId, Remembered> requests_;
};

}  // namespace locus::cluster_machine

#endif  // LOCUS_SRC_CLUSTER_MACHINE_REMEMBERED_REQUESTS_H_
