/// Reads one stream of a file, from its head to its last page: checks the page numbers, takes the tags, and lays the packets
/// on the time line. One page is held back until it is known what follows.
struct OpusStreamPart {
  /// Silence put in place of lost audio in one file: 1 hour at most. A small hostile file could else claim centuries;
  /// positions that ask for more aren't used, and a problem says so.
  static let mostSilence: Int64 = 3_600 * 48_000
  /// Bytes of tags that are kept and checked.
  static let keptTags = 4 << 20

  struct Held {
    var page: OggPage
    var firstPiece = 0
    var lostPages: Int64 = 0
    var skip: OggSkip?
  }
  struct Loss {
    var pages: Int64
    var skip: OggSkip?
    var page: OggPage  // the one behind it
  }
  struct Sized {
    var bytes: [UInt8]
    var frames: Int
    var pageOffset: Int64
  }
  enum Tags {
    case awaited
    case gathering([UInt8], size: Int64)
    case done
  }

  let headPacket: [UInt8]
  private var tagsPacket: (bytes: [UInt8], isWhole: Bool)?
  var facts: OpusPart
  private(set) var nextSequence: UInt32
  /// A page of audio was placed.
  var hasAudio = false
  var silence: Int64 = 0
  /// Settled since the scan last took them; frames count from the file's start.
  var steps: [OpusStep] = []
  var problems: [OpusProblem] = []

  private let startFrame: Int64  // of the file
  let startIndex: Int64  // packets in the parts before
  let allowance: Int64
  var tags = Tags.awaited
  var timeline = OpusTimeline()
  var assembler: OggPacketAssembler
  var held: Held?
  var lead: [Sized] = []  // packets on the tags page: the first granule position tells whether they count
  var deferred: [OpusProblem] = []  // lie behind the held page
  var cursor: Int64 = 0  // samples given out or dropped
  private var newestGranule: Int64 = 0
  var loss: Loss?  // since the last granule position: the next one tells how much
  private var noted: Set<OpusProblem.Kind> = []  // kinds that are named once a part

  init(head: OpusHead, packet: [UInt8], page: OggPage, startFrame: Int64, startIndex: Int64, allowance: Int64)
  {
    headPacket = packet
    facts = OpusPart(head: head, serial: page.serial, offset: page.offset)
    facts.hasEndOfStream = page.isEnd
    facts.lastSequence = page.sequence
    nextSequence = page.sequence &+ 1
    assembler = OggPacketAssembler(limit: 61_440 * head.streams)  // RFC 7845 section 6
    self.startFrame = startFrame
    self.startIndex = startIndex
    self.allowance = allowance
  }

  var isWaitingForTags: Bool {
    if case .awaited = tags { true } else { false }
  }
  var headers: OpusHeaderPackets {
    OpusHeaderPackets(
      head: headPacket, tags: tagsPacket?.bytes, tagsAreWhole: tagsPacket?.isWhole ?? false)
  }
  /// The file's frame behind all that is placed.
  var frame: Int64 { startFrame + facts.frames }

  /// Names a fault that lies behind the newest page.
  mutating func note(_ problem: OpusProblem) {
    if held == nil || deferred.count == OpusFileFacts.listed {
      settle(problem)
    } else {
      deferred.append(problem)
    }
  }
  mutating func settle(_ problem: OpusProblem) {
    var problem = problem
    if problem.atFrame == nil { problem.atFrame = frame }
    problems.append(problem)
  }
  mutating func noteOnce(_ problem: OpusProblem) {
    if noted.insert(problem.kind).inserted { note(problem) }
  }

  // MARK: Pages in

  /// Takes the next page with the part's serial number that begins no stream.
  ///
  /// - Parameter skip: bytes that were no page, since the last page that was taken.
  /// - Returns: false where the page is dropped as one that was there before.
  mutating func take(_ page: OggPage, behind skip: OggSkip?) -> Bool {
    let ahead = Int32(bitPattern: page.sequence &- nextSequence)
    let size = Int64(page.size)
    if ahead < 0 {
      guard OpusTimeline.granules.contains(page.granule), page.granule > newestGranule else {
        note(
          OpusProblem(
            .duplicatePage, offset: page.offset, bytes: size,
            "page \(page.sequence) comes again or out of order; it is left out"))
        return false
      }
      noteOnce(
        OpusProblem(
          .pageNumber, offset: page.offset, bytes: size,
          "page number \(page.sequence) in place of \(nextSequence), though the page is new"))
    }
    nextSequence = page.sequence &+ 1
    facts.lastSequence = page.sequence
    if OpusTimeline.granules.contains(page.granule) { newestGranule = max(newestGranule, page.granule) }
    let next = Held(page: page, lostPages: Int64(max(ahead, 0)), skip: skip)
    if case .done = tags { hold(next) } else { takeHeaderPage(next) }
    return true
  }
  /// The rest of a head page that holds more than the head.
  mutating func takeRest(ofHeadPage page: OggPage) { takeHeaderPage(Held(page: page, firstPiece: 1)) }

  private mutating func hold(_ next: Held) {
    place(before: next.page)
    held = next
  }

  private mutating func takeHeaderPage(_ next: Held) {
    let pieces = next.page.pieces
    var index = next.firstPiece
    guard index < pieces.count else {
      facts.hasEndOfStream = next.page.isEnd
      return
    }
    let continues = index == 0 && next.page.isContinued
    var (bytes, size): ([UInt8], Int64) = ([], 0)
    if case .gathering(let begun, let begunSize) = tags {
      guard continues, next.lostPages == 0 else {
        return endTags(next, "a part of OpusTags is missing")
      }
      (bytes, size) = (begun, begunSize)
      tags = .awaited  // gives up the second reference: `bytes` grows in place
    } else if continues || !next.page.body[pieces[index].range].span.begins(with: "OpusTags") {
      if next.lostPages > 0 { return endTags(next, "the page with OpusTags is missing or damaged") }
      return endTags(next, "the second packet is no OpusTags", dropping: next.page.granule == 0)
    }
    if let skip = next.skip { note(Self.junk(skip, affected: false)) }
    let piece = pieces[index]
    size += Int64(piece.range.count)
    bytes += next.page.body[piece.range].prefix(max(Self.keptTags - bytes.count, 0))
    facts.hasEndOfStream = next.page.isEnd
    guard piece.endsPacket else {
      tags = .gathering(bytes, size: size)
      return
    }
    do throws(OpusHeaderFault) {
      let isWhole = size == Int64(bytes.count)
      facts.tags = try OpusTags(parsing: bytes.span, isWhole: isWhole)
      tagsPacket = (bytes, isWhole)
    } catch {
      note(OpusProblem(.headerTags, offset: next.page.offset, bytes: Int64(next.page.size), error.text))
    }
    tags = .done
    index += 1
    guard index < pieces.count else { return }
    lead = sizedPackets(of: Held(page: next.page, firstPiece: index))
  }
  /// Goes over to audio without tags.
  private mutating func endTags(_ next: Held, _ text: String, dropping: Bool = false) {
    note(OpusProblem(.headerTags, offset: next.page.offset, text))
    tags = .done
    assembler.lose()  // what continues here is the rest of the tags
    if !dropping { hold(next) }
  }
}
