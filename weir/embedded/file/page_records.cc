#include "weir/embedded/file/page_records.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace weir::sqlite {
namespace {

enum PageKind : std::uint8_t {
  kInteriorIndex = 2,
  kInteriorTable = 5,
  kLeafIndex = 10,
  kLeafTable = 13,
};

// Reads a record from left to right. After a read beyond the end, ok() is false and all further
// reads return nothing.
class Cursor {
 public:
  explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

  bool ok() const { return ok_; }
  std::size_t at() const { return at_; }
  void Skip(std::size_t count) { Take(count); }
  std::uint64_t Varint() {
    std::uint64_t value = 0;
    for (int i = 0; i < 9; ++i) {
      const std::string_view byte = Take(1);
      if (!ok_) return 0;
      const auto bits = static_cast<unsigned char>(byte[0]);
      if (i == 8) return value << 8 | bits;
      value = value << 7 | (bits & 0x7fU);
      if ((bits & 0x80U) == 0) break;
    }
    return value;
  }
  std::string_view Take(std::size_t count) {
    ok_ = ok_ && count <= bytes_.size() - at_;
    if (!ok_) return {};
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

std::int64_t SignedOf(std::string_view bytes) {
  const std::uint64_t value = ReadBigEndian(bytes, 0, bytes.size());
  const std::size_t unused = 64 - 8 * bytes.size();
  return static_cast<std::int64_t>(value << unused) >> unused;
}

// Reads a value of a serial type. Returns nothing for floating-point numbers and blobs, which a
// weir file does not have.
std::optional<RecordValue> ReadValue(std::uint64_t type, Cursor& body) {
  constexpr std::size_t kIntegerBytes[] = {0, 1, 2, 3, 4, 6, 8};
  if (type == 0) return RecordValue();
  if (type <= 6) {
    const std::string_view bytes = body.Take(kIntegerBytes[type]);
    return body.ok() ? std::optional<RecordValue>(SignedOf(bytes)) : std::nullopt;
  }
  if (type == 8 || type == 9) return RecordValue(static_cast<std::int64_t>(type - 8));
  if (type < 13 || type % 2 == 0) return std::nullopt;
  const std::string_view text = body.Take((type - 13) / 2);
  return body.ok() ? std::optional<RecordValue>(std::string(text)) : std::nullopt;
}

// Reads a record: the size of its header and the serial types of its values, then the values
// (section 2.1).
bool ReadValues(std::string_view payload, std::vector<RecordValue>& values) {
  Cursor size(payload);
  const std::uint64_t header_size = size.Varint();
  if (!size.ok() || header_size < size.at() || header_size > payload.size()) return false;
  Cursor header(payload.substr(0, header_size));
  header.Varint();
  Cursor body(payload.substr(header_size));
  while (header.at() < header_size) {
    const std::uint64_t type = header.Varint();
    auto value = header.ok() ? ReadValue(type, body) : std::nullopt;
    if (!value) return false;
    values.push_back(*std::move(value));
  }
  return body.at() == payload.size() - header_size;
}

// Scans all pages that are not free. Overflow pages look like garbage; they are recognized by the
// records that continue on them.
class Scanner {
 public:
  Scanner(const PageFile& file, const std::function<void(const Record&)>& sink)
      : file_(file), sink_(sink) {}

  PageScan Run() {
    const auto free = file_.FreePages();
    scan_.free_pages_known = free.has_value();
    scan_.log_whole = file_.is_log_whole();
    const std::uint32_t last =
        std::max(file_.pages(), std::min(file_.claimed_pages(), kMaxClaimed));
    for (std::uint32_t number = 1; number <= last; ++number) {
      if (free && free->contains(number)) continue;
      ++scan_.pages;
      const auto page = file_.Page(number);
      if (!page || !ScanPage(number, *page)) unexplained_.insert(number);
    }
    for (const std::uint32_t page : overflow_) unexplained_.erase(page);
    scan_.unreadable = static_cast<std::uint32_t>(unexplained_.size());
    return scan_;
  }

 private:
  // Bounds the number of pages that a damaged header may claim.
  static constexpr std::uint32_t kMaxClaimed = 1u << 24;

  // Returns false if the page is neither an index nor a table page.
  bool ScanPage(std::uint32_t number, std::string_view page) {
    const std::size_t start = number == 1 ? 100 : 0;
    const auto kind = static_cast<std::uint8_t>(page[start]);
    if (kind == kInteriorTable) return true;
    if (kind != kInteriorIndex && kind != kLeafIndex && kind != kLeafTable) return false;
    const std::size_t pointers = start + (kind == kInteriorIndex ? 12 : 8);
    const std::uint64_t cells = ReadBigEndian(page, start + 3, 2);
    if (pointers + 2 * cells > file_.usable_size()) return false;
    for (std::uint64_t i = 0; i < cells; ++i) {
      const std::uint64_t at = ReadBigEndian(page, pointers + 2 * i, 2);
      Record record;
      if (at >= pointers + 2 * cells &&
          ReadCell(kind, page.substr(0, file_.usable_size()), at, record)) {
        sink_(record);
      } else {
        ++scan_.lost_records;
      }
    }
    return true;
  }

  bool ReadCell(std::uint8_t kind, std::string_view page, std::size_t at, Record& record) {
    if (at >= page.size()) return false;
    Cursor cell(page.substr(at));
    if (kind == kInteriorIndex) cell.Skip(4);
    const std::uint64_t size = cell.Varint();
    record.has_row_id = kind == kLeafTable;
    if (record.has_row_id) record.row_id = static_cast<std::int64_t>(cell.Varint());
    if (!cell.ok() || size > std::uint64_t{file_.pages()} * file_.page_size()) return false;
    const std::size_t local = LocalBytes(size, record.has_row_id);
    std::string payload(cell.Take(local));
    if (!cell.ok()) return false;
    if (local < size && !AppendOverflow(cell.Take(4), size, payload)) return false;
    return ReadValues(payload, record.values);
  }

  // Returns how many bytes of a payload are on the page of its cell (section 1.6, "cell payload
  // overflow pages").
  std::size_t LocalBytes(std::size_t size, bool is_table) const {
    const std::size_t usable = file_.usable_size();
    const std::size_t most = is_table ? usable - 35 : (usable - 12) * 64 / 255 - 23;
    if (size <= most) return size;
    const std::size_t least = (usable - 12) * 32 / 255 - 23;
    const std::size_t rest = least + (size - least) % (usable - 4);
    return rest <= most ? rest : least;
  }

  // Appends the payload's bytes on overflow pages; `first` is the number of the first page.
  bool AppendOverflow(std::string_view first, std::size_t size, std::string& payload) {
    std::uint64_t number = ReadBigEndian(first, 0, 4);
    while (payload.size() < size) {
      const auto page = file_.Page(static_cast<std::uint32_t>(number));
      if (!page) return false;
      overflow_.insert(static_cast<std::uint32_t>(number));
      payload += std::string_view(*page).substr(
          4, std::min(size - payload.size(), file_.usable_size() - 4));
      number = ReadBigEndian(*page, 0, 4);
    }
    return true;
  }

  const PageFile& file_;
  const std::function<void(const Record&)>& sink_;
  PageScan scan_;
  std::unordered_set<std::uint32_t> unexplained_;  // neither content nor free, so far
  std::unordered_set<std::uint32_t> overflow_;     // overflow pages of records
};

}  // namespace

PageScan ScanRecords(const PageFile& file, const std::function<void(const Record&)>& sink) {
  return Scanner(file, sink).Run();
}

}  // namespace weir::sqlite
