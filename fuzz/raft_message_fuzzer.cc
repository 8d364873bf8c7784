// SPDX-License-Identifier: Apache-2.0
// Messages of Raft: what is accepted has one form only.
#include <cstdint>
#include <string_view>

#include "src/base/os/check.h"
#include "src/raft/core/codec.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace locus::raft;
  const std::string_view input(reinterpret_cast<const char*>(bytes), size);
  if (auto message = DecodeMessage(input); message.ok()) LOCUS_CHECK(Encode(*message) == input);
  if (auto entry = DecodeEntry(input); entry.ok()) LOCUS_CHECK(Encode(*entry) == input);
  if (auto mark = DecodeMark(input); mark.ok()) LOCUS_CHECK(Encode(*mark) == input);
  return 0;
}
