// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/strict/strict_status.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/text/json_text.h"

namespace locus::locusd {
namespace {

// Neighbouring sections as [{"first", "last"}], of which the first kMostRanges are listed.
class Ranges {
 public:
  void Add(uint32_t section) {
    ++count_;
    if (last_ && *last_ + 1 == section) {
      last_ = section;
      return;
    }
    Close();
    first_ = section;
    last_ = section;
  }
  uint32_t count() const { return count_; }
  std::string ToJson() {
    Close();
    return absl::StrCat("[", text_, "]");
  }

 private:
  void Close() {
    if (last_ && listed_ < StrictStatus::kMostRanges) {
      ++listed_;
      absl::StrAppend(&text_, text_.empty() ? "" : ",", "{\"first\":", first_, ",\"last\":", *last_,
                      "}");
    }
    last_.reset();
  }

  uint32_t count_ = 0;
  size_t listed_ = 0;
  uint32_t first_ = 0;
  std::optional<uint32_t> last_;
  std::string text_;
};

struct Node {
  StrictPeer peer;
  bool heard = false;
  uint64_t rate = 0;  // numbers a second
  Ranges ranges;
};

std::string Milliseconds(const std::optional<absl::Duration>& duration) {
  if (!duration || *duration == absl::InfiniteDuration()) return "null";
  return absl::StrCat(absl::ToInt64Milliseconds(*duration));
}

const char* Word(bool value) { return value ? "true" : "false"; }

// By name; two nodes of one name are told apart by their addresses.
using Nodes = std::map<std::pair<std::string, std::string>, Node>;

std::string NodesJson(Nodes& nodes, const StrictPeer& self) {
  std::string text;
  for (auto& [key, node] : nodes) {
    absl::StrAppend(
        &text, text.empty() ? "" : ",", "{\"name\":", internal::JsonQuoted(node.peer.name),
        ",\"address\":", internal::JsonQuoted(node.peer.address), ",\"weight\":", node.peer.weight,
        ",\"self\":", Word(node.peer == self), ",\"heard\":", Word(node.heard),
        ",\"sections\":", node.ranges.count(), ",\"numbers_per_second\":", node.rate,
        ",\"ranges\":", node.ranges.ToJson(), "}");
  }
  return absl::StrCat("[", text, "]");
}

}  // namespace

std::string ToJson(const StrictStatus& status) {
  Nodes nodes;
  auto node_of = [&nodes](const StrictPeer& peer) -> Node& {
    Node& node = nodes[{peer.name, peer.address}];
    if (node.peer.name.empty()) node.peer = peer;
    return node;
  };
  node_of(status.self).heard = true;
  for (const StrictPeer& peer : status.live) node_of(peer).heard = true;
  Ranges free;
  std::map<std::string, Ranges> moving;
  // A set may have a million sections: no name is looked up for each.
  auto load = status.loads.begin();
  auto move = status.moving.begin();
  std::map<const StrictTable::Owner*, Node*> known;  // of the table's owners, which are few
  for (uint32_t section = 0; section < status.table->sections(); ++section) {
    while (load != status.loads.end() && load->first < section) ++load;
    while (move != status.moving.end() && move->first < section) ++move;
    const StrictTable::Owner* const owner = status.table->OwnerOf(section);
    if (move != status.moving.end() && move->first == section) {
      moving[move->second].Add(section);
    } else if (owner == nullptr) {
      free.Add(section);
    } else {
      Node*& node = known[owner];
      if (node == nullptr) node = &node_of({owner->name, owner->address, 0});
      node->ranges.Add(section);
      if (load != status.loads.end() && load->first == section) node->rate += load->second;
    }
  }
  std::string handed_over;
  for (auto& [to, ranges] : moving) {
    absl::StrAppend(&handed_over, handed_over.empty() ? "" : ",",
                    "{\"to\":", internal::JsonQuoted(to), ",\"sections\":", ranges.count(),
                    ",\"ranges\":", ranges.ToJson(), "}");
  }
  const StrictSetOptions& options = status.options;
  return absl::StrCat(
      "{\"set\":\"", status.set.str(), "\",\"node\":", internal::JsonQuoted(status.self.name),
      ",\"open\":", Word(status.open), ",\"takes\":", Word(status.takes), ",\"first_uid\":\"",
      options.first_uid, "\",\"uids\":\"", options.uids,
      "\",\"section_size\":", options.section_size, ",\"sections\":", options.sections(),
      ",\"step\":\"", options.step, "\",\"ttl_ms\":", absl::ToInt64Milliseconds(options.ttl),
      ",\"table_version\":\"", status.table->version(),
      "\",\"looked_ms\":", Milliseconds(status.looked),
      ",\"rests_ms\":", Milliseconds(status.rests),
      ",\"losses\":", status.losses ? absl::StrCat(*status.losses) : "null",
      ",\"ownership_left_ms\":", Milliseconds(status.left),
      ",\"nodes\":", NodesJson(nodes, status.self), ",\"handed_over\":[", handed_over,
      "],\"free\":{\"sections\":", free.count(), ",\"ranges\":", free.ToJson(), "}}");
}

}  // namespace locus::locusd
