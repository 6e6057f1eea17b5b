/// Why a file can't be read as Ogg Opus. The texts are one line and name the fault; the caller adds the path.
public enum OpusFileError: Error, Equatable, Sendable {
  /// Another kind of file, or none.
  case notOpus(String)
  /// Ogg Opus, but no whole page of audio.
  case noAudio(String)
  /// The head can't be played by.
  case header(String)
  /// errno of the byte source.
  case io(Int32)
  /// libopus' code for something other than a bad packet.
  case codec(Int32)
}

/// A fault in a file that didn't stop the reading.
public struct OpusProblem: Sendable, Equatable {
  public enum Kind: String, Sendable {
    case notClosed = "not_closed"  // no end-of-stream flag
    case cut  // the file ends inside a page
    case damagedPage = "damaged_page"
    case junk  // bytes that are no page, and nothing is missing
    case missingPage = "missing_page"
    case duplicatePage = "duplicate_page"
    case pageNumber = "page_number"  // out of order, yet the page is new
    case pageAfterEnd = "page_after_end"  // the flag came too early
    case badGranule = "bad_granule"
    case granuleJump = "granule_jump"  // time is missing, though no page is
    case badPacket = "bad_packet"
    case secondHead = "second_head"
    case headerHead = "header_head"  // of a later part
    case headerTags = "header_tags"
    case audioOnTagsPage = "audio_on_tags_page"
    case trailingBytes = "trailing_bytes"
    case chained
    case emptyPart = "empty_part"
    case otherStream = "other_stream"
  }
  public var kind: Kind
  /// Byte in the file.
  public var offset: Int64?
  public var bytes: Int64?
  /// 48 kHz frame of the decoded file at which it lies.
  public var atFrame: Int64?
  /// Frames of the decoded file that are silence in place of lost audio.
  public var lengthFrames: Int64?
  public var message: String
  /// Audio is missing or damaged; else only the wrapping is wrong.
  public var audioAffected: Bool

  public init(
    _ kind: Kind, offset: Int64? = nil, bytes: Int64? = nil, atFrame: Int64? = nil,
    lengthFrames: Int64? = nil,
    audioAffected: Bool = false, _ message: String
  ) {
    self.kind = kind
    self.offset = offset
    self.bytes = bytes
    self.atFrame = atFrame
    self.lengthFrames = lengthFrames
    self.message = message
    self.audioAffected = audioAffected
  }
  public var atMs: Int64? { atFrame.map { $0 / 48 } }
  public var lengthMs: Int64? { lengthFrames.map { $0 / 48 } }
}

/// One stream of a file: from a head to the next (a chain's link, RFC 3533 section 4).
public struct OpusPart: Sendable, Equatable {
  public var head: OpusHead
  /// nil where the tags are missing or broken; a problem says so.
  public var tags: OpusTags?
  public var serial: UInt32
  /// Byte of its head page.
  public var offset: Int64
  /// 48 kHz frames it decodes to, pre-skip and end trim taken off, holes included.
  public var frames: Int64 = 0
  public var packets: Int64 = 0
  /// Bytes of these.
  public var audioBytes: Int64 = 0
  /// Granule position at which its first packet begins: 0 but for a stream joined in the middle.
  public var startGranule: Int64 = 0
  /// Granule position of its last page that has one, as stored.
  public var lastGranule: Int64?
  /// Sequence number of its last page.
  public var lastSequence: UInt32 = 0
  public var hasEndOfStream = false

  public init(head: OpusHead, serial: UInt32, offset: Int64) {
    self.head = head
    self.serial = serial
    self.offset = offset
  }
}

/// What an Ogg Opus file holds, found by walking its pages once, without decoding.
public struct OpusFileFacts: Sendable, Equatable {
  /// Lists stop at this many entries; the counts and `audioAffected` go on.
  public static let listed = 1_000

  /// The first `listed` parts that hold audio.
  public internal(set) var parts: [OpusPart] = []
  public internal(set) var partCount = 0
  /// The sum of all parts' frames, 48 kHz.
  public internal(set) var frames: Int64 = 0
  /// Frames of these that are silence in place of lost audio.
  public internal(set) var holeFrames: Int64 = 0
  /// Audio packets.
  public internal(set) var packets: Int64 = 0
  /// Bytes of these.
  public internal(set) var audioBytes: Int64 = 0
  /// Whole pages of any kind.
  public internal(set) var pages: Int64 = 0
  /// Byte behind the last whole page.
  public internal(set) var wholeBytes: Int64 = 0
  /// Bytes of the file.
  public internal(set) var bytes: Int64 = 0
  /// On the last page of the last part.
  public internal(set) var hasEndOfStream = false
  /// In the order of the file, but for faults of the end.
  public internal(set) var problems: [OpusProblem] = []
  public internal(set) var problemCount = 0
  /// Any of the problems has cost audio.
  public internal(set) var audioAffected = false

  public init() {}

  mutating func note(_ problem: OpusProblem) {
    problemCount += 1
    audioAffected = audioAffected || problem.audioAffected
    if problems.count < Self.listed { problems.append(problem) }
  }
}
