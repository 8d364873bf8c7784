// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_OPEN_ENGINE_H_
#define LOCUS_SRC_OPEN_ENGINE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/open.h"

// The engines, each declared once, in src/open/engines.cc. Opening by URI, error messages, help and
// completion of the command, and the table in docs/run/engines.md follow from this list. It also
// names the engines that this build leaves out.
namespace locus::internal {

struct StoreUri;

// What an engine can keep, a bit each.
enum Content : unsigned {
  kSegments = 1,      // of order IDs
  kWorkerLeases = 2,  // of worker IDs
  kCounters = 4,
  kSequenceTypes = 8,
  kStrictSets = 16,
  kTables = 32,           // routing tables, to be followed
  kTablePublishing = 64,  // routing tables, to be published
  kMembers = 128,         // the members of its own cluster
};
// Everything that is opened with a StoreUri.
inline constexpr unsigned kAnyStore =
    kSegments | kWorkerLeases | kCounters | kSequenceTypes | kStrictSets | kMembers;

// What opens an engine. nullptr: the engine does not keep this. `create`: StoreUriOptions::create.
struct Openers {
  template <typename Opened>
  using Opener = absl::StatusOr<Opened> (*)(const StoreUri& uri, std::string_view password,
                                            bool create);

  Opener<std::shared_ptr<SegmentStore>> segments = nullptr;
  Opener<std::shared_ptr<WorkerLeaseStore>> leases = nullptr;
  // `ceiling`: nullptr unless Engine::takes_ceiling.
  absl::StatusOr<std::unique_ptr<Sequencer>> (*counters)(
      const StoreUri& uri, std::string_view password, const SequencerOptions& options,
      std::shared_ptr<Sequencer> ceiling) = nullptr;
  // The last number of a counter that is kept under a ceiling; nullopt: none.
  absl::StatusOr<std::optional<int64_t>> (*value_under_ceiling)(const StoreUri& uri,
                                                                std::string_view password,
                                                                const std::string& name) = nullptr;
  Opener<std::unique_ptr<SequenceTypeStore>> types = nullptr;
  Opener<std::shared_ptr<StrictStore>> strict = nullptr;
  Opener<std::unique_ptr<LocusdCluster>> members = nullptr;
};

// One way to write the URIs of an engine.
struct UriScheme {
  enum class Path { kNone, kOptional, kRequired, kNumber };

  std::string_view name;  // what stands before the colon
  // As messages, help and completion write it. Empty: another spelling of the scheme before it.
  std::string_view form;
  uint16_t default_port = 0;
  Path path = Path::kNone;
  const char* path_name = "";  // of kRequired
};

struct Engine {
  std::string_view name;
  std::string_view title;  // of its server
  std::span<const UriScheme> schemes;
  unsigned content = 0;                             // bits of Content
  std::string_view option = {};                     // of CMake; empty: every build has the engine
  std::span<const std::string_view> settings = {};  // what may stand after the '?'
  bool is_file = false;        // the URI is a path: it has no hosts, and no password is asked for
  bool is_created = false;     // its file or tables must be created before it is used
  bool has_users = true;       // false: its password is a token
  bool takes_ceiling = false;  // its counters can be kept under a ceiling (CeilingSequencer)
  bool holds_ceiling = false;  // it can keep the ceilings of another engine
  const Openers* openers = nullptr;  // nullptr: left out of this build, or for tables only

  bool Has(unsigned contents) const { return (content & contents) != 0; }
};

std::span<const Engine> Engines();

// FAILED_PRECONDITION: this build leaves the engine out. `place`: its URI.
absl::Status Absent(const Engine& engine, std::string_view place);
// INVALID_ARGUMENT: the engine does not keep this; the message names those that do.
absl::Status CheckKeeps(const Engine& engine, Content content);
// INVALID_ARGUMENT: counters of `engine` need no ceiling, or one cannot be kept in `of_ceiling`.
absl::Status CheckCeiling(const Engine& engine, const Engine& of_ceiling);

// The forms of URIs of the engines that keep this, for a message: "a, b or c".
std::string UriForms(unsigned contents);
// The names of their schemes: "a, b, c".
std::string SchemeNames(unsigned contents);

// An engine that keeps one of `contents` and has a scheme of this name; nullptr: there is none.
struct FoundScheme {
  const Engine* engine = nullptr;
  const UriScheme* scheme = nullptr;
};
FoundScheme FindScheme(std::string_view name, unsigned contents);

}  // namespace locus::internal

#endif  // LOCUS_SRC_OPEN_ENGINE_H_
