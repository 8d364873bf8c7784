// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "apps/locus/lease/hold.h"
#include "apps/locus/line/signals.h"
#include "apps/locus/line/time_value.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/open_store.h"
#include "apps/locus/place/uri_options.h"
#include "locus/clock.h"
#include "locus/worker_lease_store.h"
#include "nlohmann/json.hpp"
#include "routing/picture/text_grid.h"
#include "src/base/os/check.h"
#include "src/base/os/private_file.h"
#include "src/base/os/random_word.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::Align;
using internal::ParseDecimal;
using internal::Printable;
using internal::Quoted;
using internal::StdoutStyle;
using internal::TextGrid;
using internal::ToAbsl;

namespace {

constexpr size_t kMostNonceFile = 1024;

struct LeaseLine {
  StoreUri uri;
  SpaceName space;

  void DeclareOn(VerbLine& line, bool space_required = false) {
    StoreOption(
        line, "URI", &uri,
        absl::StrCat("The store of the leases: ", internal::UriForms(internal::kWorkerLeases)))
        .Offers(Offer::kSpaceUris)
        .Else("LOCUS_STORE");
    constexpr const char* kHelp = "The space of worker IDs";
    if (space_required) {
      line.Value("--space S", &space, SpaceName::Parse, kHelp).Required();
    } else {
      SpaceOption(line, &space, kHelp);
    }
  }
};

nlohmann::ordered_json TimeJson(absl::Time time) {
  if (time == absl::InfinitePast()) return nullptr;
  return UtcMillis(time);
}

// The holder's JSON as JSON; where it is none, as a string.
nlohmann::ordered_json HolderJson(const std::string& holder) {
  if (holder.empty()) return nullptr;
  auto json = nlohmann::ordered_json::parse(holder, nullptr, /*allow_exceptions=*/false);
  if (!json.is_discarded()) return json;
  return Printable(holder, kMostHolderBytes);
}

absl::StatusOr<WorkerRange> ReadRange(std::string_view text) {
  const size_t dash = text.find('-');
  std::optional<uint64_t> first, last;
  if (dash != std::string_view::npos) {
    first = ParseDecimal(text.substr(0, dash), kMostWorker);
    last = ParseDecimal(text.substr(dash + 1), kMostWorker);
  }
  if (!first || !last || *first > *last) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(text), " is not a range FIRST-LAST of worker IDs, 0 to ", kMostWorker));
  }
  return WorkerRange{*first, *last};
}

std::string ListText(const SpaceName& space, const WorkerSpaceView& view) {
  std::string out = absl::StrCat("space ", space.str(), "\nlosses ", view.losses, "\n");
  if (view.rest_until >= view.now) {
    absl::StrAppend(&out, "rests_until ", UtcMillis(view.rest_until), "\n");
  }
  TextGrid grid({Align::kRight, Align::kLeftWhole, Align::kRight, Align::kRight, Align::kLeftWhole,
                 Align::kLeft});
  grid.Add({"worker", "state", "left_s", "token", "renewed", "holder"});
  for (const WorkerRecord& record : view.workers) {
    const WorkerState state = view.StateOf(record);
    grid.Add({absl::StrCat(record.worker), std::string(ToString(state)),
              state == WorkerState::kFree
                  ? ""
                  : absl::StrFormat("%.1f", absl::ToDoubleSeconds(record.ceiling - view.now)),
              absl::StrCat(record.token), UtcMillis(record.renewed_at),
              Printable(record.holder, kMostHolderBytes)});
  }
  grid.AppendTo(out, StdoutStyle());
  return out;
}

