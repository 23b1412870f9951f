// fathom serve: processes recorded without end into a store, and endpoints for scrapers.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <charconv>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "attach/inject/tracer/detach_guardian.h"
#include "base/clock.h"
#include "base/parse.h"
#include "base/shell_word.h"
#include "cli/block_options.h"
#include "cli/command.h"
#include "cli/group_option.h"
#include "cli/notices.h"
#include "cli/option_groups.h"
#include "cli/output.h"
#include "cli/push_destinations.h"
#include "cli/seconds_word.h"
#include "cli/serve_targets.h"
#include "cli/stop_requests.h"
#include "linux/process/find.h"
#include "linux/process/group.h"
#include "tools/push/store_sender.h"
#include "tools/serve/named_processes.h"
#include "tools/serve/notify.h"
#include "tools/serve/service.h"
#include "tools/serve/store.h"

namespace fathom::cli {
namespace {

struct ServeArguments {
  std::vector<std::string> targets;
  GroupArguments groups;
  std::string store = "fathom-store";
  std::string listen, token_file, push;
  double window_s = 60;
  std::uint32_t frequency_hz = 99;
  std::string budget, keep = "7d", most = "10GiB";
  std::vector<std::string> triggers, logs;
  bool heap = false, quiet = false, experimental = false;
};

// "1%", "0.5%" of a core.
Result<double> share_of_core(const std::string& text) {
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  const bool is_percent = std::string_view(end, text.data() + text.size()) == "%";
  if (error != std::errc{} || !is_percent || percent < 0.05 || percent > 100)
    return fail(ErrorKind::kUsage, fmt::format("--budget: '{}' is not a share of a core", text),
                "--budget 1%: from 0.05% to 100%");
  return percent / 100;
}

Result<> take_limits(const ServeArguments& arguments, serve::ServeOptions& options) {
  if (!arguments.budget.empty()) {
    auto share = share_of_core(arguments.budget);
    if (!share) return tl::unexpected<Error>(share.error());
    options.budget = *share;
  }
  for (const std::string& text : arguments.triggers) {
    auto trigger = serve::parse_trigger(text);
    if (!trigger) return within("--pin-when", trigger.error());
    options.triggers.push_back(std::move(*trigger));
  }
  for (const std::string& text : arguments.logs) {
    auto log = serve::LogWatch::open(text);
    if (!log) return within("--pin-log", log.error());
    if (const auto problem = log->problem()) notice_now(fmt::format("fathom: {}\n", *problem));
    options.logs.push_back(std::move(*log));
  }
  const auto age = parse_duration_ns(arguments.keep);
  if (!age) return within("--keep", age.error());
  options.retention.keep_ns = *age;
  if (!arguments.most.empty()) {
    const auto bytes = parse_bytes(arguments.most);
    if (!bytes) return within("--max-size", bytes.error());
    options.retention.most_bytes = *bytes;
  }
  return {};
}

// One process, as long as it is the same one.
serve::TargetPlan plan_of_pid(const process::ProcessInfo& process) {
  serve::TargetPlan plan;
  plan.name = serve::folder_name(process.name);
  plan.members = [pid = process.pid, start = process.start_ticks]() -> std::vector<std::int32_t> {
    const auto now = process::read_process(pid);
    if (!now || now->start_ticks != start || !serve::still_runs(pid)) return {};
    return {pid};
  };
  return plan;
}

serve::TargetPlan plan_of_name(const std::string& name) {
  serve::TargetPlan plan;
  plan.name = serve::folder_name(name);
  plan.members = [named = std::make_shared<serve::NamedProcesses>(name)] {
    return named->find(monotonic_ns());
  };
  plan.is_group = true;  // several processes may have the name, and come and go
  return plan;
}

Result<serve::TargetPlan> plan_of_group(const GroupArguments& groups) {
  auto group = find_group(groups);
  if (!group) return tl::unexpected<Error>(group.error());
  serve::TargetPlan plan;
  plan.name = serve::folder_name(groups.machine ? "machine" : groups.unit + groups.container + groups.path);
  plan.members = [group = *group] { return process::members_of(group); };
  plan.is_group = true;
  return plan;
}

Result<std::vector<serve::TargetPlan>> plans_of(const ServeArguments& arguments) {
  std::vector<serve::TargetPlan> plans;
  for (const std::string& target : arguments.targets) {
    const auto pid = parse_number<std::int32_t>(target);
    if (!pid) {
      plans.push_back(plan_of_name(target));
      continue;
    }
    const auto process = process::read_process(*pid);
    if (!process)
      return fail(ErrorKind::kNotFound, fmt::format("process {}: there is none", *pid),
                  "fathom serve NAME also records a process that starts later");
    plans.push_back(plan_of_pid(*process));
  }
  if (arguments.groups.given() > 1)
    return fail(ErrorKind::kUsage, "more than one group", "one of --unit, --container, --cgroup and -a");
  if (arguments.groups.given() == 1) {
    auto plan = plan_of_group(arguments.groups);
    if (!plan) return tl::unexpected<Error>(plan.error());
    plans.push_back(std::move(*plan));
  }
  if (plans.empty())
    return fail(ErrorKind::kUsage, "serve: no target is named",
                "fathom serve NAME, fathom serve --unit NAME, or fathom serve -a");
  std::set<std::string> names;
  for (serve::TargetPlan& plan : plans) {
    const std::string name = plan.name;
    for (int number = 2; !names.insert(plan.name).second; ++number)
      plan.name = fmt::format("{}-{}", name, number);
  }
  return plans;
}

Result<serve::ServeOptions> serve_options_of(const ServeArguments& arguments) {
  serve::ServeOptions options;
  auto plans = plans_of(arguments);
  if (!plans) return tl::unexpected<Error>(plans.error());
  options.targets = std::move(*plans);
  options.store = arguments.store;
  options.window_ns = static_cast<std::uint64_t>(arguments.window_s * 1e9);
  options.recording.frequency_hz = arguments.frequency_hz;
  options.recording.name_reader = "/proc/self/exe";  // main() knows what it is then
  options.recording.give_up_privileges = true;
  if (auto taken = take_limits(arguments, options); !taken) return tl::unexpected<Error>(taken.error());
  // Looked at before anything is recorded; it is opened when the store is there.
  if (!arguments.push.empty())
    if (auto destination = open_destination(arguments.push, arguments.experimental); !destination)
      return within("--push", destination.error());
  if (!arguments.listen.empty()) {
    auto address = metrics::parse_address(arguments.listen);
    if (!address) return within("--listen", address.error());
    options.listen = std::move(*address);
    if (!arguments.token_file.empty()) {
      auto token = metrics::read_token(arguments.token_file);
      if (!token) return within("--listen-token", token.error());
      options.token = std::move(*token);
    }
  }
  return options;
}

void say_what_began(const serve::Service& service, const ServeArguments& arguments) {
  notice_now(fmt::format("fathom: windows of {:g} s go to {}\n", arguments.window_s, arguments.store));
  const metrics::Address* at = service.address();
  if (at == nullptr) return;
  notice_now(fmt::format("fathom: profiles and metrics are at {}{}{}\n", at->is_unix() ? "" : "http://",
                         at->to_string(), at->is_unix() ? ", paths as / lists them" : "/"));
}

std::string status_of(const serve::Service& service) {
  std::string words;
  for (const auto& [name, state] : service.states())
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", name,
                         state.recording ? "is recorded" : "is not recorded");
  return words;
}

// Windows to a server that keeps those of many hosts.
Result<std::unique_ptr<push::StoreSender>> start_sender(const ServeArguments& arguments) {
  if (arguments.push.empty()) return std::unique_ptr<push::StoreSender>();
  Fd stop(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  auto destination = open_destination(arguments.push, arguments.experimental, stop.get());
  if (!destination) return within("--push", destination.error());
  return std::make_unique<push::StoreSender>(arguments.store, destination_name(arguments.push),
                                             std::move(*destination), std::move(stop));
}

void say_sentences(push::StoreSender* sender) {
  if (sender == nullptr) return;
  for (const std::string& sentence : sender->take_sentences()) say("fathom: {}\n", sentence);
}

// What is left in the store goes with the next start.
void finish_sending(push::StoreSender* sender, bool quiet) {
  if (sender == nullptr) return;
  sender->finish(10);
  say_sentences(sender);
  const push::StoreSenderState state = sender->state();
  if (!quiet)
    say("fathom: sent {} windows, {} wait in the store, {} were lost\n", state.sent, state.waiting,
        state.lost);
}

Result<int> run_serve(const ServeArguments& arguments) {
  StopRequests stops(false);  // before any thread
  serve::ServiceManager manager = serve::ServiceManager::from_environment();
  auto options = serve_options_of(arguments);
  if (!options) return tl::unexpected<Error>(options.error());
  // Before any thread is started: from then on our death, however it comes, takes the tracer out.
  std::optional<inject::DetachGuardian> guardian;
  if (arguments.heap) {
    if (arguments.groups.machine)
      return fail(ErrorKind::kUsage, "--heap needs a target; it does not work with -a",
                  "fathom serve --heap NAME");
    auto started = inject::DetachGuardian::start();
    if (!started) return tl::unexpected<Error>(started.error());
    options->recording.guardian = &guardian.emplace(std::move(*started));
    options->recording.heap = session::Heap::kSampled;
  }
  auto service = serve::Service::start(std::move(*options));
  if (!service) return tl::unexpected<Error>(service.error());
  auto sender = start_sender(arguments);
  if (!sender) return tl::unexpected<Error>(sender.error());
  if (*sender)
    (*service)->report_push([from = sender->get()] {
      const push::StoreSenderState state = from->state();
      return serve::PushFigures{state.sent, state.waiting, state.lost};
    });
  if (!arguments.quiet) say_what_began(**service, arguments);
  manager.ready();
  std::string status;
  for (bool ends = false; !ends;) {
    pollfd ready{stops.fd(), POLLIN, 0};
    (void)::poll(&ready, 1, 500);
    while (const auto received = stops.take(std::nullopt)) {
      if (received->signal == SIGUSR1)
        (*service)->pin("", "SIGUSR1");
      else
        ends = true;
    }
    (*service)->tick(monotonic_ns());
    for (const std::string& sentence : (*service)->take_sentences()) say("fathom: {}\n", sentence);
    say_sentences(sender->get());
    if (std::string now = status_of(**service); now != status) {
      status = std::move(now);
      manager.status(status);
      if (!arguments.quiet) say("fathom: {}\n", status);
    }
    manager.alive(monotonic_ns());
  }
  manager.stopping();
  service->reset();
  finish_sending(sender->get(), arguments.quiet);
  if (!arguments.quiet) say("next: fathom list {}\n", shell_word(arguments.store));
  return kDone;
}

}  // namespace

Result<int> serve_targets(const std::vector<std::string>& targets, const GroupArguments& groups,
                          const std::string& store, std::uint32_t frequency_hz) {
  ServeArguments arguments;
  arguments.targets = targets;
  arguments.groups = groups;
  if (!store.empty()) arguments.store = store;
  if (frequency_hz != 0) arguments.frequency_hz = frequency_hz;
  return run_serve(arguments);
}

Run add_serve(CLI::App& app) {
  auto arguments = std::make_shared<ServeArguments>();
  begin_group(app, kTargetGroup);
  app.add_option("target", arguments->targets, "processes, by exact name or number; a name may start later")
      ->type_name("TARGET");
  add_group_options(app, arguments->groups);
  app.add_flag("-a,--all-cpus", arguments->groups.machine, "every process on this machine");
  begin_group(app, kRecordGroup);
  app.add_option("-F,--freq", arguments->frequency_hz, "samples per second and CPU")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000))
      ->type_name("HZ");
  app.add_flag("--heap", arguments->heap,
               "sample the heap, for windows and /debug/pprof/heap; puts hooks into the target");
  app.add_option("--window", arguments->window_s, "length of a window: 60, 10s, 5m")
      ->transform(seconds_word())
      ->check(CLI::Range(1.0, 86400.0))
      ->capture_default_str()
      ->type_name("TIME");
  app.add_option("--budget", arguments->budget,
                 "lower the rate while fathom uses more than this share of a core, such as 1%")
      ->type_name("SHARE");
  begin_group(app, kOutputGroup);
  app.add_option("-o,--store", arguments->store, "folder for the windows, one folder in it for each target")
      ->capture_default_str()
      ->type_name("FOLDER");
  app.add_option("--pin-when", arguments->triggers,
                 "keep the minutes around this: 'cpu > 50%', 'rss > +1g/min', 'p99 futex > 50ms', oom")
      ->type_name("CONDITION")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--pin-log", arguments->logs,
                 "keep the minutes around a log line that matches: /var/log/app.log:ERROR")
      ->type_name("FILE:REGEX")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--keep", arguments->keep, "remove windows that are older")
      ->capture_default_str()
      ->type_name("TIME");
  app.add_option("--max-size", arguments->most, "remove the oldest beyond this size")
      ->capture_default_str()
      ->type_name("SIZE");
  app.add_option("--push", arguments->push, "also send to clickhouse://HOST/DB, parquet:FOLDER")
      ->type_name("URL");
  app.add_flag("--experimental", arguments->experimental,
               "allow --push otlp://HOST[:PORT], a protocol that is still changing (version 1.11.0)")
      ->group(kRareGroup);
  auto* listen = app.add_option("--listen", arguments->listen,
                                "serve profiles and metrics at 127.0.0.1:PORT, [::1]:PORT or unix:PATH")
                     ->type_name("ADDRESS");
  app.add_option("--listen-token", arguments->token_file,
                 "file (mode 0600) with the token that clients send; required beyond loopback")
      ->type_name("FILE")
      ->needs(listen);
  app.add_flag("-q,--quiet", arguments->quiet, "print errors only");
  app.footer(
      "Records CPU time, waits and memory of the targets until Ctrl-C or SIGTERM, and follows targets that restart. fathom report FOLDER --target NAME --from 02:00 --until 02:10 reads a stretch of it. With --listen, go tool pprof, Pyroscope, Parca and Prometheus read from the same recording (docs/serve.md).");
  return [arguments] { return run_serve(*arguments); };
}

}  // namespace fathom::cli
