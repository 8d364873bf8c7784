// SPDX-License-Identifier: Apache-2.0
#include "locus/open.h"

#include "absl/strings/str_cat.h"
#include "locus/engine/locusd_cluster.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/number/plain_names.h"
#include "src/open/engine.h"
#include "src/open/first_start.h"
#include "src/open/opened.h"
#include "src/open/password.h"
#include "src/open/store_uri.h"

namespace locus {

using internal::Content;
using internal::Openers;
using internal::StoreUri;

namespace {

absl::Status CheckKeeps(const StoreUri& uri, Content content) {
  const absl::Status status = internal::CheckKeeps(*uri.engine, content);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(uri.text, ": ", status.message()));
}

// A file is opened without a password. An engine that this build leaves out asks for none.
absl::StatusOr<std::string_view> PasswordOf(const StoreUri& uri, const AskPassword& ask) {
  LOCUS_RETURN_IF_ERROR(internal::CheckBuilt(uri));
  if (uri.engine->is_file) return std::string_view();
  return internal::Ask(ask);
}

// What `opener` opens at the URI.
template <typename Opened>
absl::StatusOr<Opened> Open(std::string_view text, const StoreUriOptions& options, Content content,
                            Openers::Opener<Opened> Openers::*opener) {
  LOCUS_ASSIGN_OR_RETURN(const StoreUri uri, StoreUri::Parse(text));
  LOCUS_RETURN_IF_ERROR(CheckKeeps(uri, content));
  LOCUS_ASSIGN_OR_RETURN(const std::string_view password, PasswordOf(uri, options.password));
  return (uri.engine->openers->*opener)(uri, password, options.create);
}

absl::StatusOr<std::shared_ptr<Sequencer>> OpenCeiling(const StoreUri& of,
                                                       const SequencerUriOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(const StoreUri uri, StoreUri::Parse(options.ceiling, "ceiling"));
  LOCUS_RETURN_IF_ERROR(internal::CheckCeiling(*of.engine, *uri.engine));
  if (options.sequencer.at_max == SequencerOptions::AtMax::kWrap ||
      options.sequencer.ttl != absl::ZeroDuration()) {
    return absl::InvalidArgumentError(
        "a ceiling excludes wrapping at the maximum and a ttl, since numbers repeat with both");
  }
  SequencerOptions of_ceiling;
  of_ceiling.key_prefix = options.sequencer.key_prefix;
  LOCUS_ASSIGN_OR_RETURN(const std::string_view password,
                         PasswordOf(uri, options.ceiling_password));
  return internal::As<std::shared_ptr<Sequencer>>(
      uri.engine->openers->counters(uri, password, of_ceiling, nullptr));
}

}  // namespace

absl::StatusOr<std::shared_ptr<SegmentStore>> OpenSegmentStore(std::string_view uri,
                                                               const StoreUriOptions& options) {
  return Open(uri, options, internal::kSegments, &Openers::segments);
}

absl::StatusOr<std::shared_ptr<WorkerLeaseStore>> OpenWorkerLeaseStore(
    std::string_view uri, const StoreUriOptions& options) {
  return Open(uri, options, internal::kWorkerLeases, &Openers::leases);
}

absl::StatusOr<std::shared_ptr<StrictStore>> OpenStrictStore(std::string_view uri,
                                                             const StoreUriOptions& options) {
  return Open(uri, options, internal::kStrictSets, &Openers::strict);
}

absl::StatusOr<std::unique_ptr<LocusdCluster>> OpenLocusdCluster(std::string_view uri_text,
                                                                 const AskPassword& ask) {
  LOCUS_ASSIGN_OR_RETURN(const StoreUri uri, StoreUri::Parse(uri_text, "cluster"));
  if (!uri.engine->Has(internal::kMembers)) {
    return absl::InvalidArgumentError(absl::StrCat(internal::ShownUri(uri.text),
                                                   " is no cluster of locusd; write ",
                                                   internal::UriForms(internal::kMembers)));
  }
  LOCUS_ASSIGN_OR_RETURN(const std::string_view password, PasswordOf(uri, ask));
  return uri.engine->openers->members(uri, password, false);
}

