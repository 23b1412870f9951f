#include "formats/dumps/merge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/parse.h"
#include "base/text.h"
#include "model/facts.h"

namespace fathom::dumps {
namespace {

using Kind = Merge::Kind;
using Dumps = std::vector<const DumpFile*>;

bool is_final(const DumpFile& file) {
  return file.name && file.name->trigger == formats::DumpTrigger::kFinal;
}

std::uint64_t newest_of(const Instance& instance) {
  std::uint64_t newest = 0;
  for (const DumpFile* file : instance.dumps) newest = std::max(newest, file->modified_unix_ns);
  return newest;
}

std::string_view plural(std::size_t count) {
  return count == 1 ? "" : "s";
}

class Merger {
 public:
  Merger(const std::vector<DumpFile>& files, const Merge& merge, std::optional<std::int32_t> pid,
         FilesByName names)
      : files_(files), merge_(merge), pid_(pid), builder_(std::move(names)) {}

  Result<model::Profile> merge() {
    if (const Result<> chosen = choose_instances(); !chosen) return tl::unexpected(chosen.error());
    if (files_.size() == 1 && merge_.kind == Kind::kDefault) return one_file();
    if (merge_.kind == Kind::kSum) return sum();
    if (instances_.size() > 1) return several();
    const Instance& instance = instances_.front();
    if (instance.related)
      notes_.push_back(
          "Another process with the same prefix has the same mappings: if this one was forked from it, its dumps include what was live there at the fork.");
    if (instance.forked)
      notes_.push_back(
          "It was forked from a process with the same prefix, so its dumps include what was live there at the fork.");
    switch (merge_.kind) {
      case Kind::kAll:
      case Kind::kLast:
        return series(instance);
      case Kind::kMean:
        return mean(instance);
      case Kind::kMax:
        return max(instance);
      default:
        return latest(instance);
    }
  }

 private:
  // `named_after`: for ImportFacts::result_name.
  Result<model::Profile> done(const std::string& subject, const std::string& meaning,
                              const std::string& named_after) {
    Result<model::Profile> profile = builder_.finish();
    if (!profile) return profile;
    const std::string program(profile->strings[profile->processes.front().name]);
    profile->meta.target = program.empty() ? subject : fmt::format("{}, {}", program, subject);
    model::put_facts(model::ImportFacts{.meaning = meaning}, profile->meta);
    model::put_facts(model::ImportFacts{.result_name = named_after}, profile->meta);
    std::vector<std::string>& notes = profile->quality.notes;
    notes.insert(notes.begin(), notes_.begin(), notes_.end());
    notes.insert(notes.begin(), meaning);
    return profile;
  }

  Result<model::Profile> one_file() {
    const DumpFile& file = files_.front();
    builder_.add(instances_.front(), instances_.front().dumps, Shape::kSnapshot);
    std::string meaning = fmt::format("This is the heap at the moment of one dump, {}",
                                      file.path == "-" ? "standard input" : base_name(file.path));
    if (file.name) meaning += fmt::format("; it was written as {}", formats::words_of(file.name->trigger));
    return done(subject_of(instances_.front(), file), meaning + ".", file.path);
  }

  // "dumps/jeprof.4711.heap" for "dumps/jeprof.4711.3.i3.heap" and similar names.
  static std::string common_name(const Instance& instance) {
    const std::string& first = instance.dumps.front()->path;
    if (instance.prefix.empty()) return first;
    const std::string folder = first.substr(0, first.size() - base_name(first).size());
    return fmt::format("{}{}.{}.heap", folder, base_name(instance.prefix), instance.pid);
  }

  // File names that are not jemalloc's contain no pid.
  static std::string of_process(const Instance& instance, const std::string& which) {
    return instance.pid == 0 ? which : fmt::format("pid {}, {}", instance.pid, which);
  }

  static std::string subject_of(const Instance& instance, const DumpFile& file) {
    if (file.path == "-") return of_process(instance, "a dump from standard input");
    return of_process(instance, fmt::format("dump {}", short_label(file)));
  }

