// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "apps/locusd/config/config.h"
#include "apps/locusd/config/config_keys.h"

namespace locus::locusd {
namespace {

bool NeedsARestart(const ConfigKey& before, const ConfigKey& after) {
  if (before.value == after.value) return false;
  switch (before.reload) {
    case Reload::kYes:
      return false;
    case Reload::kOtherOnly:
      return before.value.empty() != after.value.empty();
    case Reload::kNo:
      break;
  }
  return true;
}

}  // namespace

std::vector<std::string> KeysThatNeedARestart(const Config& running, const Config& read) {
  std::map<std::string, ConfigKey> after;
  for (ConfigKey& key : ListKeys(read)) after.emplace(key.FullName(), std::move(key));
  std::vector<std::string> names;
  std::string skipped;  // a section that only one of them has is named once
  for (const ConfigKey& key : ListKeys(running)) {
    if (!skipped.empty() && key.section == skipped) continue;
    const auto found = after.find(key.FullName());
    const bool differs = found == after.end() || NeedsARestart(key, found->second);
    if (differs) names.push_back(key.FullName());
    const bool is_new = found == after.end() || found->second.value != key.value;
    if (key.name.empty()) skipped = is_new ? key.section : "";
  }
  return names;
}

std::vector<std::string> FilesToWatch(const Config& config) {
  std::vector<std::string> files;
  for (const TokenSettings& token : config.tokens) files.push_back(token.file);
  const Config::Api& api = config.api;
  files.insert(files.end(), api.token_files.begin(), api.token_files.end());
  files.insert(files.end(), api.operator_token_files.begin(), api.operator_token_files.end());
  if (api.tls) files.insert(files.end(), {api.tls->certificate, api.tls->key});
  if (config.ids && !config.ids->keys.empty()) files.push_back(config.ids->keys);
  return files;
}

}  // namespace locus::locusd
