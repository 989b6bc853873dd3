// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/zarr_store.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <utility>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/file_use.hpp"
#include "base/foreign_json.hpp"
#include "chunk/term_text.hpp"

namespace spead::runtime {

namespace {

using nlohmann::ordered_json;

constexpr const char* kAttributes = ".zattrs";
constexpr const char* kGroup = "{\n \"zarr_format\": 2\n}\n";
constexpr off_t kMostMetadata = 1 << 20;
/// Bounds the wait for another shard that changes metadata: so many times a millisecond.
constexpr int kMostTries = 500;

/// Reads a small file. Returns 0, or errno; ENOENT: there is none.
int read_small(int directory, const char* name, std::string& text) {
    const FileDescriptor file(openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat status {};
    if (!file || fstat(file.get(), &status) != 0)
        return errno;
    if (!S_ISREG(status.st_mode) || status.st_size > kMostMetadata)
        return EINVAL;
    text.resize(static_cast<std::size_t>(status.st_size));
    std::size_t have = 0;
    while (have < text.size()) {
        const ssize_t n = read(file.get(), text.data() + have, text.size() - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        if (n == 0)
            break;
        have += static_cast<std::size_t>(n);
    }
    text.resize(have);
    return 0;
}

int write_whole(int file, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(file, bytes.data(), bytes.size());
        if (n >= 0)
            bytes = bytes.subspan(static_cast<std::size_t>(n));
        else if (errno != EINTR)
            return errno;
    }
    return 0;
}

/// Gives a file its name. Returns 0, or errno; EEXIST if that name is taken and is not to be replaced.
int rename_to(const OutputDirectory& from, const std::string& name, const OutputDirectory& to,
              const std::string& final_name, bool replace) {
    if (!replace) {
        if (renameat2(from.descriptor(), name.c_str(), to.descriptor(), final_name.c_str(),
                      RENAME_NOREPLACE) == 0)
            return 0;
        if (errno != EINVAL && errno != ENOSYS)
            return errno;
        // Some file systems cannot, such as NFS. A link does not replace a name either.
        if (linkat(from.descriptor(), name.c_str(), to.descriptor(), final_name.c_str(), 0) != 0)
            return errno;
        from.remove(name);
        return 0;
    }
    return renameat(from.descriptor(), name.c_str(), to.descriptor(), final_name.c_str()) == 0 ? 0 : errno;
}

/// Opens a file that writers lock. Others cannot open it, and so cannot hold writers up.
FileDescriptor open_lock(const OutputDirectory& directory, const std::string& name) {
    FileDescriptor file(openat(directory.descriptor(), name.c_str(),
                               O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0660));
    if (!file)
        throw_error(directory.path() + '/' + name, "cannot write: {}", std::strerror(errno));
    return file;
}

/// Keeps other processes from a file as long as its result lives. Sinks of this process share it: a stream's
/// next sink is made before the one before it has ended. Returns null if another process has the file.
/// `anew`: whether no other sink of this process had it.
std::shared_ptr<const void> take_file(FileDescriptor file, const std::string& path, bool& anew) {
    struct Taken {
        FileDescriptor file;
        FileUse use;
    };
    static std::mutex mutex;
    static std::map<std::pair<dev_t, ino_t>, std::weak_ptr<const Taken>> all;
    struct stat status {};
    if (fstat(file.get(), &status) != 0)
        throw_error(path, "cannot look at this file: {}", std::strerror(errno));
    const std::lock_guard lock(mutex);
    std::weak_ptr<const Taken>& known = all[{status.st_dev, status.st_ino}];
    auto taken = known.lock();
    anew = taken == nullptr;
    if (!anew)
        return taken;
    const auto made = std::make_shared<Taken>();
    try {
        made->use = FileUse(file.get(), path, FileUse::Way::write, "a zarr sink writes", path);
    } catch (const Error&) {
        return nullptr;
    }
    made->file = std::move(file);
    known = made;
    return made;
}

/// Holds a lock during its life, if it can be had soon.
class Locked {
  public:
    enum class State : std::uint8_t {
        yes,
        busy,    ///< another process has it
        unknown  ///< the file system has no locks now
    };
    /// Tries so often, a millisecond apart.
    Locked(int file, int tries) : file_(file) {
        for (int i = 0; i < tries && state_ == State::busy; i++) {
            constexpr timespec kPause{0, 1'000'000};
            if (i != 0)
                nanosleep(&kPause, nullptr);
            if (set(F_WRLCK))
                state_ = State::yes;
            else if (errno != EAGAIN && errno != EACCES)
                state_ = State::unknown;
        }
    }
    ~Locked() { set(F_UNLCK); }
    Locked(const Locked&) = delete;
    Locked& operator=(const Locked&) = delete;

    State state() const noexcept { return state_; }

  private:
    bool set(short type) const noexcept {
        struct flock lock {};
        lock.l_type = type;
        lock.l_whence = SEEK_SET;
        return fcntl(file_, F_OFD_SETLK, &lock) == 0;
    }
    int file_;
    State state_ = State::busy;
};

void refuse_array(const OutputDirectory& directory) {
    if (faccessat(directory.descriptor(), ".zarray", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        throw_error(directory.path(),
                    "this directory is a Zarr array, and a group is to be there; name another directory");
}

/// Returns the value of the time's item at the first time of a chunk; none: it has more than 64 bits.
std::optional<std::uint64_t> time_of(const chunk::Axis& time, std::int64_t chunk) {
    std::uint64_t value = 0;
    if (__builtin_mul_overflow(static_cast<std::uint64_t>(chunk), time.count, &value) ||
        __builtin_mul_overflow(value, time.term.step, &value) ||
        __builtin_add_overflow(value, time.term.first, &value) ||
        value << time.term.shift >> time.term.shift != value)
        return std::nullopt;
    return value << time.term.shift;
}

/// Returns whether the heaps of both placements have the same places and values. Columns of an axis begin
/// elsewhere on it.
bool fit(const chunk::Placement& a, const chunk::Placement& b, const std::string& column) {
    const auto same_axis = [&column](chunk::Axis one, const chunk::Axis& other) {
        if (one.name == column)
            one.term.first = other.term.first;
        one.stride = other.stride;  // compared below: it may be left out
        return one == other;
    };
    return a.heap_bytes == b.heap_bytes && a.rows == b.rows && a.extras == b.extras &&
           a.strides() == b.strides() && std::ranges::equal(a.axes, b.axes, same_axis);
}

}  // namespace

ZarrStore::ZarrStore(const std::string& directory, const std::string& stream, const ZarrContent& content)
    : content_(content),
      directory_(directory, "Zarr arrays"),
      group_(directory + '/' + stream, "Zarr arrays"),
      parts_(group_.path() + "/.parts", "Zarr arrays") {
    refuse_array(directory_);
    refuse_array(group_);
    lock_ = open_lock(group_, ".lock");
    take_column();
    for (const OutputDirectory* const made : {&directory_, &group_})
        if (const int error = put(*made, ".zgroup", kGroup, false); error != 0 && error != EEXIST)
            throw_error(made->path() + "/.zgroup", "cannot write: {}", std::strerror(error));
    const sink::ArrayLayout layout = sink::array_layout(content.placement, content.type, "placement");
    arrays_.emplace_back(sink::data_array(layout, content.column), group_.path());
    // Before anything is made in a group of another one.
    std::string text;
    const int error = read_small(arrays_[0].directory.descriptor(), kAttributes, text);
    if (error != 0 && error != ENOENT)
        throw_error(arrays_[0].directory.path() + '/' + kAttributes, "cannot read: {}", std::strerror(error));
    if (error == 0)
        read_attributes(text);
    arrays_.emplace_back(sink::presence_array(content.placement, content.column), group_.path());
    arrays_.emplace_back(sink::arrival_array(content.column), group_.path());
    if (auto extra = sink::extra_array(content.placement, content.column))
        arrays_.emplace_back(std::move(*extra), group_.path());
    for (Array& array : arrays_)
        open_array(array);
}

/// Keeps other processes from writing the same column, and removes what killed ones left of it.
void ZarrStore::take_column() {
    const std::string name = fmt::format(".writer-{}", content_.column.index);
    bool anew = false;
    writer_ = take_file(open_lock(group_, name), group_.path() + '/' + name, anew);
    if (writer_ == nullptr)
        throw_error(group_.path(),
                    "another process writes column {} of these arrays; give each shard its own `column`, and "
                    "each replica of a shard its own directory",
                    content_.column.index);
    if (anew)
        remove_leftovers();
}

/// Removes all parts of the column. The number of a killed process may be the own one, as in a container.
void ZarrStore::remove_leftovers() const {
    const int copy = openat(parts_.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR* const listing = copy < 0 ? nullptr : fdopendir(copy);
    if (listing == nullptr)
        return;
    const std::string mine = fmt::format("{}-", content_.column.index);
    while (const dirent* const entry = readdir(listing))
        if (std::string_view(entry->d_name).starts_with(mine))
            unlinkat(parts_.descriptor(), entry->d_name, 0);
    closedir(listing);
}

/// Makes an array's metadata, or compares what is there.
void ZarrStore::open_array(Array& array) {
    const std::string path = array.directory.path() + "/.zarray";
    int error = put(array.directory, ".zarray", array.of.metadata(0), false);
    if (error == EEXIST) {
        std::string text;
        error = read_small(array.directory.descriptor(), ".zarray", text);
        const sink::ZarrArray::Found found = error == 0 ? array.of.read(text) : sink::ZarrArray::Found{};
        if (!found.other.empty())
            throw_error(path, "another array is in the way: {}; name another directory, or remove this one",
                        found.other);
        array.known = found.chunks;
    }
    if (error != 0)
        throw_error(path, "cannot make this array: {}", std::strerror(error));
    if (&array == &arrays_[0])
        return;
    ordered_json dimensions = ordered_json::array();
    for (const sink::ZarrArray::Axis& axis : array.of.axes)
        dimensions.push_back(axis.name);
    const std::string text = ordered_json{{"_ARRAY_DIMENSIONS", dimensions}}.dump(1) + '\n';
    if (error = put(array.directory, kAttributes, text, false); error != 0 && error != EEXIST)
        throw_error(array.directory.path() + '/' + kAttributes, "cannot write: {}", std::strerror(error));
}

/// Returns the attributes of `data`, for arrays that begin with this chunk.
std::string ZarrStore::attributes(std::int64_t first) const {
    const chunk::Axis& time = content_.placement.axes[content_.placement.time_axis()];
    ordered_json text;
    text["_ARRAY_DIMENSIONS"] = ordered_json::array();
    for (const sink::ZarrArray::Axis& axis : arrays_[0].of.axes)
        text["_ARRAY_DIMENSIONS"].push_back(axis.name);
    text["first_chunk"] = first;
    text["time"] = {{"axis", time.name}, {"term", chunk::term_text(time.term)}, {"places", time.count}};
    if (const auto value = time_of(time, first))
        text["time"]["first"] = *value;
    text["time"]["step"] = time.term.step << time.term.shift;
    text["placement"] = content_.placement.text();
    // The placement of other columns begins elsewhere.
    if (const sink::Column& column = content_.column; !column.axis.empty())
        text["column"] = {{"axis", column.axis}, {"index", column.index}, {"count", column.count}};
    return text.dump(1) + '\n';
}

/// Takes the first chunk from the attributes that are there. Throws Error if time or placement are others.
void ZarrStore::read_attributes(const std::string& text) {
    const std::string path = arrays_[0].directory.path() + '/' + kAttributes;
    const auto theirs = parse_foreign<ordered_json>(text);
    const std::uint64_t first = number_in(theirs, "first_chunk", UINT64_MAX);
    if (first > INT64_MAX)
        throw_error(path, "another array is in the way: it has no `first_chunk`; name another directory");
    const chunk::Axis& time = content_.placement.axes[content_.placement.time_axis()];
    ordered_json theirs_time = theirs.value("time", ordered_json());
    if (theirs_time.is_object())
        theirs_time = theirs_time.value("term", ordered_json());
    const std::string term = chunk::term_text(time.term);
    if (theirs_time != term)
        throw_error(path, "another array is in the way: its time is {}, and not `{}`; name another directory",
                    excerpt_of(theirs_time), term);
    // Earlier versions, and other programs, may not have told it.
    if (const ordered_json told = theirs.value("placement", ordered_json()); told.is_string())
        compare_placement(told.get<std::string>(), path);
    first_ = static_cast<std::int64_t>(first);
}

/// Throws Error if the placement of arrays that are there gives heaps other places.
void ZarrStore::compare_placement(const std::string& told, const std::string& path) const {
    try {
        if (fit(chunk::Placement::parse(told), content_.placement, content_.column.axis))
            return;
    } catch (const UsageError&) {
        // It is another one, too.
    }
    throw_error(path,
                "another array is in the way: its placement is `{}`, and not `{}`; name another directory",
                excerpt_of(ordered_json(told)), content_.placement.text());
}

std::string ZarrStore::part_name() const {
    static std::atomic<std::uint64_t> last{0};
    return fmt::format("{}-{}-{}", content_.column.index, getpid(), ++last);
}

std::shared_ptr<sink::RawFile> ZarrStore::open_part() {
    OutputDirectory::Opened opened = parts_.open_new(part_name(), "");
    if (opened.error != 0)
        throw_error(parts_.path() + '/' + opened.name, "cannot write: {}", std::strerror(opened.error));
    return std::make_shared<sink::RawFile>(std::move(opened.file), std::move(opened.name));
}

/// Writes a file under another name, and gives it its own. Returns 0, or errno, as rename_to().
int ZarrStore::put(const OutputDirectory& directory, const std::string& name,
                   std::span<const std::byte> bytes, bool replace) const {
    OutputDirectory::Opened part = parts_.open_new(part_name(), "");
    if (part.error != 0)
        return part.error;
    int error = write_whole(part.file.get(), bytes);
    if (close(part.file.release()) != 0 && error == 0)
        error = errno;
    if (error == 0)
        error = rename_to(parts_, part.name, directory, name, replace);
    if (error != 0)
        parts_.remove(part.name);
    return error;
}

int ZarrStore::put(const OutputDirectory& directory, const std::string& name, std::string_view text,
                   bool replace) const {
    return put(directory, name, std::as_bytes(std::span(text)), replace);
}

/// Finds out which chunk is the first, or says so. Returns 0, or errno.
int ZarrStore::agree_on_first(std::int64_t id) {
    const std::int64_t first = id - std::min<std::int64_t>(id, content_.margin);
    int error = put(arrays_[0].directory, kAttributes, attributes(first), false);
    if (error != 0 && error != EEXIST)
        return error;
    // All shards take what the file says, whichever of them has written it.
    std::string text;
    if (error = read_small(arrays_[0].directory.descriptor(), kAttributes, text); error != 0)
        return error;
    try {
        read_attributes(text);
    } catch (const Error&) {
        return ESTALE;
    }
    return 0;
}

/// Writes what belongs to a chunk beside its payload. Returns 0, or errno.
int ZarrStore::write_small(const Chunk& chunk, std::uint64_t index) {
    const std::array<std::int64_t, 2> arrival{chunk.first_ns, chunk.last_ns};
    const std::array<std::span<const std::byte>, 4> all{std::span<const std::byte>(), chunk.presence,
                                                        std::as_bytes(std::span(arrival)), chunk.extra};
    for (std::size_t i = 1; i < arrays_.size(); i++)
        if (const int error = put(arrays_[i].directory, arrays_[i].of.key(index), all[i], true); error != 0)
            return error;
    return 0;
}

/// Lets an array have so many chunks at least. Returns 0, or errno.
int ZarrStore::grow(Array& array, std::uint64_t chunks) {
    std::string text;
    if (const int error = read_small(array.directory.descriptor(), ".zarray", text); error != 0)
        return error;
    const sink::ZarrArray::Found found = array.of.read(text);
    if (!found.other.empty())
        return ESTALE;
    array.known = std::max(found.chunks, chunks);
    return found.chunks >= chunks ? 0 : put(array.directory, ".zarray", array.of.metadata(chunks), true);
}

/// Lets the arrays have so many chunks at least, unless another process holds the lock. Then the next chunk
/// or finish() does it. Returns 0, or errno.
int ZarrStore::grow_all(std::uint64_t chunks) {
    if (arrays_[0].known >= chunks)
        return 0;
    // A process that keeps the lock makes one chunk wait, and not each.
    const Locked locked(lock_.get(), behind_ ? 1 : kMostTries);
    behind_ = locked.state() == Locked::State::busy;
    if (behind_)
        return 0;
    // `data` last: its length tells readers of the chunk.
    for (auto array = arrays_.rbegin(); array != arrays_.rend(); array++)
        if (const int error = grow(*array, chunks); error != 0) {
            arrays_[0].known = 0;
            return error;
        }
    // Without the lock, another shard may have made them shorter again.
    if (locked.state() == Locked::State::unknown)
        arrays_[0].known = 0;
    return 0;
}

int ZarrStore::finish() {
    behind_ = false;
    if (const int error = grow_all(chunks_); error != 0)
        return error;
    return behind_ ? EBUSY : 0;
}

/// Removes what a chunk has; `data`: its payload, too.
void ZarrStore::withdraw(std::uint64_t index, bool data) const noexcept {
    for (std::size_t i = data ? 0 : 1; i < arrays_.size(); i++)
        arrays_[i].directory.remove(arrays_[i].of.key(index));
}

int ZarrStore::publish(const sink::RawFile& part, std::uint64_t length, const Chunk& chunk,
                       Refusal& refusal) {
    refusal = Refusal::none;
    if (!first_)
        if (const int error = agree_on_first(chunk.id); error != 0)
            return error;
    const std::uint64_t index = static_cast<std::uint64_t>(chunk.id) - static_cast<std::uint64_t>(*first_);
    if (chunk.id < *first_)
        refusal = Refusal::before_first;
    else if (index >= kMostChunks)
        refusal = Refusal::too_far;
    else if (faccessat(arrays_[0].directory.descriptor(), arrays_[0].of.key(index).c_str(), F_OK,
                       AT_SYMLINK_NOFOLLOW) == 0)
        refusal = Refusal::present;
    if (refusal != Refusal::none) {
        parts_.remove(part.name());
        return 0;
    }
    int error = ftruncate(part.descriptor(), static_cast<off_t>(length)) == 0 ? 0 : errno;
    if (error == 0)
        error = write_small(chunk, index);
    bool named = false;
    if (error == 0) {
        error = rename_to(parts_, part.name(), arrays_[0].directory, arrays_[0].of.key(index), false);
        named = error == 0;
    }
    if (error == EEXIST) {
        // Another one was faster, and the small files are its own.
        refusal = Refusal::present;
        parts_.remove(part.name());
        return 0;
    }
    if (named)
        error = grow_all(std::max(chunks_, index + 1));
    if (error != 0)
        withdraw(index, named);
    else
        chunks_ = std::max(chunks_, index + 1);
    return error;
}

}  // namespace spead::runtime