  // One run of each process; the newest of several runs with the same pid and prefix.
  Result<> choose_instances() {
    std::vector<Instance> all = instances_of(files_);
    if (pid_) {
      std::erase_if(all, [&](const Instance& instance) { return instance.pid != *pid_; });
      if (all.empty())
        return fail(ErrorKind::kNotFound, fmt::format("none of the dumps is from process {}", *pid_),
                    "the number in their names: PREFIX.PID.N.i0.heap");
    }
    for (Instance& instance : all) {
      const auto same = std::ranges::find_if(instances_, [&](const Instance& other) {
        return other.pid != 0 && other.pid == instance.pid && other.prefix == instance.prefix;
      });
      if (same == instances_.end()) {
        instances_.push_back(std::move(instance));
        continue;
      }
      if (newest_of(instance) > newest_of(*same)) std::swap(instance, *same);
      notes_.push_back(fmt::format("{} dump{} of an earlier run of process {} {} left out, such as {}.",
                                   instance.dumps.size(), plural(instance.dumps.size()), instance.pid,
                                   instance.dumps.size() == 1 ? "is" : "are",
                                   base_name(instance.dumps.front()->path)));
    }
    return {};
  }

  Result<model::Profile> several() const {
    std::string list;
    for (const Instance& instance : instances_)
      list += fmt::format("{}{}: {} dump{}", list.empty() ? "" : "; ", instance.title(),
                          instance.dumps.size(), plural(instance.dumps.size()));
    return fail(ErrorKind::kUsage,
                fmt::format("the dumps are from {} processes ({})", instances_.size(), list),
                "--pid N for one of them, or --merge sum to add up the live memory of all");
  }

  // The last dump before the one at exit.
  const DumpFile& latest_of(const Instance& instance) {
    for (std::size_t i = instance.dumps.size(); i-- > 0;)
      if (!is_final(*instance.dumps[i])) return *instance.dumps[i];
    return *instance.dumps.back();
  }

  Result<model::Profile> latest(const Instance& instance) {
    const DumpFile& file = latest_of(instance);
    const DumpFile* const chosen[] = {&file};
    builder_.add(instance, chosen, Shape::kSnapshot);
    std::string meaning =
        fmt::format("This is the latest of {} dump{}, {}: live memory at that moment; nothing is added up",
                    instance.dumps.size(), plural(instance.dumps.size()), base_name(file.path));
    if (is_final(file))
      meaning +=
          ". It is the one of the exit, as there is no other: what the program had cleaned up by then is not in it";
    else if (is_final(*instance.dumps.back()))
      meaning += ". The exit dump is left out because it is written after the program has cleaned up";
    return done(subject_of(instance, file), meaning + ".", file.path);
  }

  Result<model::Profile> series(const Instance& instance) {
    Dumps dumps = instance.dumps;
    const std::size_t all = dumps.size();
    if (merge_.kind == Kind::kLast && dumps.size() > merge_.count)
      dumps.erase(dumps.begin(), dumps.end() - static_cast<std::ptrdiff_t>(merge_.count));
    builder_.add(instance, dumps, Shape::kSeries);
    std::string meaning = fmt::format(
        "These are {} of {} dump{} as a heap over time, from {} to {}: live memory is from the last one, and growth is the last minus the first",
        dumps.size(), all, plural(all), base_name(dumps.front()->path), base_name(dumps.back()->path));
    if (is_final(*dumps.back()))
      meaning += "; the last one was written at the exit, after the program had cleaned up";
    add_triggers(dumps);
    const std::string which = dumps.size() == all ? fmt::format("{} dumps", all)
                                                  : fmt::format("the last {} of {} dumps", dumps.size(), all);
    return done(of_process(instance, which), meaning + ".", common_name(instance));
  }

