// SPDX-License-Identifier: Apache-2.0
// The page that is built in, against the files that it was built from.
#include "apps/locusd/console/page.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace locus::locusd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kDist[] = LOCUS_PROJECT_DIR "/apps/locusd/console/web/dist";

std::string HeaderOf(const http::ServerAnswer& answer, const std::string& name) {
  for (const auto& [each, value] : answer.headers) {
    if (each == name) return value;
  }
  return "";
}

http::ServerAnswer Ask(const char* path, const char* known = "") {
  http::ServerRequest request;
  request.method = "GET";
  request.path = path;
  request.headers = {{"If-None-Match", known}};
  return AnswerWithPage(*FindPageFile(path), request);
}

TEST(PageTest, EachFileOfTheBundle_IsThere_ByteForByte) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kDist)) {
    if (!entry.is_regular_file()) continue;
    ++files;
    const std::string path = "/" + std::filesystem::relative(entry.path(), kDist).string();
    const PageFile* const file = FindPageFile(path);
    ASSERT_NE(file, nullptr) << path;
    std::ifstream in(entry.path(), std::ios::binary);
    std::ostringstream bytes;
    bytes << in.rdbuf();
    EXPECT_TRUE(bytes.str() == file->body) << path;
  }
  EXPECT_EQ(files, PageFiles().size());
  EXPECT_EQ(FindPageFile("/nothing"), nullptr);
  EXPECT_EQ(FindPageFile("/../page.cc"), nullptr);
}

TEST(PageTest, Slash_IsTheIndex_UnderAStrictPolicy) {
  const http::ServerAnswer answer = Ask("/");
  EXPECT_EQ(answer.status, 200u);
  EXPECT_THAT(HeaderOf(answer, "Content-Type"), HasSubstr("text/html"));
  const std::string policy = HeaderOf(answer, "Content-Security-Policy");
  for (const char* part : {"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'",
                           "base-uri 'none'", "form-action 'none'"}) {
    EXPECT_THAT(policy, HasSubstr(part));
  }
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
  EXPECT_EQ(HeaderOf(answer, "X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(HeaderOf(answer, "Referrer-Policy"), "no-referrer");
  EXPECT_EQ(HeaderOf(answer, "Cache-Control"), "no-cache");
}

// What the policy forbids would only be seen in a browser.
TEST(PageTest, Index_NamesFilesOfTheBundleOnly_AndHasNoScriptOfItsOwn) {
  const std::string html(FindPageFile("/")->body);
  EXPECT_THAT(html, Not(HasSubstr("http://")));
  EXPECT_THAT(html, Not(HasSubstr("https://")));
  EXPECT_THAT(html, Not(HasSubstr("<style")));
  EXPECT_THAT(html, Not(HasSubstr("style=")));
  for (size_t at = 0; (at = html.find("<script", at)) != std::string::npos; ++at) {
    EXPECT_THAT(html.substr(at, html.find('>', at) - at), HasSubstr("src="));
  }
}

TEST(PageTest, WhatTheClientHas_IsNotSentAgain) {
  const std::string etag = HeaderOf(Ask("/"), "ETag");
  ASSERT_EQ(etag.size(), 34u);
  const http::ServerAnswer again = Ask("/", ("\"x\", W/" + etag).c_str());
  EXPECT_EQ(again.status, 304u);
  EXPECT_EQ(again.body, "");
  EXPECT_EQ(HeaderOf(again, "ETag"), etag);
  EXPECT_EQ(Ask("/", "\"x\"").status, 200u);
}

}  // namespace
}  // namespace locus::locusd
