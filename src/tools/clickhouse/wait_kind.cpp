#include "tools/clickhouse/wait_kind.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "model/system_call.h"

namespace fathom::clickhouse {
namespace {

constexpr std::size_t kFacts = 6;

}  // namespace

std::string facts_text(const WaitKind& kind) {
  return fmt::format("{} {} {} {} {} {}", static_cast<int>(kind.state), kind.system_call,
                     static_cast<int>(kind.object), kind.operation, kind.timed_out ? 1 : 0,
                     kind.throttled ? 1 : 0);
}

std::optional<WaitKind> read_facts(std::string_view text) {
  std::array<std::int64_t, kFacts> facts{};
  const char *at = text.data(), *const end = text.data() + text.size();
  for (std::size_t i = 0; i < facts.size(); ++i) {
    if (i != 0 && (at == end || *at++ != ' ')) return std::nullopt;
    const auto [next, error] = std::from_chars(at, end, facts[i]);
    if (error != std::errc{}) return std::nullopt;
    at = next;
  }
  if (at != end || facts[0] < 0 || facts[0] > static_cast<int>(model::WaitState::kOther) || facts[2] < 0 ||
      facts[2] > static_cast<int>(model::ObjectKind::kProcess) || facts[1] < -1 || facts[1] > INT32_MAX)
    return std::nullopt;
  WaitKind kind;
  kind.state = static_cast<model::WaitState>(facts[0]);
  kind.system_call = static_cast<std::int32_t>(facts[1]);
  kind.object = static_cast<model::ObjectKind>(facts[2]);
  kind.operation = static_cast<std::uint64_t>(facts[3]);
  kind.timed_out = facts[4] != 0;
  kind.throttled = facts[5] != 0;
  return kind;
}

WaitKind wait_kind_of(const model::Profile& profile, const model::Wait& wait) {
  WaitKind kind;
  kind.state = wait.state;
  kind.system_call = wait.system_call;
  kind.object = profile.objects[wait.object.value].kind;
  // Of other calls it is a number of bytes or a place in a file, which would make a kind of each wait.
  if (model::system_call_name(wait.system_call) == "futex") kind.operation = wait.argument & 0xff;
  kind.timed_out = wait.result == 0;
  kind.throttled = wait.throttled;
  return kind;
}

void apply(const WaitKind& kind, model::Profile& profile, model::Wait& wait) {
  wait.state = kind.state;
  wait.system_call = kind.system_call;
  wait.argument = kind.operation;
  wait.throttled = kind.throttled;
  if (kind.timed_out) wait.result = 0;
  // Of a futex and a file the call says enough, and one without an address or a name would stand for all of them.
  if (kind.object == model::ObjectKind::kNone || kind.object == model::ObjectKind::kFutex ||
      kind.object == model::ObjectKind::kFile)
    return;
  model::WaitObject object;
  object.kind = kind.object;
  const auto known = std::ranges::find(profile.objects, object);
  wait.object = {static_cast<std::uint32_t>(known - profile.objects.begin())};
  if (known == profile.objects.end()) profile.objects.push_back(object);
}

}  // namespace fathom::clickhouse
