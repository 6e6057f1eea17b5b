/// The comment header of an Opus stream (RFC 7845 section 5.2).
public struct OpusTags: Sendable, Equatable {
  /// Texts kept of all comments together, bytes.
  public static let keptBytes = 65_536

  /// As stored; bytes that aren't UTF-8 as U+FFFD. Control characters are left in.
  public var vendor: String
  /// `NAME=value` each, as many of the first as fit in `keptBytes`.
  public var comments: [String]
  /// All that the packet holds.
  public var commentCount: Int

  /// Reads a tags packet. Never allocates by a length that the packet states: each is held against what is there.
  ///
  /// - Parameters:
  ///   - bytes: the packet, from `OpusTags` on.
  ///   - isWhole: false where only its first bytes were kept: then an end in mid-comment is no fault.
  /// - Throws: the fault.
  public init(parsing bytes: Span<UInt8>, isWhole: Bool = true) throws(OpusHeaderFault) {
    guard bytes.begins(with: "OpusTags") else {
      throw OpusHeaderFault(text: "the second packet is no OpusTags")
    }
    guard bytes.count >= 12 else {
      throw OpusHeaderFault(text: "OpusTags is too short: it ends before the vendor's length")
    }
    let vendorSize = Int(bytes.littleEndian(at: 8, count: 4))
    guard vendorSize <= bytes.count - 12 else {
      throw OpusHeaderFault(
        text: "OpusTags states a vendor of \(vendorSize) bytes, but \(bytes.count - 12) are there")
    }
    vendor = Self.text(bytes, 12..<(12 + vendorSize))
    comments = []
    commentCount = 0
    var at = 12 + vendorSize
    guard bytes.count - at >= 4 else { throw OpusHeaderFault(text: "OpusTags has no comment count") }
    let stated = Int(bytes.littleEndian(at: at, count: 4))
    at += 4
    guard !isWhole || stated <= (bytes.count - at) / 4 else {  // a comment takes 4 bytes at least
      throw OpusHeaderFault(
        text: "OpusTags states \(stated) comments, but \(bytes.count - at) bytes are left for them")
    }
    var kept = 0
    for index in 0..<stated {
      guard bytes.count - at >= 4 else {
        guard isWhole else { break }
        throw OpusHeaderFault(text: "OpusTags states \(stated) comments, but ends after \(index)")
      }
      let size = Int(bytes.littleEndian(at: at, count: 4))
      at += 4
      guard size <= bytes.count - at else {
        guard isWhole else { break }
        throw OpusHeaderFault(
          text: "OpusTags states \(size) bytes for comment \(index + 1), but \(bytes.count - at) are left")
      }
      if kept + size <= Self.keptBytes, comments.count < 1_024 {
        comments.append(Self.text(bytes, at..<(at + size)))
      }
      kept += size
      at += size
    }
    commentCount = stated
  }

  private static func text(_ bytes: Span<UInt8>, _ range: Range<Int>) -> String {
    String(decoding: range.prefix(keptBytes).map { bytes[$0] }, as: UTF8.self)
  }
}
