/// When something happened, for stamps and for lengths of what isn't in the audio.
public struct EventTime: Sendable, Equatable {
  /// Wall clock, milliseconds since 1970 in UTC.
  public var wallMs: Int64
  /// CLOCK_BOOTTIME, nanoseconds.
  public var bootNs: Int64

  public init(wallMs: Int64, bootNs: Int64) {
    self.wallMs = wallMs
    self.bootNs = bootNs
  }
}

/// Frames known lost.
public struct Gap: Sendable, Equatable {
  /// 48 kHz frames lost.
  public var frames: Int64
  /// True where silence stands for them in the take.
  public var filled: Bool
  public var measuredBy: String
  public var uncertaintyFrames: Int64

  public init(frames: Int64, filled: Bool, measuredBy: String, uncertaintyFrames: Int64) {
    self.frames = frames
    self.filled = filled
    self.measuredBy = measuredBy
    self.uncertaintyFrames = uncertaintyFrames
  }
}

/// How fast the device's clock ran against CLOCK_MONOTONIC.
public struct ClockDrift: Sendable, Equatable {
  /// Parts per billion that it was faster; less than 0 where it was slower.
  public var partsPerBillion: Int64
  /// Standard error of that.
  public var uncertainty: Int64
  /// Seconds of device time it was measured over.
  public var seconds: Int64

  public init(partsPerBillion: Int64, uncertainty: Int64, seconds: Int64) {
    (self.partsPerBillion, self.uncertainty, self.seconds) = (partsPerBillion, uncertainty, seconds)
  }
}

/// Everything measured up to an effective frame, and the overview bins finished since the summary before.
public struct LevelSummary: Sendable, Equatable {
  public var frames: Int64 = 0
  public var sum = 0.0
  public var sumOfSquares = 0.0
  public var peak: Float = 0
  /// Energy behind the last finished bin.
  public var pendingEnergy = 0.0
  public var notFinite: Int64 = 0
  public var over: Int64 = 0
  public var clippedRuns: Int64 = 0
  /// In order, each at the size that bins had when it was finished.
  public var bins: [Float] = []

  public init() {}

  /// Becomes the next summary, with the bins of all before it in front. In place: a take of hours has thousands.
  public mutating func goOn(with next: LevelSummary) {
    var all: [Float] = []
    swap(&all, &bins)
    all += next.bins
    self = next
    bins = all
  }
}

public enum LedgerEvent: Sendable, Equatable {
  case begin(TakeDescription)
  case start(EventTime)
  case pause(EventTime)
  case resume(EventTime)
  case gap(Gap)
  case mark(label: String?)
  case interruption(InterruptionReason, EventTime)
  /// An interruption is over: those of its kind, or where no reason is told, all.
  case continued(EventTime, deviceRate: Int, deviceChannels: Int, reason: InterruptionReason? = nil)
  case stop(EndedBy, EventTime, submit: Bool)
  case levels(LevelSummary)
  /// Someone began or ceased to speak at an effective frame, which is known some 0.2 s later.
  case speech(speaking: Bool, atFrame: Int64)
  /// Silence begins to be left out, or sound goes on.
  case silence(leftOut: Bool)
  /// The device's clock as it was measured so far; the newest says all.
  case drift(ClockDrift)
  /// A kind this version doesn't know: kept as it is.
  case unknown(kind: UInt8, payload: [UInt8])

  /// Bytes of UTF-8 that a mark's words may have.
  public static let largestLabel = 4_096

  /// When it happened, where the record tells.
  public var time: EventTime? {
    switch self {
    case .start(let time), .pause(let time), .resume(let time), .interruption(_, let time),
      .continued(let time, _, _, _), .stop(_, let time, _):
      time
    case .begin, .gap, .mark, .levels, .speech, .silence, .drift, .unknown: nil
    }
  }
}

/// One entry of the ledger: where in the capture and in the take, and what happened there.
public struct LedgerRecord: Sendable, Equatable {
  /// Device frames delivered since the take began.
  public var captureFrame: Int64
  /// 48 kHz frames in the take.
  public var effectiveFrame: Int64
  public var event: LedgerEvent

