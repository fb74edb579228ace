#include "weir/aws/signing/key_caching_signer.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <rapidcheck.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "weir/aws/signing/sigv4_signer.h"
#include "weir/aws/testing/signer_contract.h"

namespace weir {
namespace {

using Headers = std::vector<HttpHeader>;

std::unique_ptr<Signer> MakeBoth(const CrtRuntime& runtime, SigningScope scope) {
  auto others = MakeSigner(runtime, scope);
  return MakeKeyCachingSigner(std::move(scope), std::move(others));
}

INSTANTIATE_TEST_SUITE_P(KeyCaching, SignerContract,
                         testing::Values(SignerCase{"KeyCaching", &MakeBoth}));

/// Counts the requests that it gets, and passes them on.
class CountingSigner final : public Signer {
 public:
  CountingSigner(Signer& to, int& count) : to_(to), count_(count) {}
  Status Sign(HttpRequest& request, const Credentials& credentials, UnixMillis now) override {
    ++count_;
    return to_.Sign(request, credentials, now);
  }

 private:
  Signer& to_;
  int& count_;
};

/// The inputs of one signing and its result.
struct Signing {
  HttpRequest request;
  Credentials credentials;
  UnixMillis now;
};

constexpr std::int64_t kDay = 86'400'000;
constexpr UnixMillis kMidnight{1'440'892'800'000};  // 2015-08-30T00:00:00Z

// Equal ids or equal secrets must not be confused; one secret is longer than a block of the hash.
Credentials AnyCredentials() {
  static const std::vector<Credentials> all = {
      {"AKID1", "secret1", "", std::nullopt},
      {"AKID1", "secret2", "token/+=", std::nullopt},
      {"AKID2", "secret1", "another", std::nullopt},
      {"AKID3", std::string(100, 's'), std::string(900, 't'), std::nullopt},
      {"AKID3", std::string(99, 's') + 'z', "", std::nullopt}};
  return *rc::gen::elementOf(all);
}

UnixMillis AnyTime() {
  const bool around_midnight = *rc::gen::weightedElement<bool>({{4, true}, {1, false}});
  if (around_midnight) return kMidnight + milliseconds(*rc::gen::inRange(-2, 2));
  return {*rc::gen::inRange<std::int64_t>(0, 253'402'300'800'000)};
}

/// Words of any bytes except spaces and control characters, with single spaces between them.
std::string AnyValue() {
  std::string value;
  for (int words = *rc::gen::inRange(0, 4); words > 0; --words) {
    const auto letter = rc::gen::suchThat(
        rc::gen::arbitrary<char>(), [](char c) { return c != '\x7f' && (c > ' ' || c < '\0'); });
    const auto word = *rc::gen::nonEmpty(rc::gen::container<std::string>(letter));
    value += (value.empty() ? "" : " ") + word;
  }
  return value;
}

Headers AnyHeaders() {
  Headers headers = {{"host", *rc::gen::element<std::string>("h", "h.example:8000")}};
  const auto letter = rc::gen::elementOf(std::string("abxyz09-_.!#$%&'*+^`|~"));
  const auto word = rc::gen::nonEmpty(rc::gen::container<std::string>(letter));
  const auto known =
      rc::gen::element<std::string>("content-type", "x-amz-target", "accept", "x-amzn-query-mode",
                                    "x-amz-date", "x-amz-security-token", "authorization");
  const auto names = *rc::gen::unique<std::vector<std::string>>(rc::gen::oneOf(word, known));
  for (const std::string& name : names) headers.push_back({name, AnyValue()});
  std::swap(headers.front(), headers[*rc::gen::inRange<std::size_t>(0, headers.size())]);
  return headers;
}

Signing AnyOrdinary() {
  return {{.headers = AnyHeaders(), .body = *rc::gen::arbitrary<std::string>()},
          AnyCredentials(),
          AnyTime()};
}

std::optional<Error> ErrorOf(const Status& status) {
  return status ? std::nullopt : std::optional(status.error());
}

class KeyCachingSignerProperty : public testing::Test {
 protected:
  static void SetUpTestSuite() { runtime_ = *CrtRuntime::Start({}); }
  static void TearDownTestSuite() { runtime_.reset(); }

  std::unique_ptr<Signer> MakeCounting() {
    handed_over_ = 0;
    return MakeKeyCachingSigner(scope_, std::make_unique<CountingSigner>(*oracle_, handed_over_));
  }

  /// Signs with both signers, and returns the differences.
  std::string Difference(Signer& signer, const Signing& given) {
    HttpRequest ours = given.request, theirs = given.request;
    const Status our_status = signer.Sign(ours, given.credentials, given.now);
    const Status their_status = oracle_->Sign(theirs, given.credentials, given.now);
    if (ErrorOf(our_status) != ErrorOf(their_status)) return "status";
    if (ours.headers != theirs.headers) return "headers";
    if (ours.body != given.request.body) return "body";
    return ours.method + ours.path == theirs.method + theirs.path ? "" : "request line";
  }

