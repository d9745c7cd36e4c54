// The objects of a copy: immutable, counted, each in one allocation with its key and, if its value
// is bytes, with these.
//
// Thread-safe, as anything is that never changes. Cost: 56 bytes beside key and value, and no copy
// of the bytes for values that are bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "sync/store/store.h"

namespace kvorum::sync {

// A counted pointer to something that counts itself (AddRef, Release).
template <class T>
class Ref {
 public:
  Ref() = default;
  Ref(std::nullptr_t) {}
  template <class Derived>
    requires std::is_convertible_v<Derived*, T*>
  Ref(Ref<Derived> other) : pointer_(other.Detach()) {}
  // Takes over one count.
  static Ref Adopt(T* pointer) {
    Ref ref;
    ref.pointer_ = pointer;
    return ref;
  }
  static Ref Share(T* pointer) {
    if (pointer != nullptr) pointer->AddRef();
    return Adopt(pointer);
  }
  Ref(const Ref& other) : pointer_(other.pointer_) {
    if (pointer_ != nullptr) pointer_->AddRef();
  }
  Ref(Ref&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(pointer_, other.pointer_);
    return *this;
  }
  ~Ref() {
    if (pointer_ != nullptr) pointer_->Release();
  }

  T* get() const { return pointer_; }
  // Hands its count to the caller.
  T* Detach() { return std::exchange(pointer_, nullptr); }
  T* operator->() const { return pointer_; }
  T& operator*() const { return *pointer_; }
  explicit operator bool() const { return pointer_ != nullptr; }
  friend bool operator==(const Ref&, const Ref&) = default;

 private:
  T* pointer_ = nullptr;
};

class Object {
 public:
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;

  std::string_view key() const { return {key_, key_size_}; }
  std::int64_t create_revision() const { return create_revision_; }
  std::int64_t mod_revision() const { return mod_revision_; }
  std::int64_t version() const { return version_; }
  std::int64_t lease() const { return lease_; }
  // The object counts with its key and the store's bytes of its value; a decoded value may take
  // more.
  virtual std::size_t size_bytes() const = 0;

  void AddRef() const { refs_.fetch_add(1, std::memory_order_relaxed); }
  void Release() const {
    if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) Destroy();
  }

 protected:
  // `tail` is where the key is kept, behind the object.
  Object(const KeyValue& kv, char* tail)
      : key_size_(static_cast<std::uint32_t>(kv.key.copy(tail, kv.key.size()))),
        key_(tail),
        create_revision_(kv.create_revision),
        mod_revision_(kv.mod_revision),
        version_(kv.version),
        lease_(kv.lease) {}
  virtual ~Object() = default;

 private:
  // The allocation is larger than the object's type, so that `delete` must not get its size.
  void Destroy() const {
    void* const memory = const_cast<Object*>(this);
    this->~Object();
    ::operator delete(memory);
  }

  mutable std::atomic<std::uint32_t> refs_ = 1;
  const std::uint32_t key_size_;
  const char* const key_;
  const std::int64_t create_revision_;
  const std::int64_t mod_revision_;
  const std::int64_t version_;
  const std::int64_t lease_;
};
using ObjectRef = Ref<const Object>;

// An object with its decoded value.
template <class T>
class TypedObject final : public Object {
 public:
  static Ref<const TypedObject> Make(const KeyValue& kv, T value) {
    char* const memory = static_cast<char*>(::operator new(sizeof(TypedObject) + kv.key.size()));
    return Ref<const TypedObject>::Adopt(
        new (memory) TypedObject(kv, memory + sizeof(TypedObject), std::move(value)));
  }
  const T& value() const { return value_; }
  std::size_t size_bytes() const override {
    return sizeof(TypedObject) + key().size() + stored_bytes_;
  }

 private:
  TypedObject(const KeyValue& kv, char* tail, T value)
      : Object(kv, tail), stored_bytes_(kv.value.size()), value_(std::move(value)) {}
  const std::size_t stored_bytes_;
  const T value_;
};

// A value that is bytes stands behind the key.
template <>
class TypedObject<std::string> final : public Object {
 public:
  static Ref<const TypedObject> Make(const KeyValue& kv, std::string_view value) {
    char* const memory =
        static_cast<char*>(::operator new(sizeof(TypedObject) + kv.key.size() + value.size()));
    return Ref<const TypedObject>::Adopt(new (memory)
                                             TypedObject(kv, memory + sizeof(TypedObject), value));
  }
  std::string_view value() const { return {key().data() + key().size(), value_size_}; }
  std::size_t size_bytes() const override {
    return sizeof(TypedObject) + key().size() + value_size_;
  }

 private:
  TypedObject(const KeyValue& kv, char* tail, std::string_view value)
      : Object(kv, tail), value_size_(value.copy(tail + kv.key.size(), value.size())) {}
  const std::size_t value_size_;
};

}  // namespace kvorum::sync
