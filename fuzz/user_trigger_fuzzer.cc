// SPDX-License-Identifier: Apache-2.0
// Bodies of triggers of the service. Input: a byte whose lowest bits choose the sql_mode, then the
// body without what spares the movers.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "migration/fence/user_triggers.h"
#include "src/base/os/check.h"

namespace {

using locus::GuardedTable;

const std::vector<GuardedTable>& Tables() {
  static const auto* const tables = [] {
    auto* made = new std::vector<GuardedTable>(3);
    (*made)[0].name = "orders";
    (*made)[1].name = "items";
    (*made)[2].name = "notes";
    (*made)[2].key = GuardedTable::Key::kGeneAndCohort;
    return made;
  }();
  return *tables;
}

std::string Why(const std::string& table, const std::string& body, const std::string& sql_mode) {
  return locus::internal::WhyNotCarried({table, body, sql_mode}, Tables(), {"m@h"}, {"bill"});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  if (size == 0) return 0;
  const std::string sql_mode = absl::StrCat((bytes[0] & 1) != 0 ? "ANSI_QUOTES," : "",
                                            (bytes[0] & 2) != 0 ? "NO_BACKSLASH_ESCAPES" : "");
  const std::string body(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  static_cast<void>(Why("orders", body, sql_mode));
  const std::string begin = locus::internal::UserTriggerBegin({"m@h"});
  for (const char* table : {"orders", "notes"}) {
    const std::string why = Why(table, begin + body, sql_mode);
    // The movers are spared; what follows decides.
    LOCUS_CHECK(!why.starts_with("would run again"));
    // A statement more takes back no refusal, and a harmless one brings none.
    const std::string more = Why(table, begin + "SET NEW.a = 1;" + body, sql_mode);
    LOCUS_CHECK(more == why);
    LOCUS_CHECK(!Why(table, begin + "CALL p();" + body, sql_mode).empty());
    // Names and words are the same in capitals and in small letters; "/*M!" is not.
    const std::string lower = Why(table, begin + absl::AsciiStrToLower(body), sql_mode);
    LOCUS_CHECK(lower.empty() == why.empty() || body.find("/*M") != body.npos);
    // Spared accounts do not matter where another one is missing.
    LOCUS_CHECK(
        !locus::internal::WhyNotCarried({table, begin + body, sql_mode}, Tables(), {"n@h"}, {})
             .empty());
  }
  LOCUS_CHECK(!Why("others", begin + body, sql_mode).empty());
  return 0;
}
