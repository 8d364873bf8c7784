// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/api/strict_bodies.h"

#include <array>
#include <boost/json.hpp>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/http/api/members.h"
#include "src/strict/strict_rules.h"

namespace locus::cluster_api {

namespace json = boost::json;

using internal::ParseDecimal;
using internal::Quoted;
using strict::kMostNumber;
using strict_machine::Call;
using strict_machine::View;
using Verdict = StrictGrant::Verdict;

namespace {

constexpr std::array<std::string_view, 3> kVerdicts = {"granted", "held", "resting"};
constexpr uint64_t kMostSection = (uint64_t{1} << 20) - 1;
constexpr uint64_t kMostTtlMs = 10 * 60 * 1000;

json::string Json(std::string_view text) { return json::string(text.data(), text.size()); }
json::string NumberText(uint64_t number) { return Json(absl::StrCat(number)); }

uint64_t NumberIn(Members& members, const char* name, uint64_t most = kMostNumber) {
  const std::string text = members.Text(name, 20);
  const std::optional<uint64_t> number = ParseDecimal(text, most);
  if (!number) {
    members.Fail(absl::StrCat("\"", name, "\" is ", Quoted(text),
                              "; it must be a decimal text of at most ", most));
  }
  return number.value_or(0);
}
uint32_t SectionIn(Members& members) {
  return static_cast<uint32_t>(members.Number("section", kMostSection));
}

json::object ObjectOf(const StrictSetOptions& options) {
  return {{"first_uid", NumberText(options.first_uid)},
          {"uids", NumberText(options.uids)},
          {"section_size", options.section_size},
          {"step", options.step},
          {"ttl_ms", absl::ToInt64Milliseconds(options.ttl)}};
}
json::object ObjectOf(const StrictOwner& owner) {
  return {{"name", Json(owner.name)},
          {"address", Json(owner.address)},
          {"instance", NumberText(owner.instance)}};
}

// A member that is an object; `read` takes its members.
template <typename Read>
void ObjectIn(Members& members, const char* name, const Read& read) {
  const json::value* object = members.ObjectOrNull(name);
  if (object == nullptr) return members.Fail(absl::StrCat("\"", name, "\" is no object"));
  Members of(*object, absl::StrCat("\"", name, "\""));
  read(of);
  const absl::Status status = of.Finish();
  if (!status.ok()) members.Fail(std::string(status.message()));
}

// A member that is an array of objects; `read` takes the members of each.
template <typename Read>
void EachIn(Members& members, const char* name, size_t most, const char* what, const Read& read) {
  const json::array* array = members.Array(name, most);
  if (array == nullptr) return;
  for (const json::value& each : *array) {
    Members of(each, what);
    read(of);
    const absl::Status status = of.Finish();
    if (!status.ok()) return members.Fail(std::string(status.message()));
  }
}

StrictSetOptions OptionsIn(Members& members) {
  StrictSetOptions options;
  ObjectIn(members, "options", [&options](Members& of) {
    options.first_uid = NumberIn(of, "first_uid");
    options.uids = NumberIn(of, "uids");
    options.section_size = static_cast<uint32_t>(of.Number("section_size", UINT32_MAX));
    options.step = of.Number("step");
    options.ttl = absl::Milliseconds(static_cast<int64_t>(of.Number("ttl_ms", kMostTtlMs)));
  });
  return options;
}

void ReadOwner(Members& of, StrictOwner& owner) {
  owner.name = of.Text("name", 64);
  owner.address = of.Text("address", 256);
  owner.instance = NumberIn(of, "instance", UINT64_MAX);
}
StrictOwner OwnerIn(Members& members) {
  StrictOwner owner;
  ObjectIn(members, "owner", [&owner](Members& of) { ReadOwner(of, owner); });
  return owner;
}

struct AddOne {
  json::object& object;

  template <typename Request>
  void AddRequest(const Request& one) const {
    object["options"] = ObjectOf(one.options);
    object["owner"] = ObjectOf(one.request.owner);
  }

