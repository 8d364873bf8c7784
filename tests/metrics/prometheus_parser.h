// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_METRICS_PROMETHEUS_PARSER_H_
#define LOCUS_TESTS_METRICS_PROMETHEUS_PARSER_H_

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace locus {

// A strict reader of Prometheus' text format 0.0.4, with the rules that `promtool check metrics`
// adds: every family has HELP and TYPE before its samples, samples of a family stand together, no
// sample comes twice, counters end in _total and nothing else does, histograms are cumulative and
// complete, units are base units. Written from the format's description, not from our writer.
class PrometheusDocument {
 public:
  using Labels = std::map<std::string, std::string>;

  explicit PrometheusDocument(const std::string& text) {
    if (!text.empty() && text.back() != '\n') Fault("the last line has no end");
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("# ")) {
        Comment(line);
      } else if (line.empty()) {
        Fault("an empty line");
      } else {
        Sample(line);
      }
    }
    for (const auto& [name, type] : types_) CheckFamily(name, type);
  }

  const std::vector<std::string>& faults() const { return faults_; }
  const std::map<std::string, std::string>& types() const { return types_; }
  // NaN: there is no such sample.
  double Value(const std::string& name, const Labels& labels = {}) const {
    auto found = values_.find({name, labels});
    return found == values_.end() ? std::nan("") : found->second;
  }

 private:
  void Fault(const std::string& what) { faults_.push_back(what); }

  static bool IsName(const std::string& name, bool colon) {
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) return false;
    return std::all_of(name.begin(), name.end(), [&](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (colon && c == ':');
    });
  }

  void Comment(const std::string& line) {
    std::istringstream words(line);
    std::string hash, keyword, name, rest;
    words >> hash >> keyword >> name;
    std::getline(words, rest);
    if (keyword == "HELP") {
      if (rest.size() < 2 || rest.back() != '.') Fault("HELP of " + name + " is no sentence");
      if (!helps_.insert(name).second) Fault("HELP of " + name + " comes twice");
    } else if (keyword == "TYPE") {
      if (!helps_.contains(name)) Fault("TYPE of " + name + " has no HELP before it");
      if (!types_.emplace(name, rest.substr(1)).second) Fault("TYPE of " + name + " comes twice");
      family_ = name;
    } else {
      Fault("a comment that is neither HELP nor TYPE: " + line);
    }
  }

  void Sample(const std::string& line) {
    size_t at = line.find_first_of("{ ");
    if (at == std::string::npos) return Fault("no value: " + line);
    std::string name = line.substr(0, at);
    if (!IsName(name, true)) Fault("not a name: " + line);
    Labels labels;
    if (line[at] == '{' && !ReadLabels(line, at, labels)) return Fault("bad labels: " + line);
    if (line[at] != ' ') return Fault("no space before the value: " + line);
    std::string text = line.substr(at + 1);
    char* end = nullptr;
    double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0') Fault("not a number: " + line);
    if (name != family_ && !(types_[family_] == "histogram" &&
                             (name == family_ + "_bucket" || name == family_ + "_sum" ||
                              name == family_ + "_count"))) {
      Fault("a sample outside of its family: " + line);
    }
    if (types_[family_] != "gauge" && (value < 0 || std::isnan(value))) Fault("below 0: " + line);
    if (!values_.emplace(std::make_pair(name, labels), value).second) Fault("twice: " + line);
  }

  static bool ReadLabels(const std::string& line, size_t& at, Labels& labels) {
    ++at;
    while (at < line.size() && line[at] != '}') {
      size_t equals = line.find("=\"", at);
      if (equals == std::string::npos) return false;
      std::string name = line.substr(at, equals - at);
      if (!IsName(name, false) || name.starts_with("__")) return false;
      std::string value;
      for (at = equals + 2; at < line.size() && line[at] != '"'; ++at) {
        if (line[at] != '\\') {
          value += line[at];
          continue;
        }
        char escaped = ++at < line.size() ? line[at] : '\0';
        if (escaped != '\\' && escaped != '"' && escaped != 'n') return false;
        value += escaped == 'n' ? '\n' : escaped;
      }
      if (at >= line.size() || !labels.emplace(name, value).second) return false;
      ++at;
      if (at < line.size() && line[at] == ',') ++at;
    }
    return at++ < line.size();
  }

  void CheckFamily(const std::string& name, const std::string& type) {
    if (type != "counter" && type != "gauge" && type != "histogram") Fault(name + " is a " + type);
    if (name.ends_with("_total") != (type == "counter")) Fault(name + ": _total is for counters");
    static const std::set<std::string> kNotBaseUnits = {
        "ms",    "us", "ns",      "millis",  "milliseconds", "minutes",
        "hours", "kb", "percent", "counter", "gauge"};
    std::istringstream words(name);
    for (std::string word; std::getline(words, word, '_');) {
      if (kNotBaseUnits.contains(word)) Fault(name + " has " + word);
    }
    if (type == "histogram") CheckHistogram(name);
  }

  void CheckHistogram(const std::string& name) {
    std::map<Labels, std::map<double, double>> buckets;
    for (const auto& [sample, value] : values_) {
      if (sample.first != name + "_bucket") continue;
      Labels labels = sample.second;
      std::string bound = labels["le"];
      labels.erase("le");
      buckets[labels][bound == "+Inf" ? HUGE_VAL : std::strtod(bound.c_str(), nullptr)] = value;
    }
    if (buckets.empty()) Fault(name + " has no buckets");
    for (const auto& [labels, bounds] : buckets) {
      double before = 0;
      for (const auto& [bound, count] : bounds) {
        if (count < before) Fault(name + " is not cumulative");
        before = count;
      }
      if (!bounds.contains(HUGE_VAL)) Fault(name + " has no bucket +Inf");
      if (Value(name + "_count", labels) != before) Fault(name + "_count is not the last bucket");
      if (std::isnan(Value(name + "_sum", labels))) Fault(name + " has no sum");
    }
  }

  std::vector<std::string> faults_;
  std::set<std::string> helps_;
  std::map<std::string, std::string> types_;
  std::map<std::pair<std::string, Labels>, double> values_;
  std::string family_;  // whose samples follow
};

}  // namespace locus

#endif  // LOCUS_TESTS_METRICS_PROMETHEUS_PARSER_H_
