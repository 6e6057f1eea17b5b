import Glibc

/// What a C decoder sees as its file: bytes of ours first, then a window of the real file.
///
/// The decoder is given this object's address. Whoever opens the decoder owns this object too and keeps it for as
/// long as the decoder lives. A kernel error reads as the end and stays in `failure`, since C can't be told more.
final class WindowStream {
  private let file: ByteFile
  private let head: [UInt8]
  private let window: Range<Int64>
  private(set) var position: Int64 = 0
  private(set) var failure: Int32 = 0  // errno of the first read that failed

  init(_ file: ByteFile, head: [UInt8] = [], window: Range<Int64>) {
    self.file = file
    self.head = head
    self.window = window.clamped(to: 0..<max(file.size, 0))
  }

  var size: Int64 { Int64(head.count) + Int64(window.count) }

  /// The address C calls us back with; it holds no reference.
  var address: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }
  static func at(_ address: UnsafeMutableRawPointer?) -> WindowStream? {
    guard let address = unsafe address else { return nil }
    return unsafe Unmanaged<WindowStream>.fromOpaque(address).takeUnretainedValue()
  }

  func read(into bytes: UnsafeMutableRawBufferPointer) -> Int {
    var done = 0
    if position < Int64(head.count) {
      done = min(bytes.count, head.count - Int(position))
      let start = Int(position)
      for index in 0..<done { unsafe bytes[index] = head[start + index] }
      position += Int64(done)
    }
    let offset = position - Int64(head.count)
    let want = Int(max(0, min(Int64(bytes.count - done), Int64(window.count) - offset)))
    guard want > 0, failure == 0 else { return done }
    let got = unsafe file.read(
      at: window.lowerBound + offset,
      into: UnsafeMutableRawBufferPointer(rebasing: bytes[done..<(done + want)]))
    guard got >= 0 else {
      failure = Int32(-got)
      return done
    }
    position += Int64(got)
    return done + got
  }

  /// - Returns: whether there is such a place; `whence` as for lseek.
  func seek(to offset: Int64, whence: Int32) -> Bool {
    let from: Int64
    switch whence {
    case SEEK_SET: from = 0
    case SEEK_CUR: from = position
    case SEEK_END: from = size
    default: return false
    }
    let (target, overflow) = from.addingReportingOverflow(offset)
    guard !overflow, target >= 0 else { return false }
    position = target
    return true
  }
}
