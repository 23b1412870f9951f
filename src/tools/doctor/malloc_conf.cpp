#include "tools/doctor/malloc_conf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "attach/allocators/settings/settings.h"
#include "base/parse.h"
#include "base/word_distance.h"

namespace fathom::doctor {
namespace {

enum class ValueKind : std::uint8_t {
  kBool,
  kNumber,    // a whole number of 0 or more
  kPositive,  // of 1 or more
  kSigned,    // of -1 or more
  kRatio,     // "0.25", or -1
  kClasses,   // "1-160:5|161-320:2": size classes, and a number for each
  kText,
};
struct Option {
  std::string_view name;
  ValueKind kind;
  std::string_view effect;
  std::string_view words =
      {};  // words that it also takes, or, of kText, nothing else: "default,always,never"
  std::int64_t most = INT64_MAX;
};

constexpr Option kOptions[] = {
    {"prof", ValueKind::kBool, "the heap profiler; it can only be switched on when the program starts"},
    {"prof_active", ValueKind::kBool, "whether it samples from the start; prof.active changes it later"},
    {"prof_thread_active_init", ValueKind::kBool, "whether new threads are sampled"},
    {"prof_prefix", ValueKind::kText,
     "how the names of dumps begin: PREFIX.PID.N.i0.heap; its folder must be there"},
    {"prof_bt_max", ValueKind::kNumber, "frames of a stack at most (128)"},
    {"lg_prof_sample", ValueKind::kNumber, "2^N bytes between samples on average (19: 512 KiB)"},
    {"prof_accum", ValueKind::kBool,
     "dumps also count all that was allocated since the start; costs memory for every stack ever seen"},
    {"lg_prof_interval", ValueKind::kSigned, "a dump whenever 2^N bytes were allocated (-1: none)"},
    {"prof_gdump", ValueKind::kBool, "a dump whenever more memory is mapped than ever before"},
    {"prof_final", ValueKind::kBool, "a dump when the program ends, after its clean-up"},
    {"prof_leak", ValueKind::kBool,
     "a summary of leaks on standard error at the exit; its figures are not those of the dump"},
    {"prof_leak_error", ValueKind::kBool, "exit status 1 where something is left"},
    {"prof_log", ValueKind::kBool, "a log of sampled calls"},
    {"prof_stats", ValueKind::kBool, "statistics of samples by size"},
    {"prof_sys_thread_name", ValueKind::kBool, "threads have the names of the system in dumps"},
    {"prof_recent_alloc_max", ValueKind::kSigned, "so many recent samples are kept"},
    {"prof_time_resolution", ValueKind::kText, "for times in the log", "default,high"},
    {"prof_unbias", ValueKind::kBool, "counts in dumps are made so that reading them gives the right sums"},
    {"abort", ValueKind::kBool, "abort on warnings"},
    {"abort_conf", ValueKind::kBool, "abort where a setting is wrong: a good guard for start scripts"},
    {"confirm_conf", ValueKind::kBool, "write on standard error where settings come from"},
    {"background_thread", ValueKind::kBool, "threads of the allocator give unused memory back"},
    {"max_background_threads", ValueKind::kNumber, "how many of them"},
    {"dirty_decay_ms", ValueKind::kSigned,
     "how long freed pages are kept (10000; 0: given back at once; -1: for ever)"},
    {"muzzy_decay_ms", ValueKind::kSigned, "the same of pages that the kernel may take back"},
    {"narenas", ValueKind::kPositive, "arenas (four for each CPU): fewer fragment less and contend more",
     "default"},
    {"percpu_arena", ValueKind::kText, "an arena for each CPU", "disabled,percpu,phycpu"},
    {"oversize_threshold", ValueKind::kNumber, "larger blocks have an arena of their own"},
    {"tcache", ValueKind::kBool, "caches of threads"},
    {"tcache_max", ValueKind::kNumber, "largest block in them"},
    {"lg_tcache_max", ValueKind::kNumber, "largest block in them, 2^N"},
    {"lg_tcache_nslots_mul", ValueKind::kSigned, "size of caches", {}, 16},
    {"tcache_nslots_small_min", ValueKind::kNumber, "size of caches"},
    {"tcache_nslots_small_max", ValueKind::kNumber, "size of caches"},
    {"tcache_nslots_large", ValueKind::kNumber, "size of caches"},
    {"tcache_gc_incr_bytes", ValueKind::kNumber, "how often caches are cleaned"},
    {"tcache_gc_delay_bytes", ValueKind::kNumber, "how often caches are cleaned"},
    {"lg_tcache_flush_small_div", ValueKind::kNumber, "how much of a cache is flushed"},
    {"lg_tcache_flush_large_div", ValueKind::kNumber, "how much of a cache is flushed"},
    {"thp", ValueKind::kText, "huge pages", "default,always,never"},
    {"metadata_thp", ValueKind::kText, "huge pages for the allocator's own data", "disabled,auto,always"},
    {"trust_madvise", ValueKind::kBool, "whether MADV_DONTNEED zeroes pages"},
    {"retain", ValueKind::kBool, "addresses are kept and not unmapped"},
    {"dss", ValueKind::kText, "whether brk is used", "disabled,primary,secondary"},
    {"bin_shards", ValueKind::kClasses, "locks of size classes"},
    {"slab_sizes", ValueKind::kClasses, "pages of the slabs of size classes"},
    {"mutex_max_spin", ValueKind::kSigned, "how long locks spin"},
    {"cache_oblivious", ValueKind::kBool, "where large blocks begin in their pages"},
    {"lg_extent_max_active_fit", ValueKind::kNumber, "how much larger a reused range may be", {}, 64},
    {"stats_print", ValueKind::kBool, "statistics at the exit"},
    {"stats_print_opts", ValueKind::kText, "what they hold"},
    {"stats_interval", ValueKind::kSigned, "statistics whenever so many bytes were allocated"},
    {"stats_interval_opts", ValueKind::kText, "what they hold"},
    {"junk", ValueKind::kText, "memory is filled with a pattern: slow", "true,false,alloc,free"},
    {"zero", ValueKind::kBool, "memory is filled with zeros: slow"},
    {"utrace", ValueKind::kBool, "traces of FreeBSD"},
    {"xmalloc", ValueKind::kBool, "the program is ended where memory is short"},
    {"zero_realloc", ValueKind::kText, "what realloc(p, 0) does", "alloc,free,abort"},
    {"debug_double_free_max_scan", ValueKind::kNumber, "how far double frees are searched for"},
    {"hpa", ValueKind::kBool, "the allocator of huge pages"},
    {"hpa_slab_max_alloc", ValueKind::kNumber, "of it"},
    {"hpa_hugification_threshold", ValueKind::kNumber, "of it"},
    {"hpa_hugification_threshold_ratio", ValueKind::kRatio, "of it"},
    {"hpa_hugify_delay_ms", ValueKind::kNumber, "of it"},
    {"hpa_min_purge_interval_ms", ValueKind::kNumber, "of it"},
    {"hpa_dirty_mult", ValueKind::kRatio, "of it"},
    {"hpa_sec_nshards", ValueKind::kNumber, "of it"},
    {"hpa_sec_max_alloc", ValueKind::kNumber, "of it"},
    {"hpa_sec_max_bytes", ValueKind::kNumber, "of it"},
    {"hpa_sec_bytes_after_flush", ValueKind::kNumber, "of it"},
    {"hpa_sec_batch_fill_extra", ValueKind::kNumber, "of it"},
    {"lg_san_uaf_align", ValueKind::kSigned, "looks for uses after free"},
    {"san_guard_small", ValueKind::kNumber, "guard pages"},
    {"san_guard_large", ValueKind::kNumber, "guard pages"},
};
// Other tools have them, or other versions had them.
struct Stranger {
  std::string_view name, text;
};
constexpr Stranger kStrangers[] = {
    {"prof_thread_name", "there is no such setting in 5.3; names come with prof_sys_thread_name:true"},
    {"lg_chunk", "gone since jemalloc 5"},
    {"lg_dirty_mult", "gone since jemalloc 5: dirty_decay_ms"},
    {"decay_time", "gone since jemalloc 5: dirty_decay_ms"},
    {"purge", "gone since jemalloc 5: dirty_decay_ms"},
    {"redzone", "gone since jemalloc 5"},
    {"quarantine", "gone since jemalloc 5"},
    {"prof_file", "dumps are named by prof_prefix"},
    {"prof_interval", "lg_prof_interval:N, a dump for 2^N bytes"},
    {"prof_sample", "lg_prof_sample:N, a sample in 2^N bytes"},
};

constexpr double kMB = 1e6, kTypicalDump = 1e6, kAssumedRate = 100 * kMB;
// What a sample costs the thread that takes it, for stacks of 5 to 30 frames: jemalloc 5.3, November 2026.
constexpr double kSampleMinUs = 4, kSampleMaxUs = 13;

std::string nearest(std::string_view name) {
  const Option* best = nullptr;
  std::size_t least = 0;
  for (const Option& option : kOptions)
    if (const std::size_t apart = word_distance(name, option.name); best == nullptr || apart < least) {
      best = &option;
      least = apart;
    }
  return least <= std::max<std::size_t>(2, name.size() / 4) ? std::string(best->name) : "";
}

bool is_number(std::string_view value, std::int64_t least, std::int64_t most) {
  const auto number = parse_number<std::int64_t>(value);
  return number && *number >= least && *number <= most;
}

bool is_ratio(std::string_view value) {
  if (value == "-1") return true;
  const std::string_view whole = take_until(value, '.');
  return is_number(whole, 0, INT32_MAX) && (value.empty() || is_number(value, 0, INT64_MAX));
}

bool is_classes(std::string_view value) {
  if (value.empty()) return false;
  while (!value.empty()) {
    std::string_view number = take_until(value, '|');
    std::string_view range = take_until(number, ':');
    const std::string_view first = take_until(range, '-');
    if (!is_number(first, 0, INT64_MAX) || !is_number(range, 0, INT64_MAX) ||
        !is_number(number, 0, INT64_MAX))
      return false;
  }
  return true;
}

bool takes(const Option& option, std::string_view value) {
  for (std::string_view words = option.words; !words.empty();)
    if (take_until(words, ',') == value) return true;
  switch (option.kind) {
    case ValueKind::kBool:
      return value == "true" || value == "false";
    case ValueKind::kNumber:
      return is_number(value, 0, option.most);
    case ValueKind::kPositive:
      return is_number(value, 1, option.most);
    case ValueKind::kSigned:
      return is_number(value, option.name == "lg_tcache_nslots_mul" ? -16 : -1, option.most);
    case ValueKind::kRatio:
      return is_ratio(value);
    case ValueKind::kClasses:
      return is_classes(value);
    case ValueKind::kText:
      return option.words.empty() && (!value.empty() || option.name == "prof_prefix");
  }
  return false;
}

std::string what_it_takes(const Option& option) {
  std::string words(option.words);
  for (std::size_t comma = 0; (comma = words.find(',', comma)) != words.npos; comma += 2)
    words.replace(comma, 1, ", ");
  const std::string or_words = words.empty() ? "" : " or " + words;
  const std::string up_to = option.most == INT64_MAX ? "" : fmt::format(", at most {}", option.most);
  switch (option.kind) {
    case ValueKind::kBool:
      return "takes true or false, not 1, on or yes";
    case ValueKind::kNumber:
      return "takes a whole number of 0 or more" + up_to + or_words;
    case ValueKind::kPositive:
      return "takes a whole number of 1 or more" + up_to + or_words;
    case ValueKind::kSigned:
      return (option.name == "lg_tcache_nslots_mul" ? "takes a whole number from -16 to 16"
                                                    : "takes a whole number of -1 or more") +
             or_words;
    case ValueKind::kRatio:
      return "takes a number such as 0.25, or -1";
    case ValueKind::kClasses:
      return "takes size classes with a number: 1-160:5|161-320:2";
    case ValueKind::kText:
      return words.empty() ? "takes a value" : "takes one of " + words;
  }
  return "";
}

std::string bytes_of_power(std::int64_t power) {
  constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  return fmt::format("{} {}", std::int64_t{1} << (power % 10), kUnits[power / 10]);
}

class Checker {
 public:
  explicit Checker(const MallocConfTarget& target) : target_(target) {}

