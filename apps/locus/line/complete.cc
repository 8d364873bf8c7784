// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/line/complete.h"

#include "absl/strings/str_cat.h"
#include "apps/locus/io/byte_stream.h"
#include "locus/routing/routing_table.h"
#include "src/base/text/text.h"
#include "src/open/engine.h"

namespace locus::cli {

using internal::ToAbsl;

namespace {

void OfferFiles(std::string_view before, std::string& out) {
  absl::StrAppend(&out, ":files\t", ToAbsl(before), "\n");
}

// The schemes of the engines that keep this, or the files after the scheme that names one.
void OfferUris(internal::Content content, std::string_view before, std::string_view typed,
               std::string& out) {
  for (const internal::Engine& engine : internal::Engines()) {
    if (!engine.Has(content)) continue;
    for (const internal::UriScheme& scheme : engine.schemes) {
      if (scheme.form.empty()) continue;
      const std::string start = absl::StrCat(ToAbsl(scheme.name), engine.is_file ? ":" : "://");
      if (engine.is_file && typed.starts_with(start)) {
        return OfferFiles(absl::StrCat(ToAbsl(before), start), out);
      }
      if (!start.starts_with(typed)) continue;
      const std::string title =
          engine.title == scheme.name ? "" : absl::StrCat(ToAbsl(engine.title), ": ");
      absl::StrAppend(&out, ToAbsl(before), start, "\t", title, ToAbsl(scheme.form), "\n");
    }
  }
}

// Nothing where the table cannot be read: a shell has no place for a message.
void OfferShards(const Option& option, std::string_view before, std::string_view typed,
                 std::string table_path, std::string& out) {
  if (table_path.starts_with("file:")) table_path.erase(0, 5);
  if (table_path.empty() || table_path == "-") return;
  absl::StatusOr<std::string> json = ReadWhole(table_path);
  if (!json.ok()) return;
  absl::StatusOr<RoutingTable> table = RoutingTable::Parse(*json);
  if (!table.ok()) return;
  bool with_value = option.value_name.find('=') != std::string::npos;  // NAME=W
  for (const Shard& shard : table->shards()) {
    if (!shard.name.starts_with(typed)) continue;
    absl::StrAppend(&out, ToAbsl(before), shard.name, with_value ? "=" : "", "\tweight ",
                    shard.weight, "\n");
  }
}

}  // namespace

void OfferWord(std::string_view typed, std::string_view word, std::string_view meaning,
               std::string& out) {
  if (!word.starts_with(typed)) return;
  absl::StrAppend(&out, ToAbsl(word), meaning.empty() ? "" : "\t", ToAbsl(meaning), "\n");
}

void OfferValues(const Option& option, std::string_view before, std::string_view typed,
                 const std::string& table, std::string& out) {
  for (const std::string& choice : option.choices) {
    if (choice.starts_with(typed)) absl::StrAppend(&out, ToAbsl(before), choice, "\n");
  }
  switch (option.offer) {
    case Offer::kNothing:
      return;
    case Offer::kFiles:
      return OfferFiles(before, out);
    case Offer::kStoreUris:
      return OfferUris(internal::kCounters, before, typed, out);
    case Offer::kSpaceUris:
      return OfferUris(internal::kSegments, before, typed, out);
    case Offer::kClusterUris:
      return OfferUris(internal::kMembers, before, typed, out);
    case Offer::kTableUris:
      return OfferUris(internal::kTables, before, typed, out);
    case Offer::kFilesAndTableUris:
      OfferUris(internal::kTables, before, typed, out);
      if (!typed.starts_with("file:")) OfferFiles(before, out);
      return;
    case Offer::kShards:
      return OfferShards(option, before, typed, table, out);
  }
}

}  // namespace locus::cli
