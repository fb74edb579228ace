#include "weir/embedded/reservation/file_reservations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "weir/embedded/file/sqlite.h"
#include "weir/embedded/testing/embedded_fixture.h"
#include "weir/embedded/testing/faulty_vfs.h"
#include "weir/store/testing/reservation/reservation_contract.h"

namespace weir {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<ReservationBackend> MustOpen(const std::string& path, const Clock& clock) {
  auto opened = OpenFileReservations(path, clock);
  EXPECT_TRUE(opened) << opened.error().message;
  return opened ? *std::move(opened) : nullptr;
}

// Two clients of one file, which are called alternately.
class InTurns final : public ReservationBackend {
 public:
  InTurns(const std::string& path, const Clock& clock)
      : one_(MustOpen(path, clock)), two_(MustOpen(path, clock)) {}

  ReservationStore& slots() override { return Next().slots(); }
  AccountLimitStore& limits() override { return Next().limits(); }
  TokenStore& tokens() override { return Next().tokens(); }
  std::string Describe() const override { return one_->Describe(); }
  std::optional<UnixMillis> OwnTime() const override { return one_->OwnTime(); }

 private:
  ReservationBackend& Next() { return turn_++ % 2 == 0 ? *one_ : *two_; }

  std::unique_ptr<ReservationBackend> one_;
  std::unique_ptr<ReservationBackend> two_;
  std::atomic<unsigned> turn_ = 0;
};

class FileHarness final : public ReservationHarness {
 public:
  explicit FileHarness(bool in_turns) {
    if (in_turns) {
      backend_ = std::make_unique<InTurns>(path_, clock_);
    } else {
      backend_ = MustOpen(path_, clock_);
    }
  }
  ReservationBackend& backend() override { return *backend_; }
  std::unique_ptr<ReservationBackend> AnotherClient() override { return MustOpen(path_, clock_); }
  int cases() const override { return 50; }

