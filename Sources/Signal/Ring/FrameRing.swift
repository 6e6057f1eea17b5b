import Synchronization

/// A lock-free ring of interleaved frames between exactly one writer (capture) and one reader (signal).
///
/// The writer never overwrites what isn't read: where the ring is full it takes nothing, and the device keeps it.
/// Neither side allocates, locks or waits here.
@safe public final class FrameRing: @unchecked Sendable {
  public let format: SourceFormat
  /// Frames the ring holds at most.
  public let capacity: Int
  private let storage: UnsafeMutableRawPointer
  private let writtenCount = Atomic<Int64>(0)
  private let readCount = Atomic<Int64>(0)
  private let closed = Atomic<Bool>(false)

  /// - Parameters:
  ///   - seconds: how much the ring bridges; never over 16 MB.
  ///   - block: frames that are written at a time: the ring's end cuts none of them.
  public init(format: SourceFormat, seconds: Int = 2, block: Int = 1) {
    self.format = format
    let wanted = max(1024, format.rate * seconds)
    let most = max(1, min(wanted, 16_000_000 / format.bytesPerFrame))
    capacity = block > 1 && block <= most ? most / block * block : most
    unsafe storage = .allocate(byteCount: capacity * format.bytesPerFrame, alignment: 64)
    unsafe storage.initializeMemory(as: UInt8.self, repeating: 0, count: capacity * format.bytesPerFrame)
  }
  deinit { unsafe storage.deallocate() }

  /// Frames written since the start. Any thread.
  public var written: Int64 { writtenCount.load(ordering: .acquiring) }
  /// Frames read since the start. Any thread.
  public var consumed: Int64 { readCount.load(ordering: .acquiring) }
  /// No more will be written. Any thread.
  public var isClosed: Bool { closed.load(ordering: .acquiring) }
  /// The writer's last act.
  public func close() { closed.store(true, ordering: .releasing) }
  /// Frames that fit now. Writer only.
  public var free: Int { capacity - Int(written - consumed) }

  /// The ring's whole memory, to be locked against paging.
  public func withMemory(_ body: (RawSpan) -> Void) {
    body(unsafe RawSpan(_unsafeStart: storage, byteCount: capacity * format.bytesPerFrame))
  }

  /// Hands the writer the next free stretch; it may be shorter than what is free, as the ring wraps.
  ///
  /// - Parameters:
  ///   - most: frames wanted at most.
  ///   - body: fills the front and returns the frames it filled. Not called where the ring is full.
  /// - Returns: frames written.
  public func write(atMost most: Int, _ body: (inout MutableRawSpan) -> Int) -> Int {
    let position = writtenCount.load(ordering: .relaxed)
    let start = Int(position % Int64(capacity))
    let count = min(most, free, capacity - start)
    guard count > 0 else { return 0 }
    let size = format.bytesPerFrame
    var span = unsafe MutableRawSpan(_unsafeStart: storage + start * size, byteCount: count * size)
    let filled = max(0, min(count, body(&span)))
    writtenCount.store(position + Int64(filled), ordering: .releasing)
    return filled
  }

  /// Hands the reader the next unread stretch, at most `most` frames, and then frees it.
  ///
  /// - Returns: frames read; 0 where the ring is empty.
  public func read(atMost most: Int, _ body: (RawSpan) -> Void) -> Int {
    let position = readCount.load(ordering: .relaxed)
    let start = Int(position % Int64(capacity))
    let count = min(most, Int(written - position), capacity - start)
    guard count > 0 else { return 0 }
    let size = format.bytesPerFrame
    body(unsafe RawSpan(_unsafeStart: storage + start * size, byteCount: count * size))
    readCount.store(position + Int64(count), ordering: .releasing)
    return count
  }
}
