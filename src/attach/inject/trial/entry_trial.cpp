#include "attach/inject/trial/entry_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "attach/inject/stop/thread_stop.h"
#include "attach/inject/trial/copies.h"
#include "attach/inject/trial/private_copy.h"
#include "attach/inject/trial/questions.h"
#include "attach/inject/trial/size_tables.h"
#include "base/stable_sort.h"

namespace fathom::inject {
namespace {

using allocators::nameless::Candidate;
using allocators::nameless::JemallocEntries;
using allocators::nameless::name_of;
using allocators::nameless::Role;

bool is_release(Role role) {
  return role == Role::kFree || role == Role::kSdallocx;
}
bool is_resize(Role role) {
  return role == Role::kRealloc || role == Role::kRallocx;
}
bool alike(Role a, Role b) {
  return a == b || (is_release(a) && is_release(b)) || (is_resize(a) && is_resize(b));
}

class TrialOfEntries {
 public:
  TrialOfEntries(int fd, const elf::ElfFile& file, const JemallocEntries& found, int like)
      : found_(found), copies_(fd, file, stops_of(found), like) {}

  Result<EntryTrial> run() {
    if (auto done = try_malloc(); !done) return tl::unexpected<Error>(done.error());
    if (auto done = try_others(); !done) return tl::unexpected<Error>(done.error());
    if (auto done = choose(); !done) return tl::unexpected<Error>(done.error());
    trial_.copies = copies_.count();
    return std::move(trial_);
  }

 private:
  static std::vector<ElfAddress> stops_of(const JemallocEntries& found) {
    std::vector<ElfAddress> stops;
    for (const Candidate& each : found.candidates)
      if (each.by_shape) stops.push_back(each.address);
    return stops;
  }
  template <class Answer>
  std::optional<Answer> ask(Answer (*question)(Bench&, ElfAddress), ElfAddress function) {
    return copies_.ask([&](PrivateCopy& copy) {
      Bench bench(copy, malloc_, release_);
      return question(bench, function);
    });
  }
  tl::unexpected<Error> no_answer() const { return fail(ErrorKind::kSystem, copies_.problem()); }

  Result<> try_malloc() {
    for (const Candidate& each : found_.candidates) {
      if (each.label != Role::kMalloc || !each.by_shape) continue;
      const auto answer = ask(allocates, each.address);
      if (!answer) return no_answer();
      if (!*answer) return fail(ErrorKind::kUnsupported, "what looks like its malloc does something else");
      const auto refuses = ask(refuses_huge, each.address);
      if (!refuses) return no_answer();
      trial_.entries.push_back({each, *refuses ? Role::kMalloc : Role::kNew});
      if (*refuses && !malloc_) malloc_ = each.address;
    }
    if (!malloc_) return fail(ErrorKind::kUnsupported, "none of its functions behaves as malloc");
    auto tables = check_tables();
    return tables;
  }
  // In a copy that has allocated something.
  Result<> check_tables() {
    const auto agree = copies_.ask([&](PrivateCopy& copy) {
      if (!copy.call(*malloc_, {100, 0, 0, 0})) return false;
      for (const ElfAddress first : found_.tables)
        for (const ElfAddress second : found_.tables) {
          std::vector<std::byte> numbers(kNumberTableBytes), sizes(kSizeTableBytes);
          if (copy.memory().read(copy.at(first), numbers) && copy.memory().read(copy.at(second), sizes) &&
              are_size_tables(numbers, sizes))
            return true;
        }
      return false;
    });
    if (!agree) return no_answer();
    if (!*agree) return fail(ErrorKind::kUnsupported, "its tables of sizes are not those of jemalloc");
    return {};
  }

