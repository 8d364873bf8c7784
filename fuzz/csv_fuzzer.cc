// SPDX-License-Identifier: Apache-2.0
// The CSV record splitter: nothing of the input is lost, chunks change nothing, and libcsv reads
// the same fields wherever the two agree by design.
#include <cstdint>

#include "src/base/os/check.h"
#include "tests/cli/csv_oracle.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace locus::csv;
  if (size == 0) return 0;
  size_t chunk = size_t{1} + bytes[0];
  std::string_view input(reinterpret_cast<const char*>(bytes) + 1, size - 1);

  SplitResult whole = Split(input, 1 << 20);
  LOCUS_CHECK(Split(input, chunk) == whole);
  if (!whole.status.empty()) return 0;
  std::string_view unmarked = input;
  if (unmarked.starts_with("\xEF\xBB\xBF")) unmarked.remove_prefix(3);
  LOCUS_CHECK(whole.Reassembled() == unmarked);

  Table ours, theirs;
  if (!ComparableTable(whole, input, ours)) return 0;
  LOCUS_CHECK(ParseWithLibcsv(input, theirs));
  LOCUS_CHECK(ours == theirs);
  return 0;
}
