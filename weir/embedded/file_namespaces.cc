#include "weir/embedded/file_namespaces.h"

#include <string>
#include <utility>

#include "weir/model/identifier.h"
#include "weir/model/namespace_name.h"

namespace weir {
namespace {

tl::unexpected<Error> RefuseDefault() {
  return Fail(Code::kInvalidArgument,
              "namespace default is the file itself, not a registered one; expected another name");
}

Status CheckNew(std::string_view name) {
  return name == kDefaultNamespace ? RefuseDefault() : CheckNamespace(name);
}

}  // namespace

std::uint64_t SeedOf(const Clock& clock) {
  return static_cast<std::uint64_t>(clock.WallNow().value) * 1'000'003 +
         static_cast<std::uint64_t>(clock.Now().nanos);
}

FileNamespaces::FileNamespaces(NamespaceRegistry registry, const Clock& clock,
                               std::function<Status()> check)
    : registry_(std::move(registry)),
      clock_(clock),
      check_(std::move(check)),
      random_(SeedOf(clock)) {}

std::string FileNamespaces::NewId(const NamespaceTable& table) {
  const MutexLock lock(mutex_);
  std::string id;
  do {
    id = NewNamespaceId([this]() WEIR_REQUIRES(mutex_) { return random_.Next(); });
  } while (table.GetById(id));
  return id;
}

void FileNamespaces::Register(std::string_view name, Deadline, Done<Namespace> done) {
  done(check_().and_then([&] { return CheckNew(name); }).and_then([&] {
    return registry_.Make([&](NamespaceTable& table) -> Result<Namespace> {
      Namespace wanted;
      wanted.id = NewId(table);
      wanted.name = name;
      wanted.created_at = clock_.WallNow();
      return table.Register(std::move(wanted));
    });
  }));
}

void FileNamespaces::Get(std::string_view name, Deadline, Done<std::optional<Namespace>> done) {
  done(check_()
           .and_then([&] { return CheckNamespace(name); })
           .and_then([&] { return registry_.Load(); })
           .map([&](const NamespaceTable& table) { return table.Get(name); }));
}

void FileNamespaces::List(const PageRequest& page, Deadline, Done<Page<Namespace>> done) {
  done(check_()
           .and_then([&] { return CheckNamePage(page); })
           .and_then([&] { return registry_.Load(); })
           .and_then([&](const NamespaceTable& table) { return table.List(page); }));
}

void FileNamespaces::Delete(std::string_view name, Deadline, Done<Namespace> done) {
  done(check_().and_then([&] { return CheckNamespace(name); }).and_then([&] {
    return registry_.Make([&](NamespaceTable& table) -> Result<Namespace> {
      // An earlier version may have registered it.
      if (name == kDefaultNamespace && !table.Get(name)) return RefuseDefault();
      return table.Delete(name, clock_.WallNow());
    });
  }));
}

void FileNamespaces::Recover(std::string_view id, Deadline, Done<Namespace> done) {
  done(check_().and_then([&] { return CheckNamespaceId(id); }).and_then([&] {
    return registry_.Make([&](NamespaceTable& table) { return table.Recover(id); });
  }));
}

void FileNamespaces::Orphans(const PageRequest& page, Deadline, Done<Page<Namespace>> done) {
  done(check_()
           .and_then([&] { return CheckIdPage(page); })
           .and_then([&] { return registry_.Load(); })
           .and_then([&](const NamespaceTable& table) { return table.Orphans(page); }));
}

void FileNamespaces::Purge(std::string_view id, Deadline, Done<std::uint64_t> done) {
  done(check_().and_then([&] { return CheckNamespaceId(id); }).and_then([&] {
    return registry_.Purge(std::string(id), clock_.WallNow());
  }));
}

void FileNamespaces::Resolve(std::string_view name_or_id, Deadline, Done<std::string> done) {
  done(check_()
           .and_then([&] { return CheckNameOrId(name_or_id); })
           .and_then([&] { return registry_.Load(); })
           .and_then([&](const NamespaceTable& table) { return table.Resolve(name_or_id); }));
}

}  // namespace weir
