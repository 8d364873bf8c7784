// SPDX-License-Identifier: Apache-2.0
#include "src/http/tls_context.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/address.hpp>
#include <cstring>
#include <ctime>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "src/base/os/check.h"
#include "src/base/os/private_file.h"
#include "src/base/os/regular_file.h"
#include "src/base/text/text.h"
#include "src/http/tls_context_rep.h"

namespace locus::http {

using internal::PrivateText;
using internal::ReadPrivateFile;
using internal::ReadRegularFile;
using internal::ToAbsl;

namespace {

namespace asio = boost::asio;
using boost::system::error_code;

constexpr size_t kLongestPem = 1 << 20;
constexpr size_t kMostCertificateBytes = 8 << 20;  // authorities of a whole system, and more

absl::Status FileError(const std::string& path, std::string_view why) {
  return absl::FailedPreconditionError(absl::StrCat("TLS file ", path, ": ", ToAbsl(why)));
}

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  absl::StatusOr<std::string> text = ReadRegularFile(path, kMostCertificateBytes);
  return text.ok() ? std::move(text) : FileError(path, std::string(text.status().message()));
}

// In place of OpenSSL's, which asks at the terminal, and waits there. `asked` is a bool.
int NoPassPhrase(char* /*buffer*/, int /*size*/, int /*writes*/, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

absl::Status UseKey(asio::ssl::context& context, const TlsFiles& files, const PrivateText& key) {
  SSL_CTX* const native = context.native_handle();
  bool is_encrypted = false;
  SSL_CTX_set_default_passwd_cb(native, NoPassPhrase);
  SSL_CTX_set_default_passwd_cb_userdata(native, &is_encrypted);
  error_code error;
  context.use_private_key(asio::buffer(key.view().data(), key.view().size()),
                          asio::ssl::context::pem, error);
  SSL_CTX_set_default_passwd_cb_userdata(native, nullptr);
  if (is_encrypted) {
    return FileError(files.key_file, "is encrypted; a key without a pass phrase is needed");
  }
  std::string why = error ? error.message() : "";
  // A key of another kind (RSA, EC) passes unless it is checked.
  if (!error && SSL_CTX_check_private_key(native) != 1) why = "it is of another kind";
  if (why.empty()) return absl::OkStatus();
  return FileError(files.key_file, absl::StrCat("holds no key that matches the certificate in ",
                                                files.certificate_file, ": ", why));
}

absl::Status LoadCertificate(asio::ssl::context& context, const TlsFiles& files) {
  error_code error;
  LOCUS_ASSIGN_OR_RETURN(std::string chain, ReadPem(files.certificate_file));
  context.use_certificate_chain(asio::buffer(chain), error);
  if (error) return FileError(files.certificate_file, "holds no certificate: " + error.message());
  absl::StatusOr<PrivateText> key = ReadPrivateFile(files.key_file, kLongestPem);
  if (!key.ok()) return FileError(files.key_file, std::string(key.status().message()));
  return UseKey(context, files, *key);
}

absl::Time EndOf(const X509* certificate) {
  std::tm end = {};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) != 1) return absl::InfiniteFuture();
  return absl::FromTM(end, absl::UTCTimeZone());
}

}  // namespace

absl::Time TlsContext::not_after() const {
  SSL_CTX* const context = rep_->context.native_handle();
  const X509* const certificate = SSL_CTX_get0_certificate(context);
  if (certificate == nullptr) return absl::InfiniteFuture();
  absl::Time end = EndOf(certificate);
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get_extra_chain_certs(context, &chain);
  for (int i = 0; i < sk_X509_num(chain); ++i) end = std::min(end, EndOf(sk_X509_value(chain, i)));
  return end;
}

