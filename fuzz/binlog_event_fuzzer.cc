// SPDX-License-Identifier: Apache-2.0
// Events of a binary log: any bodies, in any order, with lengths and checksums that are right, so
// that what follows those checks is reached; also the bytes as they are.
//
// Input: a byte whose lowest bits choose limits, then events, each a length of 2 bytes and its
// bytes from the header on.
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "migration/stream/gtid.h"
#include "migration/stream/transaction_assembler.h"
#include "src/base/os/check.h"

namespace {

using locus::stream::Change;
using locus::stream::ChangeKind;
using locus::stream::ChangeTransaction;
using locus::stream::TransactionAssembler;

// Every change, twice: both readings say the same.
void Read(ChangeTransaction& transaction) {
  size_t counted[2] = {0, 0};
  absl::Status ends[2];
  for (int pass = 0; pass < 2; ++pass) {
    Change change;
    for (;;) {
      absl::StatusOr<bool> more = transaction.Next(change);
      ends[pass] = more.status();
      if (!more.ok() || !*more) break;
      ++counted[pass];
      if (change.kind == ChangeKind::kStatement) continue;
      const size_t columns = change.table->columns.size();
      LOCUS_CHECK(change.kind == ChangeKind::kInsert || change.before.size() == columns);
      LOCUS_CHECK(change.kind == ChangeKind::kDelete || change.after.size() == columns);
    }
    LOCUS_CHECK(transaction.Rewind().ok());
  }
  LOCUS_CHECK(counted[0] == counted[1] && ends[0] == ends[1]);
}

void CheckRefusal(const absl::Status& status) {
  LOCUS_CHECK(status.code() == absl::StatusCode::kDataLoss ||
              status.code() == absl::StatusCode::kFailedPrecondition);
  for (char c : status.message()) LOCUS_CHECK(static_cast<unsigned char>(c) >= ' ' && c != '\x7F');
}

// The event with the length and the checksum that it should have.
std::string Mended(std::string_view bytes) {
  std::string event(bytes);
  event.resize(std::max(event.size(), locus::stream::kHeaderSize));
  const auto length = static_cast<uint32_t>(event.size() + locus::stream::kChecksumSize);
  std::memcpy(event.data() + 9, &length, sizeof length);
  const uint32_t checksum = locus::stream::EventChecksum(event);
  return event.append(reinterpret_cast<const char*>(&checksum), sizeof checksum);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (text.empty()) return 0;
  const unsigned how = static_cast<unsigned char>(text[0]);
  text.remove_prefix(1);
  TransactionAssembler::Options options;
  if ((how & 1) != 0) options.spool.memory_limit = 64;
  if ((how & 2) != 0) {
    options.wanted = [](std::string_view, std::string_view table) { return table.size() < 3; };
  }
  static_cast<void>(locus::stream::GtidPosition::Parse(text));
  static_cast<void>(TransactionAssembler(options).OnEvent(text));
  TransactionAssembler assembler(options);
  while (text.size() >= 2) {
    const size_t length = static_cast<unsigned char>(text[0]) +
                          static_cast<size_t>(static_cast<unsigned char>(text[1])) * 256;
    std::string_view event = text.substr(2, length);
    text.remove_prefix(2 + event.size());
    auto step = assembler.OnEvent(Mended(event));
    if (!step.ok()) {
      CheckRefusal(step.status());
      return 0;
    }
    if (auto* transaction = std::get_if<ChangeTransaction>(&*step)) Read(*transaction);
  }
  return 0;
}
