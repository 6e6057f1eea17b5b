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
    let session = Session(scenario)
    sim_lacks(scenario.noLocks, scenario.noFlags, false)
    var failure: (any Error)?
    let stuck = Machine.run {
      do { try session.run() } catch { failure = error }
    }
    if let stuck { throw Violation(rule: "ends", what: "all wait: \(stuck)") }
    if let failure { throw failure }
    sim_room(-1)
    sim_fault(0, 0, 0)
    sim_stall(0, 0, 0)
    if verbose { show(session) }
    let judge = Judge(session: session, tree: Machine.tree(disk), trouble: sim_trouble())
    var verdict: (any Error)?
    _ = Machine.run { do { try judge.check() } catch { verdict = error } }
    if let verdict { throw verdict }
    guard sim_open_files() == 0 else {
      throw Violation(rule: "descriptors are closed", what: "\(sim_open_files()) are open")
    }
    let images = (0..<sim_images()).map(Machine.image)
    let packets = whole(judge.tree)
    for image in images {
      try Aftermath(session: session, image: image, packets: packets, seed: scenario.seed).check(old: old)
    }
    return Tally(crashes: images.count, calls: sim_calls())
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
  }
}
