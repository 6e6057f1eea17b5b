import CSim
import Encoding
import Holdfast
import Store

/// The packets of an Ogg Opus file, read whole.
struct OpusPackets {
  var packets: [[UInt8]] = []
  var granule: Int64 = 0
  var serial: UInt32 = 0
  var preSkip = 0
  var isEnded = false
  var isDamaged = false

  init(_ bytes: [UInt8]) {
    var reader = OggPageReader { (offset, target) in
      let n = min(target.byteCount, bytes.count - Int(offset))
      for i in 0..<max(0, n) {
        target.storeBytes(of: bytes[Int(offset) + i], toByteOffset: i, as: UInt8.self)
      }
      return max(0, n)
    }
    while let item = try? reader.next() {
      guard case .page(let page) = item else {
        isDamaged = true
        continue
      }
      if page.sequence == 0, page.body.count > 11 {
        serial = page.serial
        preSkip = Int(page.body[10]) | Int(page.body[11]) << 8
      }
      guard page.sequence >= 2 else { continue }
      var body = page.body[...]
      var size = 0
      for lace in page.lacing {
        size += Int(lace)
        if lace == 255 { continue }
        packets.append(Array(body.prefix(size)))
        body = body.dropFirst(size)
        size = 0
      }
      granule = page.granule
      isEnded = page.isEnd
    }
  }
  var frames: Int64 { max(0, granule - Int64(preSkip)) }

  /// The file that the first `count` packets make when they are sealed at `granule`.
  func sealed(first count: Int, granule: Int64) -> [UInt8] {
    let writer = OggOpusWriter(serial: serial, preSkip: preSkip)
    var bytes = writer.headers()
    for packet in packets.prefix(count) { bytes += writer.add(packet.span) ?? [] }
    return bytes + writer.finish(granule: granule)
  }
}

/// Holds what a session left against what it has to be.
struct Judge {
  let session: Session
  let tree: Machine.Tree
  /// Until when the disk was in trouble; 0 for never.
  let trouble: Int64

  private func broken(_ rule: String, _ what: String) -> Violation { Violation(rule: rule, what: what) }
  private func file(_ path: String) -> [UInt8]? { tree[path] ?? nil }

  func check() throws {
    try checkStates()
    guard session.intrusions.allSatisfy({ !$0.hasPrefix("recovered") }) || session.scenario.noLocks else {
      throw broken("one sealer", "recovery sealed a take that was being recorded: \(session.intrusions)")
    }
    if session.refusal != nil { return try checkNothing() }
    let sealed = session.events.compactMap { if case .sealed(let take) = $0 { take } else { nil } }
    guard sealed.count <= 1 else { throw broken("sealed once", "\(sealed.count) sealed events") }
    if let take = sealed.first { return try check(take) }
    switch session.states.last {
    case .discarded: try checkDiscarded()
    case .interrupted(.left, _): try checkPartial("left")
    case .failed: try checkPartial("failed")
    case .idle, .unavailable, .denied, .preparing, .armed, nil: try checkNothing()
    case let state?: throw broken("legal states", "it ended as \(state.name)")
    }
  }

  // MARK: events

  private static let legal: [String: Set<String>] = [
    "": ["preparing"], "preparing": ["armed", "recording", "idle", "unavailable", "denied"],
    "armed": ["recording", "idle", "unavailable"],
    "recording": ["paused", "interrupted", "sealing", "discarded", "unavailable", "recording", "failed"],
    "paused": ["recording", "interrupted", "sealing", "discarded", "paused", "failed"],
    "interrupted": ["recording", "paused", "interrupted", "sealing", "discarded", "failed"],
    "sealing": ["sealed", "failed"], "discarded": ["failed"], "unavailable": ["unavailable"],
  ]
  private func checkStates() throws {
    var last = ""
    for state in session.states {
      guard Self.legal[last]?.contains(state.name) == true else {
        throw broken("legal states", "\(last) → \(state.name) in \(session.states.map(\.name))")
      }
      last = state.name
    }
  }

  // MARK: a sealed take

  private func check(_ take: SealedTake) throws {
    guard take.path.text.hasPrefix("/sim/") else { throw broken("place", take.path.text) }
    let path = String(take.path.text.dropFirst(4))
    guard let bytes = file(path) else {
      throw broken("sealed is there", "\(path) isn't: \(tree.keys.sorted())")
    }
    let manifest = try Self.manifest(of: path, tree)
    guard Int64(bytes.count) == take.sizeBytes, Digest.hex(Digest.sha256(bytes)) == take.sha256,
      manifest.sha256 == take.sha256, manifest.effectiveFrames == take.effectiveFrames
    else { throw broken("sealed as told", "size, digest or length differ from the event's") }
    let stream = OpusPackets(bytes)
    guard stream.frames == take.effectiveFrames, stream.isEnded, !stream.isDamaged else {
      throw broken(
        "effective time is decoded frames",
        "the stream has \(stream.frames), the event \(take.effectiveFrames)")
    }
    if session.scenario.seed % 4 == 0 { try Self.verify(take.path) }
    let reference = session.reference()
    let isWhole = take.effectiveFrames == reference.effective
    guard isWhole || (trouble > 0 && take.effectiveFrames < reference.effective) else {
      throw broken(
        "effective time", "\(take.effectiveFrames) frames, the script gives \(reference.effective)")
    }
    if !isWhole {
      let told = session.events.contains { if case .failed(let f) = $0 { f.code == 74 } else { false } }
      guard told else { throw broken("losses are told", "frames are missing, and no error 74 says so") }
    }
    try checkStory(manifest.story, reference, upTo: isWhole ? nil : take.effectiveFrames)
    if isWhole, !session.goesOn, !isLimited(reference) {
      let asked = session.commands.count { $0.event == .pause }
      guard take.pauseCount == asked else {
        throw broken("pause count", "\(asked) pauses were accepted, the take tells \(take.pauseCount)")
      }
    }
    try checkEvents(manifest.story, reference)
    guard
      take.warning != nil
        || !tree.keys.contains(where: { $0.contains(".partial") || $0.contains(".holdfast-new") })
    else {
      throw broken("nothing is left", "\(tree.keys.sorted())")
    }
  }
  private func isLimited(_ reference: Reference) -> Bool {
    session.scenario.maxMs > 0 && reference.effective >= session.scenario.maxMs * 48
  }

