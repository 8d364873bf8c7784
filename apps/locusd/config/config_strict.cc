// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "apps/locusd/config/config_sections.h"
#include "apps/locusd/config/config_values.h"
#include "apps/locusd/strict/node_name.h"
#include "apps/locusd/strict/section_list.h"
#include "locus/strict_sequencer.h"
#include "routing/uri/store_uri.h"
#include "src/base/text/text.h"
#include "src/http/endpoint.h"

namespace locus::locusd {

using apps::TomlSection;
using internal::StoreUri;

namespace {

absl::Status JudgeSections(const std::string& text) {
  const absl::StatusOr<StoreUri> uri = StoreUri::Parse(text);
  if (!uri.ok()) return uri.status();
  switch (uri->engine) {
    case StoreUri::Engine::kSqlite:
    case StoreUri::Engine::kMysql:
    case StoreUri::Engine::kEtcd:
    case StoreUri::Engine::kLocusd:
      return absl::OkStatus();
    default:
      return absl::InvalidArgumentError(
          "strict sequences are kept in sqlite, mysql, etcd and locusd stores only");
  }
}

absl::StatusOr<std::string> ReadNodeName(const std::string& text) {
  if (IsNodeName(text)) return text;
  return absl::InvalidArgumentError(kNodeNames);
}

absl::StatusOr<std::string> ReadAnyText(const std::string& text) { return text; }

}  // namespace

void ReadStrict(TomlSection section, const std::string& listen, StrictSettings& strict) {
  ReadPlace(section, "store", "password_file", strict.place, TomlSection::kRequired, JudgeSections);
  section.Flag("create", &strict.create);
  section.Text("name", &strict.name, ReadNodeName, TomlSection::kRequired);
  strict.advertise = listen;
  section.Text("advertise", &strict.advertise, ReadAddress);
  if (const auto endpoint = http::Endpoint::Parse(strict.advertise);
      endpoint.ok() && (endpoint->host == "0.0.0.0" || endpoint->host == "::")) {
    section.Refuse(absl::StrCat("nobody can reach ", internal::Quoted(strict.advertise),
                                "; strict.advertise = \"HOST:PORT\" must name this machine"));
  }
  section.Text("set", &strict.set, ReadSpace);
  StrictSetOptions& options = strict.options;
  // What they must be together is said once they are all read.
  auto any = [] { return absl::OkStatus(); };
  section.Whole("first_uid", &options.first_uid, any);
  section.Whole("uids", &options.uids, any);
  section.Whole("section_size", &options.section_size, any);
  section.Whole("step", &options.step, any);
  section.Duration("ttl", &options.ttl, any);
  section.RefuseIfNot(options.Check());
  std::vector<std::string> texts;
  section.Texts("sections", &texts, ReadAnyText);
  if (options.Check().ok()) {
    for (const std::string& text : texts) {
      const absl::Status status = AddSections(text, options.sections(), strict.sections);
      if (!status.ok()) {
        section.RefuseKey("sections", absl::StrCat("is wrong: ", status.message()));
        break;
      }
    }
    SortSections(strict.sections);
  }
  section.Whole("weight", &strict.weight, Within(strict.weight, 1, 1'000'000));
  section.Whole("memory_bytes", &strict.memory_bytes,
                Within(strict.memory_bytes, StrictSequencerOptions::kLeastMemory,
                       StrictSequencerOptions::kMostMemory));
  section.Text("token_file", &strict.token_file, ReadMaybe);
  section.Text("authority", &strict.authority, ReadMaybe);
  section.End();
}

}  // namespace locus::locusd
