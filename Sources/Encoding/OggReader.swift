import COgg

/// Delivers a file's bytes in order: it is asked for the bytes at `offset`, each time just behind those before, and
/// never goes back, so that `pread` and a pipe serve alike.
///
/// It fills the front of the buffer and returns the count; 0 at the end. It may give fewer than asked for.
public typealias OggReadBytes = (_ offset: Int64, _ into: inout MutableRawSpan) throws(OpusFileError) -> Int

/// What a file consists of, front to back without a gap.
public enum OggItem: Sendable, Equatable {
  case page(OggPage)
  /// Long stretches come in several items, each behind the one before.
  case skipped(OggSkip)
}

/// Walks a file page by page. libogg checks the checksums and finds the next page after damage.
///
/// Memory is constant, about 250 KiB whatever the file's size. Keep it on one thread at a time.
/// Source: RFC 3533 section 6. A capture pattern inside junk is not taken for a page.
@safe public struct OggPageReader: ~Copyable {
  private static let chunk = 65_536
  /// Heads that overlap make libogg sum the same bytes up to 2 000 times. Damage costs no byte more than once or twice.
  private static let mostWasted: Int64 = 64 << 20

  private let sync: UnsafeMutablePointer<ogg_sync_state>
  private let read: OggReadBytes
  /// Byte behind the last one taken from the source: the file's size once `next` has given nil.
  public private(set) var bytesRead: Int64
  private var position: Int64  // byte at which libogg goes on
  private var skip: OggSkip?  // grows until a page or the end of the bytes at hand
  private var ready: OggPage?  // found behind `skip`, which goes first
  private var atEnd = false
  private var wasted: Int64 = 0  // bytes summed for checksums that didn't hold

  /// - Parameters:
  ///   - offset: byte at which to begin, 0 or where a page begins.
  ///   - read: the file's bytes; what it throws, `next` throws.
  public init(startingAt offset: Int64 = 0, read: @escaping OggReadBytes) {
    unsafe sync = .allocate(capacity: 1)
    unsafe sync.initialize(to: ogg_sync_state())
    unsafe ogg_sync_init(sync)
    self.read = read
    bytesRead = offset
    position = offset
  }
  deinit {
    unsafe ogg_sync_clear(sync)
    unsafe sync.deallocate()
  }

  /// The next page or stretch of bytes that are none; nil at the end of the file.
  ///
  /// - Throws: `.io` where the source fails or memory is short; `.notOpus` for a file made to keep libogg busy. Damage is
  ///   no error.
  public mutating func next() throws(OpusFileError) -> OggItem? {
    if let page = ready {
      ready = nil
      return .page(page)
    }
    while true {
      if passFalseHead() { continue }
      var found = unsafe ogg_page()
      let moved = unsafe ogg_sync_pageseek(sync, &found)
      if moved > 0 {
        let page = unsafe copy(&found)
        position += Int64(moved)
        guard let before = takeSkip() else { return .page(page) }
        ready = page
        return .skipped(before)
      }
      if moved < 0 {
        let claim = OggClaim(waiting(back: -moved, atMost: 282).span)
        pass(Int64(-moved), kind: claim.map { .damagedPage($0) } ?? .junk)
        wasted += Int64(claim?.size ?? 0)
        guard wasted <= Self.mostWasted + 16 * bytesRead else { throw .notOpus("full of false page heads") }
      } else if !atEnd {
        if let before = takeSkip() { return .skipped(before) }
        try fill()
      } else if let last = passTail() {
        return last.map { .skipped($0) }
      }
    }
  }

  private mutating func fill() throws(OpusFileError) {
    guard let buffer = unsafe ogg_sync_buffer(sync, Self.chunk) else { throw .io(12) }  // ENOMEM
    var span = unsafe MutableRawSpan(
      _unsafeStart: UnsafeMutableRawPointer(buffer), byteCount: Self.chunk)
    let count = min(max(try read(bytesRead, &span), 0), Self.chunk)
    unsafe ogg_sync_wrote(sync, count)
    bytesRead += Int64(count)
    atEnd = count == 0
  }

