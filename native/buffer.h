// An uninitialised array that can be handed to Python without a copy.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>

namespace labelwood {

template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(size_t size) : size_(size) {
    if (size == 0) return;
    if (size > std::numeric_limits<size_t>::max() / sizeof(T)) throw std::bad_alloc();
    data_ = static_cast<T*>(std::malloc(size * sizeof(T)));
    if (data_ == nullptr) throw std::bad_alloc();
  }
  Buffer(size_t size, T value) : Buffer(size) {
    for (size_t i = 0; i < size; ++i) data_[i] = value;
  }
  // All bytes zero. Large ones cost nothing until they are touched, since the system hands out zeroed pages.
  static Buffer zeros(size_t size) {
    Buffer b;
    if (size == 0) return b;
    b.data_ = static_cast<T*>(std::calloc(size, sizeof(T)));
    if (b.data_ == nullptr) throw std::bad_alloc();
    b.size_ = size;
    return b;
  }
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~Buffer() { std::free(data_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }

  // Gives the memory away; the caller frees it with std::free.
  T* release() {
    size_ = 0;
    return std::exchange(data_, nullptr);
  }

 private:
  T* data_ = nullptr;
  size_t size_ = 0;
};

// Makes room for so many items, whatever they are; what was there is not kept.
template <class T>
void make_room(Buffer<T>& buffer, size_t size) {
  if (buffer.size() < size) buffer = Buffer<T>(size + size / 4);
}

}  // namespace labelwood
