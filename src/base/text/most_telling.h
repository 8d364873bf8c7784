// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_TEXT_MOST_TELLING_H_
#define LOCUS_SRC_BASE_TEXT_MOST_TELLING_H_

#include <cstddef>
#include <utility>

#include "absl/status/status.h"

namespace locus::internal {

// If one server is down and another answers that it knows no leader, the caller needs the second
// error. Keeps the most informative error of the last two rounds over several servers; of equal
// ones the last. Thread safety: none.
class MostTelling {
 public:
  // In ascending order of information.
  enum class Kind {
    kNoAnswer,   // nothing listens, or the answer did not come
    kElsewhere,  // it answered that another server must be asked
    kAnswer,     // it answered why it cannot serve
  };

  // `nobody` is the status if no server was asked.
  MostTelling(size_t servers, absl::Status nobody)
      : servers_(servers), status_(std::move(nobody)) {}

  void Note(Kind kind, const absl::Status& status) {
    ++noted_;
    if (kind < kind_ && noted_ - at_ < 2 * servers_) return;
    kind_ = kind;
    status_ = status;
    at_ = noted_;
  }
  const absl::Status& status() const { return status_; }

 private:
  const size_t servers_;
  absl::Status status_;
  Kind kind_ = Kind::kNoAnswer;
  size_t noted_ = 0;  // errors
  size_t at_ = 0;     // of status_, in these
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_TEXT_MOST_TELLING_H_
