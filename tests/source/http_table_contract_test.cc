// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/engine/http.h"
#include "tests/source/http_table_server.h"
#include "tests/source/table_source_contract.h"

namespace locus {
namespace {

// There is no publisher for HTTP: the server's operator puts documents there.
class HttpUnderTest : public TablePlaceUnderTest {
 public:
  explicit HttpUnderTest(bool hold) {
    HttpTableServer::Behaviour behaviour;
    behaviour.hold = hold;
    server_.Behave(behaviour);
    server_.Start();
  }
  std::unique_ptr<TableSource> Follow() override {
    HttpTableOptions options;
    options.url = server_.url();
    options.poll_every = absl::Milliseconds(20);
    return HttpTableSource::Open(options).value();
  }
  std::unique_ptr<TablePublisher> MakePublisher() override { return nullptr; }
  bool PutRaw(const std::string& document) override {
    server_.SetDocument(document);
    return true;
  }

 private:
  HttpTableServer server_;
};

TablePlaceKind Kind(const char* name, bool hold) {
  return {.name = name,
          .make = [hold] { return std::make_unique<HttpUnderTest>(hold); },
          .takes_any_text = true};
}
INSTANTIATE_TEST_SUITE_P(Http, TableSourceContract,
                         ::testing::Values(Kind("held", true), Kind("polled", false)));

}  // namespace
}  // namespace locus