  private func copy(_ found: inout ogg_page) -> OggPage {
    let header = unsafe UnsafeBufferPointer(start: found.header, count: max(found.header_len, 0))
    let body = unsafe UnsafeBufferPointer(start: found.body, count: max(found.body_len, 0))
    return unsafe OggPage(
      offset: position, flags: header[5], granule: ogg_page_granulepos(&found),
      serial: UInt32(bitPattern: ogg_page_serialno(&found)),
      sequence: UInt32(truncatingIfNeeded: ogg_page_pageno(&found)),
      lacing: Array(header.dropFirst(27)), body: Array(body))
  }

  /// Steps into a capture pattern of another version than RFC 3533's 0: libogg would try it, at the cost of a checksum.
  private mutating func passFalseHead() -> Bool {
    guard unsafe sync.pointee.headerbytes == 0, let data = unsafe sync.pointee.data else { return false }
    let begin = unsafe Int(sync.pointee.returned)
    guard unsafe Int(sync.pointee.fill) - begin >= 27, unsafe data[begin] == 0x4F,
      unsafe data[begin + 1] == 0x67,
      unsafe data[begin + 2] == 0x67, unsafe data[begin + 3] == 0x53, unsafe data[begin + 4] != 0
    else { return false }
    unsafe sync.pointee.returned += 1
    pass(1, kind: .junk)
    return true
  }

  /// Adds bytes at `position` to the stretch that is no page; the first of it says its kind.
  private mutating func pass(_ bytes: Int64, kind: OggSkip.Kind) {
    skip = OggSkip(
      offset: skip?.offset ?? position, bytes: (skip?.bytes ?? 0) + bytes, kind: skip?.kind ?? kind)
    position += bytes
  }
  /// The stretch in front of a page. What seemed a cut page was a false head then.
  private mutating func takeSkip() -> OggSkip? {
    guard var taken = skip else { return nil }
    skip = nil
    if case .cutPage(let claim) = taken.kind { taken.kind = claim.map { .damagedPage($0) } ?? .junk }
    return taken
  }

  /// At the end of the file libogg may wait for the rest of a page. That page is cut, or a false head whose stated
  /// length hides whole pages: goes on at the next place that could be a page.
  ///
  /// - Returns: nil to seek on; else the file's next item, which is its last if it is nil or a cut page.
  private mutating func passTail() -> OggSkip?? {
    let tail = waiting(back: 0, atMost: .max)
    let looksCut = !tail.isEmpty && Self.mayBePage(tail, at: 0)
    if let before = skip, tail.isEmpty || (looksCut && !before.isCut) {
      skip = nil
      return .some(before)
    }
    guard !tail.isEmpty else { return .some(nil) }
    var next = 1
    while next < tail.count, !Self.mayBePage(tail, at: next) { next += 1 }
    pass(Int64(next), kind: looksCut ? .cutPage(OggClaim(tail.span)) : .junk)
    unsafe ogg_sync_reset(sync)
    let rest = tail.count - next
    guard rest > 0, let buffer = unsafe ogg_sync_buffer(sync, rest) else { return nil }
    for i in 0..<rest { unsafe buffer[i] = CChar(bitPattern: tail[next + i]) }
    unsafe ogg_sync_wrote(sync, rest)
    return nil
  }
  private static func mayBePage(_ bytes: [UInt8], at index: Int) -> Bool {
    let pattern: [UInt8] = [0x4F, 0x67, 0x67, 0x53]  // OggS, or as much of it as there is
    for i in 0..<min(4, bytes.count - index) where bytes[index + i] != pattern[i] { return false }
    return true
  }

  /// Bytes that libogg holds, from `back` bytes before the place where it goes on.
  private func waiting(back: Int, atMost limit: Int) -> [UInt8] {
    guard let data = unsafe sync.pointee.data else { return [] }
    let begin = unsafe Int(sync.pointee.returned) - back
    let count = unsafe min(Int(sync.pointee.fill) - begin, limit)
    guard begin >= 0, count > 0 else { return [] }
    return unsafe Array(UnsafeBufferPointer(start: data + begin, count: count))
  }
}

extension OggSkip {
  fileprivate var isCut: Bool {
    if case .cutPage = kind { true } else { false }
  }
}
