// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/place/open_store.h"

#include "absl/strings/str_cat.h"
#include "apps/locus/place/password.h"
#include "locus/routing/uri.h"

namespace locus {

absl::StatusOr<std::shared_ptr<SegmentStore>> OpenStore(const StoreUri& uri, bool create) {
  return OpenSegmentStore(uri.text, {.password = AskFor(PasswordFor::kStore), .create = create});
}

absl::StatusOr<std::unique_ptr<Sequencer>> OpenSequencer(const StoreUri& uri,
                                                         const StoreUri* ceiling,
                                                         const SequencerOptions& options) {
  SequencerUriOptions all;
  all.password = AskFor(PasswordFor::kStore);
  all.ceiling_password = AskFor(PasswordFor::kCeiling);
  all.sequencer = options;
  if (ceiling != nullptr) all.ceiling = ceiling->text;
  absl::StatusOr<std::unique_ptr<Sequencer>> sequencer = OpenSequencer(uri.text, all);
  if (!absl::IsNotFound(sequencer.status())) return sequencer;
  const StoreUri& missing =
      ceiling != nullptr && uri.engine != StoreUri::Engine::kSqlite ? *ceiling : uri;
  return absl::NotFoundError(absl::StrCat(sequencer.status().message(), "; `locus store init ",
                                          missing.text, "` creates it"));
}

}  // namespace locus
