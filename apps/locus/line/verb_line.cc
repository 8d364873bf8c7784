// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/line/verb_line.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "apps/locus/line/complete.h"
#include "apps/locus/line/help.h"
#include "apps/locus/line/path_check.h"
#include "apps/locus/line/suggest.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/place/place_files.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::ParseDecimal;
using internal::Quoted;
using internal::ToAbsl;

namespace {

bool LooksLikeOption(std::string_view word) {
  return word.size() > 1 && word[0] == '-' &&
         !absl::ascii_isdigit(static_cast<unsigned char>(word[1]));
}

absl::Status Wrong(const std::string& message) { return absl::InvalidArgumentError(message); }

}  // namespace

struct VerbLine::Rep {
  // A value that the words give an option or operand.
  struct Given {
    Option* option;
    std::string value;
    std::string source;  // for messages: the option's name, or its environment variable
  };

  Option* Find(std::string_view name);
  const Option* Find(std::string_view name) const;
  Option* NextOperand(size_t count);
  absl::Status TakeOption(const std::string& word, std::span<const std::string>& rest);
  absl::Status TakeOperand(const std::string& word);
  absl::Status Divide(std::span<const std::string> words);
  void TakeEnvironment();
  bool IsGiven(const Option& option) const;
  std::string SourceOf(const Option& option) const;
  absl::Status CheckMissing() const;
  absl::Status ReadValues();
  absl::Status CheckNeeds() const;
  absl::Status CheckFiles() const;
  absl::Status Read(std::span<const std::string> words);
  std::string Help() const;
  std::string TableOfLine() const;
  std::string Offers(std::span<const std::string> words);

  std::string verb;
  std::string purpose;
  std::string example;
  std::deque<Option> options;  // and operands, in the order declared; pointers stay good
  Option* tail = nullptr;
  bool tail_reads_stdin = false;
  Option* command = nullptr;

  bool quiet = false;
  bool help_wanted = false;
  std::vector<Given> given;
  Option* last = nullptr;  // the option that the words named last
  size_t operand_count = 0;
};

VerbLine::VerbLine(std::string_view verb, std::string_view purpose, std::string_view example)
    : rep_(std::make_unique<Rep>()) {
  rep_->verb = verb;
  rep_->purpose = purpose;
  rep_->example = example;
  Flag("--quiet", &rep_->quiet, "Print errors only, without notes, summaries and progress");
}
VerbLine::~VerbLine() = default;

Option& VerbLine::Add(const std::string& spec, const std::string& help) {
  size_t space = std::min(spec.find(' '), spec.size());
  Option option;
  option.name = spec.substr(0, space);
  option.value_name = spec.substr(std::min(space + 1, spec.size()));
  option.help = help;
  option.required = !option.is_option();
  LOCUS_CHECK(rep_->Find(option.name) == nullptr || !option.is_option());
  return rep_->options.emplace_back(std::move(option));
}

Option& VerbLine::Flag(const std::string& name, bool* given, const std::string& help) {
  Option& option = Add(name, help);
  option.is_flag = true;
  option.read = [given](const std::string&) {
    *given = true;
    return absl::OkStatus();
  };
  return option;
}

namespace {

auto ReadChoice(const std::vector<std::string>& choices) {
  return [choices](std::string_view text) -> absl::StatusOr<std::string> {
    if (std::ranges::find(choices, text) != choices.end()) return std::string(text);
    return Wrong(absl::StrCat(Quoted(text), " is not one of ", absl::StrJoin(choices, ", "),
                              DidYouMean(text, choices)));
  };
}

}  // namespace

Option& VerbLine::Choice(const std::string& name, const std::vector<std::string>& choices,
                         std::string* target, const std::string& help) {
  std::string spec = absl::StrCat(name, " ", absl::StrJoin(choices, "|"));
  Option& option = Value(spec, target, ReadChoice(choices), help);
  option.choices = choices;
  if (std::ranges::find(choices, *target) == choices.end()) option.Required();
  return option;
}

Option& VerbLine::Choice(const std::string& name, const std::vector<std::string>& choices,
                         std::optional<std::string>* target, const std::string& help) {
  std::string spec = absl::StrCat(name, " ", absl::StrJoin(choices, "|"));
  Option& option = Value(spec, target, ReadChoice(choices), help);
  option.choices = choices;
  return option;
}

Option& VerbLine::File(const std::string& spec, std::string* target, FileUse use,
                       const std::string& help) {
  Option& option = Value(spec, target, ReaderOfPath(use), help).Offers(Offer::kFiles);
  return option.Names([target, use, name = option.name]() -> std::vector<NamedFile> {
    return {{name, *target, use}};
  });
}

