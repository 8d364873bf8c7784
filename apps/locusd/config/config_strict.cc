// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "apps/locusd/config/config_sections.h"
#include "apps/locusd/config/config_values.h"
#include "apps/locusd/strict/node_name.h"
#include "apps/locusd/strict/section_list.h"
#include "locus/strict_sequencer.h"
#include "src/base/text/text.h"
#include "src/http/endpoint.h"
#include "src/open/store_uri.h"

namespace locus::locusd {

using apps::TomlSection;
using internal::StoreUri;

namespace {

absl::Status JudgeSections(const std::string& text) {
  const absl::StatusOr<StoreUri> uri = StoreUri::Parse(text);
  if (!uri.ok()) return uri.status();
  return internal::CheckKeeps(*uri->engine, internal::kStrictSets);
}

absl::StatusOr<std::string> ReadNodeName(const std::string& text) {
  if (IsNodeName(text)) return text;
  return absl::InvalidArgumentError(kNodeNames);
}

absl::StatusOr<std::string> ReadAnyText(const std::string& text) { return text; }

}  // namespace

void StrictKeys(KeySection& section, const std::string& listen, StrictSettings& strict) {
  section.Text("name", &strict.name, ReadNodeName,
               {.help = "of this node; no two nodes of a set have one name",
                .sample = R"("node-1")",
                .written = true,
                .required = true});
  PlaceKeys(section, "store", "password_file", strict.place,
            {.help = "where the set is kept",
             .sample = R"("sqlite:/var/lib/locusd/strict.db")",
             .written = true,
             .required = true},
            JudgeSections);
  section.Flag("create", &strict.create,
               {.help = "makes a missing file, tables and the set; the default is false",
                .sample = "true",
                .written = true});
  if (section.reads()) strict.advertise = listen;
  section.Text("advertise", &strict.advertise, ReadAddress,
               {.help = "where clients and other nodes reach the API: `api.listen`",
                .sample = R"("HOST:PORT")"});
  section.Text("set", &strict.set, ReadSpace,
               {.help = "the same on all nodes: users of two sets are two users"});
  StrictSetOptions& options = strict.options;
  // Check judges these five together, once they are read.
  auto any = [] { return absl::OkStatus(); };
  section.Whole("first_uid", &options.first_uid, any,
                {.help = "these five are stored with the set, and alike on all nodes"});
  section.Whole("uids", &options.uids, any, {});
  section.Whole("section_size", &options.section_size, any, {});
  section.Whole("step", &options.step, any, {});
  section.Duration("ttl", &options.ttl, any, {});
  std::vector<std::string> texts;
  if (!section.reads()) {
    for (const uint32_t number : strict.sections) texts.push_back(absl::StrCat(number));
  }
  section.Texts("sections", &texts, ReadAnyText,
                {.help = R"(exactly these, as "0-99"; empty: spread over the nodes by load)"});
  section.Whole("weight", &strict.weight, Within(strict.weight, 1, 1'000'000),
                {.help = "this node's part of the load, against the others'"});
  section.Whole("memory_bytes", &strict.memory_bytes,
                Within(strict.memory_bytes, StrictSequencerOptions::kLeastMemory,
                       StrictSequencerOptions::kMostMemory),
                {.help = "that the numbers of keys may take"});
  section.Text("token_file", &strict.token_file, ReadMaybe,
               {.help = "shown to the other nodes: a token with the scope strict"});
  section.Text("authority", &strict.authority, ReadMaybe,
               {.help = "PEM, for the other nodes' APIs; empty: the system's"});
  if (!section.reads()) return;
  TomlSection& toml = section.toml();
  if (const auto endpoint = http::Endpoint::Parse(strict.advertise);
      endpoint.ok() && (endpoint->host == "0.0.0.0" || endpoint->host == "::")) {
    toml.Refuse(absl::StrCat("nobody can reach ", internal::Quoted(strict.advertise),
                             "; strict.advertise = \"HOST:PORT\" must name this machine"));
  }
  toml.RefuseIfNot(options.Check());
  if (options.Check().ok()) {
    for (const std::string& text : texts) {
      const absl::Status status = AddSections(text, options.sections(), strict.sections);
      if (!status.ok()) {
        toml.RefuseKey("sections", absl::StrCat("is wrong: ", status.message()));
        break;
      }
    }
    SortSections(strict.sections);
  }
  toml.End();
}

}  // namespace locus::locusd
