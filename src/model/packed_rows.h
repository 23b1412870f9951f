// Rows that are only read, in a third of their room or less: an hour of a server has millions of samples, waits and rows of the
// heap, most of whose bytes are those of the row before. A block of them is cut into lanes of four bytes; a lane keeps its least
// value, and of each row how far it is above that in as few bytes as the block needs. So a row is found by its number without
// those before it. The alternative, differences from row to row, would be smaller and could only be read from the start.
//
// Any row that is plain bytes can be packed, and comes back to the byte; nothing here knows its fields.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace fathom::model {

inline constexpr std::size_t kRowsOfBlock = 512;

// Blocks of kRowsOfBlock rows of `row_size` bytes, which is a multiple of 4. Copies are copies.
class PackedBytes {
 public:
  explicit PackedBytes(std::size_t row_size) : row_size_(row_size) {}
  PackedBytes(const PackedBytes& other);
  PackedBytes& operator=(const PackedBytes& other);
  PackedBytes(PackedBytes&&) noexcept = default;
  PackedBytes& operator=(PackedBytes&&) noexcept = default;

  std::size_t blocks() const { return blocks_.size(); }
  void append(const std::byte* rows);  // one block
  void replace(std::size_t block, const std::byte* rows);
  void unpack(std::size_t block, std::byte* rows) const;
  void unpack_row(std::size_t row, std::byte* out) const;
  void clear() { std::vector<Block>().swap(blocks_); }
  std::size_t bytes() const;  // that it occupies

 private:
  struct Block {
    std::size_t size = 0;
    std::unique_ptr<std::byte[]> bytes;
  };
  Block packed(const std::byte* rows) const;
  std::size_t row_size_;
  std::vector<Block> blocks_;
};

template <class Row>
class PackedRows {
  static_assert(std::is_trivially_copyable_v<Row> && sizeof(Row) % 4 == 0);

 public:
  std::size_t size() const { return bytes_.blocks() * kRowsOfBlock; }
  std::size_t blocks() const { return bytes_.blocks(); }
  std::size_t bytes() const { return bytes_.bytes(); }
  Row operator[](std::size_t row) const {
    Row out;
    bytes_.unpack_row(row, reinterpret_cast<std::byte*>(&out));
    return out;
  }
  // `rows` has room for kRowsOfBlock.
  void unpack(std::size_t block, Row* rows) const {
    bytes_.unpack(block, reinterpret_cast<std::byte*>(rows));
  }
  // Takes the first rows, as many as fill whole blocks, out of `rows`.
  void take_from(std::vector<Row>& rows) {
    const std::size_t count = rows.size() / kRowsOfBlock * kRowsOfBlock;
    for (std::size_t i = 0; i < count; i += kRowsOfBlock)
      bytes_.append(reinterpret_cast<const std::byte*>(&rows[i]));
    rows.erase(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(count));
  }
  // Puts all rows before those of `rows`, and is empty then.
  void give_to(std::vector<Row>& rows) {
    if (size() == 0) return;
    std::vector<Row> all(size());
    for (std::size_t i = 0; i < blocks(); ++i) unpack(i, &all[i * kRowsOfBlock]);
    bytes_.clear();
    all.insert(all.end(), rows.begin(), rows.end());
    rows = std::move(all);
  }
  // change(row) says whether it has changed the row.
  template <class Change>
  void change_each(Change change) {
    std::vector<Row> rows(size() == 0 ? 0 : kRowsOfBlock);
    for (std::size_t i = 0; i < blocks(); ++i) {
      unpack(i, rows.data());
      bool changed = false;
      for (Row& row : rows) changed = change(row) || changed;
      if (changed) bytes_.replace(i, reinterpret_cast<const std::byte*>(rows.data()));
    }
  }
  void clear() { bytes_.clear(); }
  bool operator==(const PackedRows& other) const {
    if (size() != other.size()) return false;
    for (std::size_t i = 0; i < size(); ++i)
      if ((*this)[i] != other[i]) return false;
    return true;
  }

 private:
  PackedBytes bytes_{sizeof(Row)};
};

// The rows of a table of which the first may be packed: what every analysis goes over. A row that is gone over is there until
// the next one is.
template <class Row>
class Rows {
 public:
  Rows(const PackedRows<Row>& packed, const std::vector<Row>& open) : packed_(&packed), open_(&open) {}
  std::size_t size() const { return packed_->size() + open_->size(); }
  bool empty() const { return size() == 0; }
  Row operator[](std::size_t row) const {
    return row < packed_->size() ? (*packed_)[row] : (*open_)[row - packed_->size()];
  }

  class Iterator {
   public:
    using value_type = Row;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;
    explicit Iterator(const Rows& rows) : rows_(rows) { next_part(); }
    const Row& operator*() const { return *at_; }
    Iterator& operator++() {
      if (++at_ == end_) next_part();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return at_ == end_; }

   private:
    void next_part() {
      const std::size_t blocks = rows_.packed_->blocks();
      if (part_ < blocks) {
        if (!block_) block_ = std::make_unique<Row[]>(kRowsOfBlock);
        rows_.packed_->unpack(part_, block_.get());
        at_ = block_.get();
        end_ = at_ + kRowsOfBlock;
      } else if (part_ == blocks) {
        at_ = rows_.open_->data();
        end_ = at_ + rows_.open_->size();
      } else {
        return;  // at the end it stays there
      }
      ++part_;
    }
    Rows rows_;
    std::size_t part_ = 0;
    std::unique_ptr<Row[]> block_;
    const Row *at_ = nullptr, *end_ = nullptr;
  };
  Iterator begin() const { return Iterator(*this); }
  std::default_sentinel_t end() const { return {}; }

 private:
  const PackedRows<Row>* packed_;
  const std::vector<Row>* open_;
};

}  // namespace fathom::model