namespace {

absl::StatusOr<std::unique_ptr<SequenceTypeStore>> OpenTypes(std::string_view uri,
                                                             const StoreUriOptions& options) {
  return Open(uri, options, internal::kSequenceTypes, &Openers::types);
}

absl::StatusOr<std::unique_ptr<Sequencer>> OpenCounters(std::string_view uri_text,
                                                        const SequencerUriOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(const StoreUri uri, StoreUri::Parse(uri_text));
  LOCUS_RETURN_IF_ERROR(CheckKeeps(uri, internal::kCounters));
  std::shared_ptr<Sequencer> ceiling;
  if (!options.ceiling.empty()) {
    LOCUS_ASSIGN_OR_RETURN(ceiling, OpenCeiling(uri, options));
  }
  LOCUS_ASSIGN_OR_RETURN(const std::string_view password, PasswordOf(uri, options.password));
  return uri.engine->openers->counters(uri, password, options.sequencer, std::move(ceiling));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SequenceTypeStore>> OpenSequenceTypeStore(
    std::string_view uri, const StoreUriOptions& options) {
  StoreUriOptions kept = options;
  kept.password = internal::Kept(options.password);
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<SequenceTypeStore> types, OpenTypes(uri, kept));
  types->set_plain_value([uri = std::string(uri), password = kept.password](
                             const std::string& name) -> absl::StatusOr<int64_t> {
    LOCUS_ASSIGN_OR_RETURN(auto counters, OpenCounters(uri, {.password = password}));
    absl::StatusOr<int64_t> value = counters->Get(name);
    LOCUS_ASSIGN_OR_RETURN(const StoreUri of, StoreUri::Parse(uri));
    if (!of.engine->takes_ceiling || !absl::IsNotFound(value.status())) return value;
    LOCUS_ASSIGN_OR_RETURN(const std::string_view asked, internal::Ask(password));
    LOCUS_ASSIGN_OR_RETURN(const auto under,
                           of.engine->openers->value_under_ceiling(of, asked, name));
    if (under) value = *under;
    return value;
  });
  return types;
}

namespace internal {

absl::StatusOr<std::unique_ptr<Sequencer>> OpenUnchecked(std::string_view uri,
                                                         const AskPassword& ask) {
  return OpenCounters(uri, {.password = ask});
}

}  // namespace internal

namespace {

absl::Status CheckIsNoMark(const std::string& counter) {
  if (counter != internal::FirstStart::kName) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("counter ", internal::Quoted(counter),
                   " is the mark of a store's first start (locus seq create), and is not counted"));
}

// `first_start`: nullptr: counters begin without a mark.
absl::StatusOr<std::unique_ptr<Sequencer>> OpenChecked(
    std::string_view uri, const SequencerUriOptions& options,
    std::shared_ptr<internal::FirstStart> first_start) {
  SequencerUriOptions kept = options;
  kept.password = internal::Kept(options.password);
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<Sequencer> counters, OpenCounters(uri, kept));
  auto mark = [first_start = std::move(first_start)](const std::string& name,
                                                     Sequencer::NameLook look) {
    return first_start == nullptr ? absl::OkStatus() : first_start->CheckCounter(name, look);
  };
  if (options.sequencer.of_types) {
    counters->set_name_check([mark](const std::string& name, Sequencer::NameLook look) {
      LOCUS_RETURN_IF_ERROR(internal::CheckIsOfType(name));
      return mark(name, look);
    });
    return counters;
  }
  auto open = [uri = std::string(uri), password = kept.password]() {
    return internal::As<std::shared_ptr<SequenceTypeStore>>(OpenTypes(uri, {.password = password}));
  };
  auto names = std::make_shared<internal::PlainNames>(std::move(open));
  counters->set_name_check([names, mark](const std::string& name, Sequencer::NameLook look) {
    LOCUS_RETURN_IF_ERROR(CheckIsNoMark(name));
    LOCUS_RETURN_IF_ERROR(names->Check(name, look));
    return mark(name, look);
  });
  return counters;
}

std::shared_ptr<internal::FirstStart> MarkOf(std::string_view uri,
                                             const SequencerUriOptions& options) {
  if (!options.marked) return nullptr;
  return std::make_shared<internal::FirstStart>(std::string(uri), options);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Sequencer>> OpenSequencer(std::string_view uri,
                                                         const SequencerUriOptions& options) {
  const std::shared_ptr<internal::FirstStart> mark = MarkOf(uri, options);
  if (mark != nullptr) LOCUS_RETURN_IF_ERROR(mark->Check());
  return OpenChecked(uri, options, mark);
}

absl::StatusOr<std::unique_ptr<TypedSequences>> OpenTypedSequences(
    std::string_view uri, const SequencerUriOptions& options, bool create) {
  LOCUS_ASSIGN_OR_RETURN(
      std::shared_ptr<SequenceTypeStore> types,
      OpenSequenceTypeStore(uri, {.password = options.password, .create = create}));
  const std::shared_ptr<internal::FirstStart> mark = MarkOf(uri, options);
  if (mark != nullptr) LOCUS_RETURN_IF_ERROR(mark->Check());
  auto open = [uri = std::string(uri), options,
               mark](const SequencerOptions& of) -> absl::StatusOr<std::shared_ptr<Sequencer>> {
    SequencerUriOptions by_type = options;
    by_type.sequencer = of;
    return OpenChecked(uri, by_type, mark);
  };
  return std::make_unique<TypedSequences>(std::move(types), std::move(open));
}

}  // namespace locus
