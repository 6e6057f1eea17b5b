import CPlatform
import Glibc
import Platform

/// Reads bytes at an offset, so that pure code can look into a file or a test's array.
///
/// `read(offset, count)` returns `count` bytes, fewer only where the end comes first.
public struct ByteSource {
  public let size: Int64
  public let read: (Int64, Int) throws(SourceError) -> [UInt8]

  public init(size: Int64, read: @escaping (Int64, Int) throws(SourceError) -> [UInt8]) {
    self.size = size
    self.read = read
  }
  /// The bytes of an array, as a file would give them.
  public init(_ bytes: [UInt8]) {
    size = Int64(bytes.count)
    read = { (offset, count) throws(SourceError) -> [UInt8] in
      guard offset >= 0, offset < Int64(bytes.count), count > 0 else { return [] }
      let start = Int(offset)
      return Array(bytes[start..<min(bytes.count, start + count)])
    }
  }
}

/// One seekable file of bytes that doesn't change its length while it is read.
///
/// What can't be sought (a FIFO, a pipe, a socket) is copied into an unlinked temporary file first: it takes
/// disk, never memory. Reads carry their own offset, so the descriptor's position is never moved.
/// Safe on any one thread at a time.
public final class ByteFile {
  private let descriptor: Int32
  private let base: Int64  // where the content begins; not 0 for a descriptor that was read before
  public let size: Int64

  private init(descriptor: Int32, base: Int64, size: Int64) {
    self.descriptor = descriptor
    self.base = base
    self.size = size
  }
  deinit { close(descriptor) }

  /// Opens a path. Blocks while a FIFO has no writer, and until a pipe's end has come.
  public static func open(_ path: Path) throws(SourceError) -> ByteFile {
    guard !path.bytes.isEmpty, !path.bytes.contains(0) else { throw .notFound }
    // Looked at before it is opened: opening a device can do things.
    try refuse(try kind { facts in unsafe path.withCString { unsafe stat($0, &facts) } })
    let opened = unsafe path.withCString { unsafe holdfast_open($0, O_RDONLY | O_NOCTTY, 0) }
    guard opened >= 0 else { throw fault(errno) }
    return try adopt(opened, base: 0)
  }

