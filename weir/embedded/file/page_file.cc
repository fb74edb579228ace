#include "weir/embedded/file/page_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "weir/embedded/file/errno_code.h"

namespace weir::sqlite {
namespace {

constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr std::size_t kLogHeader = 32;
constexpr std::size_t kFrameHeader = 24;
constexpr std::size_t kFrameSalts = 16;  // the end of the salts in the header of a frame

std::uint64_t SizeOf(int descriptor) {
  struct stat status = {};
  return fstat(descriptor, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

// Returns fewer bytes if the file ends earlier.
std::string ReadAt(int descriptor, std::uint64_t offset, std::size_t size) {
  std::string bytes(size, '\0');
  std::size_t read = 0;
  while (read < size) {
    const ssize_t more =
        pread(descriptor, bytes.data() + read, size - read, static_cast<off_t>(offset + read));
    if (more < 0 && errno == EINTR) continue;
    if (more <= 0) break;
    read += static_cast<std::size_t>(more);
  }
  bytes.resize(read);
  return bytes;
}

// The checksum of a write-ahead log, which continues from frame to frame.
class LogChecksum {
 public:
  explicit LogChecksum(bool big_endian) : big_endian_(big_endian) {}

  void Add(std::string_view bytes) {
    for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      first_ += Word(bytes, at) + second_;
      second_ += Word(bytes, at + 4) + first_;
    }
  }
  bool Is(std::string_view stored) const {
    return ReadBigEndian(stored, 0, 4) == first_ && ReadBigEndian(stored, 4, 4) == second_;
  }

 private:
  std::uint32_t Word(std::string_view bytes, std::size_t at) const {
    const auto word = static_cast<std::uint32_t>(ReadBigEndian(bytes, at, 4));
    return big_endian_ ? word : __builtin_bswap32(word);
  }

  bool big_endian_;
  std::uint32_t first_ = 0;
  std::uint32_t second_ = 0;
};

// Returns whether a log with pages of this size may begin with these bytes. Does not examine their
// checksum.
bool IsLogHeader(std::string_view header, std::size_t page_size) {
  return header.size() == kLogHeader && (ReadBigEndian(header, 0, 4) | 1U) == 0x377f0683 &&
         ReadBigEndian(header, 8, 4) == page_size;
}

bool IsPageSize(std::uint64_t size) {
  return size >= 512 && size <= 65'536 && std::has_single_bit(size);
}

}  // namespace

std::uint64_t ReadBigEndian(std::string_view text, std::size_t at, std::size_t bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = at; i < at + bytes; ++i) {
    value = value << 8 | (i < text.size() ? static_cast<unsigned char>(text[i]) : 0U);
  }
  return value;
}

Result<PageFile> PageFile::Open(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return Fail(CodeOfErrno(errno), fmt::format("cannot read {}: {}", path, std::strerror(errno)));
  }
  const int log = open((path + "-wal").c_str(), O_RDONLY | O_CLOEXEC);
  const int log_error = log < 0 ? errno : 0;
  PageFile opened(file, log);
  if (log_error != 0 && log_error != ENOENT) {
    return Fail(CodeOfErrno(log_error),
                fmt::format("cannot read {}-wal: {}", path, std::strerror(log_error)));
  }
  opened.ReadHeader();
  if (opened.log_ >= 0) opened.ReadLog();
  return opened;
}

PageFile::PageFile(PageFile&& other) noexcept
    : file_(std::exchange(other.file_, -1)),
      log_(std::exchange(other.log_, -1)),
      in_log_(std::move(other.in_log_)),
      has_header_(other.has_header_),
      user_version_(other.user_version_),
      application_id_(other.application_id_),
      page_size_(other.page_size_),
      usable_size_(other.usable_size_),
      pages_(other.pages_),
      claimed_pages_(other.claimed_pages_),
      is_log_whole_(other.is_log_whole_) {}

PageFile::~PageFile() {
  for (const int descriptor : {file_, log_}) {
    if (descriptor >= 0) close(descriptor);
  }
}

void PageFile::ReadHeader() {
  const std::string header = ReadAt(file_, 0, 100);
  const std::uint64_t size =
      ReadBigEndian(header, 16, 2) == 1 ? 65'536 : ReadBigEndian(header, 16, 2);
  has_header_ = header.starts_with(kMagic) && IsPageSize(size);
  if (has_header_) {
    page_size_ = size;
    user_version_ = static_cast<std::int64_t>(ReadBigEndian(header, 60, 4));
    application_id_ = static_cast<std::int64_t>(ReadBigEndian(header, 68, 4));
    claimed_pages_ = static_cast<std::uint32_t>(ReadBigEndian(header, 28, 4));
  }
  usable_size_ = page_size_;  // no weir file reserves bytes at the end of pages
  pages_ = static_cast<std::uint32_t>((SizeOf(file_) + page_size_ - 1) / page_size_);
}

