// SPDX-License-Identifier: Apache-2.0
// Files of certificates and keys: what is read of them, and which are refused.
#include "src/http/tls_context.h"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/authority.h"
#include "tests/support/temporary_directory.h"

namespace locus::http {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(TlsContextTest, NotAfter_IsTheFirstEndOfTheChain) {
  const TemporaryDirectory directory;
  const Authority authority(directory, "authority");
  EXPECT_EQ((*TlsContext::Load({authority.file(), "", ""}))->not_after(), absl::InfiniteFuture());
  const std::string certificate = authority.Sign("server.pem", "IP:127.0.0.1");
  auto left = [&] {
    auto tls = TlsContext::Load({authority.file(), certificate, certificate + ".key"});
    EXPECT_TRUE(tls.ok()) << tls.status();
    return tls.ok() ? (*tls)->not_after() - absl::Now() : absl::ZeroDuration();
  };
  EXPECT_GT(left(), absl::Hours(47));
  EXPECT_LE(left(), absl::Hours(48));
  // An intermediate authority that ends before.
  const std::string other = directory / "other.pem";
  ASSERT_EQ(std::system(absl::StrCat("openssl req -x509 -newkey ed25519 -nodes -days 1 -subj /CN=o "
                                     "-keyout ",
                                     other, ".key -out ", other, " 2> /dev/null && cat ", other,
                                     " >> ", certificate)
                            .c_str()),
            0);
  EXPECT_GT(left(), absl::Hours(23));
  EXPECT_LE(left(), absl::Hours(24));
}

TEST(TlsContextTest, FilesThatAreNone_AreRefusedAtOnce) {
  const TemporaryDirectory directory;
  const Authority authority(directory, "authority");
  const std::string certificate = authority.Sign("server.pem", "IP:127.0.0.1");
  auto why = [&](const TlsFiles& files) {
    const auto tls = TlsContext::Load(files);
    EXPECT_EQ(tls.status().code(), absl::StatusCode::kFailedPrecondition);
    return std::string(tls.status().message());
  };
  const std::string fifo = directory / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  for (const std::string& wrong : {std::string(directory / "."), fifo}) {
    EXPECT_THAT(why({"", wrong, certificate + ".key"}), HasSubstr("is not a regular file"));
    EXPECT_THAT(why({wrong, "", ""}), HasSubstr("is not a regular file"));
    EXPECT_THAT(why({"", certificate, wrong}), HasSubstr(wrong));
  }
}

TEST(TlsContextTest, KeyOfAnotherKindOrWithAPassPhrase_IsRefused) {
  const TemporaryDirectory directory;
  const Authority authority(directory, "authority");
  const std::string certificate = authority.Sign("server.pem", "IP:127.0.0.1");  // of RSA
  auto why = [&](const std::string& options) {
    const std::string key = directory / "other.key";
    fs::remove(key);
    EXPECT_EQ(
        std::system(absl::StrCat("umask 077; openssl genpkey -out ", key, options, " 2> /dev/null")
                        .c_str()),
        0);
    const auto tls = TlsContext::Load({"", certificate, key});
    EXPECT_EQ(tls.status().code(), absl::StatusCode::kFailedPrecondition) << options;
    return std::string(tls.status().message());
  };
  EXPECT_THAT(why(" -algorithm ed25519"), HasSubstr("no key that matches"));
  EXPECT_THAT(why(" -algorithm EC -pkeyopt ec_paramgen_curve:P-256"),
              HasSubstr("no key that matches"));
  EXPECT_THAT(why(" -algorithm RSA"), HasSubstr("no key that matches"));
  // OpenSSL would ask at the terminal.
  EXPECT_THAT(why(" -algorithm RSA -aes256 -pass pass:secret-of-the-key"),
              AllOf(HasSubstr("is encrypted"), Not(HasSubstr("secret"))));
}

}  // namespace
}  // namespace locus::http
