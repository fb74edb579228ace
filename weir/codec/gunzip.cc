#include "weir/codec/gunzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>

namespace weir {
namespace {

// `windowBits` of inflateInit2: 15 for the largest window, and 16 to accept only the gzip format.
constexpr int kGzipOnly = 15 + 16;

tl::unexpected<Error> Damaged() {
  return Fail(Code::kDataLoss, "it is not gzip, or it is damaged");
}

// The state of zlib for one input. The input must outlive it.
class Inflater {
 public:
  explicit Inflater(std::string_view packed) {
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
    stream_.avail_in = static_cast<uInt>(packed.size());
    is_ready_ = inflateInit2(&stream_, kGzipOnly) == Z_OK;
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() {
    if (is_ready_) inflateEnd(&stream_);
  }

  bool is_ready() const { return is_ready_; }
  bool has_input() const { return stream_.avail_in > 0; }
  /// Begins the next gzip member of the input.
  void Restart() { inflateReset(&stream_); }
  /// Unpacks at most one buffer and appends it to `text`. Returns the result of inflate(), which is
  /// Z_STREAM_END at the end of a gzip member.
  int Append(std::string& text) {
    stream_.next_out = reinterpret_cast<Bytef*>(buffer_.data());
    stream_.avail_out = static_cast<uInt>(buffer_.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    text.append(buffer_.data(), buffer_.size() - stream_.avail_out);
    return result;
  }

 private:
  z_stream stream_{};
  bool is_ready_ = false;
  std::array<char, 16 * 1024> buffer_{};
};

}  // namespace

Result<std::string> Gunzip(std::string_view packed, std::size_t max_bytes) {
  Inflater inflater(packed);
  if (!inflater.is_ready()) return Fail(Code::kInternal, "zlib has no memory");
  std::string text;
  while (true) {
    const int result = inflater.Append(text);
    if (text.size() > max_bytes) {
      return Fail(Code::kOutOfRange,
                  fmt::format("it has more than {} bytes when unpacked", max_bytes));
    }
    if (result == Z_STREAM_END && !inflater.has_input()) return text;
    if (result != Z_OK && result != Z_STREAM_END) return Damaged();
    if (result == Z_STREAM_END) inflater.Restart();
  }
}

}  // namespace weir
