/// Makes sense of an Ogg Opus file, page by page: its parts, its time line, and what is wrong with it.
///
/// A value: no I/O and no decoding. Feed it all that `OggPageReader` gives, then `finish`. Memory is bounded: one
/// page and one packet are held, tags up to 4 MiB, and the lists of the facts. The page held back is what tells the
/// last page of a stream, whose position trims the end even where the end-of-stream flag is missing.
public struct OpusStreamScan {
  /// Bytes in front of the first page after which a file isn't taken for Ogg.
  static let longestPreamble: Int64 = 1 << 20

  private enum Phase {
    case searching  // no Opus head so far
    case inPart
    case passing  // a part whose head can't be used: on to the next beginning of a stream
  }
  private var phase = Phase.searching
  private var part: OpusStreamPart?
  private var facts = OpusFileFacts()
  private var steps: [OpusStep] = []
  /// Of the part whose step came last.
  public private(set) var headers: OpusHeaderPackets?
  private var isAnnounced = false  // the part stands among the steps
  private var skip: OggSkip?  // since the last page that was taken
  private var otherKind: String?  // what the first streams are instead of Opus
  private var groupIsOpen = false  // only beginnings of streams since the last page of another kind
  private var namedOthers = false
  private var candidate: OggPage?  // a head with the part's own serial number: the next page tells its sense
  private var beside: OggPage?  // a head right behind the part's: its successor's, should the part lack tags

  public init() {}

  /// The steps that the pages so far have settled, in order; each is given once.
  public mutating func takeSteps() -> [OpusStep] {
    defer { steps = [] }
    return steps
  }

  /// Takes the file's next item.
  ///
  /// - Throws: `.notOpus`, `.header`: as soon as one is certain. The scan is over then.
  public mutating func take(_ item: OggItem) throws(OpusFileError) {
    switch item {
    case .skipped(let stretch):
      facts.bytes = max(facts.bytes, stretch.end)
      add(stretch)
      if facts.pages == 0, let skip, skip.bytes > Self.longestPreamble {
        throw .notOpus("no Ogg page in its first MiB")
      }
    case .page(let page):
      facts.pages += 1
      facts.wholeBytes = page.offset + Int64(page.size)
      facts.bytes = max(facts.bytes, facts.wholeBytes)
      if page.isBeginning { try begin(page) } else { try goOn(page) }
    }
  }

  /// The file's end.
  ///
  /// - Returns: the facts, complete.
  /// - Throws: `.notOpus`, `.noAudio`, `.header`.
  public mutating func finish() throws(OpusFileError) -> OpusFileFacts {
    try settleCandidate()
    let partIsOpen = phase == .inPart
    let waitsForTags = part?.isWaitingForTags ?? false
    closePart(atFileEnd: true)
    if facts.partCount > 0 { return facts }
    switch (facts.pages, skip?.kind) {
    case (0, nil): throw .notOpus("the file is empty")
    case (0, .cutPage): throw .noAudio("the file ends inside its first page")
    case (0, _): throw .notOpus("no Ogg page in it")
    default: break
    }
    guard partIsOpen else {
      if let otherKind { throw .notOpus("an Ogg file with \(otherKind), without Opus") }
      throw .noAudio("no part of the file can be read")
    }
    if case .cutPage = skip?.kind, let skip {
      throw .noAudio(
        "the file ends inside a page, of which \(skip.bytes) bytes are there, before any whole page of audio")
    }
    if skip != nil { throw .noAudio("behind the headers lie only bytes that are no page") }
    throw .noAudio(waitsForTags ? "the file ends after the head" : "the file ends after the headers")
  }

  // MARK: Pages

  private mutating func begin(_ page: OggPage) throws(OpusFileError) {
    defer { groupIsOpen = true }
    guard page.body.span.begins(with: "OpusHead") else {
      if phase == .searching { otherKind = otherKind ?? Self.kind(of: page) } else { noteOther(page) }
      return
    }
    let isOwn = page.serial == part?.facts.serial
    if let part, isOwn, part.isWaitingForTags, page.body == part.headPacket {
      return note(
        OpusProblem(.duplicatePage, offset: page.offset, bytes: Int64(page.size), "the head page comes again")
      )
    }
    if groupIsOpen, phase == .inPart, !isOwn {
      if beside == nil { beside = page }
      return
    }
    try settleCandidate()
    if isOwn, phase == .inPart { candidate = page } else { try beginPart(page) }
  }

  private mutating func goOn(_ page: OggPage) throws(OpusFileError) {
    groupIsOpen = false
    if phase == .searching {
      if let otherKind { throw .notOpus("an Ogg file with \(otherKind), without Opus") }
      let front = skip == nil ? "" : "; \(skip?.bytes ?? 0) bytes in front of it are no whole page"
      throw .header("the head is missing: the first page isn't the beginning of a stream" + front)
    }
    if let stray = candidate, page.serial == stray.serial, page.sequence == part?.nextSequence,
      !page.body.span.begins(with: "OpusTags")
    {
      candidate = nil
      note(
        OpusProblem(
          .secondHead, offset: stray.offset, bytes: Int64(stray.size),
          "a second OpusHead inside the stream; it is left out"))
    }
    try settleCandidate()
    if let other = beside {
      beside = nil
      if page.serial == other.serial, part?.isWaitingForTags == true {
        try beginPart(other)
      } else {
        noteOther(other)
      }
    }
    guard phase == .inPart else { return }
    guard page.serial == part?.facts.serial else { return noteOther(page) }
    let stretch = skip
    var isTaken = false
    withPart { isTaken = $0.take(page, behind: stretch) }
    if isTaken { skip = nil }
  }

