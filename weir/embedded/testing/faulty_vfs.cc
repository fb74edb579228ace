#include "weir/embedded/testing/faulty_vfs.h"

#include <new>
#include <utility>

#include "weir/embedded/testing/embedded_fixture.h"

namespace weir {
namespace {

constexpr std::int64_t kPage = 4096;  // page size of the system's cache

}  // namespace

// The file object that SQLite gets: this header, followed in memory by the file of the real VFS.
struct FaultyVfs::File {
  sqlite3_file base;
  FaultyVfs* vfs;
  const char* path;
  sqlite3_file* real;
};

struct FaultyVfs::Methods {
  static File& Of(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }
  static sqlite3_file* Real(sqlite3_file* file) { return Of(file).real; }
  static FaultyVfs& Of(sqlite3_vfs* vfs) { return *static_cast<FaultyVfs*>(vfs->pAppData); }

  static sqlite3_int64 SizeOf(sqlite3_file* file) {
    sqlite3_int64 size = 0;
    Real(file)->pMethods->xFileSize(Real(file), &size);
    return size;
  }
  static int Write(sqlite3_file* file, const void* data, int size, sqlite3_int64 at) {
    FaultyVfs& vfs = *Of(file).vfs;
    const bool fails = vfs.Fails();
    if (fails && vfs.fault_ == Fault::kFull) return SQLITE_FULL;
    if (fails && vfs.fault_ == Fault::kError) return SQLITE_IOERR_WRITE;
    if (!vfs.may_grow_ && at + size > SizeOf(file)) return SQLITE_FULL;
    if (fails) size /= 2;
    vfs.bytes_written_ += static_cast<std::uint64_t>(size);
    const int result = Real(file)->pMethods->xWrite(Real(file), data, size, at);
    if (Of(file).path != nullptr) vfs.MarkDirty(Of(file).path, at, size);
    return fails ? SQLITE_IOERR_WRITE : result;
  }
  static int Sync(sqlite3_file* file, int flags) {
    FaultyVfs& vfs = *Of(file).vfs;
    vfs.WaitWhileHeld();
    const char* path = Of(file).path;
    if (vfs.Fails()) {
      // The pages of a failed sync never become synced.
      if (path != nullptr) vfs.dirty_.erase(path);
      return SQLITE_IOERR_FSYNC;
    }
    ++vfs.syncs_;
    if (path != nullptr) vfs.MarkSynced(path);
    return Real(file)->pMethods->xSync(Real(file), flags);
  }
  static int Truncate(sqlite3_file* file, sqlite3_int64 size) {
    if (Of(file).vfs->Fails()) return SQLITE_IOERR_TRUNCATE;
    return Real(file)->pMethods->xTruncate(Real(file), size);
  }
  static int Delete(sqlite3_vfs* vfs, const char* path, int sync) {
    if (Of(vfs).Fails()) return SQLITE_IOERR_DELETE;
    Of(vfs).synced_.erase(path);
    Of(vfs).dirty_.erase(path);
    return Of(vfs).real_->xDelete(Of(vfs).real_, path, sync);
  }

  static int Close(sqlite3_file* file) { return Real(file)->pMethods->xClose(Real(file)); }
  static int Read(sqlite3_file* file, void* data, int size, sqlite3_int64 at) {
    return Real(file)->pMethods->xRead(Real(file), data, size, at);
  }
  static int Size(sqlite3_file* file, sqlite3_int64* size) {
    return Real(file)->pMethods->xFileSize(Real(file), size);
  }
  static int Lock(sqlite3_file* file, int level) {
    return Real(file)->pMethods->xLock(Real(file), level);
  }
  static int Unlock(sqlite3_file* file, int level) {
    return Real(file)->pMethods->xUnlock(Real(file), level);
  }
  static int CheckReserved(sqlite3_file* file, int* taken) {
    return Real(file)->pMethods->xCheckReservedLock(Real(file), taken);
  }
  static int Control(sqlite3_file* file, int operation, void* argument) {
    return Real(file)->pMethods->xFileControl(Real(file), operation, argument);
  }
  static int SectorSize(sqlite3_file* file) {
    return Real(file)->pMethods->xSectorSize(Real(file));
  }
  static int Characteristics(sqlite3_file* file) {
    return Real(file)->pMethods->xDeviceCharacteristics(Real(file));
  }