  /// Reads from a descriptor that stays the caller's, from its present position on.
  public static func open(descriptor: Int32) throws(SourceError) -> ByteFile {
    let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 3)
    guard copy >= 0 else { throw fault(errno) }
    return try adopt(copy, base: Int64(max(0, lseek(copy, 0, SEEK_CUR))))
  }

  /// Takes over an open descriptor, and closes it should it be refused.
  private static func adopt(_ descriptor: Int32, base: Int64) throws(SourceError) -> ByteFile {
    do throws(SourceError) {
      let facts = try kind { facts in unsafe fstat(descriptor, &facts) }
      try refuse(facts)
      if facts.st_mode & S_IFMT == S_IFREG {
        return ByteFile(descriptor: descriptor, base: base, size: max(0, Int64(facts.st_size) - base))
      }
    } catch {
      close(descriptor)
      throw error
    }
    defer { close(descriptor) }
    return try spooled(descriptor)
  }

  private static func kind(_ ask: (inout stat) -> Int32) throws(SourceError) -> stat {
    var facts = stat()
    guard ask(&facts) == 0 else { throw fault(errno) }
    return facts
  }

  private static func refuse(_ facts: stat) throws(SourceError) {
    switch facts.st_mode & S_IFMT {
    case S_IFDIR: throw .notAFile("a folder")
    case S_IFCHR: throw .notAFile("a character device")
    case S_IFBLK: throw .notAFile("a block device")
    default: return
    }
  }

  /// Copies all that `input` still gives into a file without a name.
  private static func spooled(_ input: Int32) throws(SourceError) -> ByteFile {
    let output = try unnamedFile()
    var total: Int64 = 0
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      let got = unsafe chunk.withUnsafeMutableBytes { unsafe readSome(input, $0.baseAddress, $0.count) }
      guard got != 0 else { break }
      var code = got < 0 ? errno : 0
      var done = 0
      while code == 0, done < got {
        let put = unsafe chunk.withUnsafeBytes {
          unsafe write(output, $0.baseAddress?.advanced(by: done), got - done)
        }
        if put > 0 { done += put } else if put < 0, errno != EINTR { code = errno }
      }
      if code != 0 {
        close(output)
        throw .io(code)
      }
      total += Int64(got)
    }
    return ByteFile(descriptor: output, base: 0, size: total)
  }

  /// One read that waits: through signals, and for data where the descriptor doesn't block.
  private static func readSome(_ input: Int32, _ bytes: UnsafeMutableRawPointer?, _ count: Int) -> Int {
    while true {
      let got = unsafe Glibc.read(input, bytes, count)
      if got >= 0 { return got }
      if errno == EAGAIN {
        var waiting = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
        _ = unsafe poll(&waiting, 1, -1)
      } else if errno != EINTR {
        return got
      }
    }
  }

  /// In $TMPDIR, or in /tmp where that is unset or can't be written.
  private static func unnamedFile() throws(SourceError) -> Int32 {
    var folders = [Path("/tmp")]
    if let named = unsafe getenv("TMPDIR"), unsafe named[0] != 0 {
      let text = unsafe UnsafeBufferPointer(start: named, count: strlen(named))
      folders.insert(Path(bytes: unsafe text.map { UInt8(bitPattern: $0) }), at: 0)
    }
    var code: Int32 = 0
    for folder in folders {
      let opened = unnamedFile(in: folder)
      if opened >= 0 { return opened }
      code = -opened
    }
    throw .io(code)
  }

  /// - Returns: a descriptor, or a negative errno.
  private static func unnamedFile(in folder: Path) -> Int32 {
    let flags = O_RDWR | O_DIRECTORY | 0o20000000  // O_TMPFILE, which Swift doesn't import
    let opened = unsafe folder.withCString { unsafe holdfast_open($0, flags, 0o600) }
    if opened >= 0 { return opened }
    // A file system without O_TMPFILE: a name, for an instant.
    var template = folder.appending("holdfast-XXXXXX").bytes.map { CChar(bitPattern: $0) } + [0]
    let made = unsafe template.withUnsafeMutableBufferPointer { name -> Int32 in
      guard let base = name.baseAddress else { return -EINVAL }
      let descriptor = unsafe mkstemp(base)
      guard descriptor >= 0 else { return -errno }
      unsafe unlink(base)
      return descriptor
    }
    if made >= 0 { _ = fcntl(made, F_SETFD, FD_CLOEXEC) }
    return made
  }

  /// Fills `bytes` from `offset`; short only at the end.
  ///
  /// - Returns: bytes read, or a negative errno.
  public func read(at offset: Int64, into bytes: UnsafeMutableRawBufferPointer) -> Int {
    var done = 0
    while done < bytes.count, offset + Int64(done) < size {
      let want = Int(min(Int64(bytes.count - done), size - offset - Int64(done)))
      let got = unsafe pread(
        descriptor, bytes.baseAddress?.advanced(by: done), want, off_t(base + offset + Int64(done)))
      if got > 0 { done += got } else if got == 0 { break } else if errno != EINTR { return -Int(errno) }
    }
    return done
  }

  /// The file as pure code sees it.
  public var bytes: ByteSource {
    ByteSource(size: size) { (offset, count) throws(SourceError) -> [UInt8] in
      guard offset >= 0, offset < self.size, count > 0 else { return [] }
      var found = [UInt8](repeating: 0, count: Int(min(Int64(count), self.size - offset)))
      let got = unsafe found.withUnsafeMutableBytes { unsafe self.read(at: offset, into: $0) }
      guard got >= 0 else { throw .io(Int32(-got)) }
      if got < found.count { found.removeLast(found.count - got) }
      return found
    }
  }

  private static func fault(_ code: Int32) -> SourceError {
    switch code {
    case ENOENT, ENOTDIR: .notFound
    case EACCES, EPERM: .permission
    default: .io(code)
    }
  }
}