Option& VerbLine::File(const std::string& spec, std::optional<std::string>* target, FileUse use,
                       const std::string& help) {
  Option& option = Value(spec, target, ReaderOfPath(use), help).Offers(Offer::kFiles);
  return option.Names([target, use, name = option.name]() -> std::vector<NamedFile> {
    if (!*target) return {};
    return {{name, **target, use}};
  });
}

Option& VerbLine::Repeated(const std::string& spec, std::vector<std::string>* values,
                           const std::string& help) {
  Option& option = Add(spec, help);
  option.required = false;
  option.repeated = true;
  option.read = [values](const std::string& text) {
    values->push_back(text);
    return absl::OkStatus();
  };
  return option;
}

Option& VerbLine::List(const std::string& spec, std::vector<std::string>* values,
                       const std::string& help) {
  Option& option = Repeated(spec, values, help);
  option.value_name += "...";
  option.required = true;
  option.takes_operands = true;
  return option;
}

Option& VerbLine::Tail(const std::string& name, std::vector<std::string>* values,
                       WithoutAny without, const std::string& help) {
  rep_->tail = &Repeated(name, values, help);
  rep_->tail_reads_stdin = without == WithoutAny::kReadsStdin;
  return *rep_->tail;
}

Option& VerbLine::Command(const std::string& name, std::vector<std::string>* words,
                          const std::string& help) {
  rep_->command = &Repeated(name, words, help);
  return *rep_->command;
}

absl::StatusOr<std::string> VerbLine::TakeText(std::string_view text) { return std::string(text); }

absl::StatusOr<uint64_t> VerbLine::ReadWhole(std::string_view text, const WholeRange& range) {
  std::optional<uint64_t> number = ParseDecimal(text, range.most);
  if (number && *number >= range.least) return *number;
  return Wrong(
      absl::StrCat(Quoted(text), " is not ", range.what, " in ", range.least, "..", range.most));
}

absl::StatusOr<double> VerbLine::ReadFactor(std::string_view text) {
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && std::isfinite(value) && value > 0) return value;
  return Wrong(absl::StrCat(Quoted(text), " is not a number above 0"));
}

absl::StatusOr<absl::Duration> VerbLine::ReadDuration(std::string_view text,
                                                      const DurationRange& range) {
  static const std::map<std::string_view, absl::Duration> kUnits = {
      {"", absl::Seconds(1)},  {"ms", absl::Milliseconds(1)}, {"s", absl::Seconds(1)},
      {"m", absl::Minutes(1)}, {"h", absl::Hours(1)},         {"d", absl::Hours(24)}};
  size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  auto unit = kUnits.find(text.substr(digits));
  // 2^53 of the longest unit does not overflow a Duration.
  std::optional<uint64_t> number = ParseDecimal(text.substr(0, digits), uint64_t{1} << 53);
  if (number && unit != kUnits.end()) {
    absl::Duration value = unit->second * static_cast<double>(*number);
    if (value >= range.least && value <= range.most) return value;
  }
  return Wrong(absl::StrCat(Quoted(text), " is not a duration in ", ShownDefault(range.least), "..",
                            ShownDefault(range.most), "; write 90, 90s, 10m, 2h or 1d"));
}

std::string VerbLine::ShownDefault(absl::Duration duration) {
  int64_t seconds = absl::ToInt64Seconds(duration);
  return duration == absl::Seconds(seconds) ? absl::StrCat(seconds)
                                            : absl::FormatDuration(duration);
}

Option* VerbLine::Rep::Find(std::string_view name) {
  auto found = std::ranges::find(options, name, &Option::name);
  return found == options.end() ? nullptr : &*found;
}

const Option* VerbLine::Rep::Find(std::string_view name) const {
  auto found = std::ranges::find(options, name, &Option::name);
  return found == options.end() ? nullptr : &*found;
}

// The operand that stands at place `count`; nullptr: there is none.
Option* VerbLine::Rep::NextOperand(size_t count) {
  for (Option& option : options) {
    if (option.is_option() || &option == tail || &option == command) continue;
    if (count-- == 0) return &option;
  }
  return tail;
}

