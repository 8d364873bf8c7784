// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/line/verb_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "apps/locus/line/verb.h"
#include "src/base/text.h"

namespace locus {
namespace {

bool LooksLikeOption(std::string_view word) {
  return word.size() > 1 && word[0] == '-' &&
         !absl::ascii_isdigit(static_cast<unsigned char>(word[1]));
}

}  // namespace

// CLI11 knows the options, writes the help and says what is missing. It never sees an operand: it
// would take "[a,b]" apart and refuse "-5".
struct VerbLine::Rep {
  Rep(std::string_view verb_name, std::string_view purpose)
      : verb(verb_name), app(std::string(purpose), "locus " + std::string(verb_name)) {
    app.set_help_flag("-h,--help", "Print this help and exit");
  }

  struct NamedOperand {
    std::string name;
    std::function<void(std::string value)> store;
    bool required = true;
  };
  struct Given {
    CLI::Option* option;
    std::vector<std::string> choices;
    std::function<void(const std::string& value)> store;
    bool repeated = false;
  };

  CLI::Option* Add(const std::string& name, const std::string& value_name,
                   const std::string& help) {
    return app.add_option(name, help)
        ->option_text(value_name)
        ->expected(1)
        ->allow_extra_args(false);
  }

  // Parts of the words that CLI11 reads, and the operands.
  struct Parts {
    std::vector<std::string> options;
    std::vector<std::string> operands;
  };
  Parts Divide(std::span<const std::string> words) const;
  std::string ReadOperands(std::vector<std::string> operands) const;
  std::string ReadOptions() const;
  std::string Help() const;

  std::string verb;
  CLI::App app;
  std::vector<Given> given;
  CLI::Option* list = nullptr;
  std::vector<NamedOperand> operands;
  std::string tail_name;
  std::vector<std::string>* tail = nullptr;
};

VerbLine::VerbLine(std::string_view verb, std::string_view purpose)
    : rep_(std::make_unique<Rep>(verb, purpose)) {}
VerbLine::~VerbLine() = default;

void VerbLine::Flag(const std::string& name, bool* given, const std::string& help) {
  rep_->app.add_flag(name, *given, help);
}

void VerbLine::Option(const std::string& name, const std::string& value_name, std::string* value,
                      const std::string& help) {
  rep_->given.push_back(
      {rep_->Add(name, value_name, help), {}, [value](auto& text) { *value = text; }});
}

void VerbLine::Option(const std::string& name, const std::string& value_name,
                      std::optional<std::string>* value, const std::string& help) {
  rep_->given.push_back(
      {rep_->Add(name, value_name, help), {}, [value](auto& text) { *value = text; }});
}

void VerbLine::Required(const std::string& name, const std::string& value_name, std::string* value,
                        const std::string& help) {
  Option(name, value_name, value, help);
  rep_->given.back().option->required();
}

void VerbLine::Choice(const std::string& name, const std::vector<std::string>& choices,
                      std::string* value, const std::string& help) {
  bool has_default = std::find(choices.begin(), choices.end(), *value) != choices.end();
  Option(name, absl::StrJoin(choices, "|"), value,
         has_default ? absl::StrCat(help, " [", *value, "]") : help);
  rep_->given.back().choices = choices;
  rep_->given.back().option->required(!has_default);
}

void VerbLine::List(const std::string& name, const std::string& value_name,
                    std::vector<std::string>* values, const std::string& help) {
  rep_->list = rep_->Add(name, value_name + "...", help)
                   ->required()
                   ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  rep_->given.push_back({rep_->list, {}, [values](auto& text) { values->push_back(text); }, true});
}

void VerbLine::Repeated(const std::string& name, const std::string& value_name,
                        std::vector<std::string>* values, const std::string& help) {
  CLI::Option* option =
      rep_->Add(name, value_name, help)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  rep_->given.push_back({option, {}, [values](auto& text) { values->push_back(text); }, true});
}

void VerbLine::Operand(const std::string& name, std::string* value, const std::string& help) {
  rep_->operands.push_back({name, [value](std::string text) { *value = std::move(text); }});
  rep_->app.add_option(name, help)->option_text(" ");  // for the help; never filled
}

void VerbLine::Operand(const std::string& name, std::optional<std::string>* value,
                       const std::string& help) {
  rep_->operands.push_back({name, [value](std::string text) { *value = std::move(text); }, false});
  rep_->app.add_option(name, help)->option_text(" ");
}

void VerbLine::Tail(const std::string& name, std::vector<std::string>* values,
                    const std::string& help) {
  rep_->tail_name = name;
  rep_->tail = values;
  rep_->app.add_option(name, help)->option_text("...");
}

VerbLine::Rep::Parts VerbLine::Rep::Divide(std::span<const std::string> words) const {
  Parts parts;
  const CLI::Option* last = nullptr;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      parts.operands.insert(parts.operands.end(), words.begin() + static_cast<ptrdiff_t>(i) + 1,
                            words.end());
      break;
    }
    if (!LooksLikeOption(word)) {
      if (list != nullptr && last == list) {
        parts.options.push_back(list->get_name());
        parts.options.push_back(word);
      } else {
        parts.operands.push_back(word);
      }
      continue;
    }
    // A value after '=' becomes a word of its own: CLI11 takes an empty one for a missing one.
    size_t equals = word.find('=');
    std::string name = word.substr(0, equals);
    last = app.get_option_no_throw(name);
    if (last == nullptr || last->get_items_expected_max() == 0) {
      parts.options.push_back(word);
      continue;
    }
    parts.options.push_back(name);
    if (equals != std::string::npos) {
      parts.options.push_back(word.substr(equals + 1));
    } else if (i + 1 < words.size()) {
      parts.options.push_back(words[++i]);
    }
  }
  return parts;
}

