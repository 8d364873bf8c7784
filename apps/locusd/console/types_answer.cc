// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/console/types_answer.h"

#include <boost/json.hpp>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "apps/locusd/console/json_text.h"

namespace locus::locusd {

namespace json = boost::json;

namespace {

struct Shown {
  SequenceType type;
  bool dropped = false;
  json::array counters;
};

int64_t StartOf(const SequenceType& type) { return type.start == 0 ? type.step : type.start; }

// How the first number of a counter is written at `now`; null: the pattern has fields of the
// caller's, or cannot write it.
json::value FirstNumber(const NumberFormat& format, const SequenceType& type, absl::Time now) {
  for (const NumberField& field : format.fields()) {
    if (field.has_value() && field.name != "seq") return nullptr;
  }
  const auto first = format.Format(now, {FieldValue::Uint64(static_cast<uint64_t>(StartOf(type)))});
  if (!first.ok()) return nullptr;
  return JsonText(*first);
}

json::object TypeJson(const SequenceType& type, absl::Time now) {
  json::object rule;
  json::array fields;
  json::value first;
  if (!type.pattern.empty()) {
    if (const absl::StatusOr<NumberFormat> format = type.Format(); format.ok()) {
      first = FirstNumber(*format, type, now);
      for (const NumberField& field : format->fields()) {
        if (field.has_value() && field.name != "seq") fields.push_back(JsonText(field.name));
      }
    }
  }
  rule["name"] = JsonText(type.name);
  rule["version"] = JsonText(absl::StrCat(type.version));
  rule["pattern"] = JsonText(type.pattern);
  rule["period"] = JsonText(ToString(type.period));
  rule["zone"] = JsonText(type.zone);
  rule["start"] = JsonText(absl::StrCat(StartOf(type)));
  rule["step"] = JsonText(absl::StrCat(type.step));
  rule["max_value"] = JsonText(absl::StrCat(type.counter_options().max_value));
  rule["at_max"] = type.at_max == SequencerOptions::AtMax::kWrap ? "wrap" : "error";
  rule["ttl_ms"] = absl::ToInt64Milliseconds(type.expiry);
  rule["buffer"] = JsonText(absl::StrCat(type.buffer));
  rule["leftovers"] = JsonText(ToString(type.leftovers));
  rule["lifetime_ms"] = absl::ToInt64Milliseconds(type.lifetime);
  rule["first_number"] = std::move(first);
  rule["fields"] = std::move(fields);
  return rule;
}

}  // namespace

std::string TypesEventJson(const TypedNumbers& numbers) {
  std::map<std::string, std::set<uint64_t>> versions;
  numbers.ForEach(
      [&versions](const std::string& name, const std::string&, const NumberGenerator& generator) {
        versions[name].insert(generator.Stats().type_version);
      });
  json::array types;
  for (const auto& [name, used] : versions) {
    json::array texts;
    for (const uint64_t version : used) texts.push_back(JsonText(absl::StrCat(version)));
    types.push_back(json::object{{"name", JsonText(name)}, {"type_versions", std::move(texts)}});
  }
  return json::serialize(json::object{{"types", std::move(types)}});
}

std::string TypesJson(const std::vector<SequenceType>& stored, const TypedNumbers& numbers,
                      absl::Time now) {
  std::map<std::string, Shown> types;
  for (const SequenceType& type : stored) types[type.name].type = type;
  numbers.ForEach(
      [&types](const std::string& name, const std::string& key, const NumberGenerator& generator) {
        const auto [at, is_new] = types.try_emplace(name);
        if (is_new) at->second = {generator.Type(), /*dropped=*/true, {}};
        const NumberGeneratorStats stats = generator.Stats();
        json::object counter;
        counter["key"] = JsonText(key);
        counter["type_version"] = JsonText(absl::StrCat(stats.type_version));
        counter["numbers"] = stats.numbers;
        counter["type_error"] =
            stats.last_type_error.ok()
                ? json::value()
                : json::value(JsonText(std::string(stats.last_type_error.message())));
        at->second.counters.push_back(std::move(counter));
      });
  json::array list;
  for (auto& [name, shown] : types) {
    json::object one = TypeJson(shown.type, now);
    one["dropped"] = shown.dropped;
    one["counters"] = std::move(shown.counters);
    list.push_back(std::move(one));
  }
  return json::serialize(
      json::object{{"now_ms", absl::ToUnixMillis(now)}, {"types", std::move(list)}});
}

}  // namespace locus::locusd
