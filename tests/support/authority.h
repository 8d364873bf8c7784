// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SUPPORT_AUTHORITY_H_
#define LOCUS_TESTS_SUPPORT_AUTHORITY_H_

#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_directory.h"

namespace locus {

// An authority, and certificates that it signs, made by the program openssl; PEM files in a
// directory that outlives it.
class Authority {
 public:
  Authority(const TemporaryDirectory& directory, const std::string& name)
      : directory_(directory), file_(directory / (name + ".pem")) {
    OpenSsl(absl::StrCat("req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=", name, " -keyout ",
                         file_, ".key -out ", file_));
  }
  const std::string& file() const { return file_; }

  // For `names`, as subjectAltName has them. Its key is beside it, NAME.key.
  std::string Sign(const std::string& name, const std::string& names) const {
    std::string signed_file = directory_ / name;
    OpenSsl(absl::StrCat("req -newkey rsa:2048 -nodes -subj /CN=", name, " -addext subjectAltName=",
                         names, " -keyout ", signed_file, ".key -out ", signed_file, ".csr"));
    OpenSsl(absl::StrCat("x509 -req -in ", signed_file, ".csr -CA ", file_, " -CAkey ", file_,
                         ".key -CAcreateserial -days 2 -copy_extensions copy -out ", signed_file));
    return signed_file;
  }

 private:
  void OpenSsl(const std::string& words) const {
    ASSERT_EQ(
        std::system(absl::StrCat("openssl ", words, " >> ", directory_ / "log", " 2>&1").c_str()),
        0)
        << words;
  }
  const TemporaryDirectory& directory_;
  const std::string file_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_SUPPORT_AUTHORITY_H_