// Reads the log (section 4): a header of 32 bytes, and frames of 24 bytes and a page. A frame is
// valid if its salts are those of the header and its checksum is right. The last frame of a commit
// contains the number of pages of the file. SQLite syncs the header before it writes the first
// frame: if the header is invalid, frames may have followed a valid one.
void PageFile::ReadLog() {
  const std::uint64_t size = SizeOf(log_);
  if (size == 0) return;
  const std::string header = ReadAt(log_, 0, kLogHeader);
  LogChecksum sum((ReadBigEndian(header, 0, 4) & 1U) != 0);
  sum.Add(std::string_view(header).substr(0, 24));
  is_log_whole_ = IsLogHeader(header, page_size_) && sum.Is(std::string_view(header).substr(24));
  if (!is_log_whole_) return;
  std::map<std::uint32_t, std::uint64_t> uncommitted;
  bool has_ended = false;
  const std::size_t whole = kFrameHeader + page_size_;
  // Also reads a last frame that is cut off behind its salts.
  for (std::uint64_t at = kLogHeader; at + kFrameSalts <= size; at += whole) {
    std::string bytes = ReadAt(log_, at, whole);
    const bool is_readable = bytes.size() == std::min<std::uint64_t>(whole, size - at);
    is_log_whole_ = is_log_whole_ && is_readable;
    const bool is_whole = bytes.size() == whole;
    bytes.resize(whole);
    const std::string_view frame = bytes;
    const bool is_current = frame.substr(8, 8) == std::string_view(header).substr(16, 8);
    sum.Add(frame.substr(0, 8));
    sum.Add(frame.substr(kFrameHeader));
    if (!has_ended && is_whole && is_current && sum.Is(frame.substr(16, 8))) {
      uncommitted[static_cast<std::uint32_t>(ReadBigEndian(frame, 0, 4))] = at + kFrameHeader;
    } else {
      // The current log has ended. Frames of an earlier log may follow, and the rest of a
      // transaction that was not committed, over whose beginning a shorter one was written.
      has_ended = true;
      const bool ends_commit = ReadBigEndian(frame, 4, 4) != 0;
      is_log_whole_ = is_log_whole_ && !(is_current && ends_commit);
      continue;
    }
    const auto pages_after_commit = static_cast<std::uint32_t>(ReadBigEndian(frame, 4, 4));
    if (pages_after_commit == 0) continue;
    for (const auto& [page, offset] : uncommitted) in_log_[page] = offset;
    uncommitted.clear();
    claimed_pages_ = pages_after_commit;
  }
  // Page 1 may be in the log only.
  if (const auto first = Page(1); first && in_log_.contains(1)) {
    has_header_ = true;
    user_version_ = static_cast<std::int64_t>(ReadBigEndian(*first, 60, 4));
    application_id_ = static_cast<std::int64_t>(ReadBigEndian(*first, 68, 4));
  }
  if (!in_log_.empty()) pages_ = std::max(pages_, in_log_.rbegin()->first);
}

std::optional<std::string> PageFile::Page(std::uint32_t number) const {
  if (number == 0 || number > pages_) return std::nullopt;
  const auto logged = in_log_.find(number);
  std::string page = logged == in_log_.end()
                         ? ReadAt(file_, (std::uint64_t{number} - 1) * page_size_, page_size_)
                         : ReadAt(log_, logged->second, page_size_);
  if (page.size() < page_size_) return std::nullopt;
  return page;
}

// The list is a chain of trunk pages, each with the numbers of the next trunk and of its leaves
// (section 1.5).
std::optional<std::unordered_set<std::uint32_t>> PageFile::FreePages() const {
  const auto first = Page(1);
  if (!has_header_ || !first) return std::nullopt;
  std::unordered_set<std::uint32_t> free;
  for (std::uint64_t trunk = ReadBigEndian(*first, 32, 4); trunk != 0;) {
    const auto page = Page(static_cast<std::uint32_t>(trunk));
    if (!page || !free.insert(static_cast<std::uint32_t>(trunk)).second) return std::nullopt;
    const std::uint64_t leaves = ReadBigEndian(*page, 4, 4);
    if (leaves > usable_size_ / 4 - 2) return std::nullopt;
    for (std::uint64_t i = 0; i < leaves; ++i) {
      const auto leaf = static_cast<std::uint32_t>(ReadBigEndian(*page, 8 + 4 * i, 4));
      if (leaf < 2 || !free.insert(leaf).second) return std::nullopt;
    }
    trunk = ReadBigEndian(*page, 0, 4);
  }
  // The header has the number of free pages.
  if (free.size() != ReadBigEndian(*first, 36, 4)) return std::nullopt;
  return free;
}

}  // namespace weir::sqlite
