// The words for what is missing or false on a part's time line.

extension OpusStreamPart {
  /// Names lost pages, damaged bytes and jumps in front of a page, once its place is known.
  ///
  /// - Parameters:
  ///   - start: frame of the file at which the page was to begin.
  ///   - silence: frames put in.
  ///   - isUnclear: the page's position doesn't tell how much is missing.
  ///   - joins: the stream was joined in the middle: pages before its first one are no loss.
  mutating func nameLoss(page: OggPage, at start: Int64, silence: Int64, isUnclear: Bool, _ joins: Bool) {
    guard let loss else {
      guard silence > 0 else { return }
      return settle(
        OpusProblem(
          .granuleJump, offset: page.offset, atFrame: start, lengthFrames: silence, audioAffected: true,
          "the granule position is \(silence) frames ahead of the audio, which are silence now"))
    }
    let pages = joins ? 0 : loss.pages
    let affected = silence > 0 || (isUnclear && pages > 0)
    let count = pages == 1 ? "1 page is missing" : "\(pages) pages are missing"
    let consequence =
      silence > 0
      ? "\(silence) frames are silence now"
      : affected ? "how much audio was on them is unknown" : "by the granule positions no audio is lost"
    if let skip = loss.skip {
      guard affected || pages > 0 else { return settle(Self.junk(skip, affected: false, at: start)) }
      settle(
        OpusProblem(
          .damagedPage, offset: skip.offset, bytes: skip.bytes, atFrame: start, lengthFrames: silence,
          audioAffected: affected, "\(skip.bytes) bytes are no whole page, \(count); \(consequence)"))
    } else if pages > 0 {
      settle(
        OpusProblem(
          .missingPage, offset: loss.page.offset, atFrame: start, lengthFrames: silence,
          audioAffected: affected,
          "\(count) in front of page \(loss.page.sequence); \(consequence)"))
    }
  }

  mutating func nameFault(_ fault: OpusTimeline.Fault?, page: OggPage, at start: Int64) {
    let text: String
    switch fault {
    case nil: return
    case .beforeStart: text = "the first granule position is smaller than the audio before it"
    case .backwards(let samples):
      text = "the granule position is \(samples) samples behind the audio; it isn't used"
    case .jump(let samples): text = "the granule position jumps ahead by \(samples) samples; it isn't used"
    }
    noteOnce(OpusProblem(.badGranule, offset: page.offset, atFrame: start, text))
  }

  static func junk(_ skip: OggSkip, affected: Bool, at frame: Int64? = nil) -> OpusProblem {
    OpusProblem(
      .junk, offset: skip.offset, bytes: skip.bytes, atFrame: frame, audioAffected: affected,
      "\(skip.bytes) bytes that are no page")
  }
}
