// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_LINE_OPTION_H_
#define LOCUS_APPS_LOCUS_LINE_OPTION_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace locus::cli {

// The limits of a whole number, and what messages call it.
struct WholeRange {
  uint64_t least = 0;
  uint64_t most = UINT64_MAX;
  std::string what = "a whole number";
};

struct DurationRange {
  absl::Duration least = absl::ZeroDuration();
  absl::Duration most = absl::Hours(24 * 365);
};

// What a verb does with a file that its command line names.
enum class FileUse {
  kRead,        // "-" is stdin
  kKeyRing,     // read or replaced; never "-"
  kWrite,       // replaced as a whole; "-" is stdout
  kWriteTable,  // the same, and what is replaced may be a routing table
  kKeep,        // written while the verb runs; never "-"
};

inline bool IsOutput(FileUse use) {
  return use == FileUse::kWrite || use == FileUse::kWriteTable || use == FileUse::kKeep;
}

// What a shell offers for a value.
enum class Offer {
  kNothing,
  kFiles,
  kStoreUris,
  kSpaceUris,
  kClusterUris,
  kTableUris,
  kFilesAndTableUris,
  kShards
};

// A file that a value names. VerbLine::Parse refuses an output that is also something else.
struct NamedFile {
  std::string name;  // for messages: "--out", "the -wal file of --store"
  std::string path;
  FileUse use = FileUse::kRead;
};

// A declared option ("--count") or operand ("FILE") of a verb. VerbLine makes it; the methods
// refine it where it is declared:
//
//   line.File("--keys FILE", &keys, FileUse::kKeyRing, "The key
//   ring").Required().Else("LOCUS_KEYS");
class Option {
 public:
  // It must be given. Operands are required unless their target is a std::optional.
  Option& Required() {
    required = true;
    shown_default.clear();
    return *this;
  }
  // When it is not given, the environment variable stands for it unless that is unset or empty.
  Option& Else(const char* environment_variable) {
    variable = environment_variable;
    return *this;
  }
  // It is only of use beside another option, which then must be given too.
  Option& Needs(const char* other_option) {
    needs = other_option;
    return *this;
  }
  // What the help shows as the default, where that is not the value of the target.
  Option& Default(std::string text) {
    shown_default = std::move(text);
    return *this;
  }
  Option& Offers(Offer what) {
    offer = what;
    return *this;
  }
  // Files that the value names, for the check of outputs. Called after the value was read.
  Option& Names(std::function<std::vector<NamedFile>()> named_files) {
    files = std::move(named_files);
    return *this;
  }

  bool is_option() const { return name.starts_with("-"); }
  bool takes_value() const { return !is_flag; }
  // "--count N", as in the help.
  std::string Shown() const { return value_name.empty() ? name : name + " " + value_name; }

  // Filled by VerbLine; verbs do not touch them.
  std::string name;
  std::string value_name;
  std::string help;
  std::string shown_default;
  std::string needs;
  const char* variable = nullptr;
  bool is_flag = false;
  bool required = false;
  bool repeated = false;        // any number of times
  bool takes_operands = false;  // operands that follow it are values of it
  std::vector<std::string> choices;
  Offer offer = Offer::kNothing;
  // Reads one value. A refusal says what is wrong with it, without the option's name.
  std::function<absl::Status(const std::string& value)> read;
  std::function<std::vector<NamedFile>()> files;
};

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_LINE_OPTION_H_