 private:
  TempFolder folder_;
  sim::SimClock clock_;
  std::string path_ = folder_ / "weir.db";
  std::unique_ptr<ReservationBackend> backend_;
};

const auto kPlaces =
    ReservationsOn({{"one_client", [] { return std::make_unique<FileHarness>(false); }},
                    {"two_in_turns", [] { return std::make_unique<FileHarness>(true); }}});

INSTANTIATE_TEST_SUITE_P(File, ReservationContract, kPlaces, ReservationsName);
INSTANTIATE_TEST_SUITE_P(File, AccountLimitContract, kPlaces, ReservationsName);
INSTANTIATE_TEST_SUITE_P(File, TokenContract, kPlaces, ReservationsName);
INSTANTIATE_TEST_SUITE_P(File, ReservationContractClients, kPlaces, ReservationsName);
INSTANTIATE_TEST_SUITE_P(File, ReservationContractThreads, kPlaces, ReservationsName);

const SlotClaim kClaim{.slot = {.key = kAccount, .id = "w-1"}, .limit = 1, .ttl = 60s};
constexpr AccountLimit kTen{.limit = 10, .window = 86'400s};

class FileReservations : public testing::Test {
 protected:
  void Open(const FileReservationsOptions& options = {}) {
    auto opened = OpenFileReservations(path_, clock_, options);
    ASSERT_TRUE(opened) << opened.error().message;
    backend_ = *std::move(opened);
    client_ = std::make_unique<ReservationClient>(*backend_, [] { return false; });
  }
  void Close() {
    client_.reset();
    backend_.reset();
  }
  Error OpenError() {
    auto opened = OpenFileReservations(path_, clock_);
    EXPECT_FALSE(opened);
    return opened ? Error() : opened.error();
  }
  // Stores a slot, a limit, taken tokens, and the end of a resource.
  void Fill() {
    ASSERT_TRUE(client_->Claim(kClaim, kStart)->slot);
    ASSERT_TRUE(client_->Change(
        PutAccountLimit{.row = {.key = kAccount, .limit = kTen, .service = "s"}, .seen = {}}));
    ASSERT_TRUE(client_->Take(kAccount, kTen, 7, kStart)->taken);
    const EndedResource end{
        .resource_id = "j-1", .ended_at = kStart + 1s, .remember_until = kStart + 3600s};
    ASSERT_EQ(client_->ReleaseResource(end, kStart + 2s), 0U);
  }
  void ExpectFilled() {
    EXPECT_EQ(client_->List(kAccount, {}, kStart + 3s)->items.size(), 1U);
    EXPECT_EQ(client_->LimitKeysOf("s")->size(), 1U);
    EXPECT_EQ(client_->Take(kAccount, kTen, 1, kStart + 3s)->available, 2);
    EXPECT_FALSE(client_->Bind(kClaim.slot, "j-1", 60s, kStart + 3s)) << "it has ended";
  }

  TempFolder folder_;
  sim::SimClock clock_;
  std::string path_ = folder_ / "weir.db";
  std::string file_ = path_ + "-reservations";
  std::unique_ptr<ReservationBackend> backend_;
  std::unique_ptr<ReservationClient> client_;
};

// Fails if: a call that stores nothing creates the file.
TEST_F(FileReservations, TheFileIsMadeByTheFirstThingToKeep) {
  Open();
  SlotClaim none = kClaim;
  none.limit = 0;
  EXPECT_FALSE(client_->Claim(none, kStart)->slot);
  EXPECT_EQ(client_->Release(kClaim.slot, kStart), false);
  EXPECT_EQ(client_->ReleaseResource({.resource_id = "j", .ended_at = kStart}, kStart), 0U);
  EXPECT_TRUE(client_->List(kAccount, {}, kStart)->items.empty());
  EXPECT_FALSE(client_->GetLimit(kAccount)->has_value());
  EXPECT_TRUE(
      client_->Change(DeleteAccountLimit{.seen = {.key = kAccount, .limit = {}, .service = ""}}));
  EXPECT_EQ(ErrorOf(client_->Take(kAccount, kTen, 11, kStart)).code, Code::kInvalidArgument);
  EXPECT_FALSE(FileExists(file_));
  EXPECT_TRUE(client_->Claim(kClaim, kStart)->slot);
  EXPECT_TRUE(FileExists(file_));
  EXPECT_EQ(backend_->Describe(), "sqlite:" + path_);
}

TEST_F(FileReservations, WhatWasAnsweredOutlivesTheProcess) {
  Open();
  Fill();
  Close();
  Open();
  ExpectFilled();
}

// Fails if: a call completes before its change is on disk.
TEST_F(FileReservations, WhatWasAnsweredOutlivesAKillAndAPowerLoss) {
  FaultyVfs disk("power");
  Open({.vfs = disk.name()});
  Fill();
  const std::string lost = folder_ / "lost.db";
  const std::string killed = folder_ / "killed.db";
  disk.CopySynced(file_, lost + "-reservations");
  for (const char* suffix : {"", "-wal", "-journal"}) {
    if (!FileExists(file_ + suffix)) continue;
    WriteFile(killed + "-reservations" + suffix, ReadFile(file_ + suffix));
  }
  Close();
  for (const std::string& path : {lost, killed}) {
    SCOPED_TRACE(path);
    path_ = path;
    Open();
    ExpectFilled();
    Close();
  }
}

// Fails if: an unbound slot, whose resource id is its own id, is taken for a resource of that name.
TEST_F(FileReservations, AnUnboundSlotIsNoThing) {
  Open();
  Fill();
  const EndedResource end{.resource_id = kClaim.slot.id, .ended_at = kStart + 1s};
  EXPECT_EQ(client_->ReleaseResource(end, kStart + 2s), 0U);
  ExpectFilled();
}

TEST_F(FileReservations, AreUsedWhileSomebodyOwnsTheStateFile) {
  EmbeddedClient owner(path_);
  ASSERT_TRUE(owner.Open());
  Open();
  Fill();
  EXPECT_TRUE(owner.Close());
  ExpectFilled();
}

TEST_F(FileReservations, ANewerFileAndThoseOfOthersAreRefusedByName) {
  RunSql(file_, "PRAGMA application_id = 2003134834; PRAGMA user_version = 99; CREATE TABLE t(x)");
  Error error = OpenError();
  EXPECT_EQ(error.code, Code::kFailedPrecondition);
  EXPECT_THAT(error.message, AllOf(HasSubstr(file_), HasSubstr("version 99")));

  file_ = (path_ = folder_ / "other.db") + "-reservations";
  RunSql(file_, "CREATE TABLE recipes(name)");
  error = OpenError();
  EXPECT_EQ(error.code, Code::kFailedPrecondition);
  EXPECT_THAT(error.message, AllOf(HasSubstr(file_), HasSubstr("not a weir file")));

  file_ = (path_ = folder_ / "text.db") + "-reservations";
  WriteFile(file_, std::string(5000, 'x'));
  error = OpenError();
  EXPECT_EQ(error.code, Code::kFailedPrecondition);
  EXPECT_THAT(error.message, HasSubstr(file_));
  EXPECT_EQ(ReadFile(file_), std::string(5000, 'x'));
}

// Fails if: a file that another program has created meanwhile is written to, or the error has a
// code that no store returns.
TEST_F(FileReservations, AFileOfOthersThatComesLaterIsUnavailable) {
  Open();
  RunSql(file_, "CREATE TABLE recipes(name)");
  const Error error = ErrorOf(client_->Claim(kClaim, kStart));
  EXPECT_EQ(error.code, Code::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("not a weir file"));
  EXPECT_EQ(ErrorOf(client_->GetLimit(kAccount)).code, Code::kUnavailable);
  EXPECT_THAT(RunSql(file_, "SELECT name FROM sqlite_schema"), ElementsAre("recipes"));
}

TEST_F(FileReservations, AFileThatCanOnlyBeReadIsRefused) {
  Open();
  Fill();
  Close();
  FaultyVfs disk("frozen");
  disk.MakeReadOnly();
  const auto opened = OpenFileReservations(path_, clock_, {.vfs = disk.name()});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kPermissionDenied);
}

TEST_F(FileReservations, WithoutAFolderTheyAreEmptyAndUnavailable) {
  path_ = folder_ / "nowhere/weir.db";
  Open();
  EXPECT_TRUE(client_->List(kAccount, {}, kStart)->items.empty());
  EXPECT_EQ(ErrorOf(client_->Claim(kClaim, kStart)).code, Code::kUnavailable);
}

// Fails if: impossible numbers reach the arithmetic.
TEST_F(FileReservations, ADamagedBucketIsNamedAndLeft) {
  Open();
  Fill();
  Close();
  for (const char* bucket :
       {"{}", "x", R"({"tokens":[11000,0,0,10000,10000,1000]})",
        R"({"tokens":[1,0,0,1000,1000,1000],"more":[1,0,0,1000,1000,1000]})"}) {
    SCOPED_TRACE(bucket);
    RunSql(file_, std::string("UPDATE account_bucket SET bucket = '") + bucket + "'");
    Open();
    const Error error = ErrorOf(client_->Take(kAccount, kTen, 1, kStart));
    EXPECT_EQ(error.code, Code::kDataLoss);
    EXPECT_THAT(error.message, AllOf(HasSubstr(file_), HasSubstr("emr for acme")));
    EXPECT_EQ(client_->List(kAccount, {}, kStart)->items.size(), 1U) << "the rest is there";
    Close();
    EXPECT_THAT(RunSql(file_, "SELECT bucket FROM account_bucket"), ElementsAre(bucket));
  }
}

// Holds the file as another process in a transaction does.
class Intruder {
 public:
  explicit Intruder(const std::string& file) : connection_(*sqlite::Connection::Open(file, "")) {
    EXPECT_TRUE(connection_.Execute("BEGIN IMMEDIATE; DELETE FROM slot"));
  }
  void Leave() { EXPECT_TRUE(connection_.Execute("ROLLBACK")); }

