import CSim
import Glibc

/// One thing that happens in a session, and how long after the one before.
struct Step: Equatable {
  enum Wait: Equatable {
    case ms(Int64)
    /// Calls to the disk: between any two of them.
    case calls(Int64)
  }
  enum Act: Equatable {
    // The front end's commands.
    case start, pause, resume, mark, stop, discard, leave, goOn, keep
    // The device: frames lost (in ms), gone for so long (why, ms), silent for so long.
    case lose(ms: Int64)
    case unplug(fault: Int, ms: Int64)
    case hush(ms: Int64)
    // The disk: so many calls fail (errno 0: writes are cut short), or take so long; bytes that are free, -1 for enough.
    case fault(kinds: Int, error: Int, count: Int)
    case stall(kinds: Int, ms: Int64, count: Int)
    case room(bytes: Int64)
    // The clock: set by so much, the machine asleep for so long.
    case jump(ms: Int64)
    case doze(ms: Int64)
    /// Another process runs `recover` on the folder.
    case intrude
    /// A crash so many calls to the disk later.
    case crash(after: Int64, Crash)
  }
  var wait: Wait
  var act: Act
}

/// All that makes a session: the same scenario gives the same run.
struct Scenario: Equatable {
  var seed: UInt64 = 0
  var rate = 48_000
  var channels = 1
  var periodMs = 10
  /// Parts per million by which the device's clock is fast.
  var drift: Int64 = 0
  var closesGaps = false
  var maxMs: Int64 = 0
  var bitrate = 32_000
  /// Milliseconds of pre-roll; the take is armed first. -1: it isn't.
  var preRollMs: Int64 = -1
  /// Seconds for which a device that is away is waited for; -1: until somebody says so.
  var waitSeconds: Int64 = 10
  var live = true
  /// A take of that name is there already, and is to be replaced.
  var replaces = false
  /// The file system has no locks; no flags of a rename.
  var noLocks = false
  var noFlags = false
  var slowDisk = false
  var steps: [Step] = []
  /// Goes on with what a crash left.
  var goesOn = false
}

// MARK: by chance

