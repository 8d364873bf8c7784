// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CONSOLE_JSON_TEXT_H_
#define LOCUS_APPS_LOCUSD_CONSOLE_JSON_TEXT_H_

#include <boost/json/string.hpp>
#include <string>
#include <string_view>

#include "absl/strings/string_view.h"

namespace locus::locusd {

inline boost::json::string JsonText(std::string_view text) {
  return boost::json::string(text.data(), text.size());
}
inline boost::json::string JsonText(absl::string_view text) {
  return boost::json::string(text.data(), text.size());
}
inline boost::json::string JsonText(const std::string& text) {
  return boost::json::string(text.data(), text.size());
}
inline boost::json::string JsonText(const char* text) { return boost::json::string(text); }

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CONSOLE_JSON_TEXT_H_
