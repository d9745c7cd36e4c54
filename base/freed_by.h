// A deleter for objects of C libraries: std::unique_ptr<X509, FreedBy<X509_free>>.
#pragma once

namespace kvorum {

template <auto function>
struct FreedBy {
  template <class T>
  void operator()(T* object) const {
    function(object);
  }
};

}  // namespace kvorum