  ConfCheck check(std::string_view text) {
    if (target_.prefix) check_.variable = variable_of(*target_.prefix);
    if (const std::size_t equals = text.find('=');
        equals != std::string_view::npos && text.find(':') > equals) {
      const std::string name(text.substr(0, equals));
      text.remove_prefix(equals + 1);
      check_name(name);
    }
    while (text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front())
      text = text.substr(1, text.size() - 2);
    while (!text.empty()) {
      const std::size_t end = std::min(text.find(','), text.size());
      check_pair(text.substr(0, end));
      text.remove_prefix(std::min(text.size(), end + 1));
    }
    about_all();
    return std::move(check_);
  }

 private:
  void check_name(const std::string& name) {
    ConfRow row{name + "=", ConfVerdict::kFine, "the variable that this allocator reads"};
    if (check_.variable.empty()) {
      row.text = "";
      check_.variable = name;
      if (!name.ends_with("MALLOC_CONF")) {
        row.verdict = ConfVerdict::kWrong;
        row.text =
            "no variable that jemalloc reads: MALLOC_CONF, or with a prefix such as _RJEM_MALLOC_CONF in Rust programs";
        check_.variable.clear();
      }
    } else if (name != check_.variable) {
      row.verdict = ConfVerdict::kWithout;
      row.text = fmt::format("this allocator does not look at it, and says nothing: {}", check_.variable);
    }
    if (!row.text.empty()) check_.rows.push_back(std::move(row));
  }