// Tokens are strings: JavaScript's numbers end at 2^53.
std::string ListJson(const SpaceName& space, const WorkerSpaceView& view) {
  nlohmann::ordered_json json;
  json["space"] = space.str();
  json["now"] = TimeJson(view.now);
  json["rest_until"] = TimeJson(view.rest_until);
  json["losses"] = view.losses;
  json["workers"] = nlohmann::ordered_json::array();
  for (const WorkerRecord& record : view.workers) {
    json["workers"].push_back({{"worker", record.worker},
                               {"state", std::string(ToString(view.StateOf(record)))},
                               {"token", absl::StrCat(record.token)},
                               {"floor", TimeJson(record.floor)},
                               {"ceiling", TimeJson(record.ceiling)},
                               {"granted_at", TimeJson(record.granted_at)},
                               {"renewed_at", TimeJson(record.renewed_at)},
                               {"holder", HolderJson(record.holder)}});
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

// What to say of the space: until when it rests, or nothing.
absl::StatusOr<std::string> Create(const LeaseLine& line, const WorkerSpacePast& past) {
  // Ended between sidecar and commit, a write would cost a false loss.
  SignalsHeld until_written;
  LOCUS_ASSIGN_OR_RETURN(auto store, OpenLeases(line.uri, /*create=*/true));
  LOCUS_RETURN_IF_ERROR(store->Create(line.space, past, Clock::System().Now()));
  const absl::StatusOr<WorkerSpaceView> view = store->Show(line.space);
  // The token of an operator need not allow to read it.
  if (!view.ok() || view->rest_until < view->now) return "";
  return absl::StrCat("space ", line.space.str(), " rests until ", UtcMillis(view->rest_until),
                      ": holders from before may go on until then",
                      view->losses == 0 ? "; if there were none, say --first-ever\n" : "\n");
}

struct AcquireLine {
  LeaseLine lease;
  WorkerRange range;
  std::optional<uint64_t> prefer;
  WorkerLeaseTerm term;
  std::string holder;
  bool hold = false;
  std::vector<std::string> command;

  void DeclareOn(VerbLine& line) {
    lease.DeclareOn(line);
    line.Flag("--hold", &hold,
              "Renew it until SIGTERM or SIGINT, or until COMMAND ends, and give it back then");
    line.Command("COMMAND", &command,
                 "With --hold: runs meanwhile, with LOCUS_WORKER and LOCUS_WORKER_TOKEN in its "
                 "environment; its exit code is that of the verb")
        .Needs("--hold");
    line.Value("--range A-B", &range, ReadRange, "The worker IDs that may be taken")
        .Default(absl::StrCat(range.first, "-", range.last));
    line.Number("--prefer W", &prefer, {.most = kMostWorker}, "Take this one if it is free");
    line.Duration("--ttl D", &term.ttl, {.least = absl::Seconds(10), .most = absl::Hours(24)},
                  "How long it is held unless it is renewed");
    line.Text("--holder JSON", &holder, "What `locus lease list` shows of the holder");
  }
};

// `nonce`: where others are to give the worker ID back.
std::string GrantJson(uint64_t worker, uint64_t token, absl::Time floor, absl::Time ceiling,
                      const std::string& nonce = "") {
  nlohmann::ordered_json json;
  json["worker"] = worker;
  json["token"] = absl::StrCat(token);
  json["floor"] = TimeJson(floor);
  json["ceiling"] = TimeJson(ceiling);
  if (!nonce.empty()) json["nonce"] = nonce;
  return json.dump() + "\n";
}

absl::StatusOr<std::string> Acquire(const AcquireLine& line) {
  SignalsHeld until_written;
  LOCUS_ASSIGN_OR_RETURN(auto store, OpenLeases(line.lease.uri, /*create=*/false));
  const std::optional<uint64_t> random = internal::RandomWord();
  const std::optional<uint64_t> high = internal::RandomWord(), low = internal::RandomWord();
  if (!random || !high || !low) return absl::UnavailableError("OpenSSL has no randomness");
  WorkerAcquire request;
  request.range = line.range;
  request.preferred = line.prefer;
  request.start = line.range.first + *random % line.range.size();
  request.term = line.term;
  request.nonce = absl::StrFormat("%016x%016x", *high, *low);
  request.holder = line.holder;
  request.caller_now = Clock::System().Now();
  LOCUS_ASSIGN_OR_RETURN(WorkerGrant grant, store->Acquire(line.lease.space, request));
  return GrantJson(grant.worker, grant.token, grant.floor, grant.ceiling, request.nonce);
}

int Hold(std::string_view verb, const AcquireLine& line) {
  WorkerLeaseOptions options;
  options.space = line.lease.space;
  options.range = line.range;
  options.preferred = line.prefer;
  options.ttl = line.term.ttl;
  options.holder = line.holder;
  return HoldLease(
      verb, [&line] { return OpenLeases(line.lease.uri, /*create=*/false); }, options, line.command,
      [verb](const WorkerLease& lease) {
        return PrintAll(verb,
                        GrantJson(lease.worker(), lease.token(), lease.floor(), lease.ceiling()));
      });
}

// False: the store knows no holder of this token, so that a release changes nothing. A store that
// shows it to nobody with these credentials may know one.
bool MayHold(WorkerLeaseStore& store, const SpaceName& space, const WorkerRelease& release) {
  const auto view = store.Show(space);
  if (!view.ok()) return true;
  const auto record =
      absl::c_find_if(view->workers, [&](const auto& one) { return one.worker == release.worker; });
  return record != view->workers.end() && record->token >= release.token && !record->nonce.empty();
}

}  // namespace

int RunLeaseCreate(std::span<const std::string> words) {
  constexpr std::string_view kVerb = "lease create";
  LeaseLine lease;
  WorkerSpacePast past;
  std::optional<absl::Duration> ttl;
  VerbLine line(kVerb,
                "Creates a space of worker IDs, and the file or the tables where they are missing. "
                "A created space rests: it grants nothing until leases of a store that was lost "
                "could have ended. Does nothing where the space exists, unless --lost is given.",
                "locus lease create sqlite:workers.db --first-ever");
  lease.DeclareOn(line);
  line.Flag("--first-ever", &past.first_ever,
            "No ID of this space was ever granted, in no store: grant IDs at once. Not for a "
            "script that runs again: after a loss it would give held IDs to others");
  line.Flag("--lost", &past.lost,
            "The store was lost or put back, and holders may be alive: grant nothing until the "
            "longest lease could have ended, also where the space exists; needs --ttl");
  line.Duration("--ttl D", &ttl, {.least = absl::Seconds(10), .most = absl::Hours(24)},
                "The longest ttl of any holder: how long the space rests, and a minute; without it "
                "24h");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  if (past.first_ever && (past.lost || ttl)) {
    return WrongUsage(kVerb, absl::InvalidArgumentError(absl::StrCat(
                                 "--first-ever and ", past.lost ? "--lost" : "--ttl",
                                 " contradict each other: before the first space there were no "
                                 "leases")));
  }
  // The default ttl would be too short for one holder that has a longer one.
  if (past.lost && !ttl) {
    return WrongUsage(kVerb, absl::InvalidArgumentError(
                                 "--lost needs --ttl, the longest ttl of any holder: for so long "
                                 "old leases may be in use"));
  }
  past.longest_ttl = ttl.value_or(past.longest_ttl);
  const absl::StatusOr<std::string> said = Create(lease, past);
  return said.ok() ? PrintAll(kVerb, *said) : EndVerb(kVerb, said.status());
}

int RunLeaseDelete(std::span<const std::string> words) {
  constexpr std::string_view kVerb = "lease delete";
  LeaseLine lease;
  VerbLine line(kVerb,
                "Deletes a space of worker IDs in a cluster of locusd, with all that is known of "
                "its IDs. Refused while one of them is held or rests.",
                "locus lease delete locusd://10.0.0.1:7070 --space old");
  lease.DeclareOn(line, /*space_required=*/true);
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  auto store = OpenLeases(lease.uri, /*create=*/false);
  if (!store.ok()) return EndVerb(kVerb, store.status());
  return EndVerb(kVerb, (*store)->Delete(lease.space));
}

int RunLeaseList(std::span<const std::string> words) {
  constexpr std::string_view kVerb = "lease list";
  LeaseLine lease;
  bool json = false;
  VerbLine line(kVerb, "Lists the worker IDs that were ever granted: held, resting or free.",
                "locus lease list sqlite:workers.db");
  lease.DeclareOn(line);
  line.Flag("--json", &json, "As one JSON object");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  auto store = OpenLeases(lease.uri, /*create=*/false);
  if (!store.ok()) return EndVerb(kVerb, store.status());
  auto view = (*store)->Show(lease.space);
  if (!view.ok()) return EndVerb(kVerb, view.status());
  return PrintAll(kVerb, json ? ListJson(lease.space, *view) : ListText(lease.space, *view));
}

int RunLeaseAcquire(std::span<const std::string> words) {
  constexpr std::string_view kVerb = "lease acquire";
  AcquireLine acquire;
  VerbLine line(
      kVerb,
      "Takes a worker ID and prints it, its token, the floor and the ceiling of the times "
      "that its holder may use, and the nonce that gives it back, a secret. It is not "
      "renewed, unless --hold is given.",
      "locus lease acquire sqlite:workers.db --hold -- my-server --port 8080");
  acquire.DeclareOn(line);
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  const WorkerRange& range = acquire.range;
  if (acquire.prefer && (*acquire.prefer < range.first || *acquire.prefer > range.last)) {
    return WrongUsage(
        kVerb, NotInRange("--prefer", *acquire.prefer, range.first, range.last, ", the range"));
  }
  if (acquire.hold) return Hold(kVerb, acquire);
  absl::StatusOr<std::string> printed = Acquire(acquire);
  return printed.ok() ? PrintAll(kVerb, *printed) : EndVerb(kVerb, printed.status());
}

int RunLeaseRelease(std::span<const std::string> words) {
  constexpr std::string_view kVerb = "lease release";
  LeaseLine lease;
  WorkerRelease release;
  std::optional<absl::Time> last_used;
  VerbLine line(kVerb,
                "Gives a worker ID back. It rests until its ceiling, unless --last-used tells the "
                "highest time that its holder used.",
                "locus lease release sqlite:workers.db --worker 17 --token 1795424400000");
  lease.DeclareOn(line);
  line.Number("--worker W", &release.worker, {.most = kMostWorker}, "The worker ID").Required();
  line.Number("--token T", &release.token, {.least = 1, .most = uint64_t{1} << 62},
              "The token that it was granted with")
      .Required();
  std::string nonce_file;
  line.Text(
      "--nonce-file FILE", &nonce_file,
      "Mode 0600; its first line is the nonce that `locus lease acquire` printed, a secret. A "
      "cluster of locusd asks for it");
  line.Value("--last-used TIME", &last_used, ReadTime,
             "No ID has or will have a later time than this");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  release.last_used = last_used.value_or(absl::InfiniteFuture());
  if (!nonce_file.empty()) {
    const auto nonce = internal::ReadPrivateFile(nonce_file, kMostNonceFile);
    if (!nonce.ok()) return EndVerb(kVerb, nonce.status());
    const std::string_view text = nonce->view();
    release.nonce = text.substr(0, text.find_first_of("\r\n"));
  }
  SignalsHeld until_written;
  auto store = OpenLeases(lease.uri, /*create=*/false);
  if (!store.ok()) return EndVerb(kVerb, store.status());
  const bool held = MayHold(**store, lease.space, release);
  const absl::Status released = (*store)->Release(lease.space, release);
  if (released.ok() && !held) {
    Note(kVerb, absl::StrCat("nothing was released: worker ", release.worker, " of space ",
                             lease.space.str(), " has no holder with this token"));
  }
  return EndVerb(kVerb, released);
}

}  // namespace locus::cli
