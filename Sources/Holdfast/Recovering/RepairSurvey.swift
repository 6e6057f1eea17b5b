import Encoding
import Platform

/// What is wrong with a foreign file, and what can be done about it. Pure, but for reading the file once.
struct RepairSurvey {
  let facts: OpusFileFacts
  let headers: OpusHeaderPackets?
  /// Packets whose lengths don't hold: no decoder takes them.
  let badPackets: Int64
  private let firstBad: OpusPacket?

  init(read: @escaping OggReadBytes) throws(OpusFileError) {
    var reader = OpusStreamReader(read: read)
    var streams = 1
    var (count, first): (Int64, OpusPacket?) = (0, nil)
    while let step = try reader.nextStep() {
      switch step {
      case .part(let head): streams = head.streams
      case .silence: break
      case .packet(let packet):
        if opusPacketIsWhole(packet.bytes.span, streams: streams) { continue }
        count += 1
        first = first ?? packet
      }
    }
    guard let facts = reader.facts else { throw .noAudio("it ends before its audio") }
    (self.facts, headers, badPackets, firstBad) = (facts, reader.headers, count, first)
  }

  struct Refusal: Equatable {
    var kind: String
    var text: String
  }
  /// Why it isn't repaired; nil where it is, or needs no repair.
  var refusal: Refusal? {
    let lostPart = facts.problems.contains { $0.kind == .headerHead && $0.audioAffected }
    if facts.partCount > 1 || lostPart {
      guard needsRepair else { return nil }
      let what = facts.partCount > 1 ? "a chain of \(facts.partCount) parts" : "a chain"
      let why =
        faults.first?.message
        ?? (badPackets > 0
          ? "\(badPackets) packets can't be decoded" : "two of its parts have one serial number")
      return Refusal(
        kind: "chained",
        text: "it is \(what) and isn't whole: \(why); chains aren't repaired, split it into its parts first")
    }
    if facts.frames == 0, needsRepair {
      return Refusal(kind: "no_audio", text: "no audio: its audio ends before it begins to count")
    }
    return nil
  }

  /// A chain whose parts are whole needs none, nor does a stream beside the audio.
  var needsRepair: Bool { !faults.isEmpty || badPackets > 0 || sharesSerial }
  private var faults: [OpusProblem] {
    facts.problems.filter { $0.kind != .chained && $0.kind != .otherStream }
  }
  /// RFC 3533 section 4: each part of a chain has a number of its own.
  private var sharesSerial: Bool { Set(facts.parts.map(\.serial)).count < facts.parts.count }

  var problems: [InspectProblem] {
    var problems = facts.problems.map { InspectProblem($0) }
    if let firstBad {
      problems.append(
        InspectProblem(
          kind: OpusProblem.Kind.badPacket.rawValue, offset: firstBad.pageOffset,
          atMs: milliseconds(frames: firstBad.atFrame), costsAudio: true,
          message: badPackets == 1 ? "a packet is broken inside" : "\(badPackets) packets are broken inside"))
    }
    return problems
  }

  /// The holes; nil where something was lost that left no hole, or more than can be listed.
  private var lostMsMax: Int64? {
    if facts.problemCount > facts.problems.count, facts.audioAffected { return nil }
    if facts.problems.contains(where: { $0.audioAffected && ($0.lengthFrames ?? 0) == 0 }) { return nil }
    return (facts.holeFrames + badFrames + 47) / 48
  }
  /// At most: a packet lasts 120 ms.
  private var badFrames: Int64 { badPackets * Int64(OpusPacketDecoder.longestPacket) }

  func result(of path: Path, message: String) -> RepairedFile {
    RepairedFile(
      source: path, frames: facts.frames, channels: facts.parts.first?.head.channels ?? 0,
      parts: facts.partCount, problems: problems, filledMs: (facts.holeFrames + 47) / 48,
      lostMsMax: lostMsMax, message: message)
  }
}

extension RepairedFile {
  /// What was done, in one line.
  var story: String {
    let copy = written?.display ?? ""
    var text = wasThere ? "\(copy) is already there, " : "repaired as \(copy), "
    text += "\(durationMs) ms"
    if filledMs > 0 { text += ", of which \(filledMs) ms were lost and are silence" }
    if lostMsMax == nil { text += "; how much audio is missing otherwise is unknown" }
    if let first = problems.first {
      text += "; \(first.message)"
      if problems.count > 1 { text += ", and \(problems.count - 1) more" }
    }
    return "\(source.display): \(text)"
  }
}

extension InspectProblem {
  init(_ problem: OpusProblem) {
    self.init(
      kind: problem.kind.rawValue, offset: problem.offset, bytes: problem.bytes, atMs: problem.atMs,
      lengthMs: problem.lengthMs, costsAudio: problem.audioAffected, message: problem.message)
  }
}
