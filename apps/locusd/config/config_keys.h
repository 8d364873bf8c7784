// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CONFIG_CONFIG_KEYS_H_
#define LOCUS_APPS_LOCUSD_CONFIG_CONFIG_KEYS_H_

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "apps/shared/toml/toml_section.h"
#include "locus/space.h"

// The keys of the configuration. Each is declared once, by a call on a KeySection that names the
// key, the field that holds its value, its limits, and a line of help. The same calls read a file
// and list the keys. `locusd init`, docs/run/configuration.md, and the check of what a reload may
// change use the list.
namespace locus::locusd {

struct Config;

// What a running process does when the key's value changes.
enum class Reload {
  kNo,        // needs a restart
  kYes,       // takes the new value
  kOtherOnly  // takes another value; adding or removing the key needs a restart
};

// A key as it is listed.
struct ConfigKey {
  std::string section = {};  // "ids.orders"; empty: the top of the file
  std::string name = {};     // "store"
  std::string type = {};     // "text", "texts", "duration", "number", "true or false"
  std::string value = {};    // of the listed configuration, as TOML; empty: it has none
  std::string sample = {};   // shown where there is no value
  std::string help = {};
  std::string role = {};  // the only role that has the key; empty: all that have the section
  bool required = false;
  bool written = false;  // the template has it without "#"
  bool by_hand = false;  // the template leaves it out
  Reload reload = Reload::kNo;

  std::string FullName() const {
    return section.empty() || name.empty() ? absl::StrCat(section, name)
                                           : absl::StrCat(section, ".", name);
  }
};

class KeySection {
 public:
  // What is said of a key beside its field.
  struct About {
    const char* help = "";
    const char* sample = "";  // TOML; for a key that has no default
    bool written = false;     // the template shows `sample` as a line without "#"
    bool required = false;
    bool by_hand = false;  // the template leaves it out
    Reload reload = Reload::kNo;
  };

  // Reads the section, or lists its keys.
  explicit KeySection(apps::TomlSection toml) : toml_(std::move(toml)) {}
  KeySection(std::string name, std::vector<ConfigKey>* list)
      : name_(std::move(name)), list_(list) {}

  bool reads() const { return toml_.has_value(); }
  // Only where reads().
  apps::TomlSection& toml() { return *toml_; }

  // Keys that follow are refused as "for the role ROLE", or not listed, unless `has_role`. `role`
  // nullptr: keys of all roles follow.
  void OfRole(const char* role, bool has_role) {
    role_ = role;
    has_role_ = role == nullptr || has_role;
  }

  template <typename Value, typename Read>
  void Text(const char* key, Value* value, Read read, const About& about) {
    if (Reads(key)) return toml_->Text(key, value, read, NeedOf(about));
    Add(key, "text", TomlOf(*value), about);
  }
  template <typename Value, typename Read, typename Print>
  void Text(const char* key, Value* value, Read read, const About& about, Print print) {
    if (Reads(key)) return toml_->Text(key, value, read, NeedOf(about));
    Add(key, "text", TomlOf(std::string(print(*value))), about);
  }
  template <typename Value, typename Read>
  void Texts(const char* key, std::vector<Value>* values, Read read, const About& about) {
    if (Reads(key)) return toml_->Texts(key, values, read, NeedOf(about));
    Add(key, "texts", TomlOf(*values), about);
  }
  void Duration(const char* key, absl::Duration* value, const apps::TomlSection::Check& check,
                const About& about) {
    if (Reads(key)) return toml_->Duration(key, value, check);
    Add(key, "duration", TomlOf(*value), about);
  }
  template <std::unsigned_integral Value>
  void Whole(const char* key, Value* value, const apps::TomlSection::Check& check,
             const About& about) {
    if (Reads(key)) return toml_->Whole(key, value, check);
    Add(key, "number", absl::StrCat(*value), about);
  }
  void Flag(const char* key, bool* value, const About& about) {
    if (Reads(key)) return toml_->Flag(key, value);
    Add(key, "true or false", *value ? "true" : "false", about);
  }
  // A key that only the reader understands; `value` is how it is listed.
  void Listed(const char* key, const char* type, std::string value, const About& about) {
    if (!reads() && has_role_) Add(key, type, std::move(value), about);
  }

 private:
  static apps::TomlSection::Need NeedOf(const About& about) {
    return about.required ? apps::TomlSection::kRequired : apps::TomlSection::kOptional;
  }
  static std::string TomlOf(const std::string& text);
  static std::string TomlOf(const SpaceName& space);
  static std::string TomlOf(const std::vector<std::string>& texts);
  static std::string TomlOf(absl::Duration duration);

  // Whether the key is to be read now. False also where its role is missing: then it is refused.
  bool Reads(const char* key);
  void Add(const char* key, const char* type, std::string value, const About& about);

  std::optional<apps::TomlSection> toml_;
  std::string name_;
  std::vector<ConfigKey>* list_ = nullptr;
  const char* role_ = nullptr;
  bool has_role_ = true;
};

// The keys that a process of these roles may have, in the order of the template. The values are
// those of `config`; a section that it lacks is listed with its defaults.
std::vector<ConfigKey> ListKeys(const Config& config);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CONFIG_CONFIG_KEYS_H_