  // Notes on the time axis why each dump was written.
  void add_triggers(const Dumps& dumps) {
    std::map<char, std::size_t> counts;
    for (const DumpFile* file : dumps)
      if (file->name) ++counts[static_cast<char>(file->name->trigger)];
    for (const auto& [letter, count] : counts)
      notes_.push_back(fmt::format("{} dump{} with the letter {}: {}.", count, plural(count), letter,
                                   formats::words_of(static_cast<formats::DumpTrigger>(letter))));
  }

  Result<model::Profile> mean(const Instance& instance) {
    builder_.add(instance, instance.dumps, Shape::kMean);
    return done(
        of_process(instance, fmt::format("the mean of {} dumps", instance.dumps.size())),
        fmt::format(
            "This is the mean live memory of {} dumps, from {} to {}; no single moment looked like this.",
            instance.dumps.size(), base_name(instance.dumps.front()->path),
            base_name(instance.dumps.back()->path)),
        common_name(instance));
  }

  Result<model::Profile> max(const Instance& instance) {
    const DumpFile* largest = nullptr;
    double most = -1;
    for (const DumpFile* file : instance.dumps)
      if (const double live = live_in(file->dump).sum.bytes; live > most) {
        most = live;
        largest = file;
      }
    const DumpFile* const chosen[] = {largest};
    builder_.add(instance, chosen, Shape::kSnapshot);
    return done(
        subject_of(instance, *largest),
        fmt::format(
            "This is the one of {} dumps in which most was live, {}; between dumps it may have been more.",
            instance.dumps.size(), base_name(largest->path)),
        largest->path);
  }

  Result<model::Profile> sum() {
    if (instances_.size() < 2)
      return fail(
          ErrorKind::kUsage,
          "--merge sum adds up different processes, but these dumps are from one: each holds everything that was live, so a sum would count it many times",
          "--merge latest, all, last:N, mean or max");
    for (const Instance& instance : instances_) {
      if (instance.forked)
        return fail(
            ErrorKind::kUsage,
            fmt::format("{} was forked from another one, so memory live at the fork would count twice",
                        instance.title()),
            "--pid N for one of them");
      if (instance.related)
        return fail(
            ErrorKind::kUsage,
            fmt::format(
                "{} has the same mappings as another one: if one was forked from the other, memory live at the fork would count twice",
                instance.title()),
            "--pid N for one of them");
    }
    for (const Instance& instance : instances_) {
      const DumpFile* const chosen[] = {&latest_of(instance)};
      builder_.add(instance, chosen, Shape::kSnapshot);
    }
    return done(fmt::format("{} processes", instances_.size()),
                fmt::format("This is the sum of live memory in {} processes, from the latest dump of each.",
                            instances_.size()),
                common_name(instances_.front()));
  }

  const std::vector<DumpFile>& files_;
  const Merge& merge_;
  std::optional<std::int32_t> pid_;
  ProfileBuilder builder_;
  std::vector<Instance> instances_;
  std::vector<std::string> notes_;
};

}  // namespace

Result<Merge> parse_merge(std::string_view text) {
  constexpr std::pair<std::string_view, Kind> kWords[] = {{"latest", Kind::kLatest},
                                                          {"all", Kind::kAll},
                                                          {"sum", Kind::kSum},
                                                          {"mean", Kind::kMean},
                                                          {"max", Kind::kMax}};
  for (const auto& [word, kind] : kWords)
    if (text == word) return Merge{kind, 0};
  constexpr std::string_view kLast = "last:";
  Merge merge{Kind::kLast, 0};
  if (text.starts_with(kLast)) {
    merge.count = parse_number<decltype(merge.count)>(text.substr(kLast.size())).value_or(0);
    if (merge.count > 0) return merge;
  }
  return fail(ErrorKind::kUsage, fmt::format("--merge: '{}' is not a way to take dumps together", text),
              "latest, last:N, all, sum, mean or max");
}

Result<model::Profile> merge_dumps(const std::vector<DumpFile>& files, const Merge& merge,
                                   std::optional<std::int32_t> pid, FilesByName names) {
  return Merger(files, merge, pid, std::move(names)).merge();
}

}  // namespace fathom::dumps
