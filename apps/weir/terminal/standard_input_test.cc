#include "apps/weir/terminal/standard_input.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <istream>
#include <string>

namespace weir::app {
namespace {

class InterruptibleInputTest : public testing::Test {
 protected:
  ~InterruptibleInputTest() override {
    CloseWriter();
    close(ends_[0]);
  }
  void Write(const std::string& text) {
    ASSERT_EQ(write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void CloseWriter() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }

  static std::array<int, 2> Pipe() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(pipe(ends.data()), 0);
    return ends;
  }

  std::array<int, 2> ends_ = Pipe();
  bool stop_ = false;
  InterruptibleInput input_{ends_[0], [this] { return stop_; }};
  std::istream in_{&input_};
};

TEST_F(InterruptibleInputTest, ReadsToTheEnd) {
  Write("one\ntw");
  std::string line;
  std::getline(in_, line);
  EXPECT_EQ(line, "one");
  Write("o\nthree");
  CloseWriter();
  std::getline(in_, line);
  EXPECT_EQ(line, "two");
  std::getline(in_, line);
  EXPECT_EQ(line, "three");
  EXPECT_FALSE(std::getline(in_, line));
  EXPECT_FALSE(in_.bad());
}

TEST_F(InterruptibleInputTest, EndsWhenInterruptedThoughTheWriterIsThere) {
  Write("one\n");
  std::string line;
  std::getline(in_, line);
  stop_ = true;
  EXPECT_FALSE(std::getline(in_, line));
  EXPECT_TRUE(in_.eof());
}

// Q4. Fails if: `look` is not called while the input waits, or its result does not end the input.
TEST_F(InterruptibleInputTest, Q4AWatchIsAskedWhileNothingComes) {
  Write("one\n");
  int looks = 0;
  input_.Watch([&] { return ++looks == 3; });
  std::string line;
  std::getline(in_, line);
  EXPECT_EQ(line, "one");
  EXPECT_FALSE(std::getline(in_, line));
  EXPECT_EQ(looks, 3);
  input_.Watch({});
  in_.clear();
  Write("two\n");
  std::getline(in_, line);
  EXPECT_EQ(line, "two");
  EXPECT_EQ(looks, 3);
}

TEST_F(InterruptibleInputTest, WhatCannotBeReadIsBad) {
  InterruptibleInput input(ends_[1], [] { return false; });
  CloseWriter();
  std::istream in(&input);
  std::string line;
  EXPECT_FALSE(std::getline(in, line));
  EXPECT_TRUE(in.bad());
}

}  // namespace
}  // namespace weir::app
