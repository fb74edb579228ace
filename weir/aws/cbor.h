// Reading CBOR (RFC 8949) in one pass, item after item, without a tree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir {

/// Whether a body is CBOR of a map. No other format of AWS's begins with such a byte.
bool IsCborMap(std::string_view body);

/// Reads one item with all that is in it. The first fault stays: after it there is nothing more to
/// read, texts are empty, and Finish tells it, so that no step needs a check of its own.
///
///   for (auto members = in.Map(); in.More(members);) {
///     if (in.Text() == "ShardId") shard = in.Text(); else in.Skip();
///   }
///   return in.Finish();
///
/// Faults are whatever RFC 8949 calls not well-formed, a text that is no UTF-8, an item that is not
/// what is asked for, and one 16 deep. Lengths may be definite or not, and longer than needed. It
/// never allocates more than the bytes it was given, and only for a text in chunks.
class CborReader {
 public:
  /// What is left of a map or an array.
  struct Items {
    std::uint64_t left = 0;
    bool endless = false;  ///< until a break
  };

  /// `bytes` must outlive it.
  explicit CborReader(std::string_view bytes) : bytes_(bytes) {}

  /// Begins a map. For each member, as long as More says that there is one, its name and its value
  /// are to be read or skipped.
  Items Map() { return Open(kMap); }
  /// The same for the items of an array.
  Items Array() { return Open(kArray); }
  bool More(Items& items);

  /// Valid until the next Text or Skip.
  std::string_view Text();
  /// Any item, its tags included (a timestamp is tag 1 and a number).
  void Skip();

  bool AtText() const { return At(kText << 5, 0xe0); }
  bool AtNull() const { return At(0xf6, 0xff); }

  /// kDataLoss: the first fault with its place, or what comes after the end.
  Status Finish();

 private:
  enum Major : unsigned { kNumber, kNegative, kBytes, kText, kArray, kMap, kTag, kSimple };
  struct Head {
    unsigned major = kSimple;
    unsigned info = 0;
    std::uint64_t argument = 0;
    bool endless() const { return info == 31; }
  };

  bool At(unsigned bits, unsigned mask) const {
    return at_ < bytes_.size() && (static_cast<unsigned char>(bytes_[at_]) & mask) == bits;
  }
  std::size_t rest() const { return bytes_.size() - at_; }
  Head ReadHead();
  Items Open(unsigned major);
  Items Begin(const Head& head);
  std::string_view ReadString(const Head& head);
  std::string_view Take(const Head& head);
  void CheckSimple(const Head& head);
  /// Leaves nothing to read.
  void Fault(const char* what);

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::size_t item_ = 0;  ///< where the item begins that was read last
  unsigned depth_ = 0;
  const char* fault_ = nullptr;
  std::size_t fault_at_ = 0;
  std::string chunks_;
};

}  // namespace weir
