import CSim
import Encoding
import Holdfast
import Store

/// Plays a scenario: the session, then what each crash left of it.
enum Play {
  struct Tally {
    var crashes = 0
    var calls: Int64 = 0
  }

  static func run(_ scenario: Scenario, verbose: Bool = false) throws -> Tally {
    sim_begin(scenario.seed)
    defer { sim_end() }
    let first = Machine.Disk()
    first.mount()
    let old = try prepare(first, scenario)
    let disk = Machine.Disk.copy()  // all of it is synced there
    disk.mount()
    if scenario.slowDisk { sim_latency(50_000, 3_000_000, 150_000_000) }
    sim_lacks(scenario.noLocks, scenario.noFlags, false)
    let (images, calls) = try play(Session(scenario), on: disk, old: old, verbose)
    // A take that a kill came upon can be gone on with.
    guard scenario.goesOn, !scenario.replaces, let image = images.first(where: { !$0.model.isPowerCut })
    else {
      return Tally(crashes: images.count, calls: calls)
    }
    var next = Scenario(seed: scenario.seed &+ 0x60E5_0001)
    (next.seed, next.maxMs, next.preRollMs, next.live, next.replaces) = (
      scenario.seed, scenario.maxMs, -1, true, false
    )
    (next.noLocks, next.noFlags, next.slowDisk) = (scenario.noLocks, scenario.noFlags, scenario.slowDisk)
    if let why = next.steps.firstIndex(where: { $0.act == .start }) { next.steps.remove(at: why) }
    let (more, _) = try play(Session(next), on: image.disk, old: old, verbose, continuing: true)
    return Tally(crashes: images.count + more.count, calls: sim_calls())
  }

  /// One session, and what its crashes left.
  private static func play(
    _ session: Session, on disk: Machine.Disk, old: [UInt8]?, _ verbose: Bool, continuing: Bool = false
  ) throws -> ([Machine.Image], Int64) {
    disk.mount()
    let first = sim_images()
    var failure: (any Error)?
    var cannot: RecorderFailure?
    let stuck = Machine.run {
      do {
        guard continuing else { return try session.run() }
        let continuation: Continuation
        do throws(RecorderFailure) { continuation = try Continuation(Session.output) } catch {
          cannot = error
          return
        }
        try session.run(continuing: continuation)
      } catch { failure = error }
    }
    if verbose { show(session) }
    if let failure { throw failure }
    if let stuck { throw Violation(rule: "ends", what: "they wait: \(stuck)") }
    if let cannot {
      guard [66, 73].contains(cannot.code) else {
        throw Violation(
          rule: "a killed take can be gone on with",
          what: "\(cannot.message): \(Machine.tree(disk).keys.sorted())")
      }
      return ([], 0)
    }
    sim_room(-1)
    sim_fault(0, 0, 0)
    sim_stall(0, 0, 0)
    let judge = Judge(session: session, tree: Machine.tree(disk), trouble: sim_trouble())
    var verdict: (any Error)?
    _ = Machine.run { do { try judge.check() } catch { verdict = error } }
    if let verdict { throw verdict }
    guard sim_open_files() == 0 else {
      throw Violation(rule: "descriptors are closed", what: "\(sim_open_files()) are open")
    }
    let images = (first..<sim_images()).map(Machine.image)
    let spare = continuing ? nil : images.first { !$0.model.isPowerCut }
    var copy: Machine.Disk?
    if let spare {
      spare.disk.mount()
      copy = Machine.Disk.copy()
    }
    let packets = whole(judge.tree)
    for image in images {
      try Aftermath(session: session, image: image, packets: packets, seed: session.scenario.seed).check(
        old: old)
    }
    guard var first = spare, let copy else { return (images, sim_calls()) }
    first.disk = copy  // as it was before recovery
    return ([first] + images.filter { $0.call != first.call }, sim_calls())
  }

  /// The folder of takes, and in it one that is to be replaced.
  private static func prepare(_ disk: Machine.Disk, _ scenario: Scenario) throws -> [UInt8]? {
    var failure: (any Error)?
    _ = Machine.run {
      do {
        try Store.Disk.makeFolders(Session.folder)
      } catch { failure = error }
    }
    if let failure { throw failure }
    guard scenario.replaces else { return nil }
    let old = Array("somebody's voice".utf8)
    disk.put("/sim/takes/take.opus", old)
    return old
  }

  /// The packets of the take that was recorded, wherever it stands.
  private static func whole(_ tree: Machine.Tree) -> OpusPackets {
    var best = OpusPackets([])
    for (path, bytes) in tree where path.hasSuffix(".opus") {
      guard let bytes else { continue }
      var stream = OpusPackets(bytes)
      let folder = path.split(separator: "/").dropLast().joined(separator: "/")
      var tails: [Int64: [UInt8]] = [:]
      for name in ["tail.0", "tail.1"] {
        guard let tail = tree["/\(folder)/\(name)"] ?? nil else { continue }
        for packet in TailContents(tail).packets { tails[packet.index] = packet.bytes }
      }
      while let next = tails[Int64(stream.packets.count)] { stream.packets.append(next) }
      if stream.packets.count > best.packets.count { best = stream }
    }
    return best
  }

  private static func show(_ session: Session) {
    for event in session.events {
      if case .level = event { continue }
      print(event.json(context: nil).line)
    }
    if let refusal = session.refusal { print("refused: \(refusal.message)") }
    print("reference:", session.reference())
    for command in session.commands { print(command) }
    for entry in session.device.log { if case .delivered = entry.entry { continue } else { print(entry) } }
  }
}
