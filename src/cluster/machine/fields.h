// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_MACHINE_FIELDS_H_
#define LOCUS_SRC_CLUSTER_MACHINE_FIELDS_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "src/base/text/byte_codec.h"
#include "src/cluster/machine/command.h"

// The bytes that commands, answers and snapshots share.

namespace locus::cluster_machine {

// After the first value beyond its limits, Finish returns that error.
class Writer : public internal::ByteWriter {
 public:
  void Put(absl::Time time, const char* what);
  void Put(absl::Duration duration, const char* what);
  // `most`: the limit that the Reader's Text checks.
  void Put(std::string_view text, size_t most, const char* what);
  void Put(const RequestId& id);
  void Put(const Answer& answer);

  void Fail(std::string_view what);
  absl::StatusOr<std::string> Finish();

 private:
  absl::Status status_;
};

class Reader : public internal::ByteReader {
 public:
  // `name` as of ByteReader. Reads the version.
  Reader(std::string_view bytes, const char* name);

  // Parts that came with a later version must not be there.
  uint8_t version() const { return version_; }

  absl::Time GetTime();
  absl::Duration GetDuration();
  SpaceName GetSpace();
  RequestId GetId();
  Answer GetAnswer();

 private:
  uint8_t version_ = 0;
};

}  // namespace locus::cluster_machine

#endif  // LOCUS_SRC_CLUSTER_MACHINE_FIELDS_H_