  void operator()(const strict_machine::Create& one) const {
    object["options"] = ObjectOf(one.options);
    object["first_ever"] = one.past.first_ever;
  }
  void operator()(const strict_machine::DeclareRestored&) const {}
  void operator()(const strict_machine::Take& one) const {
    AddRequest(one);
    json::array sections;
    for (const StrictTake::Wish& wish : one.request.wishes) {
      sections.push_back(json::object{{"section", wish.section}, {"seen", NumberText(wish.seen)}});
    }
    object["sections"] = std::move(sections);
  }
  void operator()(const strict_machine::Extend& one) const {
    AddRequest(one);
    json::array sections;
    for (const StrictExtend::Section& section : one.request.sections) {
      sections.push_back(json::object{{"section", section.section},
                                      {"token", NumberText(section.token)},
                                      {"max_seq", NumberText(section.max_seq)},
                                      {"raise_to", NumberText(section.raise_to)}});
    }
    object["sections"] = std::move(sections);
  }
  void operator()(const strict_machine::Release& one) const {
    AddRequest(one);
    object["successor"] = Json(one.request.successor);
    json::array sections;
    for (const StrictRelease::Section& section : one.request.sections) {
      sections.push_back(json::object{{"section", section.section},
                                      {"token", NumberText(section.token)},
                                      {"max_seq", NumberText(section.max_seq)}});
    }
    object["sections"] = std::move(sections);
  }
};

template <typename One>
absl::StatusOr<One> Finished(Members& members, One one) {
  LOCUS_RETURN_IF_ERROR(members.Finish());
  LOCUS_RETURN_IF_ERROR(strict_machine::Check(Call(one)));
  return one;
}

std::vector<StrictOwner> OwnersIn(Members& members, size_t most) {
  std::vector<StrictOwner> owners;
  EachIn(members, "owners", most, "an owner", [&owners](Members& of) {
    StrictOwner owner;
    ReadOwner(of, owner);
    const absl::Status possible = strict_machine::CheckHolder(owner);
    if (!possible.ok()) of.Fail(std::string(possible.message()));
    owners.push_back(std::move(owner));
  });
  return owners;
}

// The owner that "owner" names; nullptr: none.
const StrictOwner* OwnerOf(Members& members, const std::vector<StrictOwner>& owners) {
  const std::optional<uint64_t> place = members.NumberOrNull("owner", kMostSection);
  if (!place) return nullptr;
  if (*place < owners.size()) return &owners[*place];
  members.Fail(absl::StrCat("\"owner\" is ", *place, ", of ", owners.size(), " owners"));
  return nullptr;
}

}  // namespace

std::string BodyOf(const Call& call) {
  json::object object;
  std::visit(AddOne{object}, call);
  return json::serialize(object);
}

absl::StatusOr<strict_machine::Create> ParseStrictCreate(std::string_view body) {
  Members members(body);
  strict_machine::Create create{OptionsIn(members), {}};
  create.past.first_ever = members.BoolOrFalse("first_ever");
  return Finished(members, std::move(create));
}

absl::StatusOr<strict_machine::DeclareRestored> ParseStrictRestored(std::string_view body) {
  Members members(body);
  return Finished(members, strict_machine::DeclareRestored());
}

absl::StatusOr<strict_machine::Take> ParseStrictTake(std::string_view body) {
  Members members(body);
  strict_machine::Take take;
  take.options = OptionsIn(members);
  take.request.owner = OwnerIn(members);
  EachIn(members, "sections", kMostSectionsAtOnce, "a section", [&take](Members& of) {
    StrictTake::Wish& wish = take.request.wishes.emplace_back();
    wish.section = SectionIn(of);
    wish.seen = NumberIn(of, "seen");
  });
  return Finished(members, std::move(take));
}

absl::StatusOr<strict_machine::Extend> ParseStrictExtend(std::string_view body) {
  Members members(body);
  strict_machine::Extend extend;
  extend.options = OptionsIn(members);
  extend.request.owner = OwnerIn(members);
  EachIn(members, "sections", kMostSectionsAtOnce, "a section", [&extend](Members& of) {
    StrictExtend::Section& section = extend.request.sections.emplace_back();
    section.section = SectionIn(of);
    section.token = NumberIn(of, "token");
    section.max_seq = NumberIn(of, "max_seq");
    section.raise_to = NumberIn(of, "raise_to", UINT64_MAX);
  });
  return Finished(members, std::move(extend));
}

absl::StatusOr<strict_machine::Release> ParseStrictRelease(std::string_view body) {
  Members members(body);
  strict_machine::Release release;
  release.options = OptionsIn(members);
  release.request.owner = OwnerIn(members);
  release.request.successor = members.Text("successor", 64);
  EachIn(members, "sections", kMostSectionsAtOnce, "a section", [&release](Members& of) {
    StrictRelease::Section& section = release.request.sections.emplace_back();
    section.section = SectionIn(of);
    section.token = NumberIn(of, "token");
    section.max_seq = NumberIn(of, "max_seq");
  });
  return Finished(members, std::move(release));
}

std::string BodyOf(const StrictReply<StrictGrant>& reply) {
  json::array owners, sections;
  std::map<StrictOwner, size_t, strict_machine::OwnerOrder> places;
  for (const StrictGrant& grant : reply.items) {
    json::object item{{"section", grant.section},
                      {"verdict", Json(kVerdicts[static_cast<size_t>(grant.verdict)])}};
    item["owner"] = nullptr;
    if (!grant.holder.name.empty()) {
      const auto [at, is_new] = places.try_emplace(grant.holder, owners.size());
      if (is_new) owners.push_back(ObjectOf(grant.holder));
      item["owner"] = at->second;
    }
    if (grant.verdict == Verdict::kGranted) {
      item["token"] = NumberText(grant.token);
      item["start"] = NumberText(grant.start);
      item["max_seq"] = NumberText(grant.max_seq);
    } else {
      item["wait_ms"] = absl::ToInt64Milliseconds(grant.wait);
    }
    sections.push_back(std::move(item));
  }
  return json::serialize(json::object{{"table_version", NumberText(reply.table_version)},
                                      {"loss_noticed", reply.loss_noticed},
                                      {"owners", std::move(owners)},
                                      {"sections", std::move(sections)}});
}

absl::StatusOr<StrictReply<StrictGrant>> ParseStrictGrants(std::string_view body) {
  Members members(body);
  StrictReply<StrictGrant> reply;
  reply.table_version = NumberIn(members, "table_version", UINT64_MAX);
  reply.loss_noticed = members.Bool("loss_noticed");
  const std::vector<StrictOwner> owners = OwnersIn(members, kMostSectionsAtOnce);
  EachIn(members, "sections", kMostSectionsAtOnce, "a section", [&](Members& of) {
    StrictGrant& grant = reply.items.emplace_back();
    grant.section = SectionIn(of);
    const std::string verdict = of.Text("verdict", 16);
    size_t index = 0;
    while (index < kVerdicts.size() && kVerdicts[index] != verdict) ++index;
    if (index == kVerdicts.size()) {
      return of.Fail(absl::StrCat("\"verdict\" is ", Quoted(verdict),
                                  "; it must be granted, held or resting"));
    }
    grant.verdict = static_cast<Verdict>(index);
    if (const StrictOwner* holder = OwnerOf(of, owners)) grant.holder = *holder;
    if (grant.verdict == Verdict::kGranted) {
      grant.token = NumberIn(of, "token");
      grant.start = NumberIn(of, "start");
      grant.max_seq = NumberIn(of, "max_seq");
    } else {
      grant.wait = absl::Milliseconds(static_cast<int64_t>(of.Number("wait_ms", kMostTtlMs)));
    }
  });
  LOCUS_RETURN_IF_ERROR(members.Finish());
  return reply;
}

std::string BodyOf(const StrictReply<StrictExtended>& reply) {
  json::array sections;
  for (const StrictExtended& item : reply.items) {
    sections.push_back(json::object{
        {"section", item.section}, {"held", item.held}, {"max_seq", NumberText(item.max_seq)}});
  }
  return json::serialize(json::object{{"table_version", NumberText(reply.table_version)},
                                      {"loss_noticed", reply.loss_noticed},
                                      {"sections", std::move(sections)}});
}

absl::StatusOr<StrictReply<StrictExtended>> ParseStrictExtended(std::string_view body) {
  Members members(body);
  StrictReply<StrictExtended> reply;
  reply.table_version = NumberIn(members, "table_version", UINT64_MAX);
  reply.loss_noticed = members.Bool("loss_noticed");
  EachIn(members, "sections", kMostSectionsAtOnce, "a section", [&reply](Members& of) {
    StrictExtended& item = reply.items.emplace_back();
    item.section = SectionIn(of);
    item.held = of.Bool("held");
    item.max_seq = NumberIn(of, "max_seq");
  });
  LOCUS_RETURN_IF_ERROR(members.Finish());
  return reply;
}

std::string BodyOf(const View& view) {
  json::array owners, sections;
  for (const StrictOwner& holder : view.holders) owners.push_back(ObjectOf(holder));
  for (const View::Section& section : view.sections) {
    json::object item{{"section", section.section},
                      {"max_seq", NumberText(section.max_seq)},
                      {"token", NumberText(section.token)},
                      {"owner", nullptr},
                      {"ends_at_ms", absl::ToUnixMillis(section.ends_at)}};
    if (section.holder > 0) item["owner"] = section.holder - 1;
    sections.push_back(std::move(item));
  }
  return json::serialize(json::object{{"options", ObjectOf(view.set.options)},
                                      {"now_ms", absl::ToUnixMillis(view.now)},
                                      {"rest_until_ms", absl::ToUnixMillis(view.set.rest_until)},
                                      {"losses", NumberText(view.set.losses)},
                                      {"table_version", NumberText(view.set.table_version)},
                                      {"owners", std::move(owners)},
                                      {"sections", std::move(sections)}});
}

absl::StatusOr<StrictSetView> ParseStrictView(std::string_view body) {
  Members members(body);
  StrictSetView view;
  view.options = OptionsIn(members);
  view.now = members.Time("now_ms");
  view.rest_until = members.Time("rest_until_ms");
  view.losses = NumberIn(members, "losses", UINT64_MAX);
  view.table_version = NumberIn(members, "table_version", UINT64_MAX);
  const std::vector<StrictOwner> owners = OwnersIn(members, strict_machine::kMostHolders);
  EachIn(members, "sections", strict_machine::kMostSections, "a section", [&](Members& of) {
    StrictSectionView section;
    section.section = SectionIn(of);
    section.max_seq = NumberIn(of, "max_seq");
    section.token = NumberIn(of, "token");
    section.ends_at = of.Time("ends_at_ms");
    if (const StrictOwner* holder = OwnerOf(of, owners); holder != nullptr) {
      if (strict_machine::IsSuccessor(*holder)) {
        section.successor = holder->name;
      } else {
        section.owner = *holder;
      }
    }
    if (!view.sections.empty() && view.sections.back().section >= section.section) {
      of.Fail(absl::StrCat("section ", section.section, " is not after the one before"));
    }
    view.sections.push_back(std::move(section));
  });
  LOCUS_RETURN_IF_ERROR(members.Finish());
  LOCUS_RETURN_IF_ERROR(view.options.Check());
  if (!view.sections.empty() && view.sections.back().section >= view.options.sections()) {
    return absl::InvalidArgumentError(
        absl::StrCat("section ", view.sections.back().section, " of ", view.options.sections()));
  }
  return view;
}

}  // namespace locus::cluster_api
