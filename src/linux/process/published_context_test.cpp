#include "linux/process/published_context.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace fathom::process {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

std::string wire_field(int number, const std::string& bytes) {
  return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
}
std::string key_value(const std::string& key, const std::string& value) {
  return wire_field(1, key) + wire_field(2, wire_field(1, value));
}
PublishedAttributes attributes_in(const std::string& message) {
  return parse_process_context(std::as_bytes(std::span(message)));
}

const std::string kMessage = wire_field(1, wire_field(1, key_value("service.name", "shop")) +
                                               wire_field(1, key_value("service.version", "1.2"))) +
                             wire_field(2, key_value("deployment", "blue"));

TEST(PublishedContext, HasTheAttributesOfTheResourceAndOfTheProcess) {
  EXPECT_THAT(attributes_in(kMessage), ElementsAre(Pair("deployment", "blue"), Pair("service.name", "shop"),
                                                   Pair("service.version", "1.2")));
}

TEST(PublishedContext, AnyPrefixIsReadOrRefused) {
  for (std::size_t i = 0; i < kMessage.size(); ++i)
    EXPECT_LE(attributes_in(kMessage.substr(0, i)).size(), 3U);
  EXPECT_THAT(attributes_in(std::string(100, '\xff')), IsEmpty());
}

TEST(PublishedContext, NumbersAndTooLongTextsAreLeftOut) {
  const std::string number =
      wire_field(1, "port") + wire_field(2, std::string("\x18\x50", 2));  // int_value 80
  EXPECT_THAT(attributes_in(wire_field(2, number)), IsEmpty());
  EXPECT_THAT(attributes_in(wire_field(2, wire_field(1, std::string(125, 'k')))), IsEmpty()) << "no value";
}

// A publisher in this process, as OTEP 4719 describes it.
class Publisher {
 public:
  Publisher() {
    const int fd = ::memfd_create("OTEL_CTX", 0);
    EXPECT_EQ(::ftruncate(fd, 4096), 0);
    page_ = static_cast<char*>(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    EXPECT_NE(static_cast<void*>(page_), MAP_FAILED);
    ::close(fd);
  }
  ~Publisher() { ::munmap(page_, 4096); }
  void publish(std::uint64_t time_ns, std::uint32_t version, std::uint32_t bytes, const char* payload) {
    std::memcpy(page_, "OTEL_CTX", 8);
    std::memcpy(page_ + 8, &version, 4);
    std::memcpy(page_ + 12, &bytes, 4);
    std::memcpy(page_ + 16, &time_ns, 8);
    std::memcpy(page_ + 24, &payload, 8);
  }

 private:
  char* page_ = nullptr;
};

TEST(PublishedContext, IsReadFromARunningProcess) {
  const auto size = static_cast<std::uint32_t>(kMessage.size());
  EXPECT_THAT(published_attributes(::getpid()), IsEmpty()) << "nothing is published yet";
  Publisher publisher;
  EXPECT_THAT(published_attributes(::getpid()), IsEmpty()) << "a page of zeros";
  publisher.publish(5, 2, size, kMessage.data());
  EXPECT_EQ(published_attributes(::getpid())["service.name"], "shop");
  publisher.publish(0, 2, size, kMessage.data());
  EXPECT_THAT(published_attributes(::getpid()), IsEmpty()) << "it is being changed";
  publisher.publish(5, 3, size, kMessage.data());
  EXPECT_THAT(published_attributes(::getpid()), IsEmpty()) << "of a version that is not known";
  publisher.publish(5, 2, 0xffff'ffff, kMessage.data());
  EXPECT_THAT(published_attributes(::getpid()), IsEmpty()) << "longer than any";
  publisher.publish(5, 2, size, nullptr);
  EXPECT_THAT(published_attributes(::getpid()), IsEmpty()) << "points to nothing";
}

TEST(PublishedContext, OfNoProcessIsEmpty) {
  EXPECT_THAT(published_attributes(0x7fffffff), IsEmpty());
}

}  // namespace
}  // namespace fathom::process
