// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <functional>
#include <iostream>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "apps/locus/line/signals.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/shared/shown/codec_choice.h"
#include "locus/key_ring.h"
#include "nlohmann/json.hpp"
#include "src/base/os/check.h"
#include "src/base/os/file_lock.h"
#include "src/base/text/text.h"

namespace locus::cli {

using apps::ParseKeyVersion;
using internal::FileLock;
using internal::ToAbsl;

namespace {

using Change = std::function<absl::Status(KeyRing& ring, std::string& answer)>;

absl::Status ChangeRing(const std::string& path, const Change& change, std::string& answer) {
  LOCUS_ASSIGN_OR_RETURN(KeyRing ring, KeyRing::Load(path));
  LOCUS_RETURN_IF_ERROR(change(ring, answer));
  return ring.Save(path);
}

// Reads, changes and writes the key ring under a lock, so that no command undoes another's change.
// The wait for the lock can be interrupted; once the change is made, the verb reports it.
int RunChange(std::string_view verb, const std::string& path, const Change& change) {
  absl::StatusOr<FileLock> lock = FileLock::Take(path);
  if (!lock.ok()) return Fail(verb, lock.status());
  SignalsHeld until_answered;
  std::string answer;
  absl::Status status = ChangeRing(path, change, answer);
  return status.ok() ? PrintAll(verb, answer) : Fail(verb, status);
}

void AppendVersion(KeyVersion version, std::string& answer) {
  absl::StrAppend(&answer, static_cast<int>(version.value()), "\n");
}

absl::Status AddAndMaybeActivate(KeyRing& ring, bool activate, std::string& answer) {
  LOCUS_ASSIGN_OR_RETURN(KeyVersion version, ring.Add());
  if (activate) LOCUS_RETURN_IF_ERROR(ring.Activate(version));
  AppendVersion(version, answer);
  return absl::OkStatus();
}

// A verb whose only operand is FILE.
std::optional<int> ParseFile(std::string_view verb, std::string_view purpose,
                             std::span<const std::string> words, std::string* path) {
  VerbLine line(verb, purpose, absl::StrCat("locus ", ToAbsl(verb), " keys.ring"));
  line.File("FILE", path, FileUse::kKeyRing, "The key ring file").Else("LOCUS_KEYS");
  return line.Parse(words);
}

// Asks at the terminal whether `what`, a loss, is meant; `name` typed means yes.
bool Confirms(std::string_view what, const std::string& name) {
  std::cerr << "locus: " << what << ".\nType " << name << " to destroy it: " << std::flush;
  std::string typed;
  return std::getline(std::cin, typed) && absl::StripAsciiWhitespace(typed) == name;
}

// A verb that changes the state of one version.
int RunOnVersion(std::string_view verb, std::string_view purpose,
                 std::span<const std::string> words,
                 absl::Status (KeyRing::*change)(KeyVersion version), bool destroys = false) {
  std::string path;
  std::optional<KeyVersion> version;
  VerbLine line(verb, purpose, absl::StrCat("locus ", ToAbsl(verb), " keys.ring 1"));
  line.File("FILE", &path, FileUse::kKeyRing, "The key ring file");
  line.Value("VERSION", &version, ParseKeyVersion, "The key version, 0..127").Required();
  bool confirmed = false;
  if (destroys) line.Flag("--destroy", &confirmed, "The key is lost for good: do not ask");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  if (destroys && !confirmed) {
    constexpr char kLoss[] =
        "order_nos made with this key can never be decoded again, and no copy is kept";
    if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1) {
      return WrongUsage(verb, absl::StrCat(kLoss, ": confirm with --destroy"));
    }
    const std::string name = absl::StrCat(static_cast<int>(version->value()));
    if (!Confirms(absl::StrCat("key ", name, " of ", path, ": ", kLoss), name)) {
      return Fail(verb, absl::FailedPreconditionError("nothing was destroyed"));
    }
  }
  return RunChange(verb, path,
                   [&](KeyRing& ring, std::string&) { return (ring.*change)(*version); });
}

std::string_view NameOf(KeyRing::State state) {
  switch (state) {
    case KeyRing::State::kActive:
      return "active";
    case KeyRing::State::kReadable:
      return "readable";
    case KeyRing::State::kRetired:
      return "retired";
  }
  return "";
}

}  // namespace

int RunKeysNew(std::span<const std::string> words) {
  std::string path;
  if (auto exit = ParseFile("keys new", "Makes a key ring file with one random key, version 1.",
                            words, &path)) {
    return *exit;
  }
  SignalsHeld until_written;
  absl::StatusOr<KeyRing> ring = KeyRing::Generate();
  absl::Status status = ring.ok() ? ring->Save(path, /*must_not_exist=*/true) : ring.status();
  return status.ok() ? kDone : Fail("keys new", status);
}

int RunKeysAdd(std::span<const std::string> words) {
  std::string path;
  if (auto exit = ParseFile("keys add",
                            "Adds a random key that is not active, and prints its version. "
                            "Distribute the file to all readers before you activate it.",
                            words, &path)) {
    return *exit;
  }
  return RunChange("keys add", path, [](KeyRing& ring, std::string& answer) {
    return AddAndMaybeActivate(ring, /*activate=*/false, answer);
  });
}

int RunKeysRotate(std::span<const std::string> words) {
  std::string path;
  if (auto exit = ParseFile("keys rotate",
                            "Adds a random key, activates it and prints its version. For a single "
                            "process; with several readers, use keys add and keys activate.",
                            words, &path)) {
    return *exit;
  }
  return RunChange("keys rotate", path, [](KeyRing& ring, std::string& answer) {
    return AddAndMaybeActivate(ring, /*activate=*/true, answer);
  });
}

int RunKeysActivate(std::span<const std::string> words) {
  return RunOnVersion("keys activate", "Makes new order_nos with this version's key.", words,
                      &KeyRing::Activate);
}

int RunKeysRetire(std::span<const std::string> words) {
  return RunOnVersion(
      "keys retire", "Destroys a version's key: order_nos made with it can never be decoded again.",
      words, &KeyRing::Retire, /*destroys=*/true);
}

int RunKeysList(std::span<const std::string> words) {
  std::string path;
  bool json = false;
  VerbLine line("keys list", "Prints each version, a tab and active, readable or retired.",
                "locus keys list keys.ring");
  line.File("FILE", &path, FileUse::kKeyRing, "The key ring file").Else("LOCUS_KEYS");
  line.Flag("--json", &json, "Print a JSON object");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  absl::StatusOr<KeyRing> ring = KeyRing::Load(path);
  if (!ring.ok()) return Fail("keys list", ring.status());
  std::string text;
  nlohmann::ordered_json keys = nlohmann::ordered_json::array();
  for (const KeyRing::Entry& entry : ring->entries()) {
    int version = entry.version.value();
    absl::StrAppend(&text, version, "\t", ToAbsl(NameOf(entry.state)), "\n");
    keys.push_back({{"version", version}, {"state", NameOf(entry.state)}});
  }
  if (json) text = nlohmann::ordered_json({{"keys", std::move(keys)}}).dump() + "\n";
  return PrintAll("keys list", text);
}

}  // namespace locus::cli
