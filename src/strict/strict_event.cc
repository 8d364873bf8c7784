// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "locus/strict_sequencer.h"

namespace locus {

std::string_view ToString(StrictEvent::Kind kind) {
  switch (kind) {
    case StrictEvent::Kind::kTaken:
      return "taken";
    case StrictEvent::Kind::kReleased:
      return "released";
    case StrictEvent::Kind::kLost:
      return "lost";
    case StrictEvent::Kind::kExtendFailed:
      return "extend_failed";
    case StrictEvent::Kind::kLossNoticed:
      return "loss_noticed";
    case StrictEvent::Kind::kUsedUp:
      return "used_up";
  }
  return "?";
}

}  // namespace locus