absl::Status VerbLine::Rep::TakeOption(const std::string& word,
                                       std::span<const std::string>& rest) {
  size_t equals = word.find('=');
  last = Find(word.substr(0, equals));
  if (last == nullptr || !last->is_option()) {
    std::vector<std::string> known = {"--help"};
    for (const Option& option : options) {
      if (option.is_option()) known.push_back(option.name);
    }
    return Wrong(
        absl::StrCat("unknown option ", Quoted(word), DidYouMean(word.substr(0, equals), known)));
  }
  if (!last->repeated && IsGiven(*last)) return Wrong(last->name + " is given more than once");
  std::string value;
  if (equals != std::string::npos) {
    if (last->is_flag) return Wrong(last->name + " takes no value");
    value = word.substr(equals + 1);
  } else if (!last->is_flag) {
    if (rest.empty()) return Wrong(absl::StrCat(last->Shown(), ": the value is missing"));
    // A forgotten value must not take --dry-run away.
    const std::string& next = rest.front();
    const Option* const option = Find(next.substr(0, next.find('=')));
    if (option != nullptr && option->is_option()) {
      return Wrong(absl::StrCat(last->Shown(), ": the value is missing before ", next,
                                "; a value like that is given as ", last->name, "=", next));
    }
    value = next;
    rest = rest.subspan(1);
  }
  given.push_back({last, std::move(value), last->name});
  return absl::OkStatus();
}

absl::Status VerbLine::Rep::TakeOperand(const std::string& word) {
  Option* operand = NextOperand(operand_count);
  if (operand == nullptr) return Wrong("unexpected argument " + Quoted(word));
  ++operand_count;
  given.push_back({operand, word, operand->name});
  return absl::OkStatus();
}

absl::Status VerbLine::Rep::Divide(std::span<const std::string> words) {
  absl::Status status;  // the first thing wrong; a later --help still helps
  while (!words.empty()) {
    const std::string& word = words.front();
    words = words.subspan(1);
    if (word == "--") {
      for (const std::string& each : words) {
        if (command != nullptr) {
          given.push_back({command, each, command->name});
        } else {
          status.Update(TakeOperand(each));
        }
      }
      break;
    }
    if (word == "--help" || word == "-h") {
      help_wanted = true;
    } else if (LooksLikeOption(word)) {
      status.Update(TakeOption(word, words));
    } else if (last != nullptr && last->takes_operands) {
      given.push_back({last, word, last->name});
    } else {
      status.Update(TakeOperand(word));
    }
  }
  return status;
}

void VerbLine::Rep::TakeEnvironment() {
  for (Option& option : options) {
    if (option.variable == nullptr || IsGiven(option)) continue;
    const char* value = std::getenv(option.variable);
    if (value == nullptr || *value == '\0') continue;
    given.push_back({&option, value, option.variable});
    RememberVariable(option.variable, value);
  }
}

bool VerbLine::Rep::IsGiven(const Option& option) const {
  return std::ranges::any_of(given, [&](const Given& each) { return each.option == &option; });
}

// For messages: the option's name, or that of the variable its value came from.
std::string VerbLine::Rep::SourceOf(const Option& option) const {
  auto found = std::ranges::find(given, &option, &Given::option);
  return found == given.end() ? option.name : found->source;
}

absl::Status VerbLine::Rep::CheckMissing() const {
  std::vector<std::string> missing;
  for (const Option& option : options) {
    if (!option.required || IsGiven(option)) continue;
    missing.push_back(option.variable == nullptr
                          ? option.Shown()
                          : absl::StrCat(option.Shown(), " (or ", option.variable, ")"));
  }
  if (missing.empty()) return absl::OkStatus();
  return Wrong(
      absl::StrCat("missing: ", absl::StrJoin(missing, ", "), "; see locus ", verb, " --help"));
}

absl::Status VerbLine::Rep::ReadValues() {
  for (const Given& each : given) {
    absl::Status status = each.option->read(each.value);
    if (!status.ok()) return Wrong(absl::StrCat(each.source, ": ", status.message()));
  }
  return absl::OkStatus();
}

absl::Status VerbLine::Rep::CheckNeeds() const {
  for (const Given& each : given) {
    const std::string& needs = each.option->needs;
    bool met = needs.empty() || std::ranges::any_of(given, [&](const Given& other) {
                 return other.option->name == needs;
               });
    if (!met) return Wrong(absl::StrCat(each.option->name, " needs ", needs));
  }
  return absl::OkStatus();
}

absl::Status VerbLine::Rep::CheckFiles() const {
  std::vector<NamedFile> files = FilesOfEnvironment();
  bool writes_stdout = false;
  for (const Option& option : options) {
    // An output that is not given is stdout, as a rule in place of another output.
    if (option.files == nullptr) continue;
    for (NamedFile& file : option.files()) {
      if (file.path.empty()) continue;
      file.name = absl::StrReplaceAll(file.name, {{option.name, SourceOf(option)}});
      writes_stdout = writes_stdout || (file.path == "-" && IsOutput(file.use));
      files.push_back(std::move(file));
    }
  }
  // What a verb prints must not go to a file that it replaces: `ring --svg f > f`.
  if (!writes_stdout) files.push_back({"stdout", "-", FileUse::kWrite});
  if (tail_reads_stdin && !IsGiven(*tail)) {
    files.push_back({absl::StrCat("the list of ", tail->name), "-", FileUse::kRead});
  }
  return CheckPaths(files);
}

