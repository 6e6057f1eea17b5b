import CPlatform
import Glibc
import Platform

/// A call to the disk that failed: which, on what, and why.
public struct DiskError: Error, Equatable, Sendable {
  public var call: String
  public var path: Path
  public var errno: Errno

  public init(call: String, path: Path, errno: Errno) {
    self.call = call
    self.path = path
    self.errno = errno
  }
  public var text: String { "\(path.display): \(errno.text) (\(call))" }
  /// The same failure, told of another path.
  func at(_ path: Path) -> DiskError { DiskError(call: call, path: path, errno: errno) }
}

/// What kind of thing a name is.
public enum FileKind: Sendable, Equatable {
  case file, folder, symlink, other
}

/// What tells one file from another, also from one that got its inode number after it was removed.
public struct FileIdentity: Sendable, Equatable {
  public var device: UInt64
  public var inode: UInt64
  public var kind: FileKind
  public var size: Int64
  /// Of its content, nanoseconds since 1970.
  public var modified: Int64

  public func isSameFile(as other: FileIdentity) -> Bool { inode == other.inode && device == other.device }
}

/// Every system call of ours that touches a take's files. Thin: retries EINTR, finishes short writes, names the fault.
///
/// Names are relative to a folder's descriptor, so that a folder that is renamed meanwhile is followed.
public enum Disk {
  public static func openFolder(_ path: Path) throws(DiskError) -> Descriptor {
    let raw = retry { unsafe path.withCString { unsafe holdfast_open($0, O_RDONLY | O_DIRECTORY, 0) } }
    guard raw >= 0 else { throw DiskError(call: "open", path: path, errno: .current) }
    return Descriptor(owning: raw)
  }
  public static func openFolder(_ name: Path, in folder: borrowing Descriptor) throws(DiskError) -> Descriptor
  {
    let parent = folder.raw
    let raw = retry {
      unsafe name.withCString { unsafe holdfast_openat(parent, $0, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0) }
    }
    guard raw >= 0 else { throw DiskError(call: "openat", path: name, errno: .current) }
    return Descriptor(owning: raw)
  }
  /// Creates a file that mustn't exist, 0600.
  public static func create(_ name: Path, in folder: borrowing Descriptor) throws(DiskError) -> Descriptor {
    let file = try open(name, in: folder, flags: O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
    var info = stat()
    if unsafe fstat(file.raw, &info) == 0, info.st_mode & 0o777 != 0o600 {
      fchmod(file.raw, 0o600)  // a umask has taken our own rights away
    }
    return file
  }
  /// Opens a file to read and write, and creates it where it is missing, 0600.
  public static func openOrCreate(_ name: Path, in folder: borrowing Descriptor) throws(DiskError)
    -> Descriptor
  {
    let file = try open(name, in: folder, flags: O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK)
    return try regular(file, name)
  }
  /// Opens an existing regular file to read and write; links aren't followed, devices and FIFOs not waited for.
  public static func openToWrite(_ name: Path, in folder: borrowing Descriptor) throws(DiskError)
    -> Descriptor
  {
    try regular(try open(name, in: folder, flags: O_RDWR | O_NOFOLLOW | O_NONBLOCK), name)
  }
  private static func regular(_ file: consuming Descriptor, _ name: Path) throws(DiskError) -> Descriptor {
    guard identity(file)?.kind == .file else {
      throw DiskError(call: "openat", path: name, errno: Errno(EINVAL))
    }
    return file
  }
  /// Opens an existing regular file for reading; symbolic links aren't followed, devices and FIFOs not waited for.
  public static func openToRead(_ name: Path, in folder: borrowing Descriptor) throws(DiskError) -> Descriptor
  {
    try open(name, in: folder, flags: O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  }
  private static func open(_ name: Path, in folder: borrowing Descriptor, flags: Int32) throws(DiskError)
    -> Descriptor
  {
    let parent = folder.raw
    let raw = retry { unsafe name.withCString { unsafe holdfast_openat(parent, $0, flags, 0o600) } }
    guard raw >= 0 else { throw DiskError(call: "openat", path: name, errno: .current) }
    return Descriptor(owning: raw)
  }

  public static func makeFolder(_ name: Path, in folder: borrowing Descriptor) throws(DiskError) {
    let parent = folder.raw
    guard unsafe name.withCString({ unsafe mkdirat(parent, $0, 0o700) }) == 0 else {
      throw DiskError(call: "mkdirat", path: name, errno: .current)
    }
    _ = unsafe name.withCString { unsafe fchmodat(parent, $0, 0o700, 0) }  // whatever the umask says
  }
  /// Makes a folder and those above it that are missing, 0700.
  public static func makeFolders(_ path: Path) throws(DiskError) {
    if unsafe path.withCString({ unsafe mkdir($0, 0o700) }) == 0 {
      _ = unsafe path.withCString { unsafe chmod($0, 0o700) }
      return
    }
    let failure = Errno.current
    if failure.code == EEXIST { return }
    guard failure.code == ENOENT, path.parent != path else {
      throw DiskError(call: "mkdir", path: path, errno: failure)
    }
    try makeFolders(path.parent)
    if unsafe path.withCString({ unsafe mkdir($0, 0o700) }) == 0 {
      _ = unsafe path.withCString { unsafe chmod($0, 0o700) }
    } else if Errno.current.code != EEXIST {
      throw DiskError(call: "mkdir", path: path, errno: .current)
    }
  }

  /// Writes all of `bytes` at `offset`. Safe to repeat after a failure: the same bytes go to the same place.
  public static func write(
    _ bytes: Span<UInt8>, to file: borrowing Descriptor, at offset: Int64, path: Path
  ) throws(DiskError) {
    var done = 0
    while done < bytes.count {
      let raw = file.raw
      let n = unsafe bytes.withUnsafeBufferPointer { buffer -> Int in
        guard let base = buffer.baseAddress else { return 0 }
        return unsafe pwrite(raw, base + done, buffer.count - done, off_t(offset) + done)
      }
      if n < 0, Glibc.errno == EINTR { continue }
      guard n > 0 else { throw DiskError(call: "pwrite", path: path, errno: n < 0 ? .current : Errno(EIO)) }
      done += n
    }
  }
  /// Reads at most `count` bytes; fewer at the end.
  public static func read(
    _ file: borrowing Descriptor, at offset: Int64, count: Int, path: Path
  ) throws(DiskError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: count)
    let raw = file.raw
    while true {
      let n = unsafe bytes.withUnsafeMutableBytes { unsafe pread(raw, $0.baseAddress, count, off_t(offset)) }
      if n < 0, Glibc.errno == EINTR { continue }
      guard n >= 0 else { throw DiskError(call: "pread", path: path, errno: .current) }
      return Array(bytes[..<n])
    }
  }
  /// Reads a file whole, or its first `limit` bytes.
  public static func readAll(_ file: borrowing Descriptor, limit: Int, path: Path) throws(DiskError)
    -> [UInt8]
  {
    var bytes: [UInt8] = []
    while bytes.count < limit {
      let more = try read(file, at: Int64(bytes.count), count: min(65_536, limit - bytes.count), path: path)
      if more.isEmpty { break }
      bytes += more
    }
    return bytes
  }

  /// Copies the first `size` bytes of a file to the start of another.
  public static func copy(
    _ source: borrowing Descriptor, from start: Int64 = 0, size: Int64, to target: borrowing Descriptor,
    path: Path
  ) throws(DiskError) {
    var at: Int64 = 0
    while at < size {
      let bytes = try read(source, at: start + at, count: Int(min(1 << 18, size - at)), path: path)
      guard !bytes.isEmpty else { throw DiskError(call: "pread", path: path, errno: Errno(EIO)) }
      try write(bytes.span, to: target, at: at, path: path)
      at += Int64(bytes.count)
    }
  }

  /// Reads a stretch of a file and writes it back to its place.
  static func rewrite(_ file: borrowing Descriptor, _ range: Range<Int64>, path: Path) throws(DiskError) {
    var at = range.lowerBound
    while at < range.upperBound {
      let bytes = try read(file, at: at, count: Int(min(1 << 18, range.upperBound - at)), path: path)
      guard !bytes.isEmpty else { throw DiskError(call: "pread", path: path, errno: Errno(EIO)) }
      try write(bytes.span, to: file, at: at, path: path)
      at += Int64(bytes.count)
    }
  }

  /// Where the file system has no syncs this does nothing: no take fails for it, and `missingPromises` has said so.
  ///
  /// - Returns: whether it has.
  @discardableResult
  public static func syncData(_ file: borrowing Descriptor, path: Path) throws(DiskError) -> Bool {
    let raw = file.raw
    if retry({ fdatasync(raw) }) == 0 { return true }
    guard Errno.current.isNotProvided else { throw DiskError(call: "fdatasync", path: path, errno: .current) }
    return false
  }
  @discardableResult
  public static func syncFolder(_ folder: borrowing Descriptor, path: Path) throws(DiskError) -> Bool {
    let raw = folder.raw
    if retry({ fsync(raw) }) == 0 { return true }
    guard Errno.current.isNotProvided else { throw DiskError(call: "fsync", path: path, errno: .current) }
    return false
  }
  public static func truncate(_ file: borrowing Descriptor, to size: Int64, path: Path) throws(DiskError) {
    let raw = file.raw
    guard retry({ ftruncate(raw, off_t(size)) }) == 0 else {
      throw DiskError(call: "ftruncate", path: path, errno: .current)
    }
  }
  /// Takes `size` bytes on the disk for a file.
  public static func allocate(_ file: borrowing Descriptor, size: Int64, path: Path) throws(DiskError) {
    var code: Int32
    repeat { code = posix_fallocate(file.raw, 0, off_t(size)) } while code == EINTR
    guard code == 0 else { throw DiskError(call: "posix_fallocate", path: path, errno: Errno(code)) }
  }

  /// Renames, never over an existing name.
  public static func rename(
    _ from: Path, in source: borrowing Descriptor, to target: Path, in folder: borrowing Descriptor
  ) throws(DiskError) {
    if move(from, in: source, to: target, in: folder, HOLDFAST_RENAME_NOREPLACE) { return }
    let failure = Errno.current
    guard failure.isNotProvided else {
      throw DiskError(call: "renameat2", path: target, errno: failure)
    }
    try renameByOtherMeans(from, in: source, to: target, in: folder)
  }
  static func move(
    _ from: Path, in source: borrowing Descriptor, to target: Path, in folder: borrowing Descriptor,
    _ flags: UInt32? = nil
  ) -> Bool {
    let (a, b) = (source.raw, folder.raw)
    return unsafe from.withCString { f in
      unsafe target.withCString { t in
        unsafe flags.map { unsafe holdfast_renameat2(a, f, b, t, $0) } ?? renameat(a, f, b, t)
      }
    } == 0
  }

  /// Renames over an existing file of ours.
  static func replace(_ from: Path, with target: Path, in folder: borrowing Descriptor) throws(DiskError) {
    guard move(from, in: folder, to: target, in: folder) else {
      throw DiskError(call: "renameat", path: target, errno: .current)
    }
  }
  /// Exchanges two files' names in one step. Where the file system has no such call, `b` is never missing: a copy of it
  /// waits for `a`'s name.
  public static func exchange(
    _ a: Path, _ b: Path, in folder: borrowing Descriptor
  ) throws(DiskError) {
    if move(a, in: folder, to: b, in: folder, HOLDFAST_RENAME_EXCHANGE) { return }
    let failure = Errno.current
    guard failure.isNotProvided else {
      throw DiskError(call: "renameat2", path: b, errno: failure)
    }
    let between = a.addingSuffix("-" + randomHex(bytes: 4))
    let old = try openToRead(b, in: folder)
    let copy = try create(between, in: folder)
    try Disk.copy(old, size: identity(old)?.size ?? 0, to: copy, path: between)
    try syncData(copy, path: between)
    try replace(a, with: b, in: folder)
    try rename(between, in: folder, to: a, in: folder)
  }

  public static func remove(_ name: Path, in folder: borrowing Descriptor) throws(DiskError) {
    let parent = folder.raw
    guard unsafe name.withCString({ unsafe unlinkat(parent, $0, 0) }) == 0 || Errno.current.code == ENOENT
    else {
      throw DiskError(call: "unlinkat", path: name, errno: .current)
    }
  }
  public static func removeFolder(_ name: Path, in folder: borrowing Descriptor) throws(DiskError) {
    let parent = folder.raw
    guard unsafe name.withCString({ unsafe unlinkat(parent, $0, AT_REMOVEDIR) }) == 0 else {
      throw DiskError(call: "unlinkat", path: name, errno: .current)
    }
  }

  /// Where an open folder is now; nil where that can't be told, as for one that was deleted.
  public static func path(of folder: borrowing Descriptor) -> Path? {
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let link = "/proc/self/fd/\(folder.raw)"
    let n = unsafe bytes.withUnsafeMutableBytes { raw in
      unsafe raw.withMemoryRebound(to: CChar.self) { text in
        guard let base = text.baseAddress else { return -1 }
        return unsafe readlink(link, base, text.count)
      }
    }
    guard n > 0, n < bytes.count, bytes[0] == UInt8(ascii: "/") else { return nil }
    let path = Path(bytes: Array(bytes[..<n]))
    guard let there = try? openFolder(path), let a = identity(there), let b = identity(folder),
      a.isSameFile(as: b)
    else { return nil }
    return path
  }

  /// Whether an open folder has been deleted.
  static func isDeleted(_ folder: borrowing Descriptor) -> Bool {
    var info = stat()
    return unsafe fstat(folder.raw, &info) == 0 && info.st_nlink == 0
  }
  /// Whether this user may no longer make and rename things in an open folder. Not asked of the disk: of the rights.
  static func isDenied(_ folder: borrowing Descriptor) -> Bool {
    unsafe faccessat(folder.raw, ".", W_OK | X_OK, AT_EACCESS) != 0 && Glibc.errno == EACCES
  }

  /// Whether a path leads to anything.
  public static func exists(_ path: Path) -> Bool {
    unsafe path.withCString { unsafe access($0, F_OK) } == 0
  }
  /// What stands under a name, links not followed; nil where nothing does.
  public static func identity(_ name: Path, in folder: borrowing Descriptor) -> FileIdentity? {
    var info = stat()
    let parent = folder.raw
    guard unsafe name.withCString({ unsafe fstatat(parent, $0, &info, AT_SYMLINK_NOFOLLOW) }) == 0 else {
      return nil
    }
    return identity(info)
  }
  public static func identity(_ file: borrowing Descriptor) -> FileIdentity? {
    var info = stat()
    guard unsafe fstat(file.raw, &info) == 0 else { return nil }
    return identity(info)
  }
  private static func identity(_ info: stat) -> FileIdentity {
    let kind: FileKind =
      switch info.st_mode & S_IFMT {
      case S_IFREG: .file
      case S_IFDIR: .folder
      case S_IFLNK: .symlink
      default: .other
      }
    return FileIdentity(
      device: UInt64(info.st_dev), inode: UInt64(info.st_ino), kind: kind, size: Int64(info.st_size),
      modified: Int64(info.st_mtim.tv_sec) &* 1_000_000_000 &+ Int64(info.st_mtim.tv_nsec))
  }
  /// When what stands under a name was last changed in its content, and at all: ms since 1970, links not followed.
  static func times(_ name: Path, in folder: borrowing Descriptor) -> (modified: Int64, changed: Int64)? {
    var info = stat()
    let parent = folder.raw
    guard unsafe name.withCString({ unsafe fstatat(parent, $0, &info, AT_SYMLINK_NOFOLLOW) }) == 0 else {
      return nil
    }
    func ms(_ time: timespec) -> Int64 {
      Int64(max(-(1 << 50), min(1 << 50, time.tv_sec))) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
    return (ms(info.st_mtim), ms(info.st_ctim))
  }
  /// Bytes that this user may still write in a folder's file system; nil where it doesn't say.
  public static func freeBytes(_ folder: borrowing Descriptor) -> Int64? {
    var info = statvfs()
    guard unsafe fstatvfs(folder.raw, &info) == 0 else { return nil }
    let (bytes, overflow) = Int64(clamping: info.f_bavail).multipliedReportingOverflow(
      by: Int64(info.f_frsize))
    return overflow ? Int64.max : bytes
  }
  /// Names in a folder without `.` and `..`, sorted by their bytes.
  public static func names(_ folder: borrowing Descriptor, path: Path) throws(DiskError) -> [Path] {
    let copy = unsafe holdfast_openat(folder.raw, ".", O_RDONLY | O_DIRECTORY, 0)
    guard copy >= 0, let stream = unsafe fdopendir(copy) else {
      let failure = Errno.current
      if copy >= 0 { close(copy) }
      throw DiskError(call: "opendir", path: path, errno: failure)
    }
    defer { unsafe closedir(stream) }
    var names: [Path] = []
    while let entry = unsafe readdir(stream) {
      let bytes = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) { text in
          unsafe (0..<strlen(text)).map { unsafe UInt8(bitPattern: text[$0]) }
        }
      }
      if bytes != Array(".".utf8), bytes != Array("..".utf8) { names.append(Path(bytes: bytes)) }
    }
    return names.sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
  }
  public enum Locking: Sendable, Equatable {
    case held
    /// Another process has it.
    case busy
    /// A file system without locks: nothing is held, and nobody else can hold it either.
    case notProvided
  }
  /// An exclusive lock that ends with the process, without waiting.
  public static func tryLock(_ file: borrowing Descriptor, path: Path) throws(DiskError) -> Locking {
    let raw = file.raw
    if retry({ flock(raw, LOCK_EX | LOCK_NB) }) == 0 { return .held }
    if Glibc.errno == EWOULDBLOCK { return .busy }
    if Glibc.errno == ENOLCK || Errno.current.isNotProvided { return .notProvided }
    throw DiskError(call: "flock", path: path, errno: .current)
  }
  /// The same, for those who may go on where there are no locks.
  ///
  /// - Returns: false where another process holds it.
  public static func lock(_ file: borrowing Descriptor, path: Path) throws(DiskError) -> Bool {
    try tryLock(file, path: path) != .busy
  }
  public static func randomHex(bytes count: Int) -> String {
    let digits = Array("0123456789abcdef".utf8)
    return String(
      decoding: (0..<(count * 2)).map { _ in digits[Int.random(in: 0..<16)] }, as: UTF8.self)
  }

  private static func retry(_ call: () -> Int32) -> Int32 {
    while true {
      let code = call()
      if code >= 0 || Glibc.errno != EINTR { return code }
    }
  }
}
