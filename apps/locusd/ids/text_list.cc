// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/text_list.h"

#include <boost/json/basic_parser_impl.hpp>
#include <string>

namespace locus::locusd {
namespace {

namespace json = boost::json;
using boost::json::error_code;
using Text = boost::json::string_view;

// What the parser of Boost.JSON tells as it reads. It gives up on whatever is not expected.
class Listener {
 public:
  static constexpr size_t max_object_size = 1;
  static constexpr size_t max_array_size = SIZE_MAX;
  static constexpr size_t max_key_size = 64;
  static constexpr size_t max_string_size = SIZE_MAX;

  Listener(std::string_view name, size_t most, absl::FunctionRef<bool(std::string_view)> visit)
      : name_(name), left_(most), visit_(visit) {}

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_object_begin(error_code& error) { return Expect(Place::kOutside, Place::kObject, error); }
  bool on_object_end(size_t, error_code& error) {
    return Expect(Place::kBehindList, Place::kBehind, error);
  }
  bool on_array_begin(error_code& error) { return Expect(Place::kMember, Place::kList, error); }
  bool on_array_end(size_t size, error_code& error) {
    return size > 0 ? Expect(Place::kList, Place::kBehindList, error) : GiveUp(error);
  }
  // In parts where the text has escapes.
  bool on_key_part(Text part, size_t, error_code&) { return Keep(part); }
  bool on_key(Text rest, size_t, error_code& error) {
    return Whole(rest) == name_ ? Expect(Place::kObject, Place::kMember, error) : GiveUp(error);
  }
  bool on_string_part(Text part, size_t, error_code&) { return Keep(part); }
  bool on_string(Text rest, size_t, error_code& error) {
    if (place_ != Place::kList || left_ == 0 || !visit_(Whole(rest))) return GiveUp(error);
    --left_;
    return true;
  }
  bool on_number_part(Text, error_code& error) { return GiveUp(error); }
  bool on_int64(int64_t, Text, error_code& error) { return GiveUp(error); }
  bool on_uint64(uint64_t, Text, error_code& error) { return GiveUp(error); }
  bool on_double(double, Text, error_code& error) { return GiveUp(error); }
  bool on_bool(bool, error_code& error) { return GiveUp(error); }
  bool on_null(error_code& error) { return GiveUp(error); }
  bool on_comment_part(Text, error_code& error) { return GiveUp(error); }
  bool on_comment(Text, error_code& error) { return GiveUp(error); }

 private:
  enum class Place { kOutside, kObject, kMember, kList, kBehindList, kBehind };

  static bool GiveUp(error_code& error) {
    error = json::error::syntax;
    return false;
  }
  bool Expect(Place place, Place next, error_code& error) {
    if (place_ != place) return GiveUp(error);
    place_ = next;
    return true;
  }
  bool Keep(Text part) {
    if (!is_kept_) kept_.clear();
    is_kept_ = true;
    kept_.append(part.data(), part.size());
    return true;
  }
  std::string_view Whole(Text rest) {
    if (!is_kept_) return {rest.data(), rest.size()};
    is_kept_ = false;
    return kept_.append(rest.data(), rest.size());
  }

  const std::string_view name_;
  size_t left_;
  const absl::FunctionRef<bool(std::string_view)> visit_;
  Place place_ = Place::kOutside;
  bool is_kept_ = false;  // the text began in kept_
  std::string kept_;
};

}  // namespace

bool ReadTextList(std::string_view body, std::string_view name, size_t most,
                  absl::FunctionRef<bool(std::string_view)> visit) {
  json::basic_parser<Listener> parser({}, name, most, visit);
  error_code error;
  const size_t read = parser.write_some(false, body.data(), body.size(), error);
  return !error && read == body.size() && parser.done();
}

}  // namespace locus::locusd
