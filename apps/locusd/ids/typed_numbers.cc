// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/typed_numbers.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "apps/locusd/ids/id_parts.h"
#include "apps/locusd/ids/load_pool.h"
#include "routing/table/printable_text.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/base/text/utf8.h"
#include "src/number/type_text.h"

namespace locus::locusd {

using internal::MutexLock;
using internal::Quoted;

namespace {

constexpr size_t kThreads = 2;

// What callers get of an error of opening: what they asked for was checked, so that another one is
// of the type or the store.
absl::Status Told(const absl::Status& status, const std::string& type) {
  if (absl::IsNotFound(status)) return absl::NotFoundError(status.message());
  if (IsAway(status)) return absl::UnavailableError(status.message());
  return absl::FailedPreconditionError(
      absl::StrCat("sequence type ", Quoted(type), ": ", status.message()));
}

}  // namespace

class TypedNumbers::Opening {
 public:
  // UNAVAILABLE without a message: not done.
  absl::StatusOr<std::shared_ptr<NumberGenerator>> result = absl::UnavailableError("");
  bool is_done = false;  // under mutex_, as is `result`
  bool stays = false;    // likewise
};

TypedNumbers::TypedNumbers(std::unique_ptr<TypedSequences> sequences, Options options)
    : options_(std::move(options)),
      sequences_(std::move(sequences)),
      pool_(MakeLoadPool(kThreads)),
      driver_(internal::LoadDriver::OnThread([this] { return OpenAll(); })) {}

TypedNumbers::~TypedNumbers() {
  {
    MutexLock lock(mutex_);
    asked_.clear();
  }
  driver_.reset();
  std::map<Name, std::shared_ptr<NumberGenerator>> generators;
  {
    MutexLock lock(mutex_);
    generators.swap(generators_);
  }
  generators.clear();  // gives their numbers back
}

std::shared_ptr<NumberGenerator> TypedNumbers::Find(const std::string& type,
                                                    const std::string& key) const {
  MutexLock lock(mutex_);
  const auto at = generators_.find(Name(type, key));
  return at == generators_.end() ? nullptr : at->second;
}

absl::Status TypedNumbers::Check(const std::string& type, const std::string& key) const {
  LOCUS_RETURN_IF_ERROR(internal::CheckTypeName(type));
  if (!options_.names.empty() && !options_.names.contains(type)) {
    return absl::NotFoundError(absl::StrCat("this service has no sequence type ", Quoted(type)));
  }
  if (key.size() > SequenceType::kLongestKey) {
    return absl::InvalidArgumentError(absl::StrCat("the key has ", key.size(),
                                                   " bytes, and at most ",
                                                   SequenceType::kLongestKey, " are taken"));
  }
  // It is a label of metrics.
  if (!key.empty() && !internal::IsPrintableUtf8(key)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the key ", Quoted(key), " has control characters, or is not UTF-8"));
  }
  return internal::CheckCounterName("the key", key);
}

absl::Status TypedNumbers::IsFull(const Name& name) const {
  return absl::ResourceExhaustedError(absl::StrCat(
      "this service has no counter of the key ", Quoted(name.second.value_or("")),
      " of sequence type ", Quoted(name.first), ", and makes no more than ", options_.most));
}

absl::Status TypedNumbers::HasNoTable(const std::string& type) {
  return absl::NotFoundError(
      absl::StrCat("there is no sequence type ", Quoted(type),
                   ": the store of this service has no table of sequence types, which "
                   "`locus seq type create` makes"));
}

absl::StatusOr<TypedSequences*> TypedNumbers::Sequences() const {
  MutexLock lock(later_);
  if (sequences_ == nullptr) {
    LOCUS_ASSIGN_OR_RETURN(sequences_, options_.open_later());
  }
  return sequences_.get();
}

absl::StatusOr<std::vector<SequenceType>> TypedNumbers::List() const {
  LOCUS_ASSIGN_OR_RETURN(TypedSequences* const sequences, Sequences());
  return sequences->types().List();
}

absl::StatusOr<std::shared_ptr<TypedNumbers::Opening>> TypedNumbers::Open(const std::string& type,
                                                                          const std::string& key) {
  return Join({type, key}, /*stays=*/false);
}

absl::StatusOr<std::shared_ptr<TypedNumbers::Opening>> TypedNumbers::Ask(const std::string& type) {
  LOCUS_RETURN_IF_ERROR(internal::CheckTypeName(type));
  return Join({type, std::nullopt}, /*stays=*/false);
}

bool TypedNumbers::IsType(const std::string& type) const {
  MutexLock lock(mutex_);
  return types_.contains(type);
}

void TypedNumbers::LookFor(const std::string& name) {
  const std::string type = internal::TypeOfCounter(name);
  // What is refused now is looked for again later.
  Join(type.empty() ? Name(name, "") : Name(type, std::nullopt), /*stays=*/true).IgnoreError();
}

absl::StatusOr<std::shared_ptr<TypedNumbers::Opening>> TypedNumbers::Join(const Name& name,
                                                                          bool stays) {
  std::shared_ptr<Opening> opening;
  {
    MutexLock lock(mutex_);
    if (const auto open = generators_.find(name); open != generators_.end()) {
      opening = std::make_shared<Opening>();
      opening->result = open->second;
      opening->is_done = true;
      return opening;
    }
    if (const auto at = openings_.find(name); at != openings_.end()) return at->second;
    if (name.second) LOCUS_RETURN_IF_ERROR(Check(name.first, *name.second));
    // Without a key it may be the name of a sequence, which the store has to tell.
    if (name.second && !name.second->empty() && generators_.size() >= options_.most) {
      return IsFull(name);
    }
    if (openings_.size() >= options_.most_waiting) DropUnwanted();
    if (openings_.size() >= options_.most_waiting) {
      return absl::UnavailableError(absl::StrCat(
          options_.most_waiting, " counters of sequence types are waited for, which is the most"));
    }
    opening = openings_[name] = std::make_shared<Opening>();
    opening->stays = stays;
    asked_.push_back(name);
  }
  driver_->Wake();
  return opening;
}

void TypedNumbers::DropUnwanted() {
  std::deque<Name> wanted;
  for (Name& name : asked_) {
    const auto at = openings_.find(name);
    LOCUS_CHECK(at != openings_.end());
    // Each waiting request holds a copy of the pointer. Copies are made under mutex_ only.
    if (at->second->stays || at->second.use_count() > 1) {
      wanted.push_back(std::move(name));
    } else {
      openings_.erase(at);
    }
  }
  asked_ = std::move(wanted);
}

absl::StatusOr<std::shared_ptr<NumberGenerator>> TypedNumbers::Wait(
    const std::shared_ptr<Opening>& opening, std::chrono::steady_clock::time_point deadline) const {
  MutexLock lock(mutex_);
  while (!opening->is_done && std::chrono::steady_clock::now() < deadline) {
    if (!driver_->started()) driver_->Wake();
    opened_.WaitUntil(mutex_, deadline);
  }
  // A Status of its own for each: TSan does not see how absl counts who shares one.
  const absl::Status& status = opening->result.status();
  if (opening->is_done && !status.ok()) return absl::Status(status.code(), status.message());
  if (opening->is_done) return opening->result;
  return absl::DeadlineExceededError("the store of the sequence types did not answer in time");
}

absl::StatusOr<std::shared_ptr<NumberGenerator>> TypedNumbers::Make(const Name& name, bool is_full,
                                                                    bool& is_dropped) {
  const absl::StatusOr<TypedSequences*> sequences = Sequences();
  if (absl::IsNotFound(sequences.status())) return HasNoTable(name.first);
  LOCUS_RETURN_IF_ERROR(sequences.status());
  auto ask = [&]() -> absl::StatusOr<std::shared_ptr<NumberGenerator>> {
    LOCUS_ASSIGN_OR_RETURN(const SequenceTypeStore::Known known,
                           (*sequences)->types().FindAny(name.first));
    is_dropped = known.is_dropped;
    if (!name.second || !is_dropped) return std::shared_ptr<NumberGenerator>();
    return absl::NotFoundError(absl::StrCat("sequence type ", Quoted(name.first),
                                            " was dropped: create it again to go on"));
  };
  if (is_full || !name.second) return ask();
  NumberGenerator::Options options;
  options.horizon = options_.horizon;
  options.executor = pool_.get();
  options.on_event = options_.on_event;
  options.on_type = options_.on_type;
  auto made = (*sequences)->MakeGenerator(name.first, *name.second, std::move(options));
  if (!absl::IsFailedPrecondition(made.status())) return made;
  // Perhaps because it was dropped.
  const absl::Status known = ask().status();
  return is_dropped ? known : made.status();
}

absl::Duration TypedNumbers::OpenAll() {
  while (true) {
    Name name;
    std::shared_ptr<Opening> opening;
    bool is_full = false;
    {
      MutexLock lock(mutex_);
      DropUnwanted();
      if (asked_.empty()) return absl::InfiniteDuration();
      name = std::move(asked_.front());
      asked_.pop_front();
      opening = openings_.at(name);
      is_full = generators_.size() >= options_.most;
    }
    bool is_dropped = false;
    absl::StatusOr<std::shared_ptr<NumberGenerator>> made = Make(name, is_full, is_dropped);
    const bool is_type = is_dropped || (made.ok() && (!name.second || *made == nullptr));
    MutexLock lock(mutex_);
    openings_.erase(name);
    if (!made.ok()) {
      opening->result = Told(made.status(), name.first);
    } else if (!name.second) {
      opening->result = std::shared_ptr<NumberGenerator>();
    } else if (*made == nullptr) {
      opening->result = IsFull(name);
    } else {
      opening->result = generators_[name] = *std::move(made);
    }
    if (is_type) {
      types_.insert(name.first);
    } else if (absl::IsNotFound(made.status())) {
      types_.erase(name.first);
    }
    opening->is_done = true;
    opened_.NotifyAll();
  }
}

void TypedNumbers::ForEach(const std::function<void(const std::string&, const std::string&,
                                                    const NumberGenerator&)>& visit) const {
  std::map<Name, std::shared_ptr<NumberGenerator>> generators;
  {
    MutexLock lock(mutex_);
    generators = generators_;
  }
  for (const auto& [name, generator] : generators) visit(name.first, *name.second, *generator);
}

}  // namespace locus::locusd
