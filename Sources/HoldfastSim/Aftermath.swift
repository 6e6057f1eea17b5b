import CSim
import Encoding
import Holdfast
import Store

/// What recovery makes of a disk that a crash left, and what it has to make of it.
struct Aftermath {
  let session: Session
  let image: Machine.Image
  /// All packets of the take, undisturbed.
  let packets: OpusPackets
  let seed: UInt64

  private func broken(_ rule: String, _ what: String) -> Violation {
    Violation(
      rule: rule,
      what: "\(what) [\(image.model.rawValue) at call \(image.call), \(image.time / 1_000_000) ms]")
  }
  private static var audio: (Machine.Tree) -> [String] {
    { tree in
      tree.keys.filter {
        $0.hasSuffix(".opus") && !$0.contains(".partial") && !$0.contains(".holdfast-trash")
          && !$0.contains(".unreadable") && !$0.contains(".holdfast-new")
      }.sorted()
    }
  }

  /// Effective frames that must be there: all that was sealed; else the packets that were whole 24 ms before a kill, which
  /// with the frames of one packet and the encoder's delay makes 50 ms, or 975 ms before a power cut.
  private var due: Int64 {
    if let sealed = session.sealedAt, sealed < image.time { return session.sealedFrames }
    let isCut = image.model.isPowerCut
    // A disk that stalls, fails or is slow makes the bound as long as that.
    guard image.trouble == 0 || image.time - image.trouble > (isCut ? 3_000 : 1_500) * 1_000_000 else {
      return 0
    }
    guard session.scenario.live, !session.scenario.slowDisk else { return 0 }
    let then = session.reference(at: image.time - (isCut ? 975 : 24) * 1_000_000).effective
    let held: Int64 = session.scenario.rate == 48_000 ? 0 : 480  // what the converter's filter may hold
    let whole = max(session.continuing, (then - held) / 960 * 960 - 312)
    return session.goesOn ? whole - 960 : whole  // one that had been stopped ends within its last packet
  }

  func check(old: [UInt8]?) throws {
    image.disk.mount()
    if image.model.isPowerCut { sim_reboot(20_000_000_000) }
    let spare = Machine.Disk.copy()
    let before = Machine.tree(image.disk)
    let (tree, recovered) = try recover(image.disk)
    try judge(before, tree, recovered, old)
    // Once more: nothing to do, and nothing changes.
    let (again, more) = try recover(image.disk)
    guard again == tree, more.isEmpty else {
      throw broken("recovery is idempotent", "a second one changed \(Self.difference(tree, again))")
    }
    // Killed on its way, and run again, as often as it takes.
    spare.mount()
    var chance = Chance(seed ^ UInt64(image.call))
    var disk = spare
    for attempt in 0..<(1 + chance.below(3)) {
      let first = sim_images()
      sim_crash(
        sim_calls() + 1 + chance.below(attempt == 0 ? 60 : 30),
        chance.sometimes(70) ? Crash.Model.kill.raw : Crash.Model.torn.raw, 1, chance.next())
      _ = try recover(disk)
      guard sim_images() > first else { break }
      disk = Machine.image(first).disk
      disk.mount()
    }
    let (second, _) = try recover(disk)
    let (one, other) = (Self.audio(tree), Self.audio(second))
    guard one == other else {
      throw broken("recovery is idempotent", "killed and run again it gives \(other), undisturbed \(one)")
    }
    for path in one where tree[path] != second[path] {
      throw broken("recovery is byte-equal", "killed and run again \(path) differs")
    }
  }

  private func recover(_ disk: Machine.Disk) throws -> (Machine.Tree, [RecoveredTake]) {
    var recovered: [RecoveredTake] = []
    var failure: Violation?
    let stuck = Machine.run {
      for folder in [Session.folder, Path("/sim/other"), Path("/sim/tmp")] {
        do throws(RecorderFailure) {
          for result in try Recovery.recover(folder) {
            switch result {
            case .recovered(let take): recovered.append(take)
            case .failed(let error) where error.kind == "unreadable": break
            case .failed(let error): failure = broken("recovery works", "\(error.code) \(error.message)")
            case .nothingToDo(_, let why): failure = broken("recovery works", why)
            case .repaired: failure = broken("recovery works", "it took it for another program's file")
            }
          }
        } catch { if error.code != 66 { failure = broken("recovery works", error.message) } }
      }
    }
    if let stuck { throw broken("ends", "recovery waits: \(stuck)") }
    if let failure { throw failure }
    return (Machine.tree(disk), recovered)
  }