  // The index of a write-ahead log that several connections share. It is memory, so it does not
  // fail.
  static int ShmMap(sqlite3_file* file, int region, int size, int extend, void volatile** at) {
    return Real(file)->pMethods->xShmMap(Real(file), region, size, extend, at);
  }
  static int ShmLock(sqlite3_file* file, int offset, int count, int flags) {
    return Real(file)->pMethods->xShmLock(Real(file), offset, count, flags);
  }
  static void ShmBarrier(sqlite3_file* file) { Real(file)->pMethods->xShmBarrier(Real(file)); }
  static int ShmUnmap(sqlite3_file* file, int remove) {
    return Real(file)->pMethods->xShmUnmap(Real(file), remove);
  }

  // Version 2 has no memory-mapped reads.
  static constexpr sqlite3_io_methods kFile = {
      2,        Close,         Read,    Write,      Truncate,        Sync,   Size,    Lock,
      Unlock,   CheckReserved, Control, SectorSize, Characteristics, ShmMap, ShmLock, ShmBarrier,
      ShmUnmap, nullptr,       nullptr};

  static int Open(sqlite3_vfs* vfs, sqlite3_filename path, sqlite3_file* file, int flags,
                  int* out_flags) {
    FaultyVfs& self = Of(vfs);
    if (self.read_only_) {
      flags &= ~(SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
      flags |= SQLITE_OPEN_READONLY;
    }
    auto* real = reinterpret_cast<sqlite3_file*>(reinterpret_cast<char*>(file) + sizeof(File));
    File* mine = new (file) File{.base = {}, .vfs = &self, .path = path, .real = real};
    if (path != nullptr) self.SnapshotOnOpen(path);
    const int result = self.real_->xOpen(self.real_, path, real, flags, out_flags);
    if (result == SQLITE_OK) mine->base.pMethods = &kFile;
    return result;
  }
};

FaultyVfs::FaultyVfs(std::string name) : name_(std::move(name)), real_(sqlite3_vfs_find(nullptr)) {
  // Functions that are not overridden are those of the real VFS, which has no state in its record.
  vfs_ = *real_;
  vfs_.zName = name_.c_str();
  vfs_.pNext = nullptr;
  vfs_.pAppData = this;
  vfs_.szOsFile = static_cast<int>(sizeof(File)) + real_->szOsFile;
  vfs_.xOpen = Methods::Open;
  vfs_.xDelete = Methods::Delete;
  sqlite3_vfs_register(&vfs_, 0);
}

FaultyVfs::~FaultyVfs() { sqlite3_vfs_unregister(&vfs_); }

void FaultyVfs::FailAt(std::uint64_t number, Fault fault, std::uint64_t more) {
  operations_ = 0;
  failures_ = 0;
  fail_from_ = number;
  fail_to_ = number + more;
  fault_ = fault;
}

bool FaultyVfs::Fails() {
  ++operations_;
  if (fail_from_ == 0 || operations_ < fail_from_ || operations_ > fail_to_) return false;
  ++failures_;
  return true;
}

void FaultyVfs::HoldSyncs() {
  const std::lock_guard lock(gate_mutex_);
  held_ = true;
}

void FaultyVfs::AwaitHeldSync() {
  std::unique_lock lock(gate_mutex_);
  gate_.wait(lock, [this] { return is_waiting_; });
}

void FaultyVfs::ReleaseSyncs() {
  const std::lock_guard lock(gate_mutex_);
  held_ = false;
  gate_.notify_all();
}

void FaultyVfs::WaitWhileHeld() {
  std::unique_lock lock(gate_mutex_);
  is_waiting_ = held_;
  gate_.notify_all();
  gate_.wait(lock, [this] { return !held_; });
  is_waiting_ = false;
}

void FaultyVfs::SnapshotOnOpen(const std::string& path) {
  if (synced_.contains(path) || dirty_.contains(path) || !FileExists(path)) return;
  if (std::string content = ReadFile(path); !content.empty()) synced_[path] = std::move(content);
}

void FaultyVfs::MarkDirty(const std::string& path, std::int64_t at, int size) {
  std::set<std::int64_t>& pages = dirty_[path];
  for (std::int64_t page = at / kPage; page * kPage < at + size; ++page) pages.insert(page);
}

void FaultyVfs::MarkSynced(const std::string& path) {
  const std::string content = ReadFile(path);
  std::string& synced = synced_[path];
  synced.resize(content.size());
  for (const std::int64_t page : dirty_[path]) {
    const auto from = static_cast<std::size_t>(page * kPage);
    if (from < content.size()) synced.replace(from, kPage, content, from, kPage);
  }
  dirty_[path].clear();
}

void FaultyVfs::CopySynced(const std::string& path, const std::string& copy) const {
  for (const auto& [name, content] : synced_) {
    if (!name.starts_with(path)) continue;
    WriteFile(copy + name.substr(path.size()), content);
  }
}

}  // namespace weir
