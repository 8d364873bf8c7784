// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SOURCE_HTTP_TABLE_SERVER_H_
#define LOCUS_TESTS_SOURCE_HTTP_TABLE_SERVER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace locus {

// An HTTP/1.1 server of a test's own, on a free port of 127.0.0.1, in threads of this process. It
// has one document, at any path.
// Thread safety: all methods may be called from any thread, but for Start and Kill.
class HttpTableServer {
 public:
  struct Tls {
    std::string certificate_file;
    std::string key_file;
    std::string client_ca_file = {};  // not empty: clients must show a certificate of it
  };
  enum class Fault {
    kNone,
    kStall,         // takes the request, and says nothing
    kGarbage,       // answers something that is no HTTP
    kCutHead,       // closes within the head
    kCutBody,       // closes within the body
    kDrip,          // sends the body by the byte, 20 ms apart
    kNoLength,      // ends the body by closing, without having told its length
    kLongLength,    // says that the body is longer than any table
    kEndlessBody,   // chunks without an end
    kCloseAfter,    // closes after each answer, without having said so
    kCloseUnheard,  // takes one request of a connection, closes when the second comes
  };
  struct Behaviour {
    Fault fault = Fault::kNone;
    unsigned status = 0;  // 0: as it must be
    std::vector<std::string> header_lines = {};
    enum class Validator {
      kETag,
      kWeakETag,
      kRandomETag,
      kLastModified,
      kFreshLastModified,  // as if it had been changed at this moment
      kNone
    };
    Validator validator = Validator::kETag;
    bool chunked = false;
    bool hold = false;       // honours Prefer: wait
    std::string token = {};  // 401 without it
  };

  explicit HttpTableServer(std::optional<Tls> tls = std::nullopt);
  ~HttpTableServer();

  // Listens (again, on the same port); fails the test where it cannot.
  void Start();
  // Resets every connection, and listens no more.
  void Kill();

  void SetDocument(const std::string& document);
  void RemoveDocument();  // 404
  void Behave(const Behaviour& behaviour);

  uint16_t port() const;
  // With "127.0.0.1", or another name of this host.
  std::string url(const std::string& host = "127.0.0.1") const;

  int held() const;  // requests that are held right now
  int connections() const;
  // Each as it came: the request line, then header lines, by line breaks.
  std::vector<std::string> requests() const;

 private:
  class Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus

#endif  // LOCUS_TESTS_SOURCE_HTTP_TABLE_SERVER_H_