  void check_pair(std::string_view pair) {
    ConfRow row{std::string(pair), ConfVerdict::kFine, ""};
    const std::size_t colon = pair.find(':');
    if (stopped_) {
      row.verdict = ConfVerdict::kWithout;
      row.text = "not read: jemalloc stops at the pair before, which is not name:value";
    } else if (pair.find(' ') != std::string_view::npos) {
      row.verdict = ConfVerdict::kWrong;
      row.text = "it contains a blank; only commas separate pairs";
      stopped_ = pair.find(' ') < colon;  // in a value it is a bad value only
    } else if (colon == std::string_view::npos) {
      row.verdict = ConfVerdict::kWrong;
      row.text = "no name:value; all that follows is not read either";
      stopped_ = true;
    } else {
      judge(pair.substr(0, colon), pair.substr(colon + 1), row);
    }
    check_.rows.push_back(std::move(row));
  }

  void judge(std::string_view name, std::string_view value, ConfRow& row) {
    const auto option = std::ranges::find(kOptions, name, &Option::name);
    if (option == std::end(kOptions)) {
      row.verdict = ConfVerdict::kWrong;
      const auto stranger = std::ranges::find(kStrangers, name, &Stranger::name);
      const std::string close = nearest(name);
      row.text = stranger != std::end(kStrangers) ? std::string(stranger->text)
                 : close.empty()                  ? "no setting of jemalloc 5.3"
                                 : fmt::format("no setting of jemalloc 5.3; meant is {}?", close);
      return;
    }
    values_[std::string(name)] = value;
    row.text = option->effect;
    if (!takes(*option, value)) {
      row.verdict = ConfVerdict::kWrong;
      row.text = what_it_takes(*option);
      return;
    }
    const bool about_profile = name.starts_with("prof") || name.starts_with("lg_prof");
    if (about_profile && target_.profiling == false) {
      row.verdict = ConfVerdict::kWithout;
      row.text =
          "this jemalloc was built without --enable-prof (in Rust: the feature profiling): Invalid conf pair";
      return;
    }
    judge_value(name, value, row);
  }