  public init(captureFrame: Int64, effectiveFrame: Int64, event: LedgerEvent) {
    self.captureFrame = captureFrame
    self.effectiveFrame = effectiveFrame
    self.event = event
  }
}

extension LedgerRecord {
  /// The record in a take that ends earlier: kept, its frames at most that many. Sums of levels shrink with their frames.
  public func clamped(to frames: Int64) -> LedgerRecord {
    var record = self
    record.effectiveFrame = min(effectiveFrame, frames)
    switch event {
    case .levels(var summary) where summary.frames > frames:
      let share = summary.frames > 0 ? Double(frames) / Double(summary.frames) : 0
      (summary.sum, summary.sumOfSquares) = (summary.sum * share, summary.sumOfSquares * share)
      (summary.frames, summary.pendingEnergy) = (frames, 0)
      record.event = .levels(summary)
    case .speech(let speaking, let at): record.event = .speech(speaking: speaking, atFrame: min(at, frames))
    default: break
    }
    return record
  }
}

/// The bytes of a ledger; `docs/ARCHITECTURE.md` draws them.
public enum Ledger {
  public static let magic = Array("HFledger".utf8)
  public static let version: UInt32 = 1
  public static let headerSize = 16
  public static let recordHeaderSize = 24
  public static let largestPayload = 65_535
  /// No take is longer than this many frames: 3 000 years. More is damage, and sums of such numbers would overflow.
  static let mostFrames: Int64 = 1 << 52

  public static var header: [UInt8] {
    var bytes = magic
    bytes.put(version)
    bytes.put(crc32(bytes[...]))
    return bytes
  }

  public static func encode(_ record: LedgerRecord) -> [UInt8] {
    let (kind, payload) = body(record.event)
    var bytes: [UInt8] = [0, 0, 0, 0]
    bytes.put(UInt16(payload.count))
    bytes += [kind, 0]
    bytes.put(record.captureFrame)
    bytes.put(record.effectiveFrame)
    bytes += payload
    let crc = crc32(bytes[4...])
    for i in 0..<4 { bytes[i] = UInt8(truncatingIfNeeded: crc >> UInt32(8 * i)) }
    return bytes
  }

  private static func body(_ event: LedgerEvent) -> (kind: UInt8, payload: [UInt8]) {
    func text(_ fields: [(String, JSON)]) -> [UInt8] { Array(JSON.object(fields).line.utf8) }
    func time(_ t: EventTime) -> [(String, JSON)] {
      [("wall_ms", .int(t.wallMs)), ("boot_ns", .int(t.bootNs))]
    }
    switch event {
    case .begin(let description): return (1, Array(description.json.line.utf8))
    case .start(let t): return (2, text(time(t)))
    case .pause(let t): return (3, text(time(t)))
    case .resume(let t): return (4, text(time(t)))
    case .gap(let gap):
      return (
        5,
        text([
          ("frames", .int(gap.frames)), ("filled", .bool(gap.filled)),
          ("measured_by", .string(gap.measuredBy)),
          ("uncertainty_frames", .int(gap.uncertaintyFrames)),
        ])
      )
    case .mark(let label): return (6, text(label.map { [("label", .string($0))] } ?? []))
    case .interruption(let reason, let t): return (7, text([("reason", .string(reason.rawValue))] + time(t)))
    case .continued(let t, let rate, let channels, let reason):
      return (
        8,
        text(
          time(t) + [("device_rate", .int(Int64(rate))), ("device_channels", .int(Int64(channels)))]
            + (reason.map { [("reason", .string($0.rawValue))] } ?? []))
      )
    case .stop(let by, let t, let submit):
      return (9, text([("ended_by", .string(by.rawValue))] + time(t) + [("submit", .bool(submit))]))
    case .levels(let summary): return (10, encode(summary))
    case .speech(let speaking, let frame):
      var bytes: [UInt8] = [speaking ? 1 : 0]
      bytes.put(frame)
      return (11, bytes)
    case .silence(let leftOut): return (12, [leftOut ? 1 : 0])
    case .drift(let drift):
      var bytes: [UInt8] = []
      bytes.put(drift.partsPerBillion)
      bytes.put(drift.uncertainty)
      bytes.put(drift.seconds)
      return (13, bytes)
    case .unknown(let kind, let payload): return (kind, payload)
    }
  }