  private func judge(
    _ before: Machine.Tree, _ tree: Machine.Tree, _ recovered: [RecoveredTake], _ old: [UInt8]?
  ) throws {
    let left = tree.keys.filter {
      !$0.contains(".holdfast-trash") && ($0.contains(".partial") || $0.contains(".holdfast-new"))
    }
    // Without locks nobody knows whether a nameless folder is being made.
    guard left.isEmpty || session.scenario.noLocks else {
      throw broken("nothing is left", "\(left.sorted())")
    }
    // What was there before the recorder stays, under its name or in the trash.
    if let old, !tree.contains(where: { $0.value == old }) {
      throw broken("nobody's take is lost", "the one that was to be replaced is gone: \(tree.keys.sorted())")
    }
    var mine: [(String, Manifest)] = []
    for path in Self.audio(tree) where old == nil || tree[path] != old {
      let manifest = try Judge.manifest(of: path, tree)
      guard
        manifest.story.description?.takeID == "sim-\(session.scenario.seed)" || manifest.outcome == .recovered
      else { continue }
      mine.append((path, manifest))
    }
    guard mine.count <= 1 else { throw broken("one sealed take", "\(mine.map(\.0))") }
    let isDiscarded = tree.keys.contains {
      $0.contains(".holdfast-trash/") && $0.hasSuffix(".partial/audio.opus")
    }
    let due = due
    guard let (path, manifest) = mine.first else {
      guard due <= 0 || isDiscarded else {
        throw broken(
          "what was synced is there",
          "no take: \(due) frames are due; \(tree.keys.sorted()), before \(before.keys.sorted())")
      }
      return
    }
    guard let bytes = tree[path] ?? nil else { return }
    let stream = OpusPackets(bytes)
    guard !stream.isDamaged, stream.isEnded, stream.frames == manifest.effectiveFrames,
      manifest.sizeBytes == Int64(bytes.count), manifest.sha256 == Digest.hex(Digest.sha256(bytes))
    else {
      throw broken(
        "a sealed take is whole", "\(path): \(stream.frames) frames, the manifest \(manifest.effectiveFrames)"
      )
    }
    var verdict: Violation?
    if (seed ^ UInt64(image.call)) % 8 == 0 {
      _ = Machine.run {
        do { try Judge.verify(Path("/sim" + path)) } catch { verdict = error as? Violation }
      }
    }
    if let verdict { throw broken(verdict.rule, verdict.what) }
    guard stream.frames >= due || isDiscarded else {
      throw broken("what was synced is there", "\(stream.frames) frames of \(due) that are due")
    }
    try checkPackets(stream, bytes, manifest)
    if let take = recovered.first { try checkLost(take, stream) }
    if image.trouble == 0, !session.goesOn, manifest.outcome == .recovered, !image.model.isPowerCut {
      let reference = session.reference(at: image.time - 150_000_000, followed: true)
      try checkStory(manifest.story, reference, stream.frames)
    }
  }

  private func checkPackets(_ stream: OpusPackets, _ bytes: [UInt8], _ manifest: Manifest) throws {
    let holes = manifest.story.gaps.contains { $0.gap.measuredBy == "recovery" }
    guard !holes, stream.serial == packets.serial else { return }
    let same = min(stream.packets.count, packets.packets.count)
    if stream.packets.count == 1, stream.frames == 0 { return }  // an empty take's own packet
    guard stream.packets.prefix(same) == packets.packets.prefix(same) else {
      let first = (0..<same).first { stream.packets[$0] != packets.packets[$0] } ?? 0
      throw broken("packets are the take's", "packet \(first) of \(same) differs")
    }
    if stream.packets.count <= packets.packets.count, manifest.outcome == .recovered {
      let want = packets.sealed(first: stream.packets.count, granule: stream.granule)
      guard want == bytes else {
        throw broken(
          "recovery is byte-equal", "\(bytes.count) bytes, sealing the same packets gives \(want.count)")
      }
    }
  }

  /// No more is lost than recovery says.
  private func checkLost(_ take: RecoveredTake, _ stream: OpusPackets) throws {
    guard image.trouble == 0, session.scenario.live,
      session.sealedAt == nil || image.time < session.sealedAt ?? 0
    else { return }
    guard !session.goesOn, !session.scenario.slowDisk || image.model.isPowerCut else { return }
    // The bound is one of 10 ms periods: a longer one may just have come.
    // A device that was quiet hands over all of it at once.
    let burst = session.device.captured(at: image.time) - session.device.captured(at: image.time - 50_000_000)
    let most = 50 + Int64(session.scenario.periodMs)
    guard burst <= Int64(session.device.rate) * most / 1_000 else { return }
    let told = take.lostMsMax + max(0, Int64(session.scenario.periodMs) - 10)
    let now = session.reference(at: image.time)
    let had = now.effective
    // What stands for lost sound is no loss: it comes all at once.
    guard session.scenario.preRollMs <= 0,
      now.gaps.count == session.reference(at: image.time - 60_000_000).gaps.count
    else { return }
    let lost = (had - stream.frames) / 48
    guard lost <= told + (image.model.isPowerCut ? 1_000 : 0) else {
      throw broken("recovery says what can be lost", "\(lost) ms are lost, it says at most \(told)")
    }
  }

  /// What was in the take 150 ms before the crash is in its story; what was asked for, once sound had followed it.
  private func checkStory(_ story: TakeStory, _ reference: Reference, _ frames: Int64) throws {
    func contains(_ have: [Int64], _ want: [Int64], _ what: String) throws {
      let want = want.map { min($0, frames) }
      guard have.count >= want.count, Array(have.prefix(want.count)) == want else {
        throw broken("\(what) match the script", "recovered \(have), due \(want)")
      }
    }
    try contains(story.pauses.map(\.frame), reference.pauses, "pauses")
    try contains(story.marks.map(\.frame), reference.marks.map(\.frame), "marks")
    try contains(story.gaps.filter { $0.gap.frames > 0 }.map(\.frame), reference.gaps.map(\.frame), "gaps")
  }

  private static func difference(_ a: Machine.Tree, _ b: Machine.Tree) -> [String] {
    Set(a.keys).union(b.keys).filter { a[$0] != b[$0] }.sorted()
  }
}