// The answer of this and the next: what is wrong, or nothing.
std::string VerbLine::Rep::ReadOperands(std::vector<std::string> found) const {
  if (found.size() < operands.size() && operands[found.size()].required) {
    return operands[found.size()].name + " is required";
  }
  if (tail == nullptr && found.size() > operands.size()) {
    return "unexpected argument " + Quoted(found[operands.size()]);
  }
  size_t given_operands = std::min(found.size(), operands.size());
  for (size_t i = 0; i < given_operands; ++i) operands[i].store(std::move(found[i]));
  if (tail != nullptr) {
    tail->assign(std::make_move_iterator(found.begin() + static_cast<ptrdiff_t>(given_operands)),
                 std::make_move_iterator(found.end()));
  }
  return "";
}

std::string VerbLine::Rep::ReadOptions() const {
  for (const Given& each : given) {
    const std::vector<std::string>& values = each.option->results();
    if (values.size() > 1 && !each.repeated) {
      return each.option->get_name() + " is given more than once";
    }
    for (const std::string& value : values) {
      if (!each.choices.empty() &&
          std::find(each.choices.begin(), each.choices.end(), value) == each.choices.end()) {
        return absl::StrCat(each.option->get_name(), ": ", Quoted(value), " is not one of ",
                            absl::StrJoin(each.choices, ", "));
      }
      each.store(value);
    }
  }
  return "";
}

// CLI11's, but with a usage line that tells what is required.
std::string VerbLine::Rep::Help() const {
  std::string usage = "Usage: locus " + verb;
  for (const Given& each : given) {
    if (!each.option->get_required()) continue;
    absl::StrAppend(&usage, " ", each.option->get_name(), " ", each.option->get_option_text());
  }
  usage += " [OPTION...]";
  for (const NamedOperand& operand : operands) {
    absl::StrAppend(&usage, operand.required ? " " : " [", operand.name,
                    operand.required ? "" : "]");
  }
  if (tail != nullptr) absl::StrAppend(&usage, " [", tail_name, "...]");
  std::string help = app.help();
  size_t begin = help.find("Usage:");
  return help.replace(begin, help.find('\n', begin) - begin, usage);
}

std::optional<int> VerbLine::Parse(std::span<const std::string> words) {
  Rep::Parts parts = rep_->Divide(words);
  std::reverse(parts.options.begin(), parts.options.end());  // CLI11 takes them from the back
  try {
    rep_->app.parse(parts.options);
  } catch (const CLI::CallForHelp&) {
    return PrintAll(rep_->verb, rep_->Help());
  } catch (const CLI::ExtrasError&) {
    return WrongUsage(rep_->verb, "unknown option " + Quoted(rep_->app.remaining().at(0)));
  } catch (const CLI::ParseError& error) {
    return WrongUsage(rep_->verb, error.what());
  }
  std::string wrong = rep_->ReadOptions();
  if (wrong.empty()) wrong = rep_->ReadOperands(std::move(parts.operands));
  if (!wrong.empty()) return WrongUsage(rep_->verb, wrong);
  return std::nullopt;
}

}  // namespace locus
