// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_C_API_C_API_FIXTURE_H_
#define LOCUS_TESTS_C_API_C_API_FIXTURE_H_

#include <string>

#include "gtest/gtest.h"
#include "locus/locus_c.h"
#include "locus/order_id.h"
#include "tests/support/temporary_directory.h"

namespace locus {

// A directory, and the last error.
class CApiTest : public ::testing::Test {
 protected:
  std::string Store() { return "sqlite:" + (directory_ / "store.db"); }
  static OrderId Id(const locus_order_id& words) {
    return words.rest == 0 ? OrderId::FromInt64(static_cast<int64_t>(words.first)).value()
                           : OrderId::Parse(TextOf(words)).value();
  }
  static std::string TextOf(const locus_order_id& id) {
    char text[LOCUS_ORDER_ID_TEXT_BYTES];
    EXPECT_EQ(locus_order_id_text(&id, text, nullptr), LOCUS_OK);
    return text;
  }

  TemporaryDirectory directory_;
  locus_error error_ = {};
};

}  // namespace locus

#endif  // LOCUS_TESTS_C_API_C_API_FIXTURE_H_
