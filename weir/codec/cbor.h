// A parser of CBOR (RFC 8949) that reads item after item in one pass, without a tree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/base/result.h"

namespace weir {

/// Returns whether a body is a CBOR map. No other format of AWS's bodies begins with such a byte.
bool IsCborMap(std::string_view body);

/// Parses one item and everything in it. The first fault is stored: after it, More returns false,
/// texts are empty, and Finish returns the fault, so that the caller need not check each step.
///
///   for (auto members = in.Map(); in.More(members);) {
///     if (in.Text() == "ShardId") shard = in.Text(); else in.Skip();
///   }
///   return in.Finish();
///
/// Faults are: data that is not well-formed by RFC 8949, a text that is not UTF-8, an item of
/// another type than the requested one, and more than 16 nested maps and arrays. Lengths may be
/// definite or indefinite, and may be encoded in more bytes than necessary. The reader never
/// allocates more than the size of its input, and only for a string in chunks.
class CborReader {
 public:
  /// The rest of a map or an array.
  struct Items {
    std::uint64_t left = 0;
    bool endless = false;  ///< the length is indefinite: until a break
  };

  /// `bytes` must outlive the reader.
  explicit CborReader(std::string_view bytes) : bytes_(bytes) {}

  /// Begins a map. For each member, while More returns true, the caller reads or skips its name and
  /// then its value.
  Items Map() { return OpenItems(kMap); }
  /// Begins an array. The caller reads or skips one item for each More that returns true.
  Items Array() { return OpenItems(kArray); }
  bool More(Items& items);

  /// Reads a text. The result is valid until the next Text or Skip.
  std::string_view Text();
  /// Skips any item, including its tags (a timestamp is tag 1 and a number).
  void Skip();

  bool AtText() const { return At(kText << 5, 0xe0); }
  bool AtNull() const { return At(0xf6, 0xff); }

  /// Returns kDataLoss with the first fault and its position; bytes after the item are a fault too.
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
  /// Reads the first byte of an item and its argument.
  Head ReadHead();
  /// Reads the head of a map or an array, and checks its type.
  Items OpenItems(unsigned major);
  Items BeginItems(const Head& head);
  /// Reads a string, in chunks or not.
  std::string_view ReadString(const Head& head);
  /// Reads a string of definite length.
  std::string_view TakeBytes(const Head& head);
  void CheckSimple(const Head& head);
  /// Records the first fault, and moves to the end of the bytes.
  void SetFault(const char* what);

  std::string_view bytes_;
  std::size_t at_ = 0;
  std::size_t item_ = 0;  ///< the index of the first byte of the last item
  unsigned depth_ = 0;
  const char* fault_ = nullptr;
  std::size_t fault_at_ = 0;
  std::string chunks_;
};

}  // namespace weir