  private mutating func settleCandidate() throws(OpusFileError) {
    guard let page = candidate else { return }
    candidate = nil
    try beginPart(page)
  }

  private mutating func beginPart(_ page: OggPage) throws(OpusFileError) {
    let isFirst = phase == .searching
    closePart(atFileEnd: false)
    do throws(OpusHeaderFault) {
      guard let first = page.pieces.first, first.endsPacket else {
        throw OpusHeaderFault(text: "OpusHead goes on behind its page")
      }
      let packet = Array(page.body[first.range])
      part = OpusStreamPart(
        head: try OpusHead(parsing: packet.span), packet: packet, page: page, startFrame: facts.frames,
        startIndex: facts.packets, allowance: OpusStreamPart.mostSilence - facts.holeFrames)
      phase = .inPart
    } catch {
      if isFirst { throw .header(error.text) }
      phase = .passing
      return note(
        OpusProblem(
          .headerHead, offset: page.offset, bytes: Int64(page.size), audioAffected: true,
          "a later part can't be read: \(error.text)"))
    }
    if page.pieces.count > 1 {
      note(OpusProblem(.headerHead, offset: page.offset, "OpusHead isn't alone on its page"))
      withPart { $0.takeRest(ofHeadPage: page) }
    }
  }

  // MARK: Parts

  /// Lets the part act, then takes over what it settled.
  private mutating func withPart(_ act: (inout OpusStreamPart) -> Void) {
    guard var current = part else { return }
    part = nil  // one owner: its arrays grow in place
    act(&current)
    if current.hasAudio, !isAnnounced {
      isAnnounced = true
      steps.append(.part(current.facts.head))
      headers = current.headers
      if facts.partCount == 1 {
        facts.note(
          OpusProblem(
            .chained, offset: current.facts.offset, atFrame: facts.frames,
            "the file is a chain of several parts"))
      }
      facts.partCount += 1
    }
    steps += current.steps
    current.steps = []
    for problem in current.problems { facts.note(problem) }
    current.problems = []
    part = current
  }

  private mutating func closePart(atFileEnd: Bool) {
    withPart { $0.place(before: nil) }
    guard let closed = part else { return }
    if let rest = skip, atFileEnd || phase == .inPart {
      noteRest(rest, closed: closed, atFileEnd: atFileEnd)
      if !atFileEnd { skip = nil }
    }
    withPart { $0.close() }
    part = nil
    isAnnounced = false
    guard closed.hasAudio else {
      let message = "a part without audio"
      return facts.note(OpusProblem(.emptyPart, offset: closed.facts.offset, atFrame: facts.frames, message))
    }
    facts.frames += closed.facts.frames
    facts.packets += closed.facts.packets
    facts.audioBytes += closed.facts.audioBytes
    facts.holeFrames += closed.silence
    facts.hasEndOfStream = closed.facts.hasEndOfStream
    if facts.parts.count < OpusFileFacts.listed { facts.parts.append(closed.facts) }
  }

  /// Names bytes behind a part's last page.
  private mutating func noteRest(_ rest: OggSkip, closed: OpusStreamPart, atFileEnd: Bool) {
    let isClosed = closed.facts.hasEndOfStream
    var problem = OpusStreamPart.junk(rest, affected: !isClosed, at: closed.frame)
    switch rest.kind {
    case .cutPage(let claim) where !isClosed || claim.map { $0.flags & 2 != 0 } ?? false:
      problem.kind = .cut
      problem.audioAffected = true
      problem.message = "the file ends inside a page, of which \(rest.bytes) bytes are there"
    case .damagedPage(let claim) where !isClosed && claim.serial == closed.facts.serial:
      problem.kind = .damagedPage
      problem.message = "\(rest.bytes) bytes are no whole page; how much audio is missing is unknown"
    case .junk, .damagedPage, .cutPage:
      guard atFileEnd, isClosed else { break }
      problem.kind = .trailingBytes
      problem.message = "\(rest.bytes) bytes follow the last page"
    }
    facts.note(problem)
  }

  private mutating func add(_ stretch: OggSkip) {
    guard var begun = skip else {
      skip = stretch
      return
    }
    if case .cutPage = stretch.kind {  // the file's last item; what lay before it stands on its own
      if facts.pages > 0 { note(OpusStreamPart.junk(begun, affected: false)) }
      begun = stretch
    } else {
      begun.bytes += stretch.bytes
    }
    skip = begun
  }
  private mutating func note(_ problem: OpusProblem) {
    guard part == nil else { return withPart { $0.note(problem) } }
    var problem = problem
    if problem.atFrame == nil { problem.atFrame = facts.frames }
    facts.note(problem)
  }
  private mutating func noteOther(_ page: OggPage) {
    guard phase == .inPart, !namedOthers else { return }
    namedOthers = true
    note(
      OpusProblem(
        .otherStream, offset: page.offset,
        "another stream lies beside the first, serial number \(page.serial); it is left out"))
  }
  private static func kind(of page: OggPage) -> String {
    let body = page.body.span
    if body.begins(with: "\u{1}vorbis") { return "Vorbis audio" }
    if body.begins(with: "\u{7F}FLAC") { return "FLAC audio" }
    if body.begins(with: "Speex   ") { return "Speex audio" }
    return "other content"
  }
}
