// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/line/verb.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "apps/locus/io/byte_stream.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::Printable;

namespace {

constexpr size_t kMostMessageBytes = 8192;

bool quiet = false;                                           // set before a verb starts threads
std::vector<std::pair<std::string, std::string>> remembered;  // likewise: variables, values

// " (from LOCUS_TABLE)" where the message quotes its value, whole or without the scheme.
std::string Origin(std::string_view message) {
  for (const auto& [variable, value] : remembered) {
    std::string_view path = value;
    if (size_t colon = path.find(':'); colon != std::string_view::npos) {
      path.remove_prefix(colon + 1);
      path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
    }
    bool quotes = !path.empty() && message.find(path) != std::string_view::npos;
    if (quotes && message.find(variable) == std::string_view::npos) {
      return " (from " + variable + ")";
    }
  }
  return "";
}

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

void RememberVariable(const std::string& variable, const std::string& value) {
  remembered.emplace_back(variable, value);
}

int WrongUsage(std::string_view verb, std::string_view message) {
  Complain(verb, std::string(message) + Origin(message));
  return kWrongUsage;
}

int WrongUsage(std::string_view verb, const absl::Status& status) {
  return WrongUsage(verb, std::string(status.message()));
}

int Fail(std::string_view verb, const absl::Status& status) {
  if (absl::IsCancelled(status)) return kDone;
  std::string message(status.message());
  Complain(verb, message + Origin(message));
  return kFailed;
}

int EndVerb(std::string_view verb, const absl::Status& status) {
  if (status.ok()) return kDone;
  return absl::IsInvalidArgument(status) ? WrongUsage(verb, status) : Fail(verb, status);
}

int PrintAll(std::string_view verb, std::string_view text) {
  ByteSink sink(STDOUT_FILENO, "stdout");
  sink.Append(text);
  absl::Status status = sink.Flush();
  return status.ok() ? kDone : Fail(verb, status);
}

}  // namespace locus::cli
