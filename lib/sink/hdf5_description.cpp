// SPDX-License-Identifier: BSD-3-Clause
#include "sink/hdf5_description.hpp"

#include <hdf5.h>
#include <mutex>
#include <numeric>

#include "base/error.hpp"

namespace spead::sink {

namespace {

/// Throws if a call of the library has failed.
template <typename Result>
Result checked(Result result, const char* what) {
    if (result < 0)
        throw_error("HDF5", "cannot {}: the library refuses it", what);
    return result;
}

/// Holds an object of the library.
class Handle {
  public:
    Handle(hid_t id, herr_t (*close)(hid_t), const char* what) : id_(checked(id, what)), close_(close) {}
    ~Handle() { close_(id_); }
    Handle(const Handle&) = delete;
    Handle& operator=(const Handle&) = delete;
    operator hid_t() const noexcept { return id_; }

  private:
    hid_t id_;
    herr_t (*close_)(hid_t);
};

hid_t float_type(unsigned bytes, bool big) {
    const hid_t type = checked(H5Tcopy(bytes == 8 ? (big ? H5T_IEEE_F64BE : H5T_IEEE_F64LE)
                                                  : (big ? H5T_IEEE_F32BE : H5T_IEEE_F32LE)),
                               "copy a type");
    if (bytes == 2) {
        // binary16 of IEEE 754, which the library does not name: sign, five bits, ten bits.
        H5Tset_fields(type, 15, 10, 5, 0, 10);
        H5Tset_size(type, 2);
        H5Tset_ebias(type, 15);
    }
    return type;
}

hid_t integer_type(const ElementType& type) {
    const bool is_signed = type.kind == 'i';
    const hid_t copy = checked(H5Tcopy(is_signed ? (type.order == '>' ? H5T_STD_I64BE : H5T_STD_I64LE)
                                                 : (type.order == '>' ? H5T_STD_U64BE : H5T_STD_U64LE)),
                               "copy a type");
    checked(H5Tset_size(copy, type.bytes), "set the size of a type");
    return copy;
}

/// Returns a type that the caller closes. Complex numbers have the members `r` and `i`, as h5py reads them.
hid_t type_of(const ElementType& type) {
    if (type.kind == 'c') {
        const hid_t complex = checked(H5Tcreate(H5T_COMPOUND, type.bytes), "make a type");
        const Handle part(float_type(type.bytes / 2, type.order == '>'), H5Tclose, "make a type");
        H5Tinsert(complex, "r", 0, part);
        H5Tinsert(complex, "i", type.bytes / 2, part);
        return complex;
    }
    return type.kind == 'f' ? float_type(type.bytes, type.order == '>') : integer_type(type);
}

hid_t type_of(const std::vector<Hdf5DataSet::Member>& members) {
    if (members.size() == 1 && members[0].name.empty())
        return type_of(members[0].type);
    const std::size_t bytes =
        std::accumulate(members.begin(), members.end(), std::size_t{0},
                        [](std::size_t n, const Hdf5DataSet::Member& m) { return n + m.type.bytes; });
    const hid_t all = checked(H5Tcreate(H5T_COMPOUND, bytes), "make a type");
    std::size_t at = 0;
    for (const Hdf5DataSet::Member& member : members) {
        const Handle one(type_of(member.type), H5Tclose, "make a type");
        H5Tinsert(all, member.name.c_str(), at, one);
        at += member.type.bytes;
    }
    return all;
}

void add_text(hid_t object, const std::string& name, const std::string& text) {
    const Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "copy a type");
    checked(H5Tset_size(type, text.size() + 1), "set the size of a text");
    H5Tset_cset(type, H5T_CSET_UTF8);
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose, "make a space");
    const Handle attribute(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                           "make an attribute");
    checked(H5Awrite(attribute, type, text.c_str()), "write an attribute");
}

void add_set(hid_t file, const Hdf5DataSet& set) {
    std::vector<hsize_t> shape;
    std::string names;
    for (const Hdf5DataSet::Axis& axis : set.axes) {
        shape.push_back(axis.length);
        names += (names.empty() ? "" : ",") + axis.name;
    }
    const Handle type(type_of(set.members), H5Tclose, "make a type");
    const Handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose,
                       "make a space");
    const Handle how(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "make properties");
    checked(H5Pset_fill_time(how, H5D_FILL_TIME_NEVER), "set the time of filling");
    checked(H5Pset_external(how, set.file.c_str(), 0, set.bytes()), "name an external file");
    const Handle made(H5Dcreate2(file, set.name.c_str(), type, space, H5P_DEFAULT, how, H5P_DEFAULT),
                      H5Dclose, "make a data set");
    add_text(made, "axes", names);
}

}  // namespace

bool has_hdf5() noexcept {
    return true;
}

std::vector<std::byte> hdf5_description(const std::vector<Hdf5DataSet>& sets,
                                        const std::vector<std::pair<std::string, std::string>>& attributes) {
    // The library is not made for several threads, and each stream has one.
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    // The library prints its own errors otherwise.
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "make properties");
    checked(H5Pset_fapl_core(access, 64 << 10, 0), "keep a file in memory");
    const Handle file(H5Fcreate("description", H5F_ACC_TRUNC, H5P_DEFAULT, access), H5Fclose, "make a file");
    for (const auto& [name, text] : attributes)
        add_text(file, name, text);
    for (const Hdf5DataSet& set : sets)
        add_set(file, set);
    checked(H5Fflush(file, H5F_SCOPE_GLOBAL), "flush a file");
    const ssize_t bytes = checked(H5Fget_file_image(file, nullptr, 0), "read a file of memory");
    std::vector<std::byte> image(static_cast<std::size_t>(bytes));
    checked(H5Fget_file_image(file, image.data(), image.size()), "read a file of memory");
    return image;
}

}  // namespace spead::sink
