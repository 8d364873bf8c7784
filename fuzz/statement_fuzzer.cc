// SPDX-License-Identifier: Apache-2.0
// Statements of a log. Input: a byte whose lowest bits choose how text is read, then the text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "migration/stream/statement.h"
#include "src/base/os/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using namespace locus::stream;
  std::string_view text(reinterpret_cast<const char*>(bytes), size);
  if (text.empty()) return 0;
  const unsigned how = static_cast<unsigned char>(text[0]);
  text.remove_prefix(1);
  static_cast<void>(Unpacked(text));
  const TextRules rules{(how & 1) != 0, (how & 2) != 0, static_cast<DoubleBytes>(how >> 2 & 3),
                        (how & 16) != 0 ? '\xA0' : '\0'};
  // Every token is a part of the text, and all of them end.
  SqlTokens tokens(text, rules);
  size_t count = 0;
  for (SqlToken token = tokens.Next(); token.kind != SqlToken::Kind::kEnd; token = tokens.Next()) {
    LOCUS_CHECK(++count <= text.size());
    LOCUS_CHECK(token.text.data() >= text.data() &&
                token.text.data() + token.text.size() <= text.data() + text.size());
    LOCUS_CHECK(token.Name().size() <= token.text.size());
  }
  const Statement statement = ParseStatement(text, "shop", rules);
  LOCUS_CHECK(Unpacked(Packed(statement)) == statement);
  const bool may_touch =
      statement.kind == StatementKind::kSchema || statement.kind == StatementKind::kRows;
  LOCUS_CHECK(may_touch || statement.touched.empty());
  return 0;
}
