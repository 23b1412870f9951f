#include "linux/process/published_context.h"

#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/cursor.h"
#include "linux/process/maps.h"

namespace fathom::process {
namespace {

constexpr std::size_t kLargestContext = std::size_t{64} << 10, kMostAttributes = 64, kLongestKey = 128,
                      kLongestValue = 1024;
constexpr std::string_view kContextMark = "OTEL_CTX";
constexpr std::uint32_t kContextVersion = 2;

// At the start of the mapping.
struct PublishedHead {
  std::array<char, 8> mark;
  std::uint32_t version, payload_bytes;
  std::uint64_t published_ns;  // of CLOCK_BOOTTIME; 0: it is being changed
  std::uint64_t payload;       // a process address
};
static_assert(sizeof(PublishedHead) == 32);

bool copy_from(int pid, std::uint64_t address, std::span<std::byte> out) {
  const iovec here{out.data(), out.size()}, there{reinterpret_cast<void*>(address), out.size()};
  return ::process_vm_readv(pid, &here, 1, &there, 1, 0) == static_cast<ssize_t>(out.size());
}

// A field of a protobuf message: `bytes` of those with a length, and none of numbers.
struct WireField {
  std::uint64_t number = 0;
  Cursor bytes{std::span<const std::byte>()};
};
bool next_wire_field(Cursor& message, WireField& field) {
  if (!message.ok() || message.remaining() == 0) return false;
  const std::uint64_t tag = message.read_uleb128();
  field = {tag >> 3, Cursor(std::span<const std::byte>())};
  constexpr std::uint64_t kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5;
  switch (tag & 7) {
    case kVarint:
      (void)message.read_uleb128();
      break;
    case kFixed64:
      (void)message.read<std::uint64_t>();
      break;
    case kBytes:
      field.bytes = message.sub(message.read_uleb128());
      break;
    case kFixed32:
      (void)message.read<std::uint32_t>();
      break;
    default:
      return false;
  }
  return message.ok();
}

std::string text_in(Cursor bytes, std::size_t most) {
  std::string text;
  while (bytes.remaining() != 0 && text.size() <= most) text += static_cast<char>(bytes.read<std::uint8_t>());
  return text.size() <= most ? text : "";
}

// KeyValue{1 key, 2 AnyValue{1 text}}
void take_attribute(Cursor row, PublishedAttributes& out) {
  std::string key, value;
  for (WireField field; next_wire_field(row, field);) {
    if (field.number == 1) key = text_in(field.bytes, kLongestKey);
    if (field.number != 2) continue;
    Cursor any = field.bytes;
    for (WireField part; next_wire_field(any, part);)
      if (part.number == 1) value = text_in(part.bytes, kLongestValue);
  }
  if (!key.empty() && !value.empty() && out.size() < kMostAttributes)
    out.emplace(std::move(key), std::move(value));
}

}  // namespace

PublishedAttributes parse_process_context(std::span<const std::byte> message) {
  PublishedAttributes out;
  Cursor context(message);
  for (WireField field;
       next_wire_field(context, field);) {  // ProcessContext{1 Resource{1 KeyValue ...}, 2 KeyValue ...}
    if (field.number == 2) take_attribute(field.bytes, out);
    if (field.number != 1) continue;
    Cursor resource = field.bytes;
    for (WireField row; next_wire_field(resource, row);)
      if (row.number == 1) take_attribute(row.bytes, out);
  }
  return out;
}

PublishedAttributes published_attributes(int pid) {
  const auto maps = read_maps(pid);
  if (!maps) return {};
  for (const MapEntry& entry : *maps) {
    if (entry.path != "[anon:OTEL_CTX]" && entry.path != "[anon_shmem:OTEL_CTX]" &&
        entry.path != "/memfd:OTEL_CTX")
      continue;
    PublishedHead head{}, again{};
    const auto read_head = [&](PublishedHead& into) {
      return copy_from(pid, entry.start.value, std::as_writable_bytes(std::span(&into, 1)));
    };
    if (entry.size() < sizeof head || !read_head(head)) continue;
    if (std::string_view(head.mark.data(), head.mark.size()) != kContextMark ||
        head.version != kContextVersion)
      continue;
    if (head.published_ns == 0 || head.payload_bytes == 0 || head.payload_bytes > kLargestContext) continue;
    std::vector<std::byte> payload(head.payload_bytes);
    // The same time before and after: the program has not written in between.
    if (!copy_from(pid, head.payload, payload) || !read_head(again) ||
        again.published_ns != head.published_ns)
      continue;
    return parse_process_context(payload);
  }
  return {};
}

}  // namespace fathom::process
