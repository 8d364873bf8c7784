// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_SHARED_TOML_TOML_SECTION_H_
#define LOCUS_APPS_SHARED_TOML_TOML_SECTION_H_

#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

// Reading a TOML document key by key, so that everything that is wrong with it is named at once,
// with its line and column. What is not read is refused as unknown.

namespace locus::apps {

class TomlSection;

// Where the values of a document stand, for what is found to be wrong with them later.
// Thread safety: as a value. A copy is cheap.
class TomlPlaces {
 public:
  // "PATH:LINE:COLUMN: KEY" for a key such as "ids.keys", "token[0].file"; the key alone where the
  // document does not have it.
  std::string Of(const std::string& key) const;

 private:
  friend class TomlDocument;
  std::shared_ptr<const std::map<std::string, std::string>> places_;  // nullptr: of no document
};

class TomlDocument {
 public:
  TomlDocument(std::string_view text, const std::string& path);
  ~TomlDocument();

  TomlSection Root();
  // INVALID_ARGUMENT: all refusals, at most ten. Also where the text is no TOML.
  absl::Status status() const;
  // Of a document that was read whole and is right: others may be nested without end.
  TomlPlaces Places() const;

 private:
  friend class TomlSection;
  struct Rep;
  std::shared_ptr<Rep> rep_;
};

// A table of the document, or one that is not there: of that nothing is read, and nothing refused.
// A copy reads the same table. Thread safety: none.
class TomlSection {
 public:
  enum Need { kOptional, kRequired };

  // Text of the key to *value; `read` answers an absl::StatusOr whose message is what the text must
  // be.
  template <typename Value, typename Read>
  void Text(const std::string& key, Value* value, Read read, Need need = kOptional) {
    WithText(key, need, [&](const std::string& text) { return Take(read(text), value); });
  }
  // Likewise a list of texts; an empty list is refused where it is required.
  template <typename Value, typename Read>
  void Texts(const std::string& key, std::vector<Value>* values, Read read, Need need = kOptional) {
    bool first = true;
    WithTexts(key, need, [&](const std::string& text) {
      if (first) values->clear();
      first = false;
      Value value{};
      absl::Status status = Take(read(text), &value);
      if (status.ok()) values->push_back(std::move(value));
      return status;
    });
  }
  // "500ms", "1m30s". `check` refuses *value, which then becomes again what it was.
  using Check = std::function<absl::Status()>;
  void Duration(const std::string& key, absl::Duration* value, const Check& check);
  template <std::unsigned_integral Value>
  void Whole(const std::string& key, Value* value, const Check& check) {
    WithWhole(key, std::numeric_limits<Value>::max(), [&](uint64_t number) {
      const Value before = *value;
      *value = static_cast<Value>(number);
      absl::Status status = check();
      if (!status.ok()) *value = before;
      return status;
    });
  }
  void Flag(const std::string& key, bool* value);

  // Whether the key is there; it counts as read.
  bool Has(const std::string& key);
  TomlSection Section(const std::string& key, Need need = kOptional);
  // Every key of this one, each a table.
  void EachSection(const std::function<void(const std::string&, TomlSection)>& read);
  // Every element of an array of tables, [[key]]; required.
  void EachOf(const std::string& key, const std::function<void(TomlSection)>& read);

  // Refuses the keys that were not read. Whether nothing of this section was refused.
  bool End();
  // Whether something of it was refused up to now.
  bool Refused() const;

  void Refuse(const std::string& what);
  // Refuses the key where it stands: "raft.listen " and `what`. If it is not there, does nothing.
  void RefuseKey(const std::string& key, const std::string& what);
  void RefuseIfNot(const absl::Status& status);

 private:
  friend class TomlDocument;
  struct Rep;
  explicit TomlSection(std::shared_ptr<Rep> rep) : rep_(std::move(rep)) {}

  template <typename Read, typename Value>
  static absl::Status Take(absl::StatusOr<Read> read, Value* value) {
    if (!read.ok()) return read.status();
    *value = *std::move(read);
    return absl::OkStatus();
  }
  using TakeText = std::function<absl::Status(const std::string&)>;
  void WithText(const std::string& key, Need need, const TakeText& take);
  void WithTexts(const std::string& key, Need need, const TakeText& take);
  void WithWhole(const std::string& key, uint64_t most,
                 const std::function<absl::Status(uint64_t)>& take);

  std::shared_ptr<Rep> rep_;
};

}  // namespace locus::apps

#endif  // LOCUS_APPS_SHARED_TOML_TOML_SECTION_H_
