#include "cli/earlier_results.h"

#include <fstream>
#include <string>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/packed/unpacker.h"
#include "formats/folded/folded.h"
#include "formats/heaptrack/heaptrack.h"
#include "formats/pprof/pprof.h"

namespace fathom::cli {
namespace {

using Recognises = bool (*)(std::string_view beginning);

template <std::size_t kSize>
struct Mark {
  constexpr Mark(const char (&text)[kSize]) { std::copy_n(text, kSize, value); }
  char value[kSize];
};
template <Mark kMark>
bool begins_with(std::string_view text) {
  return text.starts_with(kMark.value);
}

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_dot(std::string_view text) {
  return text.starts_with("digraph \"") && has(text, "{\n  graph [label=\"");
}

bool is_firefox(std::string_view text) {
  return text.starts_with("{\"meta\":{") && has(text, "\"preprocessedProfileVersion\"") &&
         has(text, "fathom");
}

bool is_ms_print(std::string_view text) {
  return text.starts_with("-----") && has(text, "\nMassif arguments:   (recorded by fathom");
}

// A packet whose first field is a snapshot of clocks: Perfetto's format has no header.
bool is_perfetto(std::string_view text) {
  constexpr char kPacket = 1 << 3 | 2, kClockSnapshot = 6 << 3 | 2;
  if (!text.starts_with(kPacket)) return false;
  std::size_t at = 1;
  while (at < text.size() && at < 10 && (text[at] & 0x80) != 0) ++at;
  return at + 1 < text.size() && text[at + 1] == kClockSnapshot;
}

// In the order in which they are asked.
constexpr Recognises kKinds[] = {
    begins_with<"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!-- fathom ">,
    begins_with<"{\n  \"format_version\": ">,
    begins_with<"desc: (recorded by fathom">,
    begins_with<"<!DOCTYPE html>\n<!-- fathom ">,
    begins_with<"# callgrind format\nversion: 1\ncreator: fathom">,
    begins_with<R"({"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"fathom")">,
    begins_with<R"({"format":"fathom recording")">,
    begins_with<"-- A recording of fathom">,
    begins_with<"no_lbr cycles\n">,
    begins_with<"# sample profile of LLVM, by fathom\n">,
    is_dot,
    is_firefox,
    is_ms_print,
    formats::is_heaptrack,
    formats::is_pprof,
    is_perfetto,
    formats::is_folded,
};

constexpr std::size_t kLookedAt = 16 * 1024;  // of what is packed, too

bool is_kind(Recognises recognises, std::string_view content) {
  if (!packed::is_packed(content)) return recognises(content.substr(0, kLookedAt));
  return recognises(packed::first_unpacked(content.substr(0, packed::kFirstPacked), kLookedAt));
}
template <std::size_t kKind>
bool is_of_kind(std::string_view first) {
  return is_kind(kKinds[kKind], first);
}
template <std::size_t... kKind>
constexpr std::array<Replaceable, sizeof...(kKind)> checks(std::index_sequence<kKind...>) {
  return {is_of_kind<kKind>...};
}

}  // namespace

Replaceable earlier_result_of(std::string_view content) {
  static constexpr auto kChecks = checks(std::make_index_sequence<std::size(kKinds)>());
  const auto check = std::ranges::find_if(kChecks, [&](Replaceable of_kind) { return of_kind(content); });
  return check == kChecks.end() ? nullptr : *check;
}

bool is_earlier_result(const std::filesystem::path& file) {
  std::string first(256 * 1024, '\0');
  std::ifstream in(file, std::ios::binary);
  in.read(first.data(), static_cast<std::streamsize>(first.size()));
  first.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  return earlier_result_of(first) != nullptr;
}

}  // namespace fathom::cli