  private static let summarySize = 60
  private static func encode(_ summary: LevelSummary) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.put(summary.frames)
    bytes.put(summary.sum)
    bytes.put(summary.sumOfSquares)
    bytes.put(summary.peak)
    bytes.put(summary.pendingEnergy)
    bytes.put(summary.notFinite)
    bytes.put(summary.over)
    bytes.put(summary.clippedRuns)
    for bin in summary.bins.prefix((largestPayload - summarySize) / 4) { bytes.put(bin) }
    return bytes
  }
  private static func decodeSummary(_ payload: [UInt8]) -> LevelSummary? {
    guard payload.count >= summarySize, (payload.count - summarySize) % 4 == 0 else { return nil }
    var summary = LevelSummary()
    summary.frames = payload.get(0)
    summary.sum = Double(bitPattern: payload.get(8))
    summary.sumOfSquares = Double(bitPattern: payload.get(16))
    summary.peak = Float(bitPattern: payload.get(24))
    summary.pendingEnergy = Double(bitPattern: payload.get(28))
    summary.notFinite = payload.get(36)
    summary.over = payload.get(44)
    summary.clippedRuns = payload.get(52)
    // Samples are clipped at ±1.0; what no sum of them can be isn't believed.
    let most = Double(max(0, summary.frames)) * 1.001 + 1
    func bounds(_ value: Double, _ range: ClosedRange<Double>) -> Bool { range.contains(value) }  // not NaN
    guard (0...mostFrames).contains(summary.frames), bounds(summary.sum, -most...most),
      bounds(summary.sumOfSquares, 0...most),
      bounds(Double(summary.peak), 0...1.001), bounds(summary.pendingEnergy, 0...(most + 160)),
      summary.notFinite >= 0, summary.over >= 0, summary.clippedRuns >= 0
    else { return nil }
    for i in stride(from: summarySize, to: payload.count, by: 4) {
      let bin = Float(bitPattern: payload.get(i))
      guard bounds(Double(bin), 0...most) else { return nil }
      summary.bins.append(bin)
    }
    return summary
  }

  static func event(kind: UInt8, payload: [UInt8]) -> LedgerEvent? {
    let known: ClosedRange<UInt8> = 1...13
    guard known.contains(kind) else { return .unknown(kind: kind, payload: payload) }
    if kind == 11 {
      guard payload.count == 9, payload[0] <= 1 else { return nil }
      let frame: Int64 = payload.get(1)
      return (0...mostFrames).contains(frame) ? .speech(speaking: payload[0] == 1, atFrame: frame) : nil
    }
    if kind == 12 {
      guard payload.count == 1, payload[0] <= 1 else { return nil }
      return .silence(leftOut: payload[0] == 1)
    }
    if kind == 13 {
      guard payload.count == 24 else { return nil }
      let drift = ClockDrift(
        partsPerBillion: payload.get(0), uncertainty: payload.get(8), seconds: payload.get(16))
      let most: Int64 = 1_000_000_000
      guard (-most...most).contains(drift.partsPerBillion), (0...most).contains(drift.uncertainty),
        (0...mostFrames).contains(drift.seconds)
      else { return nil }
      return .drift(drift)
    }
    if kind == 10 { return decodeSummary(payload).map(LedgerEvent.levels) }
    guard let json = try? JSON.read(payload) else { return nil }
    var time: EventTime? {
      guard let wall = json["wall_ms"]?.int, let boot = json["boot_ns"]?.int else { return nil }
      return EventTime(wallMs: wall, bootNs: boot)
    }
    switch kind {
    case 1: return TakeDescription(json).map(LedgerEvent.begin)
    case 2: return time.map(LedgerEvent.start)
    case 3: return time.map(LedgerEvent.pause)
    case 4: return time.map(LedgerEvent.resume)
    case 5:
      guard let frames = json["frames"]?.int, (0...mostFrames).contains(frames),
        let filled = json["filled"]?.bool
      else {
        return nil
      }
      return .gap(
        Gap(
          frames: frames, filled: filled, measuredBy: json["measured_by"]?.string ?? "",
          uncertaintyFrames: json["uncertainty_frames"]?.int ?? 0))
    case 6: return .mark(label: json["label"]?.string)
    case 7:
      guard let time, let reason = json["reason"]?.string.flatMap(InterruptionReason.init(rawValue:)) else {
        return nil
      }
      return .interruption(reason, time)
    case 8:
      guard let time, let rate = json["device_rate"]?.int, (1...1_000_000_000).contains(rate),
        let channels = json["device_channels"]?.int, (1...65_535).contains(channels)
      else { return nil }
      return .continued(
        time, deviceRate: Int(rate), deviceChannels: Int(channels),
        reason: json["reason"]?.string.flatMap(InterruptionReason.init(rawValue:)))
    case 9:
      guard let time, let by = json["ended_by"]?.string.flatMap(EndedBy.init(rawValue:)) else { return nil }
      return .stop(by, time, submit: json["submit"]?.bool ?? false)
    default: return nil
    }
  }
}

