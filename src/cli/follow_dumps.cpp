#include "cli/follow_dumps.h"

#include <fmt/format.h>
#include <signal.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analysis/core/call_tree.h"
#include "analysis/core/heap.h"
#include "analysis/core/words.h"
#include "cli/end_signals.h"
#include "cli/notices.h"
#include "formats/jemalloc/file_name.h"
#include "formats/open/inputs.h"
#include "formats/open/open_profile.h"

namespace fathom::cli {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr auto kLook = std::chrono::milliseconds(250);
constexpr auto kStill = std::chrono::milliseconds(500);

class Follower {
 public:
  Follower(const std::string& file, const SelectionOptions& selection) : selection_(selection) {
    inputs_.push_back(file);
    inputs_.insert(inputs_.end(), selection.dumps.more.begin(), selection.dumps.more.end());
  }

  Result<> follow() {
    const EndSignals signals;
    say("fathom: waiting for dumps in {}; Ctrl-C ends it, with the report of all of them\n", inputs_.front());
    do {
      for (const std::string& path : finished()) tell(path);
    } while (!signals.wait(kLook));
    if (latest_.empty())
      return fail(ErrorKind::kNotFound, fmt::format("no heap dump came to {}", inputs_.front()),
                  "fathom doctor -p PID says whether the process writes dumps, and where");
    return {};
  }

 private:
  struct Seen {
    std::uintmax_t size = 0;
    Clock::time_point since;
  };
  using Process = std::pair<std::string, std::int32_t>;  // prefix and pid

  // Complete dumps that were not reported yet, by process and in the order in which they were written. From
  // the initial ones, only the latest of each process.
  std::vector<std::string> finished() {
    const Result<std::vector<std::string>> files = open::files_of_inputs(inputs_);
    if (!files) return {};  // a pattern that fits nothing yet
    std::map<Process, std::map<std::uint64_t, std::string>> ready;
    const bool first = told_.empty();
    for (const std::string& path : *files) {
      const auto name = formats::parse_dump_name(path);
      if (!name || told_.contains(path) || (selection_.pid && *selection_.pid != name->pid)) continue;
      if (!is_still(path)) continue;
      ready[{name->prefix, name->pid}][name->sequence] = path;
      told_.insert(path);
    }
    std::vector<std::string> paths;
    for (const auto& [process, dumps] : ready)
      for (const auto& [sequence, path] : dumps)
        if (!first || sequence == dumps.rbegin()->first) paths.push_back(path);
    return paths;
  }

  // It has not grown for a while.
  bool is_still(const std::string& path) {
    std::error_code gone;
    const std::uintmax_t size = fs::file_size(path, gone);
    if (gone || size == 0) return false;
    const Clock::time_point now = Clock::now();
    const auto [seen, added] = sizes_.try_emplace(path, Seen{size, now});
    if (seen->second.size != size) seen->second = {size, now};
    return now - seen->second.since >= kStill;
  }

  void tell(const std::string& path) {
    const formats::DumpName name = *formats::parse_dump_name(path);
    const Result<model::Profile> profile = open({path});
    if (!profile) {
      say("fathom: {}\n", profile.error().message);
      return;
    }
    analysis::Selection live;
    live.metric = model::Metric::kHeapLive;
    const analysis::HeapAmount bytes = analysis::HeapSums(*profile, live).total().live.bytes;
    std::string text = fmt::format("process {}, dump {}, written as {}: {} live", name.pid, name.sequence,
                                   formats::words_of(name.trigger), analysis::bytes(bytes.value));
    if (bytes.error() > 0) text += fmt::format(" \u00b1{}", analysis::bytes(bytes.error()));
    const auto [before, fresh] = latest_.try_emplace({name.prefix, name.pid}, Latest{});
    if (!fresh) text += change_since(before->second, path, bytes.value);
    before->second = {path, name.sequence, bytes.value};
    say("{}\n", text);
  }

  struct Latest {
    std::string path;
    std::uint64_t sequence = 0;
    double bytes = 0;
  };

  std::string change_since(const Latest& before, const std::string& path, double bytes) const {
    std::string text = fmt::format(", {}{} since dump {}", bytes < before.bytes ? "\u2212" : "+",
                                   analysis::bytes(std::abs(bytes - before.bytes)), before.sequence);
    const Result<model::Profile> both = open({before.path, path});
    if (!both) return text;
    analysis::TreeOptions options;
    options.selection.metric = model::Metric::kHeapGrowth;
    options.selection.fold_containers = true;
    options.selection.from_ns = 1;  // since the first of the two
    const analysis::CallTree tree = analysis::build_call_tree(*both, options);
    std::map<std::uint32_t, std::int64_t> by_name;
    for (const analysis::TreeNode& node : tree.nodes)
      if (node.kind != analysis::NodeKind::kRoot && node.kind != analysis::NodeKind::kThread)
        by_name[node.name] += node.self;
    const auto most = std::ranges::max_element(by_name, {}, [](const auto& row) { return row.second; });
    if (most != by_name.end() && most->second > 0)
      text += fmt::format("; {} grew most (+{})", analysis::printable(tree.names[most->first]),
                          analysis::bytes(static_cast<double>(most->second)));
    return text;
  }

  // One dump, or two of a process as a heap over time.
  Result<model::Profile> open(const std::vector<std::string>& paths) const {
    open::NameOptions names("/proc/self/exe");  // main() knows what it is then
    names.symbol_directory = selection_.symbols;
    names.long_names = selection_.long_names;
    open::DumpOptions options;
    if (paths.size() > 1) options.merge.kind = dumps::Merge::Kind::kAll;
    return open::open_profiles(paths, {}, names, options);
  }

  const SelectionOptions& selection_;
  std::vector<std::string> inputs_;
  std::map<std::string, Seen> sizes_;
  std::set<std::string> told_;
  std::map<Process, Latest> latest_;
};

}  // namespace

Result<> follow_dumps(const std::string& file, const SelectionOptions& selection) {
  return Follower(file, selection).follow();
}

}  // namespace fathom::cli
