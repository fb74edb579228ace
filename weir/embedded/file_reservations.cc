#include "weir/embedded/file_reservations.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <list>
#include <mutex>
#include <optional>
#include <system_error>
#include <utility>

#include "weir/embedded/clock_rows.h"
#include "weir/embedded/data_file.h"
#include "weir/embedded/errno_code.h"
#include "weir/embedded/file_replace.h"
#include "weir/embedded/file_reservation_rows.h"
#include "weir/store/memory_rows.h"
#include "weir/store/row_reservations.h"

namespace weir {
namespace {

// Two readings of clocks that agree.
constexpr milliseconds kMostApart{2000};

// One thread at a time, in the order in which they came; the others wait no longer than they can.
class Turn {
 public:
  bool Take(Deadline deadline, const Clock& clock) {
    std::unique_lock lock(mutex_);
    const auto mine = queue_.insert(queue_.end(), ++tickets_);
    const auto is_first = [this, mine] { return mine == queue_.begin(); };
    if (deadline.is_never()) {
      moved_.wait(lock, is_first);
    } else if (!moved_.wait_for(lock, deadline.Left(clock.Now()), is_first)) {
      queue_.erase(mine);
      return false;
    }
    return true;
  }
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
  std::list<std::uint64_t> queue_;  // the first has its turn
};

class ReservationFile final : public ReservationPlace {
 public:
  ReservationFile(const std::string& path, const Clock& clock, FileReservationsOptions options)
      : path_(WithoutLink(path)),
        clock_(clock),
        options_(std::move(options)),
        base_(BucketTime::FromMedian(clock).base().value) {}

  Status OpenIfThere() {
    WEIR_ASSIGN_OR_RETURN(const bool there, IsThere());
    Status opened = there ? Open(options_.longest_wait) : Status();
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
    sqlite::Connection connection;
    FileReservationRows rows{connection};
  };

  std::string file() const { return path_ + "-reservations"; }
  // kUnavailable, or what the system says, if that cannot be found out.
  Result<bool> IsThere() const {
    if (file_) return true;
    std::error_code error;
    const auto found = std::filesystem::status(file(), error);
    if (found.type() == std::filesystem::file_type::not_found) return false;
    if (!error) return true;
    return Fail(CodeOfErrno(error.value()),
                fmt::format("sqlite:{}: cannot be looked at: {}", file(), error.message()));
  }
  milliseconds WaitUntil(Deadline deadline) const {
    const nanoseconds left =
        std::min<nanoseconds>(deadline.Left(clock_.Now()), options_.longest_wait);
    return std::chrono::duration_cast<milliseconds>(left);
  }

  template <class Work>
  Status InTurn(Deadline deadline, const Work& work);
  Status WriteInTurn(Deadline deadline, const Body& body);
  Status ReadInTurn(Deadline deadline, const Body& body);
  Status Open(milliseconds wait);
  Status StartClock(sqlite::Connection& connection);

  const std::string path_;
  const Clock& clock_;
  const FileReservationsOptions options_;
  Turn turn_;
  std::unique_ptr<File> file_;  // whose turn it is
  // Of bucket time, in ms: by this process's clock until the file is there, then the file's.
  std::atomic<std::int64_t> base_;
  bool has_base_ = false;   // of the file
  bool is_opening_ = true;  // before the first verb
};

template <class Work>
Status ReservationFile::InTurn(Deadline deadline, const Work& work) {
  const bool in_time = !deadline.ExpiredAt(clock_.Now()) && turn_.Take(deadline, clock_);
  if (!in_time) {
    return Fail(Code::kDeadlineExceeded,
                fmt::format("sqlite:{}: the deadline passed before anything was done", file()));
  }
  Status done = work();
  if (!done) {
    done.error() = AsStoreError(std::move(done.error()));
    // What failed once is not relied on: the next verb opens the file again.
    file_.reset();
  }
  turn_.Give();
  return done;
}

Status ReservationFile::WriteInTurn(Deadline deadline, const Body& body) {
  WEIR_ASSIGN_OR_RETURN(const bool there, IsThere());
  if (!there) {
    MemoryRows none;
    body(none);
    if (none.CountRows() == 0) return {};
  }
  WEIR_RETURN_IF_ERROR(Open(WaitUntil(deadline)));
  return file_->connection.InTransaction([&] {
    body(file_->rows);
    return file_->rows.TakeFailure();
  });
}

Status ReservationFile::ReadInTurn(Deadline deadline, const Body& body) {
  WEIR_ASSIGN_OR_RETURN(const bool there, IsThere());
  if (!there) {
    MemoryRows none;
    body(none);
    return {};
  }
  WEIR_RETURN_IF_ERROR(Open(WaitUntil(deadline)));
  return file_->connection.InSnapshot([&] {
    body(file_->rows);
    return file_->rows.TakeFailure();
  });
}

// If it is not open yet; from now on the file waits so long for other processes.
Status ReservationFile::Open(milliseconds wait) {
  if (file_) {
    file_->connection.WaitForOthers(wait);
    return {};
  }
  WEIR_RETURN_IF_ERROR(CheckReplaced(file()));
  WEIR_ASSIGN_OR_RETURN(auto connection, sqlite::Connection::Open(file(), options_.vfs));
  connection.WaitForOthers(wait);
  if (connection.read_only()) {
    return Fail(
        Code::kPermissionDenied,
        fmt::format("{}: can only be read; make it and its folder writable", connection.name()));
  }
  WEIR_RETURN_IF_ERROR(PrepareSchema(connection, ReservationMigrations()));
  // Not while another process is at it: it may then be one of the next who turns the log on.
  if (auto mode = connection.QueryText("PRAGMA journal_mode = WAL");
      !mode && mode.error().code != Code::kUnavailable) {
    return Fail(std::move(mode.error()));
  }
  // The log is shared, so SQLite's own checkpoints: who commits when it is long moves it.
  WEIR_RETURN_IF_ERROR(connection.Execute(
      "PRAGMA synchronous = FULL; PRAGMA secure_delete = OFF; PRAGMA wal_autocheckpoint = 1000"));
  WEIR_RETURN_IF_ERROR(StartClock(connection));
  file_ = std::make_unique<File>(std::move(connection));
  return {};
}

// Takes the file's bucket time, or gives it one on a new boot.
Status ReservationFile::StartClock(sqlite::Connection& connection) {
  const BootIdentity boot = options_.boot.value_or(ReadBootIdentity());
  ClockOnBoot found;
  const auto read = [&]() -> Status {
    WEIR_ASSIGN_OR_RETURN(const auto stored, ReadClock(connection));
    found = ClockOn(boot, stored, clock_);
    return {};
  };
  const auto write = [&]() -> Status {
    WEIR_RETURN_IF_ERROR(read());  // another process may have done it by now
    return found.is_new ? WriteClock(connection, found.stored) : Status();
  };
  WEIR_RETURN_IF_ERROR(connection.InSnapshot(read));
  if (found.is_new) WEIR_RETURN_IF_ERROR(connection.InTransaction(write));
  const UnixMillis before{base_.exchange(found.stored.base.value)};
  if (std::exchange(has_base_, true)) return {};
  // The call that made it necessary has a `now` of the old base.
  const milliseconds moved = std::chrono::abs(found.stored.base - before);
  if (!is_opening_ && moved > kMostApart) {
    return Fail(Code::kUnavailable,
                fmt::format("{}: made by another process, whose clock differs by {} ms; try again",
                            connection.name(), moved.count()));
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