  static inline std::unique_ptr<CrtRuntime> runtime_;
  const SigningScope scope_{.region = "eu-west-1", .service = "dynamodb"};
  const std::unique_ptr<Signer> oracle_ = MakeSigner(*runtime_, scope_);
  int handed_over_ = 0;
};

// Fails if: the cache compares only the secret, or only the day; the names are not sorted; a header
// of an earlier signature is signed or kept.
TEST_F(KeyCachingSignerProperty, SignsOrdinaryRequestsAsTheRuntime) {
  const bool held = rc::check([&] {
    const auto signer = MakeCounting();
    for (int signings = *rc::gen::inRange(1, 12); signings > 0; --signings) {
      RC_ASSERT(Difference(*signer, AnyOrdinary()) == "");
    }
    RC_ASSERT(handed_over_ == 0);
  });
  EXPECT_TRUE(held);
}

/// A change that makes a request one for the other signer.
const std::vector<std::function<void(Signing&)>> kOddities = {
    [](Signing& s) { s.request.method = "GET"; },
    [](Signing& s) { s.request.method = "post"; },
    [](Signing& s) { s.request.path = "/a/../b c"; },
    [](Signing& s) { s.request.path = "/?b=1&a=2"; },
    [](Signing& s) { s.request.path = ""; },
    [](Signing& s) { s.credentials.access_key_id.clear(); },
    [](Signing& s) { s.credentials.secret_access_key.clear(); },
    [](Signing& s) { s.credentials.session_token = " token"; },
    [](Signing& s) { s.now = {253'402'300'800'000}; },
    [](Signing& s) {
      std::erase_if(s.request.headers, [](const auto& header) { return header.name == "host"; });
    },
    [](Signing& s) { s.request.headers.push_back(s.request.headers.front()); }};

const std::vector<HttpHeader> kOddHeaders = {{"Upper-Case", "v"},
                                             {"", "v"},
                                             {"na me", "v"},
                                             {"host", "h"},
                                             {"v1", " v"},
                                             {"v2", "v "},
                                             {"v3", "v  v"},
                                             {"v4", "v\tv"},
                                             {"v5", "v\nv"},
                                             {"v6", " "},
                                             {"v7", std::string("v\0", 2)},
                                             {"content-length", "1"},
                                             {"user-agent", "v"},
                                             {"connection", "close"},
                                             {"expect", "100-continue"},
                                             {"transfer-encoding", "chunked"},
                                             {"upgrade", "h2c"},
                                             {"sec-websocket-key", "v"},
                                             {"sec-websocket-protocol", "v"},
                                             {"sec-websocket-version", "v"},
                                             {"x-amzn-trace-id", "v"},
                                             {"x-amz-content-sha256", "v"},
                                             {"x-amz-region-set", "*"},
                                             {"x-amz-s3session-token", "v"}};

bool IsOfSigning(const HttpHeader& header) {
  return header.name == "x-amz-date" || header.name == "x-amz-security-token" ||
         header.name == "authorization";
}

// Fails if: one of the conditions for handling a request here is missing.
TEST_F(KeyCachingSignerProperty, HandsOddRequestsOver) {
  std::vector<std::function<void(Signing&)>> oddities = kOddities;
  for (const HttpHeader& header : kOddHeaders) {
    oddities.push_back([&](Signing& s) { s.request.headers.push_back(header); });
  }
  const bool held = rc::check([&] {
    const auto signer = MakeCounting();
    Signing ordinary = AnyOrdinary();
    // Duplicated headers of a signature are allowed.
    std::erase_if(ordinary.request.headers, IsOfSigning);
    int handed_over = 0;
    for (const auto& make_odd : oddities) {
      Signing odd = ordinary;
      make_odd(odd);
      RC_ASSERT(Difference(*signer, odd) == "");
      RC_ASSERT(handed_over_ == ++handed_over);
    }
  });
  EXPECT_TRUE(held);
}

class KeyCachingSignerThreads : public KeyCachingSignerProperty {};

TEST_F(KeyCachingSignerThreads, EachGetsTheKeyOfItsOwnSecretAndDay) {
  std::vector<Signing> given, expected;
  for (int i = 0; i < 8; ++i) {
    given.push_back({{.headers = {{"host", "h"}}, .body = std::to_string(i)},
                     {"AKID", i % 2 == 0 ? "old" : "new", "", std::nullopt},
                     kMidnight + milliseconds(i / 2 % 2 * kDay)});
    expected.push_back(given.back());
    ASSERT_TRUE(oracle_->Sign(expected.back().request, given.back().credentials, given.back().now));
  }
  const auto signer = MakeBoth(*runtime_, scope_);
  std::atomic<int> wrong = 0;
  const auto sign_all = [&](std::size_t from) {
    for (std::size_t i = from; i < from + 200; ++i) {
      Signing one = given[i % given.size()];
      const bool good = signer->Sign(one.request, one.credentials, one.now).has_value();
      if (!good || one.request.headers != expected[i % given.size()].request.headers) ++wrong;
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t from = 0; from < 4; ++from) threads.emplace_back(sign_all, from);
  }
  EXPECT_EQ(wrong, 0);
}

// The algorithm is looked up once in each thread, so a new thread gets what OpenSSL offers now.
TEST_F(KeyCachingSignerThreads, AnOpenSslWithoutSha256IsAnInternalErrorAndNothingIsChanged) {
  const auto signer = MakeBoth(*runtime_, scope_);
  HttpRequest request{.headers = {{"host", "h"}, {"x-amz-date", "of before"}}, .body = "x"};
  const Headers before = request.headers;
  Status status;
  ASSERT_EQ(EVP_set_default_properties(nullptr, "provider=none"), 1);
  std::jthread([&] { status = signer->Sign(request, {"id", "secret", "", {}}, kMidnight); }).join();
  ASSERT_EQ(EVP_set_default_properties(nullptr, ""), 1);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, Code::kInternal);
  EXPECT_EQ(request.headers, before);
  EXPECT_TRUE(signer->Sign(request, {"id", "secret", "", {}}, kMidnight));
}

}  // namespace
}  // namespace weir
