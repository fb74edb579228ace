// The pages of an SQLite file and of its write-ahead log, read without SQLite: for files that
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

/// Unsigned, big-endian, `bytes` long; 0 beyond the end.
std::uint64_t ReadBigEndian(std::string_view text, std::size_t at, std::size_t bytes);

/// The file as of the last commit that is complete in the write-ahead log. Holds descriptors, not
/// pages: a page is read when it is asked for. Movable; not thread-safe.
class PageFile {
 public:
  /// kNotFound, kPermissionDenied, kUnavailable: the file cannot be read at all. Damage is no
  /// error.
  [[nodiscard]] static Result<PageFile> Open(const std::string& path);
  PageFile(PageFile&& other) noexcept;
  PageFile& operator=(PageFile&&) = delete;
  ~PageFile();

  /// The first 100 bytes begin as those of an SQLite file with a page size that can be.
  bool has_header() const { return has_header_; }
  std::int64_t user_version() const { return user_version_; }
  std::int64_t application_id() const { return application_id_; }
  std::size_t page_size() const { return page_size_; }
  /// Bytes of a page that hold content.
  std::size_t usable_size() const { return usable_size_; }
  /// Pages that there are, from 1, and that the file says it has.
  std::uint32_t pages() const { return pages_; }
  std::uint32_t claimed_pages() const { return claimed_pages_; }

  /// Whether no frame of the write-ahead log follows one that does not read: there may be commits
  /// behind it.
  bool is_log_whole() const { return is_log_whole_; }

  /// A whole page; nothing if it is not there.
  std::optional<std::string> Page(std::uint32_t number) const;

  /// The pages without content; nothing if the list of them does not read, so that it is not known
  /// which pages have content.
  std::optional<std::unordered_set<std::uint32_t>> FreePages() const;

 private:
  PageFile(int file, int log) : file_(file), log_(log) {}
  void ReadHeader();
  void ReadLog();

  int file_;
  int log_;                                        // -1: there is none
  std::map<std::uint32_t, std::uint64_t> in_log_;  // page to its offset in the log
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
