// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/place/open_store.h"

#include "absl/strings/str_cat.h"
#include "apps/locus/place/password.h"
#include "locus/open.h"
#include "src/base/os/check.h"

namespace locus::cli {

absl::StatusOr<std::shared_ptr<SegmentStore>> OpenStore(const StoreUri& uri, bool create) {
  return OpenSegmentStore(uri.text, {.password = AskFor(PasswordFor::kStore), .create = create});
}

absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenLeases(const StoreUri& uri, bool create) {
  auto store =
      OpenWorkerLeaseStore(uri.text, {.password = AskFor(PasswordFor::kStore), .create = create});
  if (!uri.engine->is_file || !absl::IsNotFound(store.status())) return store;
  return absl::NotFoundError(
      absl::StrCat(store.status().message(), "; `locus lease create ", uri.text,
                   "` creates it, with --first-ever only if there never was one"));
}

absl::StatusOr<std::shared_ptr<StrictStore>> OpenStrict(const StoreUri& uri, bool create) {
  auto store =
      OpenStrictStore(uri.text, {.password = AskFor(PasswordFor::kStore), .create = create});
  if (!uri.engine->is_file || !absl::IsNotFound(store.status())) return store;
  return absl::NotFoundError(absl::StrCat(
      store.status().message(), "; `locus strict create --store ", uri.text, "` creates it"));
}

namespace {

SequencerUriOptions PlacesOf(const StoreUri* ceiling) {
  SequencerUriOptions places;
  places.password = AskFor(PasswordFor::kStore);
  places.ceiling_password = AskFor(PasswordFor::kCeiling);
  if (ceiling != nullptr) places.ceiling = ceiling->text;
  return places;
}

}  // namespace

absl::StatusOr<absl::Time> MarkFirstStart(const StoreUri& uri, const StoreUri* ceiling) {
  const StoreUri& marked = ceiling == nullptr ? uri : *ceiling;
  if (marked.engine->is_created) {
    StoreUriOptions create;
    create.create = true;
    create.password = AskFor(ceiling == nullptr ? PasswordFor::kStore : PasswordFor::kCeiling);
    LOCUS_RETURN_IF_ERROR(OpenSegmentStore(marked.text, create).status());
  }
  return locus::MarkFirstStart(uri.text, PlacesOf(ceiling), absl::Now());
}

absl::StatusOr<std::unique_ptr<Sequencer>> OpenSequencer(const StoreUri& uri,
                                                         const StoreUri* ceiling,
                                                         const SequencerOptions& options) {
  SequencerUriOptions all = PlacesOf(ceiling);
  all.sequencer = options;
  absl::StatusOr<std::unique_ptr<Sequencer>> sequencer = OpenSequencer(uri.text, all);
  if (!absl::IsNotFound(sequencer.status())) return sequencer;
  // A missing file is one of two; the message of mysql says what to do by itself.
  const StoreUri& file = uri.engine->is_file || ceiling == nullptr ? uri : *ceiling;
  if (!file.engine->is_file) return sequencer;
  return absl::NotFoundError(absl::StrCat(sequencer.status().message(), "; `locus store init ",
                                          file.text, "` creates it"));
}

namespace {

// What is opened of the types of a store; a missing file's message says what makes it.
template <typename T>
absl::StatusOr<T> OrHowToCreate(const StoreUri& uri, absl::StatusOr<T> opened) {
  if (!uri.engine->is_file || !absl::IsNotFound(opened.status())) return opened;
  return absl::NotFoundError(absl::StrCat(opened.status().message(),
                                          "; `locus seq type create NAME --store ", uri.text,
                                          "` creates it"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SequenceTypeStore>> OpenSequenceTypes(const StoreUri& uri,
                                                                     bool create) {
  return OrHowToCreate(
      uri,
      OpenSequenceTypeStore(uri.text, {.password = AskFor(PasswordFor::kStore), .create = create}));
}

absl::StatusOr<std::unique_ptr<TypedSequences>> OpenTypedSequences(const StoreUri& uri,
                                                                   const StoreUri* ceiling) {
  SequencerUriOptions options;
  options.password = AskFor(PasswordFor::kStore);
  options.ceiling_password = AskFor(PasswordFor::kCeiling);
  if (ceiling != nullptr) options.ceiling = ceiling->text;
  return OrHowToCreate(uri, OpenTypedSequences(uri.text, options));
}

}  // namespace locus::cli
