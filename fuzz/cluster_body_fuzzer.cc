// SPDX-License-Identifier: Apache-2.0
// What nodes of a cluster and its clients read of each other: a letter that says which, and the
// body. A body that is accepted is written again, and what was written must be accepted, too.
#include <cstdint>
#include <string>
#include <string_view>

#include "src/base/os/check.h"
#include "src/base/text/nonce_mark.h"
#include "src/cluster/api/bodies.h"
#include "src/cluster/api/store_bodies.h"

namespace {

using namespace locus::cluster_api;  // NOLINT

template <typename Parse>
void Holds(Parse parse, std::string_view body) {
  const auto read = parse(body);
  if (!read.ok()) {
    LOCUS_CHECK(absl::IsInvalidArgument(read.status()) && !read.status().message().empty());
    return;
  }
  const std::string told = BodyOf(*read);
  const auto again = parse(told);
  LOCUS_CHECK(again.ok() && BodyOf(*again) == told);
}

// A page is written with a mark in place of each nonce; everything else comes back as it was.
void PageHolds(std::string_view body) {
  const auto read = ParsePage(body);
  if (!read.ok()) {
    LOCUS_CHECK(absl::IsInvalidArgument(read.status()) && !read.status().message().empty());
    return;
  }
  const auto again = ParsePage(BodyOf(*read));
  LOCUS_CHECK(again.ok() && again->view.workers.size() == read->view.workers.size());
  for (size_t i = 0; i < again->view.workers.size(); ++i) {
    const auto& told = again->view.workers[i];
    const auto& known = read->view.workers[i];
    LOCUS_CHECK(told.nonce == locus::internal::NonceMark(known.nonce));
    LOCUS_CHECK(told.token == known.token && told.holder == known.holder);
  }
}

void ReadOfStore(char kind, std::string_view body) {
  switch (kind) {
    case 'a':
      return Holds(ParseCounterCall, body);
    case 'b':
      return Holds(ParseCounterReply, body);
    case 'c':
      return Holds(ParseSegmentCreate, body);
    case 'd':
      return Holds(ParseSegmentAllocation, body);
    case 'e':
      return Holds(ParseSegmentRestored, body);
    case 'f':
      return Holds(ParseSegmentRaise, body);
    case 'g':
      return Holds(ParseSegmentReply, body);
    case 'h':
      return Holds(ParseBaseRaise, body);
    case 'i':
      return Holds(ParseSpaceView, body);
    case 'j':
      return Holds(ParseTypeCall, body);
    case 'k':
      return Holds(ParseTypeReply, body);
    case 'l':
      return Holds(ParseTypes, body);
  }
}

void ReadOfWorkers(char kind, std::string_view body) {
  switch (kind) {
    case 'm':
      return Holds(ParseCreate, body);
    case 'n':
      return Holds(ParseAcquire, body);
    case 'o':
      return Holds([](std::string_view text) { return ParseRenew(7, text); }, body);
    case 'p':
      return Holds([](std::string_view text) { return ParseRelease(7, text); }, body);
    case 'q':
      return Holds(ParseGrant, body);
    case 'r':
      return PageHolds(body);
    case 's':
      LOCUS_CHECK(!ParseProblem(503, body).ok());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(bytes), size);
  if (input.empty()) return 0;
  ReadOfStore(input[0], input.substr(1));
  ReadOfWorkers(input[0], input.substr(1));
  return 0;
}
