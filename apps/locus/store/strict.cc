// SPDX-License-Identifier: Apache-2.0
#include "absl/strings/str_cat.h"
#include "apps/locus/line/signals.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/open_store.h"
#include "apps/locus/place/uri_options.h"
#include "src/base/check.h"

namespace locus::cli {
namespace {

absl::Status DeclareRestored(const StoreUri& uri, const SpaceName& set) {
  SignalsHeld until_written;
  LOCUS_ASSIGN_OR_RETURN(auto store, OpenStrict(uri));
  return store->DeclareRestored(set);
}

}  // namespace

int RunStrictRestored(std::span<const std::string> words) {
  StoreUri store;
  SpaceName set;
  VerbLine line("strict restored",
                "Declares that an older state of the store of strict sequences was restored: all "
                "numbers are raised above those that were forgotten, and no sections are granted "
                "until the leases that were forgotten have ended. Use it before owners are "
                "started.",
                "locus strict restored --store sqlite:strict.db");
  StoreOption(line, "--store URI", &store,
              "The store of the set: sqlite:PATH, mysql://USER@HOST:PORT/DB or "
              "etcd://H1:P1,H2:P2/PREFIX")
      .Else("LOCUS_STORE");
  line.Value("--set S", &set, SpaceName::Parse, "The set in the store").Default(set.str());
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  const absl::Status status = DeclareRestored(store, set);
  if (status.ok()) return kDone;
  return absl::IsInvalidArgument(status) ? WrongUsage("strict restored", status)
                                         : Fail("strict restored", status);
}

}  // namespace locus::cli