 private:
  sqlite::Connection connection_;
};

TEST_F(FileReservations, WhoeverHasTheFileTooLongMakesItUnavailable) {
  Open({.longest_wait = 1ms});
  Fill();
  Intruder other(file_);
  SlotClaim second = kClaim;
  second.slot.id = "w-2";
  second.limit = 2;
  const Error error = ErrorOf(client_->Claim(second, kStart + 3s));
  EXPECT_EQ(error.code, Code::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr(file_));
  EXPECT_EQ(client_->List(kAccount, {}, kStart + 3s)->items.size(), 1U) << "reading goes on";
  other.Leave();
  EXPECT_TRUE(client_->Claim(second, kStart + 3s)->slot);
}

// Fails if: a call waits for the file beyond its deadline. (Then the test does not end.)
TEST_F(FileReservations, ADeadlineEndsTheWait) {
  Open({.longest_wait = std::chrono::hours(24)});
  Fill();
  Intruder other(file_);
  const auto release = [&](Deadline deadline) {
    return client_->Call<bool>([&](Done<bool> done) {
      backend_->slots().Release(kClaim.slot, kStart + 3s, deadline, std::move(done));
    });
  };
  EXPECT_EQ(ErrorOf(release(Deadline::After(clock_, 1ms))).code, Code::kUnavailable);
  other.Leave();
  EXPECT_EQ(ErrorOf(release(Deadline::At(clock_.Now()))).code, Code::kDeadlineExceeded);
  EXPECT_EQ(client_->List(kAccount, {}, kStart + 3s)->items.size(), 1U);
  EXPECT_EQ(release(Deadline::After(clock_, 1s)), true);
}

class DisplacedReservations : public FileReservations {
 protected:
  SlotClaim Second() const {
    SlotClaim claim = kClaim;
    claim.slot.id = "w-2";
    return claim;
  }
  // Expects that all calls fail, again and again.
  void ExpectUnavailable(const std::string& displaced) {
    for (int i = 0; i < 2; ++i) {
      for (const Error& error : {ErrorOf(client_->List(kAccount, {}, kStart)),
                                 ErrorOf(client_->Claim(Second(), kStart))}) {
        EXPECT_EQ(error.code, Code::kUnavailable);
        EXPECT_THAT(error.message, HasSubstr(displaced + ": was deleted, moved or replaced"));
      }
    }
  }
};

// Fails if: an empty file takes the place of the one that was moved, so that slots are granted
// twice.
TEST_F(DisplacedReservations, FailAllCallsUntilTheFileIsBack) {
  Open();
  Fill();
  std::filesystem::rename(file_, folder_ / "moved");
  ExpectUnavailable(file_);
  EXPECT_FALSE(FileExists(file_));
  EXPECT_EQ(std::filesystem::file_size(file_ + "-wal"), 0U);
  std::filesystem::rename(folder_ / "moved", file_);
  EXPECT_FALSE(client_->Claim(Second(), kStart)->slot) << "the other slot is held";
  ExpectFilled();
}

// Fails if: the file that took its place is opened.
TEST_F(DisplacedReservations, FailAllCallsWhileAnotherFileIsInItsPlace) {
  Open();
  Fill();
  std::filesystem::rename(file_, folder_ / "moved");
  WriteFile(file_, "");
  ExpectUnavailable(file_);
  EXPECT_EQ(ReadFile(file_), "");
  std::filesystem::rename(folder_ / "moved", file_);
  ExpectFilled();
}

// Fails if: the file is forgotten because it was closed after another error.
TEST_F(DisplacedReservations, FailAllCallsAfterAnotherErrorToo) {
  Open({.longest_wait = 1ms});
  Fill();
  {
    Intruder other(file_);
    EXPECT_EQ(ErrorOf(client_->Claim(Second(), kStart)).code, Code::kUnavailable);
  }
  std::filesystem::rename(file_, folder_ / "moved");
  ExpectUnavailable(file_);
  EXPECT_FALSE(FileExists(file_));
  std::filesystem::rename(folder_ / "moved", file_);
  ExpectFilled();
}

// Fails if: another file is opened because the one of before was closed after another error.
TEST_F(DisplacedReservations, FailAllCallsWhileAnotherFileIsInThePlaceOfAClosedOne) {
  Open({.longest_wait = 1ms});
  Fill();
  {
    Intruder other(file_);
    EXPECT_EQ(ErrorOf(client_->Claim(Second(), kStart)).code, Code::kUnavailable);
  }
  std::filesystem::rename(file_, folder_ / "moved");
  WriteFile(file_, "");
  ExpectUnavailable(file_);
  EXPECT_EQ(ReadFile(file_), "");
  std::filesystem::rename(folder_ / "moved", file_);
  EXPECT_FALSE(client_->Claim(Second(), kStart)->slot) << "the other slot is held";
  ExpectFilled();
}

// On ext4 a new file often gets the inode number of the file that was deleted last. Fails if: it is
// then taken for the deleted one.
TEST_F(DisplacedReservations, FailAllCallsAfterTheClosedFileWasDeletedAndMadeAgain) {
  std::string on_disk = (std::filesystem::temp_directory_path() / "weir-XXXXXX").string();
  ASSERT_NE(mkdtemp(on_disk.data()), nullptr);
  file_ = (path_ = on_disk + "/weir.db") + "-reservations";
  Open({.longest_wait = 1ms});
  Fill();
  {
    Intruder other(file_);
    EXPECT_EQ(ErrorOf(client_->Claim(Second(), kStart)).code, Code::kUnavailable);
  }
  std::filesystem::remove(file_);
  WriteFile(file_, "");
  ExpectUnavailable(file_);
  Close();
  std::filesystem::remove_all(on_disk);
}

// Fails if: slots are kept in a log that other processes do not find.
TEST_F(DisplacedReservations, FailAllCallsWhenTheLogWasDeleted) {
  Open();
  Fill();
  std::filesystem::remove(file_ + "-wal");
  ExpectUnavailable(file_ + "-wal");
  Close();
  Open();
  ExpectFilled();
}

// The machine's clock, which calls `look` when it is read.
class ClockWithHook final : public Clock {
 public:
  Instant Now() const override {
    if (look) look();
    return clock_.Now();
  }
  UnixMillis WallNow() const override { return clock_.WallNow(); }

