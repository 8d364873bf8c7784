// SPDX-License-Identifier: Apache-2.0
#include "migration/cut_over/token.h"

#include "gtest/gtest.h"

namespace locus {
namespace {

using internal::TokenIn;
using internal::TokenText;
using Token = std::pair<uint32_t, uint64_t>;

TEST(TokenTest, Text_IsReadAsWritten) {
  for (Token token : {Token{0, 1}, Token{2500, UINT64_MAX}, Token{10000, 42}}) {
    EXPECT_EQ(TokenIn(TokenText(token.first, token.second)), token);
  }
}

TEST(TokenTest, AnythingElse_IsNone) {
  const std::string good = TokenText(2500, 77);
  for (size_t i = 0; i < good.size(); ++i) {
    EXPECT_EQ(TokenIn(good.substr(0, i)), Token(0, 0)) << i;
    std::string changed = good;
    changed[i] = 'x';
    EXPECT_EQ(TokenIn(changed), Token(0, 0)) << changed;
  }
  for (const char* text :
       {"", "null", "{}", "{\"share\": 10001, \"nonce\": 7}", "{\"share\": 5, \"nonce\": 0}",
        "{\"share\": -5, \"nonce\": 7}", "{\"share\": 5, \"nonce\": 18446744073709551616}",
        "{\"share\": 05, \"nonce\": 7}", "{\"nonce\": 7, \"share\": 5}"}) {
    EXPECT_EQ(TokenIn(text), Token(0, 0)) << text;
  }
}

}  // namespace
}  // namespace locus
