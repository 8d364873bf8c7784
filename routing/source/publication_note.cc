// SPDX-License-Identifier: Apache-2.0
#include "routing/source/publication_note.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "routing/table/printable_text.h"
#include "src/base/check.h"
#include "src/base/text.h"

namespace locus {
namespace {

absl::Status CheckText(std::string_view name, std::string_view text) {
  if (text.size() > PublicationNote::kMostBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ", internal::ToAbsl(name), " of a publication has ", text.size(),
                     " bytes; at most ", PublicationNote::kMostBytes));
  }
  const std::string why = internal::WhyUnreadable(text);
  if (why.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the ", internal::ToAbsl(name), " of a publication: ", why));
}

}  // namespace

absl::Status PublicationNote::Check() const {
  LOCUS_RETURN_IF_ERROR(CheckText("author", author));
  return CheckText("reason", reason);
}

namespace internal {

std::string NoteText(const PublicationNote& note) {
  return absl::StrCat(note.author, "\n", note.reason, "\n");
}

PublicationNote ParseNoteText(std::string_view text) {
  auto line = [&text] {
    const std::string_view taken = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), taken.size() + 1));
    return taken;
  };
  const std::string_view author = line();
  return SafeNote(author, line());
}

PublicationNote SafeNote(std::string_view author, std::string_view reason) {
  // Each byte takes up to four, and "..." may follow.
  constexpr size_t kMostEscaped = (PublicationNote::kMostBytes - 3) / 4;
  auto safe = [](std::string_view text) {
    return CheckText("text", text).ok() ? std::string(text) : Printable(text, kMostEscaped);
  };
  return {safe(author), safe(reason)};
}

}  // namespace internal
}  // namespace locus
