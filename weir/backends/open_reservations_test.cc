#include "weir/backends/open_reservations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "weir/base/testing/temp_folder_fixture.h"
#include "weir/base/time.h"

namespace weir {
namespace {

using testing::HasSubstr;

// A clock whose wall time can be set.
class SettableClock final : public Clock {
 public:
  Instant Now() const override { return system_.Now(); }
  UnixMillis WallNow() const override { return system_.WallNow() + error; }
  nanoseconds BootNow() const override { return system_.BootNow(); }

  milliseconds error{0};

 private:
  SystemClock system_;
};

class OpenReservationsTest : public testing::Test {
 protected:
  Result<std::unique_ptr<ReservationBackend>> Open(std::string_view url) {
    return OpenReservations(
        url, clock_,
        {.environment = [this](std::string_view name) -> std::optional<std::string> {
           const auto at = variables_.find(std::string(name));
           return at == variables_.end() ? std::nullopt : std::optional(at->second);
         },
         .read_file = [](const std::string&) { return Fail(Code::kNotFound, "none"); }});
  }
  std::string Opened(std::string_view url) {
    const auto backend = Open(url);
    return backend ? (*backend)->Describe() : backend.error().message;
  }

  SettableClock clock_;
  std::map<std::string, std::string> variables_{{"AWS_REGION", "eu-west-1"}};
};

TEST_F(OpenReservationsTest, MemoryAndAFile) {
  EXPECT_EQ(Opened("memory:"), "memory:");
  const TempFolder folder;
  const std::string path = folder / "reservations.db";
  EXPECT_NE(Opened("sqlite:" + path).find(path), std::string::npos);
}

// C4. Fails if: a wrapper around the backend of the file returns a time of its own.
TEST_F(OpenReservationsTest, C4NoSettingOfTheClockMovesTheirTime) {
  const TempFolder folder;
  for (const std::string& url : {std::string("memory:"), "sqlite:" + (folder / "weir.db")}) {
    const auto backend = Open(url);
    ASSERT_TRUE(backend) << backend.error().message;
    const UnixMillis before = (*backend)->Now(clock_);
    clock_.error = std::chrono::hours(-1);
    EXPECT_GE((*backend)->Now(clock_), before) << url;
    clock_.error = std::chrono::days(400);
    EXPECT_LT((*backend)->Now(clock_), before + std::chrono::hours(1)) << url;
    clock_.error = milliseconds(0);
  }
}

// R10. Fails if: a variable overrides the base that the URL names.
TEST_F(OpenReservationsTest, R10TheUrlNamesTheTablesElseTheEnvironment) {
  variables_["LIMITER_TABLES_BASE_NAME"] = "other";
  variables_["LIMIT_TABLE"] = "mine";
  EXPECT_EQ(Opened("rate-limiter-py://acme"),
            "rate-limiter-py's tables acme-fungible-tokens, acme-limits, acme-non-fungible-tokens");
  EXPECT_EQ(Opened("rate-limiter-py:"),
            "rate-limiter-py's tables other-fungible-tokens, mine, other-non-fungible-tokens");
}

// R10. Fails if: a local file, or a guessed name, is used for tables that are not all named.
TEST_F(OpenReservationsTest, R10TablesThatAreNotAllNamedAreRefused) {
  variables_["FUNGIBLE_TABLE"] = "tokens";
  variables_["LIMIT_TABLE"] = "limits";
  EXPECT_THAT(Opened("rate-limiter-py:"),
              HasSubstr("set NON_FUNGIBLE_TABLE or LIMITER_TABLES_BASE_NAME"));
}

// R10. Fails if: a parameter without an effect is accepted, or a table of another layout is taken
// for a base name.
TEST_F(OpenReservationsTest, R10WhatTheSchemeCannotDoIsRefusedByName) {
  EXPECT_THAT(Opened("rate-limiter-py://acme?namespace=team"),
              HasSubstr("'namespace' is not one of its parameters"));
  EXPECT_EQ(Opened("dynamodb://acme?namespace=team"),
            "'dynamodb://acme': a table of zae-limiter keeps no slots; write memory:, sqlite:PATH "
            "or rate-limiter-py://BASE");
}

TEST_F(OpenReservationsTest, ANameOfMemoryIsRefusedAsSuch) {
  EXPECT_EQ(Opened("memory:x"),
            "'memory:x': nothing may follow 'memory:', because no other opening could find it; "
            "write memory:, sqlite:PATH or rate-limiter-py://BASE");
}

TEST_F(OpenReservationsTest, APathWithoutASchemeIsRefusedWithIt) {
  EXPECT_EQ(
      Opened("weir.db"),
      "'weir.db': no scheme (for a file, write sqlite:weir.db); write memory:, sqlite:PATH or "
      "rate-limiter-py://BASE");
}

TEST_F(OpenReservationsTest, WhatIsNoPlaceIsRefused) {
  for (const char* const url : {"", "redis://host", "memory:x", "sqlite:", "rate-limiter-py://a b",
                                "dynamodb:", "sqlite:weir.db?namespace=team"}) {
    const auto backend = Open(url);
    ASSERT_FALSE(backend) << url;
    EXPECT_EQ(backend.error().code, Code::kInvalidArgument) << url;
  }
}

}  // namespace
}  // namespace weir
