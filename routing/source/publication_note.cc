// SPDX-License-Identifier: Apache-2.0
#include "routing/source/publication_note.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "routing/table/printable_text.h"
#include "routing/table/table_check.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/base/text/utf8.h"

namespace locus {
namespace {

bool ChoosesForm(uint32_t point) { return point == 0xFE0E || point == 0xFE0F; }
bool Joins(uint32_t point) { return point == 0x200C || point == 0x200D; }

// `text`, which is UTF-8, without the invisible characters that belong to visible ones: a form of
// the character before, as most emoji have, and a joiner within a word or between emoji.
std::string WithoutJoiners(std::string_view text) {
  std::string out;
  bool after_visible = false;  // a visible character, or the form of one
  bool after_form = false;
  while (!text.empty()) {
    uint32_t point = 0;
    const size_t size = internal::FirstCharacter(text, point);
    if (size == 0) return out.append(text);
    const std::string_view rest = text.substr(size);
    uint32_t next = ' ';
    if (!rest.empty()) internal::FirstCharacter(rest, next);
    const bool form = ChoosesForm(point) && after_visible && !after_form;
    const bool join =
        Joins(point) && after_visible && next != ' ' && !Joins(next) && !ChoosesForm(next);
    if (!form && !join) out += text.substr(0, size);
    after_form = form;
    after_visible = form || (point != ' ' && !internal::IsInvisible(point));
    text = rest;
  }
  return out;
}

bool HasPassword(std::string_view text) { return internal::WithoutPasswords(text) != text; }

absl::Status CheckText(std::string_view name, std::string_view text) {
  if (text.size() > PublicationNote::kMostBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("the ", internal::ToAbsl(name), " of a publication has ", text.size(),
                     " bytes; at most ", PublicationNote::kMostBytes));
  }
  const std::string why = internal::WhyUnreadable(WithoutJoiners(text));
  if (why.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the ", internal::ToAbsl(name), " of a publication: ", why));
}

}  // namespace

absl::Status PublicationNote::Check() const {
  LOCUS_RETURN_IF_ERROR(CheckText("author", author));
  LOCUS_RETURN_IF_ERROR(CheckText("reason", reason));
  for (const std::string* text : {&author, &reason}) {
    if (!HasPassword(*text)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("the ", text == &author ? "author" : "reason",
                     " of a publication: it has a URI with a password; a note carries no "
                     "credentials"));
  }
  return absl::OkStatus();
}

namespace internal {

std::string NoteText(const PublicationNote& note, std::string_view of) {
  return absl::StrCat(note.author, "\n", note.reason, "\n", ToAbsl(of), "\n");
}

PublicationNote ParseNoteText(std::string_view text, std::string_view of) {
  auto line = [&text] {
    const std::string_view taken = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), taken.size() + 1));
    return taken;
  };
  const std::string_view author = line();
  const std::string_view reason = line();
  return line() == of ? SafeNote(author, reason) : PublicationNote();
}

PublicationNote SafeNote(std::string_view author, std::string_view reason) {
  // Each byte takes up to four, and "..." may follow.
  constexpr size_t kMostEscaped = (PublicationNote::kMostBytes - 3) / 4;
  auto safe = [](std::string_view text) {
    return CheckText("text", text).ok() ? std::string(text) : Printable(text, kMostEscaped);
  };
  return {safe(author), safe(reason)};
}

std::string WithoutPasswords(std::string_view text) {
  std::string out;
  for (size_t at; (at = text.find("://")) != std::string_view::npos;) {
    out += text.substr(0, at + 3);
    text.remove_prefix(at + 3);
    std::string_view uri = text.substr(0, text.find(' '));
    const size_t colon = uri.find(':'), end = uri.rfind('@');
    if (colon < end && end != std::string_view::npos) {
      out += "...";
      text.remove_prefix(end);
      uri.remove_prefix(end);
    }
    if (HasPasswordOption(uri)) {
      const std::string_view shown = uri.substr(0, std::min(uri.find('?'), uri.size()));
      out += HasPasswordOption(shown) ? "..." : absl::StrCat(ToAbsl(shown), "?...");
      text.remove_prefix(uri.size());
    }
  }
  return out.append(text);
}

absl::StatusOr<PublicationNote> KeptNote(TablePublisher& publisher, uint64_t epoch) {
  // Another table may have been published since.
  LOCUS_ASSIGN_OR_RETURN(const std::vector<PublishedEpoch> newest, publisher.History(2));
  for (const PublishedEpoch& each : newest) {
    if (each.epoch == epoch) return each.note;
  }
  return absl::NotFoundError(absl::StrCat("epoch ", epoch, " is not one of the newest two"));
}

}  // namespace internal
}  // namespace locus
