#include "weir/archive/archive_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <span>
#include <utility>

#include "weir/archive/archive_partitions.h"
#include "weir/codec/gunzip.h"
#include "weir/model/quoted.h"
#include "weir/model/ulid.h"
#include "weir/runtime/await.h"
#include "weir/store/config/audit_log.h"

namespace weir {
namespace {

constexpr std::size_t kMaxAtOnce = 16;  // objects that are fetched at once
// The id and the time of an event come from two readings of a clock.
constexpr milliseconds kIdMargin{1000};

template <class T>
S3Done<T> AsResult(Done<T> done) {
  return [done = std::move(done)](tl::expected<T, AwsFailure> got) mutable {
    done(std::move(got).map_error(ToError));
  };
}

// One call of ReadArchive.
class ArchiveRun {
 public:
  ArchiveRun(const Archive& archive, const ArchiveQuery& query) : archive_(archive), query_(query) {
    if (query.end) latest_ = *query.end - milliseconds(1);
    const auto after = TimeOfUlid(query.after);
    if (after && (!latest_ || *after + kIdMargin < *latest_)) latest_ = *after + kIdMargin;
  }

  Result<ArchivePage> Run() {
    const std::string root = archive_.prefix + std::string(kArchiveFolder);
    WEIR_RETURN_IF_ERROR(Walk(root, "year", {}));
    if (unreported_ > 0) page_.unreadable.push_back(fmt::format("{} more", unreported_));
    return std::move(page_);
  }

 private:
  bool IsFull() const { return !page_.next.empty(); }

  // Visits the partitions below `parent`, the latest first. `unit` is the unit of these partitions,
  // and `date` holds the numbers of the partitions above them.
  Status Walk(const std::string& parent, std::string_view unit, const std::vector<int>& date) {
    WEIR_ASSIGN_OR_RETURN(const std::vector<int> numbers, NumbersBelow(parent, unit));
    for (const int number : numbers) {
      std::vector<int> inner = date;
      inner.push_back(number);
      if (!IsInRange(inner)) continue;
      const std::string folder = parent + PartitionName(unit, number);
      WEIR_RETURN_IF_ERROR(unit == "day" ? ReadDay(folder)
                                         : Walk(folder, unit == "year" ? "month" : "day", inner));
      if (IsFull()) return {};
    }
    return {};
  }

  // Returns whether a date is in the range. `date` may lack its day, or its month and day.
  bool IsInRange(const std::vector<int>& date) const {
    const auto bound = [&](UnixMillis time) {
      const std::chrono::year_month_day day = DayOf(time);
      std::vector<int> numbers{static_cast<int>(day.year()),
                               static_cast<int>(static_cast<unsigned>(day.month())),
                               static_cast<int>(static_cast<unsigned>(day.day()))};
      numbers.resize(date.size());
      return numbers;
    };
    return (!latest_ || date <= bound(*latest_)) && (!query_.start || date >= bound(*query_.start));
  }

  Result<std::vector<int>> NumbersBelow(const std::string& parent, std::string_view unit) {
    std::vector<std::string> prefixes;
    WEIR_RETURN_IF_ERROR(EachPage({.prefix = parent, .delimiter = "/"}, [&](S3Listing& page) {
      std::ranges::move(page.prefixes, std::back_inserter(prefixes));
      return Status();
    }));
    return PartitionNumbers(prefixes, parent, unit);
  }

  template <class Visit>
  Status EachPage(S3ListRequest request, const Visit& visit) {
    do {
      WEIR_ASSIGN_OR_RETURN(S3Listing page, Await<S3Listing>([&](Done<S3Listing> done) {
                              archive_.bucket.List(request, archive_.each_request(),
                                                   AsResult<S3Listing>(std::move(done)));
                            }));
      if (!page.next.empty() && page.next == request.token) {
        return Fail(Code::kDataLoss, "ListObjectsV2: a page names itself as the next one");
      }
      WEIR_RETURN_IF_ERROR(visit(page));
      request.token = std::move(page.next);
    } while (!request.token.empty());
    return {};
  }

  // Reads all objects of a day, and moves the newest of their events to the page.
  Status ReadDay(const std::string& folder) {
    found_.clear();
    WEIR_RETURN_IF_ERROR(EachPage({.prefix = folder}, [&](const S3Listing& listing) {
      std::vector<S3Entry> wanted;
      std::ranges::copy_if(listing.objects, std::back_inserter(wanted),
                           [&](const S3Entry& entry) { return IsWanted(entry); });
      return ReadObjects(wanted);
    }));
    KeepNewest();
    std::ranges::move(found_, std::back_inserter(page_.events));
    if (page_.events.size() > query_.most) {
      page_.events.resize(query_.most);
      page_.next = page_.events.back().event.id;
    }
    return {};
  }

