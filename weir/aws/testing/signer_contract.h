// The contract of every signer: one suite of tests, which is run on each of them. A test
// instantiates it by
//
//   INSTANTIATE_TEST_SUITE_P(Crt, SignerContract, testing::Values(SignerCase{"Crt", &MakeSigner}));
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>

#include "weir/aws/signing/sigv4_signer.h"

namespace weir {

struct SignerCase {
  std::string name;
  std::unique_ptr<Signer> (*make)(const CrtRuntime&, SigningScope);

  friend void PrintTo(const SignerCase& self, std::ostream* out) { *out << self.name; }
};

class SignerContract : public testing::TestWithParam<SignerCase> {
 protected:
  static void SetUpTestSuite() { runtime_ = *CrtRuntime::Start({}); }
  static void TearDownTestSuite() { runtime_.reset(); }

  Status Sign(const SigningScope& scope, HttpRequest& request, const Credentials& credentials,
              UnixMillis now) {
    return GetParam().make(*runtime_, scope)->Sign(request, credentials, now);
  }
  void ExpectTheirSignatures(const std::string& file, std::size_t at_least);

  static inline std::unique_ptr<CrtRuntime> runtime_;
  const SigningScope scope_{.region = "us-east-1", .service = "service"};
  const Credentials credentials_{.access_key_id = "AKIDEXAMPLE",
                                 .secret_access_key = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
                                 .session_token = "",
                                 .expires = std::nullopt};
  const UnixMillis now_{1'440'938'160'000};
};

}  // namespace weir
