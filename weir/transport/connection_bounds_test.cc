#include "weir/transport/connection_bounds.h"

#include <gtest/gtest.h>

namespace weir::transport {
namespace {

using Verdict = ConnectionBounds::Verdict;

TEST(ConnectionBounds, ZeroIsNoBound) {
  ConnectionBounds bounds(0, 0);
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(bounds.Admit("a"), Verdict::kAdmitted);
  EXPECT_EQ(bounds.open(), 1'000U);
}

TEST(ConnectionBounds, TheTotalCountsAllPeers) {
  ConnectionBounds bounds(2, 0);
  EXPECT_EQ(bounds.Admit("a"), Verdict::kAdmitted);
  EXPECT_EQ(bounds.Admit(""), Verdict::kAdmitted);
  EXPECT_EQ(bounds.Admit("b"), Verdict::kTooMany);
  bounds.Release("");
  EXPECT_EQ(bounds.Admit("b"), Verdict::kAdmitted);
}

TEST(ConnectionBounds, EachPeerHasItsOwnBound) {
  ConnectionBounds bounds(0, 2);
  EXPECT_EQ(bounds.Admit("a"), Verdict::kAdmitted);
  EXPECT_EQ(bounds.Admit("a"), Verdict::kAdmitted);
  EXPECT_EQ(bounds.Admit("a"), Verdict::kTooManyOfPeer);
  EXPECT_EQ(bounds.Admit("b"), Verdict::kAdmitted);
  bounds.Release("a");
  EXPECT_EQ(bounds.Admit("a"), Verdict::kAdmitted);
  EXPECT_EQ(bounds.Admit("a"), Verdict::kTooManyOfPeer);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(bounds.Admit(""), Verdict::kAdmitted);
}

TEST(ConnectionBounds, ARefusedConnectionDoesNotCount) {
  ConnectionBounds bounds(0, 1);
  bounds.Admit("a");
  for (int i = 0; i < 3; ++i) bounds.Admit("a");
  EXPECT_EQ(bounds.open(), 1U);
  bounds.Release("a");
  EXPECT_EQ(bounds.Admit("a"), Verdict::kAdmitted);
}

}  // namespace
}  // namespace weir::transport
