#include "weir/embedded/reservation/file_reservations.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <list>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "weir/embedded/file/data_file.h"
#include "weir/embedded/file/errno_code.h"
#include "weir/embedded/file/file_names.h"
#include "weir/embedded/file/file_replace.h"
#include "weir/embedded/reservation/file_reservation_rows.h"
#include "weir/embedded/rows/clock_rows.h"
#include "weir/store/memory/memory_rows.h"
#include "weir/store/reservation/row_reservations.h"

namespace weir {
namespace {

// The largest difference between readings of two clocks that are considered to agree.
constexpr milliseconds kMaxApart{2000};

// A longer wait is treated as endless, because its end may be beyond the range of the clock.
constexpr std::chrono::hours kEndlessWait{24 * 365};

// Admits one thread at a time, in the order of their calls. The others wait at most until their
// deadlines.
class Turn {
 public:
  // Blocks until the caller has its turn. Returns false if the deadline passes first.
  bool Take(Deadline deadline, const Clock& clock) {
    std::unique_lock lock(mutex_);
    const auto mine = queue_.insert(queue_.end(), ++tickets_);
    const auto is_first = [this, mine] { return mine == queue_.begin(); };
    const nanoseconds remaining = deadline.Left(clock.Now());
    if (remaining > kEndlessWait) {
      moved_.wait(lock, is_first);
    } else if (!moved_.wait_for(lock, remaining, is_first)) {
      queue_.erase(mine);
      return false;
    }
    return true;
  }
  // Ends the turn.
  void Give() {
    {
      const std::lock_guard lock(mutex_);
      queue_.pop_front();
    }
    moved_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable moved_;
  std::uint64_t tickets_ = 0;
  std::list<std::uint64_t> queue_;  // the first one has the turn
};

// Identifies a file. While this object exists, no other file gets the number of its inode, even if
// the file is deleted and SQLite has it closed. The descriptor is one of O_PATH: closing any other
// descriptor of the file would release the locks that SQLite has on it in this process.
class PinnedFile {
 public:
  static Result<PinnedFile> At(const std::string& path) {
    const int descriptor = open(path.c_str(), O_PATH | O_CLOEXEC);
    if (descriptor < 0) return FileFailure("open", path, errno);
    return PinnedFile(descriptor);
  }
  PinnedFile(PinnedFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  PinnedFile& operator=(PinnedFile&&) = delete;
  ~PinnedFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  bool Is(const std::optional<sqlite::FileId>& file) const {
    struct stat found = {};
    return fstat(descriptor_, &found) == 0 && file == sqlite::FileId{found.st_dev, found.st_ino};
  }

 private:
  explicit PinnedFile(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

// The file is opened by the first call that finds the file or has rows to store, and again after an
// error, but then no other file. While it is not in place, it stays open, and each call fails: a
// file that would be opened at the path now does not have the slots that are held.
//
//  closed -- a call that finds the file or stores rows: Open --> open -- an error --> closed
class ReservationFile final : public RowTransactions {
 public:
  ReservationFile(const std::string& path, const Clock& clock, FileReservationsOptions options)
      : path_(WithoutLink(path)),
        clock_(clock),
        options_(std::move(options)),
        base_(BucketTime::FromMedian(clock).base().value) {}

  // Opens the file if it exists.
  Status OpenIfThere() {
    WEIR_ASSIGN_OR_RETURN(const bool exists, IsThere());
    Status opened = exists ? Open(options_.longest_wait) : Status();
    is_opening_ = false;
    return opened;
  }

  Status Write(Deadline deadline, const Body& body) override {
    return InTurn(deadline, [&] { return WriteInTurn(deadline, body); });
  }
  Status Read(Deadline deadline, const Body& body) override {
    return InTurn(deadline, [&] { return ReadInTurn(deadline, body); });
  }
  std::string Describe() const override { return "sqlite:" + path_; }
  std::optional<UnixMillis> Now() const override {
    return BucketTime(clock_, UnixMillis{base_}).Now();
  }

 private:
  struct File {
    explicit File(sqlite::Connection opened) : connection(std::move(opened)) {}
    ~File() {
      rows.reset();
      // Unlike the destructor, Close leaves the log of another file alone.
      (void)connection.Close();
    }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    sqlite::Connection connection;
    std::optional<FileReservationRows> rows{std::in_place, connection};
  };

  std::string file() const { return path_ + "-reservations"; }
  tl::unexpected<Error> Displaced() const {
    return Fail(sqlite::DisplacedError("sqlite:" + file()));
  }
  // Returns whether the file exists. Returns the system's error if that cannot be determined, and
  // kUnavailable if the file existed before.
  Result<bool> IsThere() const {
    if (file_) return true;
    std::error_code error;
    const auto found = std::filesystem::status(file(), error);
    if (found.type() == std::filesystem::file_type::not_found) {
      if (pinned_) return Displaced();
      return false;
    }
    if (!error) return true;
    return Fail(CodeOfErrno(error.value()),
                fmt::format("sqlite:{}: cannot be looked at: {}", file(), error.message()));
  }
  // Returns how long the file may wait for other processes: until the deadline or longest_wait.
  milliseconds WaitUntil(Deadline deadline) const {
    const nanoseconds left =
        std::min<nanoseconds>(deadline.Left(clock_.Now()), options_.longest_wait);
    return std::chrono::duration_cast<milliseconds>(left);
  }

  // Runs `work` when the thread has its turn, and converts its error.
  template <class Work>
  Status InTurn(Deadline deadline, const Work& work);
  Status WriteInTurn(Deadline deadline, const Body& body);
  Status ReadInTurn(Deadline deadline, const Body& body);
  Status Open(milliseconds wait);
  // Opens the file, and creates it if it has never been open. Returns kUnavailable if the file at
  // the path is not the one that was open before.
  Result<sqlite::Connection> OpenConnection() const;
  // Remembers the file, if it is the first one that was opened.
  Status Pin(const sqlite::Connection& connection);
  // Reads the file's bucket time, or starts it on a new boot.
  Status StartClock(sqlite::Connection& connection);

  const std::string path_;
  const Clock& clock_;
  const FileReservationsOptions options_;
  Turn turn_;
  std::unique_ptr<File> file_;  // used by the thread that has its turn; null: to be opened
  // The base of bucket time, in ms: that of this process's clock until the file exists, then the
  // file's.
  std::atomic<std::int64_t> base_;
  bool has_base_ = false;             // base_ is the file's
  std::optional<PinnedFile> pinned_;  // the file, since it was first opened
  bool is_opening_ = true;            // OpenIfThere has not returned yet
  // Of the last connection, which was closed because of an error.
  bool log_may_lack_pages_ = false;
};

template <class Work>
Status ReservationFile::InTurn(Deadline deadline, const Work& work) {
  const bool has_turn = !deadline.ExpiredAt(clock_.Now()) && turn_.Take(deadline, clock_);
  if (!has_turn) {
    return Fail(Code::kDeadlineExceeded,
                fmt::format("sqlite:{}: the deadline passed before anything was done", file()));
  }
  Status done = work();
  if (!done) {
    done.error() = AsStoreError(std::move(done.error()));
    // A connection that failed is not used again: the next call opens the file again.
    if (file_ && file_->connection.CheckInPlace()) {
      log_may_lack_pages_ = file_->connection.log_may_lack_pages();
      file_.reset();
    }
  }
  turn_.Give();
  return done;
}

Status ReservationFile::WriteInTurn(Deadline deadline, const Body& body) {
  WEIR_ASSIGN_OR_RETURN(const bool exists, IsThere());
  if (!exists) {
    MemoryRows empty_rows;
    body(empty_rows);
    if (empty_rows.CountRows() == 0) return {};
  }
  WEIR_RETURN_IF_ERROR(Open(WaitUntil(deadline)));
  WEIR_RETURN_IF_ERROR(file_->connection.RestorePages());
  return file_->connection.InTransaction([&] {
    body(*file_->rows);
    return file_->rows->TakeFailure();
  });
}

Status ReservationFile::ReadInTurn(Deadline deadline, const Body& body) {
  WEIR_ASSIGN_OR_RETURN(const bool exists, IsThere());
  if (!exists) {
    MemoryRows empty_rows;
    body(empty_rows);
    return {};
  }
  WEIR_RETURN_IF_ERROR(Open(WaitUntil(deadline)));
  WEIR_RETURN_IF_ERROR(file_->connection.CheckInPlace());
  return file_->connection.InSnapshot([&] {
    body(*file_->rows);
    return file_->rows->TakeFailure();
  });
}

// Opens the file, unless it is open, and sets how long it waits for other processes.
Status ReservationFile::Open(milliseconds wait) {
  if (file_) {
    file_->connection.WaitForOthers(wait);
    return {};
  }
  WEIR_RETURN_IF_ERROR(CheckReplaced(file()));
  WEIR_ASSIGN_OR_RETURN(auto connection, OpenConnection());
  connection.WaitForOthers(wait);
  if (connection.read_only()) {
    return Fail(
        Code::kPermissionDenied,
        fmt::format("{}: can only be read; make it and its folder writable", connection.name()));
  }
  WEIR_RETURN_IF_ERROR(PrepareSchema(connection, ReservationMigrations()));
  // Fails with kUnavailable while another process uses the file. Then a later opener turns on the
  // write-ahead log.
  if (auto mode = connection.QueryText("PRAGMA journal_mode = WAL");
      !mode && mode.error().code != Code::kUnavailable) {
    return Fail(std::move(mode.error()));
  }
  // The log is shared, so SQLite's own checkpoints are used: the process that commits when the log
  // is long moves the log into the file.
  WEIR_RETURN_IF_ERROR(connection.Execute(
      "PRAGMA synchronous = FULL; PRAGMA secure_delete = OFF; PRAGMA wal_autocheckpoint = 1000"));
  WEIR_RETURN_IF_ERROR(Pin(connection));
  if (log_may_lack_pages_) connection.DistrustLog();
  WEIR_RETURN_IF_ERROR(StartClock(connection));
  file_ = std::make_unique<File>(std::move(connection));
  return {};
}

Result<sqlite::Connection> ReservationFile::OpenConnection() const {
  if (!pinned_) return sqlite::Connection::Open(file(), options_.vfs);
  auto opened = sqlite::Connection::OpenExisting(file(), options_.vfs);
  const bool is_absent = !opened && opened.error().code == Code::kNotFound;
  if (is_absent || (opened && !pinned_->Is(opened->file()))) return Displaced();
  return opened;
}

Status ReservationFile::Pin(const sqlite::Connection& connection) {
  if (pinned_) return {};
  WEIR_ASSIGN_OR_RETURN(PinnedFile found, PinnedFile::At(file()));
  if (!found.Is(connection.file())) return Displaced();
  pinned_.emplace(std::move(found));
  return {};
}

Status ReservationFile::StartClock(sqlite::Connection& connection) {
  const BootIdentity boot = options_.boot.value_or(ReadBootIdentity());
  ClockOnBoot found;
  const auto read = [&]() -> Status {
    WEIR_ASSIGN_OR_RETURN(const auto stored, ReadClock(connection));
    found = ClockForBoot(boot, stored, clock_);
    return {};
  };
  const auto write = [&]() -> Status {
    WEIR_RETURN_IF_ERROR(read());  // another process may have written it meanwhile
    return found.is_new ? WriteClock(connection, found.clock) : Status();
  };
  WEIR_RETURN_IF_ERROR(connection.InSnapshot(read));
  if (found.is_new) WEIR_RETURN_IF_ERROR(connection.InTransaction(write));
  const UnixMillis old_base{base_.exchange(found.clock.base.value)};
  if (std::exchange(has_base_, true)) return {};
  // The call that opened the file has computed its `now` with the old base, so it fails if the
  // bases differ much.
  const milliseconds difference = std::chrono::abs(found.clock.base - old_base);
  if (!is_opening_ && difference > kMaxApart) {
    return Fail(Code::kUnavailable,
                fmt::format("{}: made by another process, whose clock differs by {} ms; try again",
                            connection.name(), difference.count()));
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<ReservationBackend>> OpenFileReservations(
    const std::string& path, const Clock& clock, const FileReservationsOptions& options) {
  auto file = std::make_unique<ReservationFile>(path, clock, options);
  WEIR_RETURN_IF_ERROR(file->OpenIfThere());
  return MakeRowReservations(std::move(file));
}

}  // namespace weir
