// How a part's held page goes onto the time line. What follows it is known by now.

extension OpusStreamPart {
  /// Places the held page, if there is one.
  ///
  /// - Parameter next: the page behind it; nil where the part ends.
  mutating func place(before next: OggPage?) {
    defer {
      for problem in deferred { settle(problem) }
      deferred = []
    }
    guard let page = held?.page, let current = held else { return }
    held = nil
    facts.hasEndOfStream = page.isEnd
    gatherLoss(current)
    var packets = sizedPackets(of: current)
    let endsEmpty = next.map { $0.isEnd && $0.endedPackets == 0 } ?? false
    if page.isEnd, next != nil, !endsEmpty {
      noteOnce(
        OpusProblem(
          .pageAfterEnd, offset: page.offset, "the end-of-stream flag is set, but more pages follow"))
    }

    let granule = usableGranule(of: page, packets: packets, before: endsEmpty ? next : nil)
    takeLead(into: &packets, granule: granule)
    hasAudio = hasAudio || !packets.isEmpty || granule != nil
    let isFirst = timeline.base == nil
    let sum = packets.reduce(Int64(0)) { $0 + Int64($1.frames) }
    let first = packets.first?.frames ?? 0
    let unit = packets.allSatisfy { $0.frames == first } ? Int64(first) : 0
    let placement = timeline.place(
      sum, granule: granule, unit: unit, isLast: next == nil || endsEmpty, lostPages: loss?.pages ?? 0,
      allowance: allowance - silence)
    if let base = timeline.base { facts.startGranule = isFirst ? base : facts.startGranule }

    let start = frame
    let lost = emitSilence(placement.holeBefore)
    emit(packets, kept: placement.kept)
    let behind = emitSilence(placement.holeAfter)
    if granule != nil || next == nil {
      let joins = isFirst && facts.startGranule > 0
      nameLoss(
        page: page, at: start, silence: lost + behind, isUnclear: granule == nil || placement.fault != nil,
        joins)
      loss = nil
    }
    nameFault(placement.fault, page: page, at: start)
  }
  private mutating func gatherLoss(_ current: Held) {
    guard current.lostPages > 0 || current.skip != nil else { return }
    if current.lostPages > 0 { assembler.lose() }
    loss = Loss(
      pages: (loss?.pages ?? 0) + current.lostPages, skip: loss?.skip ?? current.skip,
      page: loss?.page ?? current.page)
  }

  /// The end of the part: what its last page leaves open. Call it once, after `place(before: nil)`.
  mutating func close() {
    guard hasAudio else { return }
    if assembler.isGathering {
      settle(OpusProblem(.badPacket, audioAffected: true, "the stream ends inside a packet"))
    }
    if facts.packets > 0, cursor < Int64(facts.head.preSkip) {
      settle(
        OpusProblem(
          .badGranule, "the stream ends after \(cursor) samples, before its pre-skip of \(facts.head.preSkip)"
        ))
    }
    if !facts.hasEndOfStream {
      settle(OpusProblem(.notClosed, "the stream isn't closed: its last page has no end-of-stream flag"))
    }
  }

  /// The packets that end on a page and are such; faults are named.
  mutating func sizedPackets(of current: Held) -> [Sized] {
    let page = current.page
    let found = assembler.take(page, from: current.firstPiece)
    var packets: [Sized] = []
    var broken = current.lostPages > 0 ? 0 : found.broken
    for bytes in found.packets {
      if bytes.span.begins(with: "OpusHead") || bytes.span.begins(with: "OpusTags") {
        let name = bytes[4] == 0x48 ? "OpusHead" : "OpusTags"
        note(
          OpusProblem(
            .secondHead, offset: page.offset, bytes: Int64(page.size),
            "a second \(name) inside the stream; it is left out"))
      } else if let frames = opusPacketFrames(bytes.span) {
        packets.append(Sized(bytes: bytes, frames: frames, pageOffset: page.offset))
      } else {
        broken += 1
      }
    }
    if broken > 0 {
      note(
        OpusProblem(
          .badPacket, offset: page.offset, bytes: Int64(page.size), audioAffected: true,
          broken == 1 ? "a packet on the page is broken" : "\(broken) packets on the page are broken"))
    }
    return packets
  }

  /// The position to place the page by, nil where it has none.
  private mutating func usableGranule(of page: OggPage, packets: [Sized], before next: OggPage?) -> Int64? {
    let granule = page.granule
    if page.endedPackets == 0 {
      // RFC 7845 section 4: -1 then; else a trim, or the whole of a file without a frame.
      guard !hasAudio, page.isEnd, loss == nil else { return nil }
    } else if packets.isEmpty {  // broken ones are a hole in audio, not its begin
      guard hasAudio else { return nil }
    }
    guard OpusTimeline.granules.contains(granule) else {
      if granule != -1 || page.endedPackets > 0 {
        noteOnce(
          OpusProblem(
            .badGranule, offset: page.offset, "the granule position \(granule) can't be one; it isn't used"))
      }
      return nil
    }
    facts.lastGranule = granule
    let sum = packets.reduce(Int64(0)) { $0 + Int64($1.frames) }
    if let next, OpusTimeline.granules.contains(next.granule), next.granule < granule,
      next.granule >= granule - sum
    {
      facts.lastGranule = next.granule
      return next.granule
    }
    return granule
  }

  /// Puts packets of the tags page in front of the first audio page's, if that page's position counts them.
  private mutating func takeLead(into packets: inout [Sized], granule: Int64?) {
    guard !lead.isEmpty else { return }
    let extra = lead.reduce(Int64(0)) { $0 + Int64($1.frames) }
    let sum = packets.reduce(Int64(0)) { $0 + Int64($1.frames) }
    let counts = granule.map { $0 != sum } ?? true
    let offset = lead[0].pageOffset
    if counts { packets = lead + packets }
    lead = []
    note(
      OpusProblem(
        .audioOnTagsPage, offset: offset,
        counts
          ? "audio begins on the page with OpusTags"
          : "\(extra) samples of audio lie on the page with OpusTags; the granule positions don't count them, "
            + "so they are left out"))
  }

  private mutating func emitSilence(_ samples: Int64) -> Int64 {
    let visible = cursor + samples - max(cursor, Int64(facts.head.preSkip))
    cursor += samples
    guard samples > 0, visible > 0 else { return 0 }
    silence += visible
    steps.append(.silence(frames: visible))
    facts.frames += visible
    return visible
  }
  private mutating func emit(_ packets: [Sized], kept: Int64) {
    var left = kept
    for packet in packets {
      let end = Int(min(Int64(packet.frames), left))
      let begin = Int(min(max(Int64(facts.head.preSkip) - cursor, 0), Int64(end)))
      let granule = (timeline.base ?? 0) + cursor + Int64(packet.frames)
      steps.append(
        .packet(
          OpusPacket(
            index: startIndex + facts.packets, bytes: packet.bytes, frames: packet.frames, kept: begin..<end,
            atFrame: frame, granule: granule, pageOffset: packet.pageOffset)))
      left -= Int64(end)
      cursor += Int64(end)
      facts.frames += Int64(end - begin)
      facts.packets += 1
      facts.audioBytes += Int64(packet.bytes.count)
    }
  }
}