extension Scenario {
  init(seed: UInt64) {
    var chance = Chance(seed)
    self.init()
    self.seed = seed
    rate = chance.one(of: [48_000, 48_000, 48_000, 48_000, 44_100, 16_000, 8_000, 96_000])
    channels = chance.one(of: [1, 1, 1, 2])
    periodMs = chance.one(of: [10, 10, 10, 5, 20, 40])
    drift = chance.sometimes(20) ? chance.below(20_000) - 10_000 : 0
    closesGaps = chance.sometimes(30)
    maxMs = chance.sometimes(12) ? 1 + chance.below(2_500) : 0
    bitrate = chance.one(of: [32_000, 32_000, 16_000, 6_000, 64_000])
    preRollMs = chance.sometimes(10) ? chance.one(of: [0, 100, 500]) : -1
    waitSeconds = chance.sometimes(30) ? -1 : chance.one(of: [10, 2])
    live = !chance.sometimes(8)
    replaces = chance.sometimes(10)
    noLocks = chance.sometimes(3)
    noFlags = chance.sometimes(4)
    slowDisk = chance.sometimes(15)
    goesOn = chance.sometimes(15)
    let kind = chance.below(10)
    let count = chance.below(chance.sometimes(20) ? 16 : 7)
    for _ in 0..<count { add(Self.act(kind, &chance), &chance) }
    let crashes = chance.one(of: [0, 1, 1, 1, 2, 3] as [Int64])
    for _ in 0..<crashes {
      let crash = Self.crash(&chance)
      steps.insert(
        Step(wait: Self.wait(&chance), act: .crash(after: chance.below(120), crash)),
        at: Int(chance.below(Int64(steps.count + 1))))
    }
    if preRollMs >= 0 {
      steps.insert(Step(wait: Self.wait(&chance), act: .start), at: Int(chance.below(2)) % (steps.count + 1))
    }
    // Most crashes that hurt come while it is sealed.
    if chance.sometimes(50) { add(.crash(after: chance.below(90), Self.crash(&chance)), &chance) }
    let ending: Step.Act = chance.one(of: [.stop, .stop, .stop, .stop, .stop, .stop, .leave, .discard])
    add(ending, &chance)
    if chance.sometimes(10) { add(Self.act(kind, &chance), &chance) }  // too late, and harmless
  }
  private mutating func add(_ act: Step.Act, _ chance: inout Chance) {
    steps.append(Step(wait: Self.wait(&chance), act: act))
  }
  private static func wait(_ chance: inout Chance) -> Step.Wait {
    switch chance.below(10) {
    case 0..<3: .calls(chance.below(40))
    case 3: .ms(0)
    case 4: .ms(chance.below(25))
    case 5: .ms(600 + chance.below(800))
    default: .ms(chance.below(350))
    }
  }
  private static func crash(_ chance: inout Chance) -> Crash {
    let model = chance.one(of: [.kill, .kill, .torn, .posix, .posix, .journal] as [Crash.Model])
    return Crash(model: model, spread: chance.one(of: [0, 1, 2, 2, 2, 2]), seed: chance.next() >> 16)
  }
  private static func act(_ kind: Int64, _ chance: inout Chance) -> Step.Act {
    let command: Step.Act = chance.one(of: [.pause, .pause, .resume, .resume, .mark, .mark, .goOn, .keep])
    let interruptible = SIM_OPEN | SIM_WRITE | SIM_SYNC | SIM_ALLOCATE | SIM_READ | SIM_CUT | SIM_LOCK
    switch kind {
    case 0..<4:
      return chance.sometimes(93) ? command : chance.sometimes(50) ? .intrude : .jump(ms: jump(&chance))
    case 4..<7:
      switch chance.below(8) {
      case 0, 1, 2: return command
      case 3, 4: return .lose(ms: chance.sometimes(10) ? 1_900 + chance.below(300) : 1 + chance.below(200))
      case 5:
        return .unplug(fault: Int(chance.below(5)), ms: chance.below(chance.sometimes(10) ? 12_000 : 900))
      case 6: return .hush(ms: chance.below(600))
      default: return chance.sometimes(50) ? .doze(ms: chance.below(60_000)) : .goOn
      }
    default:
      switch chance.below(9) {
      case 0, 1, 2: return command
      case 3:
        let kinds = chance.one(of: [SIM_WRITE, SIM_SYNC, SIM_RENAME, SIM_CUT, SIM_OPEN, SIM_ALL])
        return .fault(
          kinds: kinds, error: Int(chance.one(of: [EIO, EIO, ENOSPC, EROFS, EDQUOT])),
          count: 1 + Int(chance.below(chance.sometimes(30) ? 400 : 4)))
      case 4: return .fault(kinds: interruptible, error: Int(EINTR), count: 1 + Int(chance.below(3)))
      case 5: return .fault(kinds: SIM_WRITE, error: 0, count: 1 + Int(chance.below(20)))
      case 6:
        let kinds = chance.one(of: [SIM_WRITE, SIM_SYNC, SIM_SYNC, SIM_ALL])
        return .stall(
          kinds: kinds, ms: 1 + chance.below(chance.sometimes(15) ? 5_000 : 700),
          count: 1 + Int(chance.below(3)))
      case 7: return .room(bytes: chance.sometimes(50) ? -1 : chance.below(120_000))
      default: return .room(bytes: -1)
      }
    }
  }
  private static func jump(_ chance: inout Chance) -> Int64 {
    chance.one(of: [-3_600_000, 3_600_000, -1_000, 1_000, -40 * 86_400_000, 400 * 86_400_000])
  }
}

// MARK: as text