  bool IsWanted(const S3Entry& entry) {
    if (!IsArchiveKey(entry.key)) return false;
    const auto earliest = TimeOfKey(entry.key);
    if (earliest && latest_ && *earliest > *latest_) return false;
    if (entry.size <= archive_.bounds.max_packed) return true;
    Report(fmt::format("{}: it has {} bytes, more than {}", Printable(entry.key), entry.size,
                       archive_.bounds.max_packed));
    return false;
  }

  // Fetches a few objects at once: at most kMaxAtOnce, and max_packed bytes.
  Status ReadObjects(std::span<const S3Entry> entries) {
    while (!entries.empty()) {
      std::size_t count = 1;
      std::uint64_t bytes = entries[0].size;
      while (count < std::min(entries.size(), kMaxAtOnce) &&
             bytes + entries[count].size <= archive_.bounds.max_packed) {
        bytes += entries[count++].size;
      }
      WEIR_RETURN_IF_ERROR(ReadTogether(entries.first(count)));
      entries = entries.subspan(count);
    }
    return {};
  }

  Status ReadTogether(std::span<const S3Entry> entries) {
    const auto bodies =
        AwaitAll<std::string>(entries.size(), [&](std::size_t i, Done<std::string> done) {
          archive_.bucket.Get(entries[i].key, archive_.each_request(),
                              AsResult<std::string>(std::move(done)));
        });
    for (std::size_t i = 0; i < entries.size(); ++i) {
      if (bodies[i]) {
        ReadObject(entries[i].key, *bodies[i]);
        continue;
      }
      const Error& error = bodies[i].error();
      const bool is_of_object =
          error.code == Code::kNotFound || error.code == Code::kInvalidArgument;
      if (!is_of_object) return Fail(error);
      Report(fmt::format("{}: {}", Printable(entries[i].key), error.message));
    }
    return {};
  }

  void ReadObject(const std::string& key, std::string_view packed) {
    const Result<std::string> text = Gunzip(packed, archive_.bounds.max_unpacked);
    if (!text) return Report(fmt::format("{}: {}", Printable(key), text.error().message));
    std::string_view rest = *text;
    for (int number = 1; !rest.empty(); ++number) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      if (line.empty()) continue;
      Result<ArchivedEvent> read = ReadArchivedEvent(line);
      if (!read) {
        Report(fmt::format("{}, line {}: {}", Printable(key), number, read.error().message));
      } else if (Matches(*read)) {
        found_.push_back(*std::move(read));
      }
    }
    if (found_.size() > 2 * query_.most + 1000) KeepNewest();
  }

  bool Matches(const ArchivedEvent& read) const {
    const AuditEvent& event = read.event;
    return event.subject == query_.subject &&
           (query_.namespace_id.empty() || read.namespace_id == query_.namespace_id) &&
           (query_.after.empty() || event.id < query_.after) &&
           (!query_.start || event.at >= *query_.start) && (!query_.end || event.at < *query_.end);
  }

  // Sorts the events of the day, and drops those that cannot be on the page. One more than the page
  // needs is kept: it shows that there is a next page.
  void KeepNewest() {
    const auto id = [](const ArchivedEvent& read) -> const std::string& { return read.event.id; };
    std::ranges::sort(found_, std::greater(), id);
    const auto repeated = std::ranges::unique(found_, std::equal_to(), id);
    found_.erase(repeated.begin(), repeated.end());
    const std::size_t needed = query_.most + 1 - page_.events.size();
    if (found_.size() > needed) found_.resize(needed);
  }

  void Report(std::string line) {
    if (page_.unreadable.size() < archive_.bounds.max_reported) {
      page_.unreadable.push_back(std::move(line));
    } else {
      ++unreported_;
    }
  }

  const Archive& archive_;
  const ArchiveQuery& query_;
  std::optional<UnixMillis> latest_;  // no event of the page has a later time
  std::vector<ArchivedEvent> found_;  // the events found on the day that is being read
  ArchivePage page_;
  std::size_t unreported_ = 0;
};

}  // namespace

Result<ArchivePage> ReadArchive(const Archive& archive, const ArchiveQuery& query) {
  WEIR_RETURN_IF_ERROR(CheckAuditPage(query.subject, {.cursor = query.after, .limit = query.most}));
  return ArchiveRun(archive, query).Run();
}

}  // namespace weir
