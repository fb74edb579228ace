// The bytes of a response's body that the peer has not taken yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir::http2 {

/// Stores at most twice as many bytes as are unsent, even if the peer never takes the last ones.
/// Not thread-safe.
class UnsentBody {
 public:
  void Append(std::string_view bytes) { bytes_.append(bytes); }
  /// Moves up to `length` bytes to `buffer` and returns their count.
  std::size_t Take(std::uint8_t* buffer, std::size_t length);
  /// Returns the number of bytes that are unsent.
  std::size_t size() const { return bytes_.size() - sent_; }
  /// Returns the number of bytes that are stored.
  std::size_t stored() const { return bytes_.size(); }

 private:
  std::string bytes_;
  std::size_t sent_ = 0;
};

}  // namespace weir::http2