  void judge_value(std::string_view name, std::string_view value, ConfRow& row) {
    const auto doubt = [&](std::string text) {
      row.verdict = ConfVerdict::kDoubtful;
      row.text = std::move(text);
    };
    const std::int64_t number = parse_number<std::int64_t>(value).value_or(0);
    if (name == "prof_gdump" && value == "true")
      doubt(
          "a dump for every new high of mapped memory: thousands of files within seconds while a program grows. --for peak has a better way");
    if (name == "prof_leak" && value == "true")
      doubt(
          "its summary on standard error scales everything by one mean and may be far off; the dump itself is right");
    if (name == "prof_prefix" && value.empty())
      doubt("an empty prefix: jemalloc then writes no dump automatically");
    if (name == "prof_prefix" && target_.folder_exists && value.find('/') != value.npos) {
      const std::string folder(value.substr(0, std::max<std::size_t>(value.rfind('/'), 1)));
      if (folder.starts_with('/') && !target_.folder_exists(folder)) {
        row.verdict = ConfVerdict::kWithout;
        row.text = fmt::format("there is no folder {}, so no dump is written", folder);
      }
    }
    if (name == "prof_final" && value == "true")
      row.text += "; it may be nearly empty, and a killed program writes none";
    if (name == "lg_prof_sample") {
      if (number > 62)
        doubt("so rarely that nothing will be sampled");
      else if (number < 12)
        doubt(fmt::format(
            "a sample in {}: every sampled block takes a page of its own, so memory may grow many times",
            bytes_of_power(number)));
      else
        row.text = sample_text(number);
    }
    if (name == "lg_prof_interval" && number >= 0) {
      if (number > 62)
        doubt("no program allocates that much");
      else
        row.text = interval_text(number);
      if (number < 28) row.verdict = ConfVerdict::kDoubtful;
    }
  }

