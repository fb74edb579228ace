#include "weir/aws/signing/key_caching_signer.h"

#include <fmt/compile.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weir/aws/signing/signature_headers.h"
#include "weir/aws/signing/signing_key_cache.h"
#include "weir/codec/sha256.h"

namespace weir {
namespace {

using internal::kAuthorizationHeader;
using internal::kDateHeader;
using internal::kTokenHeader;

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr UnixMillis kYear10000{253'402'300'800'000};

/// Headers that this signer does not handle: those that a proxy may change, which are not signed,
/// and those that aws-c-auth rejects or skips (aws_signing.c: s_skipped_headers,
/// s_forbidden_headers).
constexpr std::array<std::string_view, 13> kNotOurs = {"connection",
                                                       "content-length",
                                                       "expect",
                                                       "sec-websocket-key",
                                                       "sec-websocket-version",
                                                       "sec-websocket-protocol",
                                                       "transfer-encoding",
                                                       "upgrade",
                                                       "user-agent",
                                                       "x-amz-content-sha256",
                                                       "x-amz-region-set",
                                                       "x-amz-s3session-token",
                                                       "x-amzn-trace-id"};

struct Field {
  std::string_view name, value;
};
using Fields = std::vector<Field>;

template <std::size_t N>
std::string_view ViewOf(const std::array<char, N>& text) {
  return {text.data(), N};
}

/// A time in ISO 8601's basic format. REQUIRES: the year has four digits.
class SigningTime {
 public:
  explicit SigningTime(UnixMillis now) {
    using std::chrono::days, std::chrono::seconds;
    const std::chrono::sys_time<seconds> at(std::chrono::floor<seconds>(milliseconds(now.value)));
    const auto day = std::chrono::floor<days>(at);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss clock(at - day);
    WriteDigits(0, 4, static_cast<int>(date.year()));
    WriteDigits(4, 2, static_cast<int>(static_cast<unsigned>(date.month())));
    WriteDigits(6, 2, static_cast<int>(static_cast<unsigned>(date.day())));
    WriteDigits(9, 2, static_cast<int>(clock.hours().count()));
    WriteDigits(11, 2, static_cast<int>(clock.minutes().count()));
    WriteDigits(13, 2, static_cast<int>(clock.seconds().count()));
  }

  std::string_view text() const { return ViewOf(text_); }
  std::string_view day() const { return text().substr(0, 8); }

 private:
  void WriteDigits(std::size_t at, std::size_t digits, int number) {
    for (; digits > 0; number /= 10) text_[at + --digits] = static_cast<char>('0' + number % 10);
  }

  std::array<char, 16> text_{'0', '0', '0', '0', '0', '0', '0', '0',
                             'T', '0', '0', '0', '0', '0', '0', 'Z'};
};

/// Returns whether the name is a token of RFC 9110 without upper-case letters.
bool IsLowerToken(std::string_view name) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::ranges::all_of(name, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || kMarks.contains(c);
  });
}

/// Returns whether the value has no control characters, and only single spaces between other
/// characters.
bool IsCanonical(std::string_view value) {
  char before = ' ';
  for (const char c : value) {
    if ((c >= '\0' && c < ' ') || c == '\x7f' || (c == ' ' && before == ' ')) return false;
    before = c;
  }
  return value.empty() || before != ' ';
}

/// Returns the headers to be signed, sorted by name.
Fields FieldsOf(const HttpRequest& request, const Credentials& credentials,
                const SigningTime& time) {
  Fields fields;
  fields.reserve(request.headers.size() + 2);
  for (const HttpHeader& header : request.headers) {
    if (!internal::IsOfSigning(header)) fields.push_back({header.name, header.value});
  }
  fields.push_back({kDateHeader, time.text()});
  const std::string& token = credentials.session_token;
  if (!token.empty()) fields.push_back({kTokenHeader, token});
  std::ranges::sort(fields, {}, &Field::name);
  return fields;
}

bool AreOurs(const Fields& fields) {
  const auto is_ours = [](const Field& field) {
    return IsLowerToken(field.name) && IsCanonical(field.value) &&
           std::ranges::find(kNotOurs, field.name) == kNotOurs.end();
  };
  return std::ranges::all_of(fields, is_ours) &&
         std::ranges::find(fields, "host", &Field::name) != fields.end() &&
         std::ranges::adjacent_find(fields, {}, &Field::name) == fields.end();
}

