// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "apps/locus/line/signals.h"
#include "apps/locus/line/time_value.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/open_store.h"
#include "apps/locus/place/uri_options.h"
#include "locus/clock.h"
#include "locus/order_id.h"
#include "nlohmann/json.hpp"
#include "routing/picture/text_grid.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/segment/rules.h"

namespace locus::cli {

using internal::Align;
using internal::StdoutStyle;
using internal::TextGrid;
using internal::ToAbsl;

namespace {

struct StoreLine {
  StoreUri uri;
  SpaceName space;

  void DeclareOn(VerbLine& line) {
    StoreOption(line, "URI", &uri,
                absl::StrCat("The segment store: ", internal::UriForms(internal::kSegments)))
        .Offers(Offer::kSpaceUris)
        .Else("LOCUS_STORE");
    SpaceOption(line, &space, "The space in the store");
  }
};

// A verb that takes a URI and a space and no more.
std::optional<int> ParseStoreLine(std::string_view verb, std::string_view purpose,
                                  std::span<const std::string> words, StoreLine& store_line) {
  VerbLine line(verb, purpose, absl::StrCat("locus ", ToAbsl(verb), " sqlite:orders.db"));
  store_line.DeclareOn(line);
  return line.Parse(words);
}

absl::Status Init(const StoreLine& line) {
  // Ended between sidecar and commit, a write would cost a false loss.
  SignalsHeld until_written;
  LOCUS_ASSIGN_OR_RETURN(auto store, OpenStore(line.uri, /*create=*/true));
  return store->Create(line.space, SpaceOptions(), Clock::System().Now());
}

absl::StatusOr<std::shared_ptr<SegmentStore>> OpenExisting(const StoreLine& line) {
  absl::StatusOr<std::shared_ptr<SegmentStore>> store = OpenStore(line.uri, /*create=*/false);
  const bool is_file = line.uri.engine->is_file;
  if (!is_file || !absl::IsNotFound(store.status())) return store;
  return absl::NotFoundError(absl::StrCat(store.status().message(), "; `locus store init ",
                                          line.uri.text, "` creates it"));
}

absl::Status DeclareRestored(const StoreLine& line) {
  SignalsHeld until_written;
  LOCUS_ASSIGN_OR_RETURN(auto store, OpenExisting(line));
  return store->DeclareRestored(line.space, Clock::System().Now());
}

absl::StatusOr<std::string> Raise(const StoreLine& line, uint64_t to, RaiseReach reach) {
  SignalsHeld until_written;
  LOCUS_ASSIGN_OR_RETURN(auto store, OpenExisting(line));
  absl::StatusOr<BaseRaise> raised = store->Raise(line.space, to, reach, Clock::System().Now());
  if (!raised.ok()) {
    // A user of the command has options, not the library's enums.
    return absl::Status(raised.status().code(),
                        absl::StrReplaceAll(raised.status().message(),
                                            {{"(RaiseReach::kAnywhere, `locus store raise "
                                              "--anywhere`)",
                                              "with --anywhere"}}));
  }
  const BaseRaise raise = *raised;
  return absl::StrCat("space ", line.space.str(), "\nbase_before ", raise.before, "\nbase ",
                      raise.after, "\n");
}

std::string ViewText(const SpaceName& space, const SpaceView& view) {
  std::string out =
      absl::StrCat("space ", space.str(), "\nbase ", view.base, "\nfloor ",
                   segment_rules::Floor(view.options, view.now), "\nlosses ", view.losses, "\n");
  TextGrid grid(
      {Align::kRight, Align::kLeftWhole, Align::kRight, Align::kRight, Align::kLeftWhole});
  grid.Add({"section", "vnodes", "head", "lead_s", "last_allocation"});
  for (const SpaceView::Section& section : view.sections) {
    uint32_t first = section.section * view.options.section_size;
    grid.Add({absl::StrCat(section.section),
              absl::StrCat(first, "-", first + view.options.section_size - 1),
              absl::StrCat(section.head),
              absl::StrFormat("%.1f", absl::ToDoubleSeconds(section.lead)),
              UtcSeconds(section.granted_at)});
  }
  grid.AppendTo(out, StdoutStyle());
  return out;
}

// Sequences are strings: JavaScript's numbers end at 2^53.
std::string ViewJson(const SpaceName& space, const SpaceView& view) {
  nlohmann::ordered_json json;
  json["space"] = space.str();
  json["base"] = absl::StrCat(view.base);
  json["floor"] = absl::StrCat(segment_rules::Floor(view.options, view.now));
  json["losses"] = view.losses;
  json["section_size"] = view.options.section_size;
  json["now"] = UtcSeconds(view.now);
  json["sections"] = nlohmann::ordered_json::array();
  for (const SpaceView::Section& section : view.sections) {
    uint32_t first = section.section * view.options.section_size;
    json["sections"].push_back({{"section", section.section},
                                {"first_vnode", first},
                                {"last_vnode", first + view.options.section_size - 1},
                                {"head", absl::StrCat(section.head)},
                                {"lead_s", absl::ToDoubleSeconds(section.lead)},
                                {"last_allocation", UtcSeconds(section.granted_at)}});
  }
  return json.dump() + "\n";
}

absl::StatusOr<std::string> Show(const StoreLine& line, bool json) {
  LOCUS_ASSIGN_OR_RETURN(auto store, OpenExisting(line));
  LOCUS_ASSIGN_OR_RETURN(SpaceView view, store->Show(line.space, Clock::System().Now()));
  return json ? ViewJson(line.space, view) : ViewText(line.space, view);
}

}  // namespace

int RunStoreInit(std::span<const std::string> words) {
  StoreLine line;
  if (auto exit = ParseStoreLine(
          "store init", "Creates the store and the space if they are missing.", words, line)) {
    return *exit;
  }
  return EndVerb("store init", Init(line));
}

int RunStoreShow(std::span<const std::string> words) {
  StoreLine store_line;
  bool json = false;
  VerbLine line("store show",
                "Prints the space's base, floor and losses, and the head, lead and last lease of "
                "each section. losses is 1 from the creation and rises by 1 with each loss.",
                "locus store show sqlite:orders.db");
  store_line.DeclareOn(line);
  line.Flag("--json", &json, "Print a JSON object");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  absl::StatusOr<std::string> text = Show(store_line, json);
  return text.ok() ? PrintAll("store show", *text) : EndVerb("store show", text.status());
}

int RunStoreRestored(std::span<const std::string> words) {
  StoreLine line;
  if (auto exit =
          ParseStoreLine("store restored",
                         "Declares that an older state of the store was restored.", words, line)) {
    return *exit;
  }
  const absl::Status declared = DeclareRestored(line);
  // The state that is put back does not know of it.
  if (declared.ok()) {
    Note("store restored",
         "if this store was put back or lost before in the last 20 minutes, repeat the command "
         "once for each of these times: leases since then may lie so far ahead");
  }
  return EndVerb("store restored", declared);
}

int RunStoreRaise(std::span<const std::string> words) {
  StoreLine store_line;
  uint64_t to = 0;
  VerbLine line("store raise",
                "Leases no sequence below N from now on, and prints base before and after. Use it "
                "if order IDs of this layout exist already. Running generators go on with the "
                "segments they hold: restart them, or wait two horizons.",
                "locus store raise sqlite:orders.db --to 5000000");
  store_line.DeclareOn(line);
  line.Number("--to N", &to, {.most = OrderId::kMaxSequence, .what = "a sequence"},
              "The lowest sequence that may still be leased")
      .Required();
  bool anywhere = false;
  line.Flag("--anywhere", &anywhere,
            "Confirm an N of more than 1 % of the 2^47 narrow sequences above the floor: all "
            "sequences below N are lost for good");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  absl::StatusOr<std::string> text =
      Raise(store_line, to, anywhere ? RaiseReach::kAnywhere : RaiseReach::kNearFloor);
  return text.ok() ? PrintAll("store raise", *text) : EndVerb("store raise", text.status());
}

}  // namespace locus::cli
