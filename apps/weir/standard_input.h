// A descriptor as a stream that a signal can end.
#pragma once

#include <array>
#include <functional>
#include <streambuf>
#include <utility>

namespace weir::app {

/// Reads `fd`, which it does not own. Ends when `interrupted` is true: that is asked ten times a
/// second while nothing comes. A descriptor that cannot be read makes the stream bad.
class InterruptibleInput final : public std::streambuf {
 public:
  InterruptibleInput(int fd, std::function<bool()> interrupted);
  /// From now on `look` is asked as often; if it returns true the input ends. An empty one: no
  /// more.
  void Watch(std::function<bool()> look) { look_ = std::move(look); }

 protected:
  int_type underflow() override;

 private:
  bool Await();

  int fd_;
  std::function<bool()> interrupted_;
  std::function<bool()> look_;
  std::array<char, 65536> buffer_;
};

}  // namespace weir::app
