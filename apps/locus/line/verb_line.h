// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_LINE_VERB_LINE_H_
#define LOCUS_APPS_LOCUS_LINE_VERB_LINE_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace locus {

// The command line of one verb: declares what it takes, then reads the words.
//
// Options may stand anywhere before "--"; everything after that is an operand. A word is an option
// if it begins with '-' and is neither "-" nor followed by a digit, so negative numbers are
// operands. An option's value is the next word whatever it looks like, or follows '='. Operands
// and values are taken as they are.
//
// What the declarations point to is written by Parse() and must outlive it.
class VerbLine {
 public:
  // `verb` as in Verb::name.
  VerbLine(std::string_view verb, std::string_view purpose);
  ~VerbLine();

  void Flag(const std::string& name, bool* given, const std::string& help);
  // Leaves *value as it is when the option is not given.
  void Option(const std::string& name, const std::string& value_name, std::string* value,
              const std::string& help);
  void Option(const std::string& name, const std::string& value_name,
              std::optional<std::string>* value, const std::string& help);
  void Required(const std::string& name, const std::string& value_name, std::string* value,
                const std::string& help);
  // One of `choices`. Required unless *value is one of them beforehand.
  void Choice(const std::string& name, const std::vector<std::string>& choices, std::string* value,
              const std::string& help);
  // At least one value; may be repeated, and operands that follow it belong to it.
  void List(const std::string& name, const std::string& value_name,
            std::vector<std::string>* values, const std::string& help);

  // Any number of times, none included; each takes one value.
  void Repeated(const std::string& name, const std::string& value_name,
                std::vector<std::string>* values, const std::string& help);

  void Operand(const std::string& name, std::string* value, const std::string& help);
  // One that may be left out, after those that may not.
  void Operand(const std::string& name, std::optional<std::string>* value, const std::string& help);
  // Any number of operands, none included, after those of Operand().
  void Tail(const std::string& name, std::vector<std::string>* values, const std::string& help);

  // nullopt: everything was read. Otherwise the exit code: the help was asked for and printed, or
  // the usage is wrong and the word at fault named on stderr.
  std::optional<int> Parse(std::span<const std::string> words);

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus

#endif  // LOCUS_APPS_LOCUS_LINE_VERB_LINE_H_
