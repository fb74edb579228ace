// Reads the pages of an SQLite file and of its write-ahead log without SQLite, for files that
// SQLite refuses. Format: sqlite.org/fileformat2.html.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "weir/base/result.h"

namespace weir::sqlite {

/// Returns an unsigned big-endian number of `bytes` bytes at `at`. Bytes beyond the end of `text`
/// count as 0.
std::uint64_t ReadBigEndian(std::string_view text, std::size_t at, std::size_t bytes);

/// The file in the state of the last complete commit in the write-ahead log. This object holds
/// descriptors, not pages: Page reads from the disk. Movable; not thread-safe.
class PageFile {
 public:
  /// Opens the file. Returns kNotFound, kPermissionDenied or kUnavailable if the file or its
  /// write-ahead log cannot be read at all. Damage is not an error.
  [[nodiscard]] static Result<PageFile> Open(const std::string& path);
  PageFile(PageFile&& other) noexcept;
  PageFile& operator=(PageFile&&) = delete;
  ~PageFile();

  /// Returns true if the file begins as an SQLite file, with a valid page size.
  bool has_header() const { return has_header_; }
  std::int64_t user_version() const { return user_version_; }
  std::int64_t application_id() const { return application_id_; }
  std::size_t page_size() const { return page_size_; }
  /// Returns the number of bytes of a page that hold content.
  std::size_t usable_size() const { return usable_size_; }
  /// pages() returns the number of pages that exist (they are numbered from 1), claimed_pages() the
  /// number that the file claims.
  std::uint32_t pages() const { return pages_; }
  std::uint32_t claimed_pages() const { return claimed_pages_; }

  /// Returns false if the header of the write-ahead log is unreadable, or a frame before the end of
  /// a commit, which may be cut off: then commits may be missing. An absent log and an empty one
  /// are whole. A process that was killed while it wrote the last frame of a commit may leave such
  /// a frame, too.
  bool is_log_whole() const { return is_log_whole_; }

  /// Returns a whole page, or nothing if it does not exist.
  std::optional<std::string> Page(std::uint32_t number) const;

  /// Returns the pages without content. Returns nothing if the list of these pages is unreadable,
  /// so that it is unknown which pages have content.
  std::optional<std::unordered_set<std::uint32_t>> FreePages() const;

 private:
  PageFile(int file, int log) : file_(file), log_(log) {}
  void ReadHeader();
  void ReadLog();

  int file_;
  int log_;                                        // -1: there is none
  std::map<std::uint32_t, std::uint64_t> in_log_;  // page number to its offset in the log
  bool has_header_ = false;
  std::int64_t user_version_ = 0;
  std::int64_t application_id_ = 0;
  std::size_t page_size_ = 4096;
  std::size_t usable_size_ = 4096;
  std::uint32_t pages_ = 0;
  std::uint32_t claimed_pages_ = 0;
  bool is_log_whole_ = true;
};

}  // namespace weir::sqlite
