#include "weir/model/tokens.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>
#include <type_traits>

namespace weir {
namespace {

// A double would be cut to whole tokens silently.
static_assert(!std::is_convertible_v<double, Tokens>);
static_assert(!std::is_convertible_v<float, Tokens>);
static_assert(!std::is_constructible_v<Tokens, double>);
static_assert(!std::is_convertible_v<bool, Tokens>);
static_assert(!std::is_convertible_v<char, Tokens>);
static_assert(!std::is_convertible_v<const char*, Tokens>);
static_assert(std::is_convertible_v<int, Tokens>);
static_assert(std::is_convertible_v<std::size_t, Tokens>);
static_assert(std::is_convertible_v<signed char, Tokens>);
// Nor does a Tokens convert to a bare number, whose unit would be unknown.
static_assert(!std::is_convertible_v<Tokens, std::int64_t>);

constexpr std::int64_t kLargestWhole = INT64_MAX / 1000;

TEST(Tokens, AWholeNumberIsSoManyThousandThousandths) {
  EXPECT_EQ(Tokens().milli(), 0);
  EXPECT_EQ(Tokens(1).milli(), 1000);
  EXPECT_EQ(Tokens(-7).milli(), -7000);
  EXPECT_EQ(Tokens(std::uint8_t{200}).milli(), 200'000);
  EXPECT_EQ(Tokens::Milli(250).milli(), 250);
  EXPECT_LT(Tokens::Milli(999), Tokens(1));
}

TEST(Tokens, WhatDoesNotFitSaturates) {
  EXPECT_EQ(Tokens(kLargestWhole).milli(), kLargestWhole * 1000);
  EXPECT_EQ(Tokens(kLargestWhole + 1).milli(), INT64_MAX);
  EXPECT_EQ(Tokens(-kLargestWhole).milli(), -kLargestWhole * 1000);
  EXPECT_EQ(Tokens(-kLargestWhole - 1).milli(), -INT64_MAX);
  EXPECT_EQ(Tokens(INT64_MAX).milli(), INT64_MAX);
  EXPECT_EQ(Tokens(INT64_MIN).milli(), -INT64_MAX);
  EXPECT_EQ(Tokens(UINT64_MAX).milli(), INT64_MAX);
}

// Fails if: the comparison is made after a cast to std::int64_t (large unsigned numbers turn
// negative), or one of the two bounds is dropped.
RC_GTEST_PROP(TokensProperty, OrderIsKeptWhateverTheType, (std::int64_t b)) {
  const auto a = *rc::gen::oneOf(rc::gen::arbitrary<std::uint64_t>(),
                                 rc::gen::inRange<std::uint64_t>(INT64_MAX / 1000, UINT64_MAX));
  RC_ASSERT(Tokens(a) >= Tokens(0));
  RC_ASSERT((Tokens(b) < Tokens(0)) == (b < 0));
  const std::uint64_t larger = a < UINT64_MAX ? a + 1 : a;
  RC_ASSERT(Tokens(a) <= Tokens(larger));
  if (std::cmp_less(b, a)) RC_ASSERT(Tokens(b) <= Tokens(a));
}

}  // namespace
}  // namespace weir