/// What a ledger's bytes hold.
public struct LedgerContents: Sendable, Equatable {
  public enum Fault: Sendable, Equatable {
    case empty
    case notALedger
    case newerVersion(UInt32)
    /// The bytes from `offset` on are no whole record: a torn tail, or damage.
    case torn(offset: Int, bytes: Int)

    public var isTorn: Bool { if case .torn = self { true } else { false } }
  }
  public var records: [LedgerRecord] = []
  public var fault: Fault?

  /// Reads as far as whole, checksummed records go. Pure; hostile bytes cost no more than their length.
  ///
  /// Frame counts never fall from one record to the next and are not negative: a record that breaks this ends it.
  public init(_ bytes: [UInt8]) {
    guard !bytes.isEmpty else {
      fault = .empty
      return
    }
    guard bytes.count >= Ledger.headerSize, bytes.starts(with: Ledger.magic),
      bytes.get(12, as: UInt32.self) == crc32(bytes[0..<12])
    else {
      fault = .notALedger
      return
    }
    let version: UInt32 = bytes.get(8)
    guard version == Ledger.version else {
      fault = version > Ledger.version ? .newerVersion(version) : .notALedger
      return
    }
    var at = Ledger.headerSize
    var capture: Int64 = 0
    var effective: Int64 = 0
    while at < bytes.count {
      guard let (record, next) = Self.record(bytes, at), record.captureFrame >= capture,
        record.effectiveFrame >= effective, record.captureFrame <= Ledger.mostFrames,
        record.effectiveFrame <= Ledger.mostFrames
      else {
        fault = .torn(offset: at, bytes: bytes.count - at)
        return
      }
      records.append(record)
      (capture, effective) = (record.captureFrame, record.effectiveFrame)
      at = next
    }
  }

  private static func record(_ bytes: [UInt8], _ at: Int) -> (LedgerRecord, next: Int)? {
    guard bytes.count - at >= Ledger.recordHeaderSize else { return nil }
    let end = at + Ledger.recordHeaderSize + Int(bytes.get(at + 4, as: UInt16.self))
    guard end <= bytes.count, bytes.get(at, as: UInt32.self) == crc32(bytes[(at + 4)..<end]) else {
      return nil
    }
    let payload = Array(bytes[(at + Ledger.recordHeaderSize)..<end])
    guard let event = Ledger.event(kind: bytes[at + 6], payload: payload) else { return nil }
    return (
      LedgerRecord(captureFrame: bytes.get(at + 8), effectiveFrame: bytes.get(at + 16), event: event), end
    )
  }
}
