// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/line/verb.h"

#include <unistd.h>

#include <algorithm>

#include "apps/locus/io/byte_stream.h"
#include "src/base/text.h"

namespace locus::cli {

using internal::Printable;

namespace {

constexpr size_t kMostMessageBytes = 8192;

bool quiet = false;  // set before a verb starts threads

}  // namespace

void Complain(std::string_view verb, std::string_view message) {
  std::string line = "locus ";
  line += verb;
  line += ": ";
  std::string one_line(message);
  std::replace(one_line.begin(), one_line.end(), '\n', ' ');
  line += Printable(one_line, kMostMessageBytes);
  line += '\n';
  // One write, so that lines of several processes do not mix. Nothing is left to do if it fails.
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

void Note(std::string_view verb, std::string_view message) {
  if (!quiet) Complain(verb, message);
}

void BeQuiet() { quiet = true; }
bool IsQuiet() { return quiet; }

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

}  // namespace locus::cli