  std::function<void()> look;

 private:
  SystemClock clock_;
};

// The call reads the clock for the third time when it has found the file and is about to open it.
// Fails if: a file that was deleted by then is created again.
TEST_F(DisplacedReservations, AFileIsCreatedOnce) {
  ClockWithHook clock;
  const auto backend = *OpenFileReservations(path_, clock, {.longest_wait = 1ms});
  const auto claim = [&](const std::string& id) {
    Result<ClaimResult> result = Fail(Code::kInternal, "no result");
    backend->slots().Claim({.slot = {.key = kAccount, .id = id}, .limit = 1, .ttl = 60s},
                           clock.WallNow(), Deadline::Never(),
                           [&](auto received) { result = std::move(received); });
    return result;
  };
  ASSERT_TRUE(claim("w-1")->slot);
  {
    Intruder other(file_);
    EXPECT_EQ(ErrorOf(claim("w-2")).code, Code::kUnavailable);
  }
  int looks = 0;
  clock.look = [&] {
    if (++looks == 3) std::filesystem::remove(file_);
  };
  const Error error = ErrorOf(claim("w-2"));
  EXPECT_GE(looks, 3);
  EXPECT_EQ(error.code, Code::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr(file_ + ": was deleted, moved or replaced"));
  EXPECT_FALSE(FileExists(file_));
}

// The call reads the clock when it is in the queue behind the one that hangs. Fails if: the end of
// the wait is beyond the range of the clock, so that the wait ends at once.
TEST_F(FileReservations, ADeadlineNearTheEndOfTimeIsAwaited) {
  FaultyVfs disk("far_deadline");
  ClockWithHook clock;
  const auto backend = *OpenFileReservations(path_, clock, {.vfs = disk.name()});
  const auto claim = [&](const std::string& id, Deadline deadline) {
    bool held = false;
    backend->slots().Claim({.slot = {.key = {"emr", "globex"}, .id = id}, .limit = 2, .ttl = 60s},
                           kStart, deadline,
                           [&](const auto& result) { held = result && result->slot.has_value(); });
    return held;
  };
  ASSERT_TRUE(claim("0", Deadline::Never()));
  disk.HoldSyncs();
  std::jthread first([&] { EXPECT_TRUE(claim("1", Deadline::Never())); });
  disk.AwaitHeldSync();
  int looks = 0;
  clock.look = [&] {
    if (++looks == 2) disk.ReleaseSyncs();
  };
  EXPECT_TRUE(claim("0", Deadline::At({INT64_MAX - 1})));
  first.join();
}

// A clock that does not advance, and that counts its readings.
class WatchedClock final : public Clock {
 public:
  Instant Now() const override {
    ++looks_;
    return {1'000'000'000};
  }
  UnixMillis WallNow() const override { return kStart; }
  nanoseconds BootNow() const override { return std::chrono::hours(1); }
  void AwaitLooks(int looks) const {
    while (looks_ < looks) std::this_thread::yield();
  }
  int looks() const { return looks_; }

 private:
  mutable std::atomic<int> looks_ = 0;
};

// A thread reads the clock twice before it waits for its turn, and a third time when it has its
// turn. Fails if: threads overtake each other.
TEST_F(FileReservations, C12ThreadsHaveTheirTurnsInTheOrderInWhichTheyCame) {
  Open();
  Fill();
  const WatchedClock clock;
  const auto backend =
      *OpenFileReservations(path_, clock, {.longest_wait = std::chrono::hours(24)});
  const Deadline deadline = Deadline::After(clock, std::chrono::hours(1));
  Intruder other(file_);
  std::array<bool, 4> held{};
  std::vector<std::jthread> threads;
  int looks = clock.looks() + 1;
  for (std::size_t i = 0; i < held.size(); ++i) {
    threads.emplace_back([&, i] {
      const SlotClaim claim{
          .slot = {.key = {"emr", "globex"}, .id = std::to_string(i)}, .limit = 2, .ttl = 60s};
      backend->slots().Claim(claim, kStart, deadline, [&, i](const auto& result) {
        held[i] = result && result->slot.has_value();
      });
    });
    clock.AwaitLooks(looks += 2);
  }
  other.Leave();
  threads.clear();
  EXPECT_THAT(held, ElementsAre(true, true, false, false));
}

// Fails if: rows of expired slots, of ends that need not be remembered any more, or of full buckets
// are kept for ever.
TEST_F(FileReservations, TheFileDoesNotGrow) {
  Open();
  UnixMillis now = kStart;
  for (int i = 0; i < 500; ++i) {
    now = now + 1s;
    const AccountKey key{.resource = "emr", .account = std::to_string(i)};
    SlotClaim claim{.slot = {.key = key, .id = "w"}, .limit = 1, .ttl = 1s};
    ASSERT_TRUE(client_->Claim(claim, now)->slot);
    ASSERT_TRUE(client_->Take(key, {.limit = 1, .window = 1s}, 1, now)->taken);
    const EndedResource end{
        .resource_id = key.account, .ended_at = now, .remember_until = now + 1s};
    ASSERT_EQ(client_->ReleaseResource(end, now), 0U);
  }
  Close();
  for (const char* table : {"slot", "account_bucket", "ended"}) {
    const auto count = RunSql(file_, std::string("SELECT count(*) FROM ") + table);
    EXPECT_LE(std::stoi(count.at(0)), 70) << table << ": a full bucket stays for kMaxAhead";
  }
}

// Fails if: a file that cannot be examined is treated as absent.
TEST_F(FileReservations, C19AFileThatCannotBeLookedAtIsAnError) {
  Open();
  std::filesystem::create_symlink(file_, file_);
  const auto listed = client_->List(kAccount, {}, kStart);
  ASSERT_FALSE(listed) << "it would read as empty";
  EXPECT_EQ(listed.error().code, Code::kUnavailable);
  EXPECT_THAT(listed.error().message, HasSubstr(file_));
  EXPECT_FALSE(OpenFileReservations(path_, clock_));
}

}  // namespace
}  // namespace weir
