// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/line/verb.h"

#include <unistd.h>

#include <algorithm>

#include "apps/locus/io/byte_stream.h"

namespace locus {

void Complain(std::string_view verb, std::string_view message) {
  std::string line = "locus ";
  line += verb;
  line += ": ";
  line += message;
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  // One write, so that lines of several processes do not mix. Nothing is left to do if it fails.
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

int WrongUsage(std::string_view verb, std::string_view message) {
  Complain(verb, message);
  return kWrongUsage;
}

int WrongUsage(std::string_view verb, const absl::Status& status) {
  return WrongUsage(verb, std::string(status.message()));
}

int Fail(std::string_view verb, const absl::Status& status) {
  if (absl::IsCancelled(status)) return kDone;
  Complain(verb, std::string(status.message()));
  return kFailed;
}

int PrintAll(std::string_view verb, std::string_view text) {
  ByteSink sink(STDOUT_FILENO, "stdout");
  sink.Append(text);
  absl::Status status = sink.Flush();
  return status.ok() ? kDone : Fail(verb, status);
}

}  // namespace locus