  double rate() {
    if (target_.bytes_per_s > 0) return target_.bytes_per_s;
    check_.assumed_rate = true;
    return kAssumedRate;
  }

  std::string sample_text(std::int64_t power) {
    const double samples_per_s = rate() / std::pow(2.0, static_cast<double>(power));
    const auto cpu_percent = [&](double each_us) { return samples_per_s * each_us / 1e6 * 100; };
    return fmt::format(
        "a sample in {} on average; a site that holds {} is known to ±{:.0f} %; costs {:.2g} to {:.2g} % of a CPU at {:.0f} MB/s",
        bytes_of_power(power), bytes_of_power(std::min<std::int64_t>(power + 7, 62)), 196 / std::sqrt(128.0),
        cpu_percent(kSampleMinUs), cpu_percent(kSampleMaxUs), rate() / kMB);
  }

  std::string interval_text(std::int64_t power) {
    const double dumps = rate() * 3600 / std::pow(2.0, static_cast<double>(power));
    return fmt::format(
        "a dump whenever {} were allocated{}: {:.0f} dumps and about {:.0f} MB an hour at {:.0f} MB/s, at 1 MB a dump",
        bytes_of_power(power), target_.bytes_per_s > 0 ? "" : ", by all threads together", dumps,
        dumps * kTypicalDump / kMB, rate() / kMB);
  }