extension Scenario {
  /// One line that `init(text:)` reads.
  var text: String {
    let head =
      "seed=\(seed) rate=\(rate) channels=\(channels) period=\(periodMs) drift=\(drift) close=\(closesGaps ? 1 : 0) max=\(maxMs) bitrate=\(bitrate) preroll=\(preRollMs) wait=\(waitSeconds) live=\(live ? 1 : 0) replaces=\(replaces ? 1 : 0) nolocks=\(noLocks ? 1 : 0) noflags=\(noFlags ? 1 : 0) slow=\(slowDisk ? 1 : 0) goeson=\(goesOn ? 1 : 0)"
    return ([head] + steps.map(\.text)).joined(separator: "; ")
  }
  init?(text: String) {
    self.init()
    let parts = text.split(separator: ";").map { $0.split(separator: " ").map(String.init) }
    guard let head = parts.first else { return nil }
    for field in head {
      let pair = field.split(separator: "=", maxSplits: 1).map(String.init)
      guard pair.count == 2, let value = Int64(pair[1]) else { return nil }
      switch pair[0] {
      case "seed": seed = UInt64(bitPattern: value)
      case "rate": rate = Int(value)
      case "channels": channels = Int(value)
      case "period": periodMs = Int(value)
      case "drift": drift = value
      case "close": closesGaps = value == 1
      case "max": maxMs = value
      case "bitrate": bitrate = Int(value)
      case "preroll": preRollMs = value
      case "wait": waitSeconds = value
      case "live": live = value == 1
      case "replaces": replaces = value == 1
      case "nolocks": noLocks = value == 1
      case "noflags": noFlags = value == 1
      case "slow": slowDisk = value == 1
      case "goeson": goesOn = value == 1
      default: return nil
      }
    }
    for words in parts.dropFirst() {
      guard let step = Step(words: words) else { return nil }
      steps.append(step)
    }
  }
}

extension Step {
  var text: String {
    let when =
      switch wait {
      case .ms(let n): "\(n)ms"
      case .calls(let n): "\(n)calls"
      }
    let what: String =
      switch act {
      case .start: "start"
      case .pause: "pause"
      case .resume: "resume"
      case .mark: "mark"
      case .stop: "stop"
      case .discard: "discard"
      case .leave: "leave"
      case .goOn: "goon"
      case .keep: "keep"
      case .lose(let ms): "lose \(ms)"
      case .unplug(let fault, let ms): "unplug \(fault) \(ms)"
      case .hush(let ms): "hush \(ms)"
      case .fault(let kinds, let error, let count): "fault \(kinds) \(error) \(count)"
      case .stall(let kinds, let ms, let count): "stall \(kinds) \(ms) \(count)"
      case .room(let bytes): "room \(bytes)"
      case .jump(let ms): "jump \(ms)"
      case .doze(let ms): "doze \(ms)"
      case .intrude: "intrude"
      case .crash(let after, let crash):
        "crash \(after) \(crash.model.rawValue) \(crash.spread) \(crash.seed)"
      }
    return when + " " + what
  }
  init?(words: [String]) {
    guard words.count >= 2 else { return nil }
    if words[0].hasSuffix("calls"), let n = Int64(words[0].dropLast(5)) {
      wait = .calls(n)
    } else if words[0].hasSuffix("ms"), let n = Int64(words[0].dropLast(2)) {
      wait = .ms(n)
    } else {
      return nil
    }
    let n = words.dropFirst(2).map { Int64($0) ?? 0 }
    func number(_ i: Int) -> Int64 { i < n.count ? n[i] : 0 }
    switch words[1] {
    case "start": act = .start
    case "pause": act = .pause
    case "resume": act = .resume
    case "mark": act = .mark
    case "stop": act = .stop
    case "discard": act = .discard
    case "leave": act = .leave
    case "goon": act = .goOn
    case "keep": act = .keep
    case "lose": act = .lose(ms: number(0))
    case "unplug": act = .unplug(fault: Int(number(0)), ms: number(1))
    case "hush": act = .hush(ms: number(0))
    case "fault": act = .fault(kinds: Int(number(0)), error: Int(number(1)), count: Int(number(2)))
    case "stall": act = .stall(kinds: Int(number(0)), ms: number(1), count: Int(number(2)))
    case "room": act = .room(bytes: number(0))
    case "jump": act = .jump(ms: number(0))
    case "doze": act = .doze(ms: number(0))
    case "intrude": act = .intrude
    case "crash":
      guard words.count == 6, let model = Crash.Model(rawValue: words[3]) else { return nil }
      act = .crash(
        after: number(0),
        Crash(model: model, spread: Int32(number(2)), seed: UInt64(bitPattern: number(3))))
    default: return nil
    }
  }
}
