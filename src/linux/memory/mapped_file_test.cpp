#include "linux/memory/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/sysmacros.h>

namespace fathom::sources {
namespace {

struct stat file_of(unsigned device_major, unsigned device_minor, ino_t inode, mode_t mode = S_IFREG | 0644) {
  struct stat file {};
  file.st_dev = makedev(device_major, device_minor);
  file.st_ino = inode;
  file.st_mode = mode;
  return file;
}

process::MapEntry mapping_of(std::uint32_t device_major, std::uint32_t device_minor, std::uint64_t inode) {
  process::MapEntry entry;
  entry.device_major = device_major;
  entry.device_minor = device_minor;
  entry.inode = inode;
  return entry;
}

TEST(MappedFile, IsTheOneWithItsInodeAndDevice) {
  EXPECT_TRUE(is_mapped_file(file_of(8, 1, 77), mapping_of(8, 1, 77)));
  EXPECT_FALSE(is_mapped_file(file_of(8, 1, 78), mapping_of(8, 1, 77)));
  EXPECT_FALSE(is_mapped_file(file_of(8, 2, 77), mapping_of(8, 1, 77))) << "the same number on another disk";
  EXPECT_FALSE(is_mapped_file(file_of(9, 1, 77), mapping_of(8, 1, 77)));
}

TEST(MappedFile, OfAFileSystemWithoutADeviceTheInodeIsEnough) {
  EXPECT_TRUE(is_mapped_file(file_of(0, 44, 77), mapping_of(0, 31, 77))) << "btrfs names its subvolume";
  EXPECT_TRUE(is_mapped_file(file_of(8, 1, 77), mapping_of(0, 31, 77))) << "overlayfs the disk below";
  EXPECT_FALSE(is_mapped_file(file_of(0, 44, 78), mapping_of(0, 31, 77)));
}

TEST(MappedFile, IsARegularOne) {
  EXPECT_FALSE(is_mapped_file(file_of(8, 1, 77, S_IFCHR | 0600), mapping_of(8, 1, 77)));
  EXPECT_FALSE(is_mapped_file(file_of(8, 1, 77, S_IFIFO | 0600), mapping_of(8, 1, 77)));
}

}  // namespace
}  // namespace fathom::sources
