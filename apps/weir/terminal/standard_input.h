// A stream on a descriptor that a signal can end.
#pragma once

#include <array>
#include <functional>
#include <streambuf>
#include <utility>

namespace weir::app {

/// Reads `fd`, which it does not own. Ends when `interrupted` returns true; `interrupted` is called
/// before each read, and ten times a second while no data arrive. A descriptor that cannot be read
/// makes the stream bad.
class InterruptibleInput final : public std::streambuf {
 public:
  InterruptibleInput(int fd, std::function<bool()> interrupted);
  /// Calls `look` equally often, and ends the input if it returns true. An empty function stops
  /// this.
  void Watch(std::function<bool()> look) { look_ = std::move(look); }

 protected:
  int_type underflow() override;

 private:
  // Waits for data or the end of the descriptor.
  bool AwaitData();

  int fd_;
  std::function<bool()> interrupted_;
  std::function<bool()> look_;
  std::array<char, 65536> buffer_;
};

}  // namespace weir::app
