// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/line/values.h"

#include <unistd.h>

#include <cstring>

#include "absl/strings/str_cat.h"
#include "apps/locus/io/byte_stream.h"
#include "apps/locus/line/verb.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::ToAbsl;

namespace {

constexpr size_t kMaxLine = 16 * 1024 * 1024;
constexpr size_t kBlock = 64 * 1024;

class Answerer {
 public:
  Answerer(std::string_view verb, std::string_view place, const Answer& answer)
      : verb_(verb), place_(place), answer_(answer), sink_(STDOUT_FILENO, "stdout") {}

  void Take(std::string_view value) {
    ++count_;
    line_.clear();
    absl::Status status = answer_(value, line_);
    if (!status.ok()) {
      refused_ = true;
      line_.clear();
      Complain(verb_, absl::StrCat(ToAbsl(place_), " ", count_, ": ", status.message()));
    }
    line_ += '\n';
    sink_.Append(line_);
  }

  ByteSink& sink() { return sink_; }
  uint64_t count() const { return count_; }
  bool refused() const { return refused_; }

 private:
  std::string_view verb_;
  std::string_view place_;
  const Answer& answer_;
  ByteSink sink_;
  std::string line_;
  uint64_t count_ = 0;
  bool refused_ = false;
};

absl::Status TakeLines(Answerer& answerer) {
  LOCUS_ASSIGN_OR_RETURN(ByteSource source, ByteSource::Open("-"));
  std::string pending;  // the start of a line whose end is yet to come
  std::string block(kBlock, '\0');
  for (;;) {
    LOCUS_RETURN_IF_ERROR(answerer.sink().Flush());
    LOCUS_ASSIGN_OR_RETURN(size_t count, source.Read(block));
    if (count == 0) break;
    std::string_view rest(block.data(), count);
    for (size_t end; (end = rest.find('\n')) != std::string_view::npos;) {
      if (pending.empty()) {
        answerer.Take(rest.substr(0, end));
      } else {
        pending += rest.substr(0, end);
        answerer.Take(pending);
        pending.clear();
      }
      rest.remove_prefix(end + 1);
      LOCUS_RETURN_IF_ERROR(answerer.sink().status());
    }
    pending += rest;
    if (pending.size() > kMaxLine) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", answerer.count() + 1, ": is longer than ", kMaxLine, " bytes"));
    }
  }
  if (!pending.empty()) answerer.Take(pending);
  return answerer.sink().Flush();
}

}  // namespace

int AnswerEach(std::string_view verb, const std::vector<std::string>& values,
               const Answer& answer) {
  Answerer answerer(verb, values.empty() ? "line" : "value", answer);
  for (const std::string& value : values) answerer.Take(value);
  absl::Status status = values.empty() ? TakeLines(answerer) : answerer.sink().Flush();
  if (!status.ok()) return Fail(verb, status);
  return answerer.refused() ? kSomeRefused : kDone;
}

}  // namespace locus::cli