  Result<> try_others() {
    std::vector<std::pair<const Candidate*, Kind>> seen;
    for (const Candidate& each : found_.candidates) {
      if ((each.by_shape && each.label == Role::kMalloc) || each.is_wrapper) continue;
      const auto kind = ask(look_at, each.address);
      if (!kind) return no_answer();
      if (*kind == Kind::kNone || *kind == Kind::kGone)
        ++trial_.rejected;
      else
        seen.emplace_back(&each, *kind);
    }
    // The freeing function comes first, because the others need it.
    stable_sort_rows(seen, {}, [](const auto& each) { return each.second; });
    for (const auto& [candidate, kind] : seen) {
      if (kind != Kind::kFrees && !release_) break;
      const auto role = role_of(*candidate, kind);
      if (!role) return tl::unexpected<Error>(role.error());
      if (*role == Role::kUnknown) {
        ++trial_.rejected;
        if (kind != Kind::kTells) allocating_.push_back(candidate);
        continue;
      }
      trial_.entries.push_back({*candidate, *role});
      if (!release_ && is_release(*role)) release_ = Release{candidate->address, *role == Role::kSdallocx};
    }
    if (!release_) return fail(ErrorKind::kUnsupported, "none of its functions behaves as one that frees");
    return {};
  }
  // What a function does to blocks, exactly. Fails in any doubt, because the heap's picture would be wrong.
  Result<Role> role_of(const Candidate& candidate, Kind kind) {
    for (const Question& each : questions()) {
      if (each.kind != kind) continue;
      const auto answer = ask(each.asks, candidate.address);
      if (!answer) return no_answer();
      if (*answer) return each.role;
    }
    // Functions that only ask for a size are ignored. So are those that allocate in another way (many blocks
    // at once, or for the library itself): the report then misses this memory, but counts no block as live
    // that is not.
    if (kind != Kind::kFrees && kind != Kind::kResizes) return Role::kUnknown;
    return fail(ErrorKind::kUnsupported,
                fmt::format("one of its functions {} blocks, and it is not known how",
                            kind == Kind::kFrees ? "frees" : "resizes"));
  }

  // If two functions allocate in the same way and one continues into the other, programs call the first: the
  // other is the rest of it.
  Result<> choose() {
    for (const TriedEntry& each : trial_.entries) {
      const Role label = each.candidate.label;
      // operator new looks like malloc; sdallocx without flags looks like sdallocx.
      if (label != Role::kUnknown && label != each.role &&
          !(label == Role::kMalloc && each.role == Role::kNew))
        return fail(ErrorKind::kUnsupported,
                    fmt::format("what looks like its {} behaves as {}", name_of(label), name_of(each.role)));
    }
    for (const Candidate& each : found_.candidates)
      if (each.label != Role::kUnknown && std::ranges::none_of(trial_.entries, [&](const TriedEntry& tried) {
            return tried.candidate.address == each.address;
          }))
        return fail(ErrorKind::kUnsupported,
                    fmt::format("what looks like its {} does something else", name_of(each.label)));
    std::vector<ElfAddress> inner;
    for (const TriedEntry& each : trial_.entries)
      for (const ElfAddress to : each.candidate.goes_on_to)
        for (const TriedEntry& other : trial_.entries) {
          if (other.candidate.address != to || !alike(each.role, other.role)) continue;
          // If both were hooked, a block would be freed twice; with only one of them, frees would be missed.
          if (is_release(each.role) || is_resize(each.role))
            return fail(ErrorKind::kUnsupported,
                        fmt::format("two of its functions behave as {}, and one goes on into the other",
                                    name_of(other.role)));
          inner.push_back(to);
        }
    std::erase_if(trial_.entries, [&](const TriedEntry& each) {
      return std::ranges::find(inner, each.candidate.address) != inner.end();
    });
    const auto is_entry = [&](ElfAddress address) {
      return std::ranges::any_of(trial_.entries,
                                 [&](const TriedEntry& each) { return each.candidate.address == address; });
    };
    trial_.unknown = inner.size() +
                     static_cast<std::size_t>(std::ranges::count_if(allocating_, [&](const Candidate* each) {
                       return std::ranges::none_of(each->goes_on_to, is_entry);
                     }));
    std::ranges::sort(trial_.entries, {}, [](const TriedEntry& each) { return each.candidate.address; });
    return {};
  }

  const JemallocEntries& found_;
  Copies copies_;
  std::optional<ElfAddress> malloc_;
  std::optional<Release> release_;
  std::vector<const Candidate*> allocating_;  // in an unknown way
  EntryTrial trial_;
};

}  // namespace

Result<EntryTrial> try_entries(int fd, const elf::ElfFile& file, const JemallocEntries& found, int like) {
  return in_tracing_thread([&] { return TrialOfEntries(fd, file, found, like).run(); });
}

}  // namespace fathom::inject
