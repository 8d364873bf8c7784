// SPDX-License-Identifier: Apache-2.0
// What a store has as a rule, also as one that was dropped: it is refused with a reason, or it is
// written as it was read, and a rule that Check takes can be counted and written by.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/time/time.h"
#include "src/base/os/check.h"
#include "src/number/group_window.h"
#include "src/number/number_form.h"
#include "src/number/type_change.h"
#include "src/number/type_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto stored = locus::internal::ParseStoredText(text);
  if (stored.ok() && stored->is_dropped) {
    LOCUS_CHECK(!locus::internal::ParseTypeText(text).ok());
    if (!stored->is_readable) return 0;
    const std::string rule = locus::internal::TypeTextOf(stored->type);
    const auto read = locus::internal::ParseStoredText(locus::internal::DroppedTextOf(rule));
    LOCUS_CHECK(read.ok() && read->is_dropped && read->is_readable);
    LOCUS_CHECK(locus::internal::TypeTextOf(read->type) == rule);
    return 0;
  }
  if (stored.ok()) {
    const std::string whole = locus::internal::StoredTextOf(stored->type, stored->earlier);
    const auto again = locus::internal::ParseStoredText(whole);
    LOCUS_CHECK(whole.size() > locus::internal::kLongestTypeText ||
                (again.ok() && again->earlier == stored->earlier));
  }
  absl::StatusOr<locus::SequenceType> type = locus::internal::ParseTypeText(text);
  if (!type.ok()) {
    LOCUS_CHECK(absl::IsInvalidArgument(type.status()));
    LOCUS_CHECK(!type.status().message().empty());
    return 0;
  }
  type->name = "a";
  const std::string written = locus::internal::TypeTextOf(*type);
  auto again = locus::internal::ParseTypeText(written);
  LOCUS_CHECK(again.ok());
  again->name = "a";
  LOCUS_CHECK(locus::internal::TypeTextOf(*again) == written);
  LOCUS_CHECK(locus::internal::ChangesOf(*type, *again) == "nothing");
  if (!type->Check().ok()) return 0;
  LOCUS_CHECK(type->counter_options().Check().ok());
  // A change to the same pattern repeats nothing; to and from another one it is judged.
  LOCUS_CHECK(locus::internal::CheckRepeatsNothing(*type, *again).ok());
  locus::SequenceType other = *type;
  other.pattern = "{date:yyyyMMdd}{seq:8}";
  if (other.Check().ok()) {
    locus::internal::CheckRepeatsNothing(*type, other).IgnoreError();
    locus::internal::CheckRepeatsNothing(other, *type).IgnoreError();
  }
  const absl::Time time = absl::FromUnixSeconds(1'795'600'000);
  const auto window = locus::internal::GroupWindow::Of(*type, time);
  LOCUS_CHECK(window.ok());
  LOCUS_CHECK(time < window->end);
  LOCUS_CHECK(type->CounterName("k", window->Shown(time)).ok());
  const auto form = locus::internal::NumberForm::Of(*type);
  LOCUS_CHECK(form.ok());
  static_cast<void>(form->Text(window->Shown(time), 1, {}));
  return 0;
}