bool IsOurs(const HttpRequest& request, const Credentials& credentials, UnixMillis now) {
  return request.method == "POST" && request.path == "/" && now >= UnixMillis{0} &&
         now < kYear10000 && !credentials.access_key_id.empty() &&
         !credentials.secret_access_key.empty();
}

std::string NamesOf(const Fields& fields) {
  std::string names;
  names.reserve(128);
  for (const Field& field : fields) {
    if (!names.empty()) names += ';';
    names += field.name;
  }
  return names;
}

std::string CanonicalRequest(const Fields& fields, std::string_view names,
                             std::string_view body_hash) {
  constexpr std::string_view kStart = "POST\n/\n\n";
  std::size_t size = kStart.size() + names.size() + body_hash.size() + 2;
  for (const Field& field : fields) size += field.name.size() + field.value.size() + 2;
  std::string text;
  text.reserve(size);
  text += kStart;
  for (const auto& [name, value] : fields) {
    text.append(name).append(1, ':').append(value).append(1, '\n');
  }
  return text.append(1, '\n').append(names).append(1, '\n').append(body_hash);
}

class KeyCachingSigner final : public Signer {
 public:
  KeyCachingSigner(SigningScope scope, std::unique_ptr<Signer> others)
      : scope_(fmt::format("/{}/{}/aws4_request", scope.region, scope.service)),
        keys_(std::move(scope)),
        others_(std::move(others)) {}

  Status Sign(HttpRequest& request, const Credentials& credentials, UnixMillis now) override;

 private:
  Result<std::string> AuthorizationOf(const Fields& fields, std::string_view body,
                                      const Credentials& credentials, const SigningTime& time);

  const std::string scope_;  ///< the credential scope without the day
  internal::SigningKeyCache keys_;
  const std::unique_ptr<Signer> others_;
};

Result<std::string> KeyCachingSigner::AuthorizationOf(const Fields& fields, std::string_view body,
                                                      const Credentials& credentials,
                                                      const SigningTime& time) {
  using internal::HexOf, internal::Sha256Digest;
  WEIR_ASSIGN_OR_RETURN(const Sha256Digest key,
                        keys_.KeyOf(credentials.secret_access_key, time.day()));
  WEIR_ASSIGN_OR_RETURN(const Sha256Digest body_hash, internal::Sha256({body}));
  const std::string names = NamesOf(fields);
  const std::string canonical = CanonicalRequest(fields, names, ViewOf(HexOf(body_hash)));
  WEIR_ASSIGN_OR_RETURN(const Sha256Digest request_hash, internal::Sha256({canonical}));
  const std::string to_sign = fmt::format(FMT_COMPILE("{}\n{}\n{}{}\n{}"), kAlgorithm, time.text(),
                                          time.day(), scope_, ViewOf(HexOf(request_hash)));
  WEIR_ASSIGN_OR_RETURN(const Sha256Digest signature, internal::HmacSha256(key.view(), to_sign));
  return fmt::format(FMT_COMPILE("{} Credential={}/{}{}, SignedHeaders={}, Signature={}"),
                     kAlgorithm, credentials.access_key_id, time.day(), scope_, names,
                     ViewOf(HexOf(signature)));
}

Status KeyCachingSigner::Sign(HttpRequest& request, const Credentials& credentials,
                              UnixMillis now) {
  if (!IsOurs(request, credentials, now)) return others_->Sign(request, credentials, now);
  const SigningTime time(now);
  const Fields fields = FieldsOf(request, credentials, time);
  if (!AreOurs(fields)) return others_->Sign(request, credentials, now);
  WEIR_ASSIGN_OR_RETURN(std::string authorization,
                        AuthorizationOf(fields, request.body, credentials, time));
  // From here on `fields` dangles, because it refers to the headers.
  std::erase_if(request.headers, internal::IsOfSigning);
  if (!credentials.session_token.empty()) {
    request.headers.push_back({std::string(kTokenHeader), credentials.session_token});
  }
  request.headers.push_back({std::string(kDateHeader), std::string(time.text())});
  request.headers.push_back({std::string(kAuthorizationHeader), std::move(authorization)});
  return {};
}

}  // namespace

std::unique_ptr<Signer> MakeKeyCachingSigner(SigningScope scope, std::unique_ptr<Signer> others) {
  // Without these no request can be signed; `others` returns the error.
  if (scope.region.empty() || scope.service.empty()) return others;
  if (scope.service == "s3") return others;  // its signatures have another form
  return std::make_unique<KeyCachingSigner>(std::move(scope), std::move(others));
}

}  // namespace weir
