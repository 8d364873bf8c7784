// SPDX-License-Identifier: Apache-2.0
// What callers and callees send before they are known: greetings have one form only, and frames are
// the same however their bytes come.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/os/check.h"
#include "src/raft/tcp/frame.h"

namespace {

std::vector<std::string> FramesOf(std::string_view input, size_t step) {
  locus::raft::FrameReader reader(100);
  std::vector<std::string> frames;
  for (size_t at = 0; at < input.size(); at += step) {
    reader.Feed(input.substr(at, step));
    while (true) {
      const auto frame = reader.Next();
      if (!frame.ok()) return frames;
      if (!*frame) break;
      LOCUS_CHECK((*frame)->size() <= 100);
      frames.emplace_back(**frame);
    }
    LOCUS_CHECK(reader.Lacks() <= 100);
  }
  return frames;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace locus::raft;
  const std::string_view input(reinterpret_cast<const char*>(bytes), size);
  const auto hello = DecodeHello(input);
  if (hello.ok() && hello->protocol == kProtocolVersion) LOCUS_CHECK(Encode(*hello) == input);
  if (DecodeWelcome(input).ok()) LOCUS_CHECK(EncodeWelcome(absl::OkStatus()) == input);
  LOCUS_CHECK(FramesOf(input, 1) == FramesOf(input, size + 1));
  return 0;
}
