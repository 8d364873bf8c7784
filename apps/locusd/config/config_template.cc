// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/config/config_template.h"

#include "absl/strings/str_cat.h"
#include "apps/locusd/config/config.h"
#include "apps/locusd/config/config_keys.h"

namespace locus::locusd {
namespace {

constexpr char kHead[] =
    R"(# locusd: /etc/locusd/locusd.toml. `locusd --config FILE --check` reads it and says what is wrong.
# Lines behind "#" show the defaults; docs/run/configuration.md lists the keys.
# Roles are cluster-node, id-service and sequence-node; one or several.
)";
constexpr size_t kHelpColumn = 36;

// `line`, with the help behind it.
void AddLine(std::string line, const std::string& help, std::string& text) {
  if (!help.empty()) {
    if (line.size() < kHelpColumn) {
      line.resize(kHelpColumn, ' ');
    } else {
      line += "  ";
    }
    absl::StrAppend(&line, "# ", help);
  }
  absl::StrAppend(&text, line, "\n");
}

}  // namespace

std::string ConfigTemplate(const TemplateRoles& roles) {
  Config config;
  config.cluster_node = roles.cluster_node;
  config.id_service = roles.id_service;
  config.sequence_node = roles.sequence_node;
  config.api.server.listen.clear();
  std::string text = kHead;
  bool written = true;  // the section
  for (const ConfigKey& key : ListKeys(config)) {
    if (key.name.empty()) {
      written = key.written;
      const bool many = key.section == "token";
      text += "\n";
      AddLine(absl::StrCat(written ? "" : "# ", many ? "[[" : "[", key.section, many ? "]]" : "]"),
              key.help, text);
      continue;
    }
    const std::string& shown = key.sample.empty() ? key.value : key.sample;
    if (key.by_hand) continue;
    AddLine(absl::StrCat(written && key.written ? "" : "# ", key.name, " = ",
                         shown.empty() ? "\"\"" : shown),
            key.help, text);
  }
  return text;
}

}  // namespace locus::locusd
