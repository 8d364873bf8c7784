// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/line/complete.h"

#include "absl/strings/str_cat.h"
#include "apps/locus/io/byte_stream.h"
#include "locus/routing/routing_table.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::ToAbsl;

namespace {

struct Scheme {
  std::string_view start;
  std::string_view meaning;
};
// Of counters and rules.
constexpr Scheme kStores[] = {{"sqlite:", "a file"},
                              {"mysql://", "MariaDB: mysql://USER@HOST:PORT/DB"},
                              {"redis://", "Redis: redis://HOST:PORT/DB"},
                              {"redis+sentinel://", "redis+sentinel://H1:P1,H2:P2/MASTER"},
                              {"etcd://", "etcd://H1:P1,H2:P2/PREFIX"},
                              {"locusd://", "locusd://H1:P1,H2:P2"}};
// Of spaces: order IDs and worker IDs.
constexpr Scheme kSpaces[] = {{"sqlite:", "a file"},
                              {"mysql://", "MariaDB: mysql://USER@HOST:PORT/DB"},
                              {"redis://", "Redis: redis://HOST:PORT/DB"},
                              {"redis+sentinel://", "redis+sentinel://H1:P1,H2:P2/MASTER"},
                              {"etcd://", "etcd://H1:P1,H2:P2/PREFIX"},
                              {"zookeeper://", "zookeeper://H1:P1,H2:P2/PREFIX"},
                              {"locusd://", "locusd://H1:P1,H2:P2"}};
constexpr Scheme kClusters[] = {{"locusd://", "locusd://H1:P1,H2:P2"}};
constexpr Scheme kTables[] = {{"file:", "a file that routers watch"},
                              {"etcd://", "etcd://H1:P1,H2:P2/PREFIX"},
                              {"mysql://", "MariaDB: mysql://USER@HOST:PORT/DB"},
                              {"http://", "read only"},
                              {"https://", "read only"}};

void OfferFiles(std::string_view before, std::string& out) {
  absl::StrAppend(&out, ":files\t", ToAbsl(before), "\n");
}

// The schemes, or the files after the scheme that names one.
template <size_t kCount>
void OfferUris(const Scheme (&schemes)[kCount], std::string_view file_scheme,
               std::string_view before, std::string_view typed, std::string& out) {
  if (typed.starts_with(file_scheme)) {
    return OfferFiles(absl::StrCat(ToAbsl(before), ToAbsl(file_scheme)), out);
  }
  for (const Scheme& scheme : schemes) {
    if (!scheme.start.starts_with(typed)) continue;
    absl::StrAppend(&out, ToAbsl(before), ToAbsl(scheme.start), "\t", ToAbsl(scheme.meaning), "\n");
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
      return OfferUris(kStores, "sqlite:", before, typed, out);
    case Offer::kSpaceUris:
      return OfferUris(kSpaces, "sqlite:", before, typed, out);
    case Offer::kClusterUris:
      return OfferUris(kClusters, "sqlite:", before, typed, out);
    case Offer::kTableUris:
      return OfferUris(kTables, "file:", before, typed, out);
    case Offer::kFilesAndTableUris:
      OfferUris(kTables, "file:", before, typed, out);
      if (!typed.starts_with("file:")) OfferFiles(before, out);
      return;
    case Offer::kShards:
      return OfferShards(option, before, typed, table, out);
  }
}

}  // namespace locus::cli
