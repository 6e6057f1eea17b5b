import Glibc
import Signal

/// Raw interleaved samples from a descriptor, such as standard input; the end of the pipe is the end.
///
/// The descriptor stays the caller's. Reads wait for data; `interrupt` ends the waiting.
public final class StandardInputSource: Source {
  public let format: SourceFormat
  public let statedFrames: Int64? = nil
  public private(set) var problems: [SourceProblem] = []

  private let descriptor: Int32
  private let wake: Int32
  private let waker: Int32
  private var leftAfterWake: Int?  // bytes that may still be drained; nil before the wake
  private static let drainedAtMost = 1 << 20  // /proc/sys/fs/pipe-max-size
  private var pending: [UInt8] = []  // read and not yet delivered: the head, then parts of a frame
  private var headChecked = false
  private var ended = false
  private var delivered: Int64 = 0  // bytes

  private static let headBytes = 12

  /// - Parameters:
  ///   - descriptor: open for reading; a folder or a terminal is refused.
  ///   - format: how its bytes are to be read.
  public init(descriptor: Int32, format: SourceFormat) throws(SourceError) {
    try SourceLimits.check(rate: format.rate, channels: format.channels)
    var facts = stat()
    guard unsafe fstat(descriptor, &facts) == 0 else { throw .io(errno) }
    if facts.st_mode & S_IFMT == S_IFDIR { throw .notAFile("a folder") }
    if isatty(descriptor) == 1 { throw .notAFile("a terminal; pipe raw samples in") }
    self.descriptor = descriptor
    self.format = format
    var ends: [Int32] = [0, 0]
    guard unsafe ends.withUnsafeMutableBufferPointer({ unsafe pipe($0.baseAddress) }) == 0 else {
      throw .io(errno)
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    (wake, waker) = (ends[0], ends[1])
  }
  deinit {
    close(wake)
    close(waker)
  }

  public var drainsAfterInterrupt: Bool { true }

  /// Ends the waiting. What lies in the pipe by then is still read, up to what a pipe can hold.
  public func interrupt() {
    var byte: UInt8 = 0
    _ = unsafe write(waker, &byte, 1)
  }

  /// Waits for the first bytes and refuses an audio file where raw samples are expected. `read` does it by itself;
  /// this is for a caller who wants to know before a take is made. The bytes looked at are delivered later.
  public func checkHead() throws(SourceError) {
    guard !headChecked else { return }
    while pending.count < Self.headBytes, !ended {
      var chunk = [UInt8](repeating: 0, count: Self.headBytes - pending.count)
      let got = unsafe chunk.withUnsafeMutableBytes { unsafe wait($0) }
      guard got >= 0 else { throw .io(Int32(-got)) }
      pending += chunk.prefix(got)
      ended = got == 0
    }
    headChecked = true
    if let kind = Self.kind(of: pending) {
      ended = true
      throw .wrongKind("the input is \(kind), not raw samples; give it as a file: --input file:PATH")
    }
  }

  public func read(into buffer: inout MutableRawSpan) throws(SourceError) -> Int {
    try checkHead()
    let frame = format.bytesPerFrame
    let room = buffer.byteCount / frame * frame
    guard room > 0 else { return 0 }
    var failure: SourceError?
    let filled = unsafe buffer.withUnsafeMutableBytes { all -> Int in
      let bytes = unsafe UnsafeMutableRawBufferPointer(rebasing: all[..<room])
      var filled = min(pending.count, room)
      for index in 0..<filled { unsafe bytes[index] = pending[index] }
      pending.removeFirst(filled)
      while filled < frame, !ended {
        let got = unsafe wait(UnsafeMutableRawBufferPointer(rebasing: bytes[filled...]))
        if got < 0 { failure = .io(Int32(-got)) }
        filled += max(0, got)
        ended = got <= 0
      }
      let part = filled % frame
      if part > 0 { pending = unsafe Array(bytes[(filled - part)..<filled]) + pending }
      return filled - part
    }
    delivered += Int64(filled)
    if filled > 0 { return filled / frame }
    if !pending.isEmpty {
      problems.append(
        SourceProblem(
          kind: "partial_frame", offset: delivered, bytes: Int64(pending.count),
          message: "the input ends inside a frame; that part was dropped"))
      pending = []
    }
    if let failure { throw failure }
    return 0
  }

  /// Waits for data and reads once.
  ///
  /// - Returns: bytes read; 0 at the end, or when woken; a negative errno.
  private func wait(_ bytes: UnsafeMutableRawBufferPointer) -> Int {
    let data = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while true {
      var both = [pollfd(fd: wake, events: Int16(POLLIN), revents: 0), data]
      guard unsafe poll(&both, 2, leftAfterWake == nil ? -1 : 0) >= 0 else {
        if errno == EINTR { continue }
        return -Int(errno)
      }
      if both[0].revents != 0, leftAfterWake == nil { leftAfterWake = Self.drainedAtMost }
      if let left = leftAfterWake {
        if both[1].revents == 0 || left <= 0 { return 0 }
        leftAfterWake = left - bytes.count
      }
      let got = unsafe Glibc.read(descriptor, bytes.baseAddress, bytes.count)
      if got >= 0 { return got }
      switch errno {
      case EINTR: continue
      case EAGAIN where leftAfterWake != nil: return 0
      case EAGAIN:  // somebody made the pipe non-blocking
        var one = data
        _ = unsafe poll(&one, 1, -1)
      default: return -Int(errno)
      }
    }
  }

  /// What kind of audio file begins so; nil for what can only be samples.
  static func kind(of head: [UInt8]) -> String? {
    if head.holds("RIFF") || head.holds("RF64") { return "a WAV file" }
    if head.holds("OggS") { return "an Ogg file" }
    if head.holds("fLaC") { return "a FLAC file" }
    if head.holds("FORM"), head.holds("AIFF", at: 8) || head.holds("AIFC", at: 8) { return "an AIFF file" }
    if AudioKind.lengthOfID3(head) != nil { return "a tagged audio file (ID3)" }
    return nil
  }
}