  static func manifest(of path: String, _ tree: Machine.Tree) throws -> Manifest {
    let name = path.dropLast(5) + ".take.json"
    guard let bytes = tree[String(name)] ?? nil else {
      throw Violation(rule: "a manifest beside it", what: "\(name) isn't there: \(tree.keys.sorted())")
    }
    do throws(ManifestError) { return try Manifest(bytes) } catch {
      throw Violation(rule: "a manifest beside it", what: error.message)
    }
  }
  static func verify(_ path: Path) throws {
    do throws(RecorderFailure) {
      let report = try Verifier.verify(path)
      if !report.isSound {
        let faults = report.checks.compactMap { check in check.fault.map { "\(check.name): \($0)" } }
        throw RecorderFailure(code: 65, kind: "verify", message: faults.joined(separator: "; "))
      }
    } catch { throw Violation(rule: "verify", what: error.message) }
  }

  /// Pauses, marks, gaps and breaks of a manifest against the script's.
  ///
  /// - Parameter frames: the length of a take that lacks its end; nil for a whole one.
  func checkStory(_ story: TakeStory, _ reference: Reference, upTo frames: Int64?) throws {
    // At the very limit a command may or may not have come in time.
    let limit = session.scenario.maxMs > 0 ? session.scenario.maxMs * 48 : Int64.max
    func clamp(_ frame: Int64) -> Int64 { min(frame, frames ?? .max) }
    func compare<T: Equatable>(_ what: String, _ have: [T], _ want: [T], _ at: (T) -> Int64) throws {
      var (a, b) = (have.filter { at($0) < limit }, want.filter { at($0) < limit })
      // What a take that is gone on with had before is the session's before.
      if session.goesOn { a = a.suffix(b.count) }
      guard a == b else { throw broken("\(what) match the script", "they are \(a), the script gives \(b)") }
    }
    try compare("pauses", story.pauses.map(\.frame), reference.pauses.map(clamp), { $0 })
    try compare(
      "marks", story.marks.map { Reference.Placed(frame: $0.frame, label: $0.label ?? "") },
      reference.marks.map { Reference.Placed(frame: clamp($0.frame), label: $0.label) }, { $0.frame })
    try compare(
      "gaps",
      story.gaps.filter { $0.gap.frames > 0 }.map {
        Reference.Placed(frame: $0.frame, frames: $0.gap.frames)
      },
      reference.gaps.map { Reference.Placed(frame: clamp($0.frame), frames: $0.frames) }, { $0.frame })
    try compare(
      "interruptions",
      story.interruptions.filter { $0.reason.breaksSound && $0.reason != .killed && $0.reason != .left }.map {
        Reference.Placed(frame: $0.frame, label: $0.reason.rawValue)
      }, reference.breaks.map { Reference.Placed(frame: clamp($0.frame), label: $0.label) }, { $0.frame })
  }
  /// Every mark and gap was told as it came, and each interruption that is over.
  private func checkEvents(_ story: TakeStory, _ reference: Reference) throws {
    var marks: [Reference.Placed] = []
    var gaps: [Int64] = []
    for event in session.events {
      switch event {
      case .mark(let frame, let label): marks.append(Reference.Placed(frame: frame, label: label ?? ""))
      case .gap(let gap, _) where gap.frames > 0: gaps.append(gap.frames)
      default: break
      }
    }
    let isNew = !session.goesOn
    guard marks.map(\.label) == story.marks.compactMap(\.label).suffix(isNew ? .max : marks.count) else {
      throw broken(
        "events", "marks told \(marks.map(\.label)), in the manifest \(story.marks.compactMap(\.label))")
    }
    guard gaps == story.gaps.map(\.gap.frames).filter({ $0 > 0 }).suffix(isNew ? .max : gaps.count) else {
      throw broken("events", "gaps told \(gaps), in the manifest \(story.gaps.map(\.gap.frames))")
    }
  }

  // MARK: other endings

  private func checkNothing() throws {
    let left = tree.keys.filter { $0.contains(".partial") || $0.contains(".holdfast-new") }
    guard left.isEmpty || trouble > 0 else { throw broken("nothing is left", "\(left)") }
  }
  private func checkPartial(_ why: String) throws {
    guard tree.keys.contains(where: { $0.hasSuffix(".partial/audio.opus") || $0.hasSuffix("/take.opus") })
    else {
      throw broken("the partial take stays", "\(why): \(tree.keys.sorted())")
    }
    if why == "failed", trouble == 0 { throw broken("no failure without a cause", "\(lastFailure)") }
  }
  private func checkDiscarded() throws {
    guard tree.keys.contains(where: { $0.contains(".holdfast-trash/") && $0.hasSuffix("/audio.opus") }) else {
      throw broken("a discarded take is in the trash", "\(tree.keys.sorted())")
    }
  }
  var lastFailure: String {
    for event in session.events.reversed() { if case .failed(let failure) = event { return failure.message } }
    return session.refusal?.message ?? "no failure was told"
  }
}
