#include "tools/push/otlp.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <map>
#include <unordered_map>
#include <utility>

#include "analysis/core/words.h"
#include "formats/pprof/message.h"
#include "formats/pprof/wire.h"
#include "present/exports/wire_writer.h"
#include "tools/push/profile_server.h"

namespace fathom::push {
namespace {

using formats::PprofMessage;
using present::WireWriter;

std::string packed_numbers(const std::vector<std::uint64_t>& numbers) {
  std::string bytes;
  for (const std::uint64_t number : numbers) present::put_wire_varint(bytes, number);
  return bytes;
}

// The field's bytes are left out where there are none, as every writer of protocol buffers does.
void put_packed(WireWriter& into, std::uint32_t field, const std::vector<std::uint64_t>& numbers) {
  if (!numbers.empty()) into.bytes(field, packed_numbers(numbers));
}

// KeyValue{1 key, 2 AnyValue{1 string_value}}.
WireWriter attribute(std::string_view key, std::string_view value) {
  return WireWriter().bytes(1, key).message(2, WireWriter().bytes(1, value));
}

// ProfilesDictionary: each row once; row 0 of each table is empty.
class Dictionary {
 public:
  Dictionary() {
    for (Table& table : tables_) (void)row(table, "");
  }
  std::uint64_t text(std::string_view text) { return row(tables_[kStrings], text); }
  std::uint64_t mapping(const WireWriter& message) { return row(tables_[kMappings], message.view()); }
  std::uint64_t function(const WireWriter& message) { return row(tables_[kFunctions], message.view()); }
  std::uint64_t location(const WireWriter& message) { return row(tables_[kLocations], message.view()); }
  std::uint64_t stack(const WireWriter& message) { return row(tables_[kStacks], message.view()); }
  // KeyValueAndUnit{1 key_strindex, 2 value, 3 unit_strindex}.
  std::uint64_t attribute_row(std::string_view key, std::string_view value) {
    return row(tables_[kAttributes],
               WireWriter().number(1, text(key)).message(2, WireWriter().bytes(1, value)).view());
  }
  WireWriter message() const {
    WireWriter all;
    for (std::uint32_t field = kMappings; field <= kStacks; ++field)
      for (const std::string_view one : tables_[field].in_order) all.bytes(field, one);
    return all;
  }

 private:
  // Their field numbers in the message. The table of links has only its empty row.
  enum Field : std::uint32_t {
    kMappings = 1,
    kLocations,
    kFunctions,
    kLinks,
    kStrings,
    kAttributes,
    kStacks
  };
  struct Table {
    std::map<std::string, std::uint64_t, std::less<>> rows;
    std::vector<std::string_view> in_order;  // of the keys of `rows`
  };
  static std::uint64_t row(Table& table, std::string_view bytes) {
    if (const auto known = table.rows.find(bytes); known != table.rows.end()) return known->second;
    const auto added = table.rows.emplace(std::string(bytes), table.rows.size()).first;
    table.in_order.push_back(added->first);
    return added->second;
  }
  Table tables_[kStacks + 1];
};

// One pprof as profiles of OTLP.
class Converter {
 public:
  Converter(const PprofMessage& pprof, Dictionary& dictionary) : pprof_(pprof), dictionary_(dictionary) {}

  void append(WireWriter& scope) {
    for (std::size_t type = 0; type < pprof_.types.size(); ++type)
      if (is_wanted(type)) scope.message(2, profile_of(type));
  }

 private:
  // "samples/count" and "cpu/nanoseconds" say the same of CPU time, and servers know the first one with the period of the second.
  bool is_wanted(std::size_t type) const {
    const auto& known = pprof_.types;
    const bool counted = known.size() == 2 && known[0].type == "samples" && known[1].type == "cpu";
    return !counted || (pprof_.period > 0) == (type == 0);
  }

  WireWriter value_type(const PprofMessage::ValueType& type) {
    return WireWriter().number(1, dictionary_.text(type.type)).number(2, dictionary_.text(type.unit));
  }

  WireWriter profile_of(std::size_t type) {
    std::vector<std::string> samples;
    PprofMessage::Sample sample;
    for (const std::string_view bytes : pprof_.samples) {
      if (!pprof_.sample_of(bytes, sample) || type >= sample.values.size() || sample.values[type] == 0)
        continue;
      WireWriter one;
      one.number(1, stack_of(sample.location_ids));
      put_packed(one, 4, {static_cast<std::uint64_t>(sample.values[type])});
      samples.push_back(one.take());
    }
    WireWriter profile;
    profile.message(1, value_type(pprof_.types[type]));
    for (const std::string& one : samples) profile.bytes(2, one);
    profile.fixed(3, static_cast<std::uint64_t>(pprof_.time_unix_ns))
        .number(4, static_cast<std::uint64_t>(pprof_.duration_ns));
    // A period without a length says nothing, and Pyroscope files waits by its absence.
    if (pprof_.period > 0)
      profile.message(5, value_type(pprof_.period_type)).number(6, static_cast<std::uint64_t>(pprof_.period));
    const XXH128_canonical_t id = id_of(profile.view());
    return profile.bytes(7, {reinterpret_cast<const char*>(id.digest), sizeof(id.digest)});
  }

  // The same profile has the same id whenever it is sent.
  static XXH128_canonical_t id_of(std::string_view bytes) {
    XXH128_canonical_t id;
    XXH128_canonicalFromHash(&id, XXH3_128bits(bytes.data(), bytes.size()));
    return id;
  }