absl::Status TlsContext::CheckCertificateFor(const std::string& host) const {
  SSL_CTX* const context = rep_->context.native_handle();
  X509* const certificate = SSL_CTX_get0_certificate(context);
  LOCUS_CHECK(certificate != nullptr);
  error_code no_address;
  asio::ip::make_address(host, no_address);
  const int named = no_address ? X509_check_host(certificate, host.data(), host.size(), 0, nullptr)
                               : X509_check_ip_asc(certificate, host.c_str(), 0);
  if (named != 1) {
    return absl::FailedPreconditionError(
        absl::StrCat("the certificate does not name ", internal::Quoted(host)));
  }
  STACK_OF(X509)* chain = nullptr;
  SSL_CTX_get_extra_chain_certs(context, &chain);
  for (const int purpose : {X509_PURPOSE_SSL_SERVER, X509_PURPOSE_SSL_CLIENT}) {
    const std::unique_ptr<X509_STORE_CTX, decltype(&X509_STORE_CTX_free)> check(
        X509_STORE_CTX_new(), &X509_STORE_CTX_free);
    if (check == nullptr || X509_STORE_CTX_init(check.get(), SSL_CTX_get_cert_store(context),
                                                certificate, chain) != 1) {
      return absl::ResourceExhaustedError("no memory to verify a certificate");
    }
    X509_STORE_CTX_set_flags(check.get(), X509_V_FLAG_NO_CHECK_TIME);
    X509_STORE_CTX_set_purpose(check.get(), purpose);
    if (X509_verify_cert(check.get()) == 1) continue;
    const int error = X509_STORE_CTX_get_error(check.get());
    ERR_clear_error();
    return absl::FailedPreconditionError(
        absl::StrCat("the certificate is not one of the authority, as that of a ",
                     purpose == X509_PURPOSE_SSL_SERVER ? "server: " : "client: ",
                     X509_verify_cert_error_string(error)));
  }
  return absl::OkStatus();
}

std::string WhyHandshakeFailed(const SSL* connection, const error_code& error) {
  std::string why = error.message();
  const long verified = SSL_get_verify_result(connection);
  if (verified != X509_V_OK) absl::StrAppend(&why, ": ", X509_verify_cert_error_string(verified));
  if (verified == X509_V_ERR_CERT_NOT_YET_VALID || verified == X509_V_ERR_CERT_HAS_EXPIRED) {
    absl::StrAppend(&why, " (this machine's clock shows ",
                    absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::Now(), absl::UTCTimeZone()),
                    ": if that is wrong, mend its NTP)");
  }
  const int reason = error.category() == asio::error::get_ssl_category()
                         ? ERR_GET_REASON(static_cast<unsigned long>(error.value()))
                         : 0;
  if (reason == SSL_R_SSLV3_ALERT_BAD_CERTIFICATE ||
      reason == SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED ||
      reason == SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN || reason == SSL_R_TLSV1_ALERT_UNKNOWN_CA) {
    why += " (the other side refuses this side's certificate; its log says why)";
  }
  return why;
}

TlsContext::TlsContext(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}
TlsContext::~TlsContext() = default;

absl::StatusOr<std::unique_ptr<TlsContext>> TlsContext::Load(const TlsFiles& files) {
  std::unique_ptr<Rep> rep;
  try {
    rep = std::make_unique<Rep>();
  } catch (const boost::system::system_error& error) {
    return absl::UnavailableError(absl::StrCat("TLS could not be set up: ", error.what()));
  }
  error_code error;
  rep->context.set_options(asio::ssl::context::default_workarounds, error);
  SSL_CTX_set_min_proto_version(rep->context.native_handle(), TLS1_2_VERSION);
  rep->context.set_verify_mode(asio::ssl::verify_peer, error);
  if (files.ca_file.empty()) {
    rep->context.set_default_verify_paths(error);
    if (error) return FileError("of the system's authorities", error.message());
  } else {
    LOCUS_ASSIGN_OR_RETURN(std::string authorities, ReadPem(files.ca_file));
    rep->context.add_certificate_authority(asio::buffer(authorities), error);
    if (error) return FileError(files.ca_file, "holds no certificate: " + error.message());
  }
  if (!files.certificate_file.empty()) {
    LOCUS_RETURN_IF_ERROR(LoadCertificate(rep->context, files));
  }
  ERR_clear_error();
  return std::unique_ptr<TlsContext>(new TlsContext(std::move(rep)));
}

}  // namespace locus::http