absl::Status VerbLine::Rep::Read(std::span<const std::string> words) {
  LOCUS_RETURN_IF_ERROR(Divide(words));
  TakeEnvironment();
  LOCUS_RETURN_IF_ERROR(CheckMissing());
  LOCUS_RETURN_IF_ERROR(ReadValues());
  LOCUS_RETURN_IF_ERROR(CheckNeeds());
  return CheckFiles();
}

std::string VerbLine::Rep::Help() const {
  std::string usage = "Usage: locus " + verb;
  std::string operands;
  std::vector<std::pair<std::string, std::string>> terms;
  for (const Option& option : options) {
    if (option.name == "--quiet") continue;  // with --help, at the end
    bool on_usage_line = option.required || !option.is_option();
    std::string shown = &option == tail ? option.name + "..." : option.Shown();
    if (&option == command) shown = absl::StrCat("-- ", option.name, "...");
    if (on_usage_line) {
      std::string piece = option.required ? shown : absl::StrCat("[", shown, "]");
      absl::StrAppend(option.is_option() ? &usage : &operands, " ", piece);
    }
    std::vector<std::string> notes;
    if (option.required) notes.push_back("required");
    if (option.repeated && option.is_option()) notes.push_back("may be repeated");
    if (!option.shown_default.empty()) notes.push_back("default: " + option.shown_default);
    if (option.variable != nullptr) notes.push_back(absl::StrCat("or $", option.variable));
    std::string note = notes.empty() ? "" : absl::StrCat(" [", absl::StrJoin(notes, ", "), "]");
    terms.emplace_back(shown, option.help + note);
  }
  terms.emplace_back("--quiet", Find("--quiet")->help);
  terms.emplace_back("--help, -h", "Print this help");
  size_t width = HelpWidth();
  std::string text = Wrapped(absl::StrCat(usage, " [OPTION...]", operands), 0, width);
  absl::StrAppend(&text, "\n", Wrapped(purpose, 0, width), "\n", TermsTable(terms, width));
  if (!example.empty()) absl::StrAppend(&text, "\nExample:\n  ", example, "\n");
  return text;
}

// The table that the words, or an environment variable, name.
std::string VerbLine::Rep::TableOfLine() const {
  for (const Given& each : given) {
    if (each.option->offer == Offer::kFilesAndTableUris) return each.value;
  }
  return "";
}

// `words`: all that stands after the verb; the last is being typed.
std::string VerbLine::Rep::Offers(std::span<const std::string> words) {
  std::string out;
  if (words.empty()) return out;
  const std::string& typed = words.back();
  words = words.first(words.size() - 1);
  Option* pending = nullptr;  // the option whose value is being typed
  if (!words.empty() && LooksLikeOption(words.back())) {
    pending = Find(words.back());
    if (pending != nullptr && (!pending->is_option() || pending->is_flag)) pending = nullptr;
  }
  if (pending != nullptr) words = words.first(words.size() - 1);
  Divide(words).IgnoreError();
  TakeEnvironment();
  std::string table = TableOfLine();
  if (pending != nullptr) {
    OfferValues(*pending, "", typed, table, out);
    return out;
  }
  size_t equals = typed.find('=');
  if (LooksLikeOption(typed) && equals != std::string::npos) {
    Option* option = Find(typed.substr(0, equals));
    std::string_view before = std::string_view(typed).substr(0, equals + 1);
    if (option != nullptr) {
      OfferValues(*option, before, std::string_view(typed).substr(equals + 1), table, out);
    }
    return out;
  }
  if (typed.starts_with("-")) {
    for (const Option& option : options) {
      bool open = option.is_option() && (option.repeated || !IsGiven(option));
      if (open) OfferWord(typed, option.name, option.help, out);
    }
    OfferWord(typed, "--help", "Print the help of this verb", out);
    return out;
  }
  if (Option* operand = NextOperand(operand_count)) OfferValues(*operand, "", typed, table, out);
  return out;
}

std::optional<int> VerbLine::Parse(std::span<const std::string> words) {
  if (!words.empty() && words[0] == kCompletionMarker) {
    return PrintAll(rep_->verb, rep_->Offers(words.subspan(1)));
  }
  absl::Status status = rep_->Read(words);
  if (rep_->help_wanted) return PrintAll(rep_->verb, rep_->Help());
  if (!status.ok()) return WrongUsage(rep_->verb, status);
  if (rep_->quiet) BeQuiet();
  return std::nullopt;
}

}  // namespace locus::cli