  void about_all() {
    const auto is = [&](const char* name, std::string_view value) {
      const auto found = values_.find(name);
      return found != values_.end() && found->second == value;
    };
    const bool profile = std::ranges::any_of(values_, [](const auto& pair) {
      return pair.first != "prof" && (pair.first.starts_with("prof") || pair.first.starts_with("lg_prof"));
    });
    if (profile && !is("prof", "true")) {
      for (ConfRow& row : check_.rows)
        if ((row.pair.starts_with("prof_") || row.pair.starts_with("lg_prof")) &&
            row.verdict != ConfVerdict::kWrong) {
          row.verdict = ConfVerdict::kWithout;
          row.text = "without prof:true it does nothing";
        }
      check_.assumed_rate = false;
      check_.sentences.push_back("prof:true is missing, and it cannot be switched on later.");
    }
    const bool writes = (values_.contains("lg_prof_interval") && !is("lg_prof_interval", "-1")) ||
                        is("prof_final", "true") || is("prof_gdump", "true");
    if (is("prof", "true") && !writes && !is("prof_prefix", ""))
      check_.sentences.push_back(
          "No dump is written automatically: the program must request one (prof.dump), or add lg_prof_interval:N.");
    if (is("prof", "true") && is("prof_active", "false"))
      check_.sentences.push_back("It samples nothing until the program sets prof.active.");
    if (target_.running)
      check_.sentences.push_back(
          "The text is read once, when a program starts: for a process that runs already it does nothing.");
    if (check_.variable.empty())
      check_.sentences.push_back(
          "Which variable it belongs in depends on the build: MALLOC_CONF, or _RJEM_MALLOC_CONF for most Rust programs; -p PID finds out.");
  }

  const MallocConfTarget& target_;
  ConfCheck check_;
  bool stopped_ = false;  // at a pair that ends the reading of jemalloc
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace

bool ConfCheck::wrong() const {
  return std::ranges::any_of(rows, [](const ConfRow& row) {
    return row.verdict == ConfVerdict::kWrong || row.verdict == ConfVerdict::kWithout;
  });
}

std::string variable_of(std::string_view prefix) {
  return allocators::jemalloc_variable(prefix);
}

ConfCheck check_malloc_conf(std::string_view text, const MallocConfTarget& target) {
  return Checker(target).check(text);
}

Result<std::string> malloc_conf_for(std::string_view purpose, const MallocConfTarget& target) {
  if (target.profiling == false)
    return fail(ErrorKind::kUnsupported,
                "this jemalloc was built without profiling, so no setting makes it write dumps",
                "fathom record --heap -p PID, which needs no support from the program");
  // About twelve dumps an hour where the rate is known; else one in 8 GiB.
  const double rate = target.bytes_per_s;
  const int interval =
      rate > 0 ? std::clamp(static_cast<int>(std::lround(std::log2(rate * 300))), 28, 50) : 33;
  if (purpose == "leak")
    return fmt::format(
        "prof:true,prof_active:true,lg_prof_sample:19,lg_prof_interval:{},prof_prefix:jeprof,abort_conf:true",
        interval);
  if (purpose == "production")
    return fmt::format("prof:true,prof_active:true,lg_prof_sample:21,lg_prof_interval:{},prof_prefix:jeprof",
                       interval + 3);
  if (purpose == "peak")
    return fmt::format("prof:true,prof_active:true,lg_prof_sample:19,lg_prof_interval:{},prof_prefix:jeprof",
                       interval - 3);
  return fail(ErrorKind::kUsage, fmt::format("--for: '{}' is not a purpose", purpose),
              "leak, production or peak");
}

std::string to_text(const ConfCheck& check) {
  std::string out;
  std::size_t width = 0;
  for (const ConfRow& row : check.rows) width = std::max(width, std::min<std::size_t>(row.pair.size(), 40));
  for (const ConfRow& row : check.rows) {
    constexpr std::string_view kWords[] = {"ok", "doubtful", "no effect", "wrong"};
    out += fmt::format("  {:<{}}  {:<9}  {}\n", row.pair, width,
                       kWords[static_cast<std::size_t>(row.verdict)], row.text);
  }
  for (const std::string& sentence : check.sentences) out += sentence + "\n";
  return out;
}

}  // namespace fathom::doctor
