// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "tests/engine/etcd/etcd_fixture.h"
#include "tests/support/password_search.h"

namespace locus {
namespace {

// Even without authentication enabled, the password is sent and refused.
void OpenAndSearch(EtcdOptions options) {
  options.user = "somebody";
  options.request_timeout = absl::Seconds(20);
  options.call_timeout = absl::Seconds(60);
  Fill(options.password);
  auto sequencer = EtcdSequencer::Open(options, {});
  explicit_bzero(options.password.data(), options.password.size());
  ASSERT_TRUE(sequencer.ok()) << sequencer.status();
  absl::Status status = (*sequencer)->Next("k").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_EQ((*sequencer)->Stats().logins, 1u);
  Found kept = Search();
  EXPECT_EQ(kept.dumped, 0u);
  EXPECT_EQ(kept.left_out, 1u) << "for the next login";
}

TEST(EtcdPasswordTest, Login_LeavesNoPasswordInACoreDump) { OpenAndSearch(SharedEtcd().options()); }

TEST(EtcdPasswordTest, LoginOverTls_LeavesNoPasswordInACoreDump) {
  TemporaryDirectory files;
  std::string certificate = files / "server.pem", key = files / "server.key";
  ASSERT_EQ(std::system(absl::StrCat("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=x"
                                     " -addext subjectAltName=IP:127.0.0.1 -keyout ",
                                     key, " -out ", certificate, " 2> ", files / "log")
                            .c_str()),
            0);
  EtcdServer server(1, {"--cert-file=" + certificate, "--key-file=" + key}, "https");
  ASSERT_TRUE(server.Start());
  EtcdOptions options = server.options();
  options.tls.enabled = true;
  options.tls.ca_file = certificate;
  OpenAndSearch(options);
}

}  // namespace
}  // namespace locus