  std::uint64_t stack_of(const std::vector<std::uint64_t>& ids) {
    std::vector<std::uint64_t> rows;
    for (const std::uint64_t id : ids) rows.push_back(location_of(id));
    WireWriter message;
    put_packed(message, 1, rows);
    return dictionary_.stack(message);
  }

  std::uint64_t location_of(std::uint64_t id) {
    const auto [known, added] = locations_.try_emplace(id, 0);
    if (!added) return known->second;
    const auto found = pprof_.locations.find(id);
    if (found == pprof_.locations.end()) return 0;
    const PprofMessage::Location& location = found->second;
    WireWriter message;
    bool is_kernel = false;
    message.number(1, mapping_of(location.mapping_id, is_kernel)).number(2, location.address);
    for (const PprofMessage::Line& line : location.lines)
      message.message(3, WireWriter().number(1, function_of(line.function_id)).signed_number(2, line.line));
    put_packed(message, 4,
               {dictionary_.attribute_row("profile.frame.type", is_kernel ? "kernel" : "native")});
    return locations_[id] = dictionary_.location(message);
  }

  std::uint64_t function_of(std::uint64_t id) {
    const auto found = pprof_.functions.find(id);
    if (found == pprof_.functions.end()) return 0;
    return dictionary_.function(WireWriter()
                                    .number(1, dictionary_.text(found->second.name))
                                    .number(3, dictionary_.text(found->second.file)));
  }

  std::uint64_t mapping_of(std::uint64_t id, bool& is_kernel) {
    const auto row = pprof_.mapping_rows.find(id);
    if (row == pprof_.mapping_rows.end()) return 0;
    const PprofMessage::Mapping& mapping = pprof_.mappings[row->second];
    is_kernel = mapping.path.starts_with("[kernel");
    WireWriter message;
    message.number(1, mapping.start)
        .number(2, mapping.limit)
        .number(3, mapping.file_offset)
        .number(4, dictionary_.text(mapping.path));
    if (!mapping.build_id.empty())
      put_packed(message, 5,
                 {dictionary_.attribute_row("process.executable.build_id.gnu", mapping.build_id)});
    return dictionary_.mapping(message);
  }

  const PprofMessage& pprof_;
  Dictionary& dictionary_;
  std::unordered_map<std::uint64_t, std::uint64_t> locations_;
};

class Otlp final : public ProfileServer {
 public:
  Otlp(metrics::HttpUrl url, int stop) : ProfileServer(std::move(url), stop) {}

 private:
  Result<metrics::HttpRequest> request(const ServerProfile& profile, const Labels& labels,
                                       const std::string& part) const override {
    const auto body = otlp_request({{profile.name, profile.is_sum, {part}}}, labels);
    if (!body) return tl::unexpected(body.error());
    auto packed = gzip(*body);
    if (!packed) return tl::unexpected(packed.error());
    metrics::HttpRequest message;
    message.url.target = "/v1development/profiles";
    message.headers = {{"Content-Type", "application/x-protobuf"}, {"Content-Encoding", "gzip"}};
    message.body = std::move(*packed);
    return message;
  }
  Result<> check_body(const std::string& body) const override {
    const std::string refusal = otlp_refusal(body);
    return refusal.empty() ? Result<>() : fail(ErrorKind::kUsage, refusal);
  }
};

}  // namespace

Result<std::string> otlp_request(const std::vector<ServerProfile>& profiles, const Labels& labels) {
  Dictionary dictionary;
  WireWriter resource;
  resource.message(
      1, attribute("service.name", labels.service.empty() ? "unknown" : analysis::printable(labels.service)));
  for (const auto& [key, value] :
       {std::pair("host.name", &labels.host), std::pair("service.version", &labels.version)})
    if (!value->empty()) resource.message(1, attribute(key, analysis::printable(*value)));
  WireWriter of_resource;
  of_resource.message(1, resource);
  for (const ServerProfile& profile : profiles) {
    // Parca names a profile after its scope.
    WireWriter scope;
    scope.message(1, WireWriter().bytes(1, profile.name));
    for (const std::string& part : profile.parts) {
      const auto pprof = formats::read_pprof_message(part, profile.name);
      if (!pprof) return tl::unexpected(pprof.error());
      Converter(*pprof, dictionary).append(scope);
    }
    of_resource.message(2, scope);
  }
  return WireWriter().message(1, of_resource).message(2, dictionary.message()).take();
}

std::string otlp_refusal(std::string_view body) {
  std::uint64_t rejected = 0;
  std::string said;
  for (formats::WireFields fields(body); fields.next();)
    if (fields.number() == 1 && fields.is_bytes())
      for (formats::WireFields inner(fields.bytes()); inner.next();) {
        if (inner.number() == 1) rejected = inner.value();
        if (inner.number() == 2) said = analysis::printable(inner.bytes());
      }
  if (rejected == 0) return {};
  return fmt::format("the server rejected {}: {}", analysis::counted(rejected, "profile"), said);
}

Result<std::unique_ptr<Destination>> otlp_destination(std::string_view url, int stop) {
  Result<metrics::HttpUrl> parsed = parse_server_url(url, "otlp", 4318);
  if (!parsed) return tl::unexpected(parsed.error());
  return std::make_unique<Otlp>(std::move(*parsed), stop);
}

}  // namespace fathom::push
