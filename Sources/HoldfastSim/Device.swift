import CSim
import Capture
import Platform
import Session
import Signal

/// A device whose clock is the machine's: what it delivers, loses and when it is away is written down.
final class Device: @unchecked Sendable {
  enum Entry {
    case delivered(frames: Int64)
    /// Device frames lost in front of the ones that come next.
    case lost(frames: Int64)
    case away(InterruptionReason)
    case back
  }
  /// Whether a take is under way, which an interruption interrupts.
  var isTaking: () -> Bool = { false }
  /// With the frames delivered before it.
  private(set) var log: [(time: Int64, captured: Int64, entry: Entry)] = []
  let rate: Int
  let channels: Int
  let period: Int64
  private let drift: Int64
  private let noise: [Int16]
  private let wake = CountingSemaphore()
  private var began: Int64?
  /// Frames of the device's own clock that were handed over or lost since it was opened.
  private var passed: Int64 = 0
  private(set) var delivered: Int64 = 0
  private var stopped = false
  private var toLose: Int64 = 0
  private var losing: Int64 = 0
  private var pendingLoss: CaptureLoss?
  private var goneUntil: Int64?
  private var fault = CaptureFault.deviceLost(19)
  /// Why it is away, as the recorder knows it.
  private var told: InterruptionReason?
  private var quietUntil: Int64 = 0
  /// A file's: all of it is there at once.
  private let holdsFrames: Int64?

  init(_ scenario: Scenario, holding frames: Int64?) {
    rate = scenario.rate
    channels = scenario.channels
    period = Int64(scenario.rate * scenario.periodMs / 1_000)
    drift = scenario.drift
    holdsFrames = frames
    var chance = Chance(scenario.seed ^ 0x5117)
    var x = 0.0
    noise = (0..<9_973).map { i in
      x = 0.9 * x + 0.1 * Double(Int64(chance.next() % 12_000) - 6_000)
      return Int16(x) &+ Int16(i % 7)
    }
  }

  // MARK: what happens to it

  func lose(ms: Int64) { toLose += ms * Int64(rate) / 1_000 }
  func unplug(_ kind: Int, ms: Int64) {
    guard holdsFrames == nil else { return }
    fault = [.deviceLost(19), .serverGone(111), .deviceTaken, .overrunStorm, .suspended][kind % 5]
    goneUntil = sim_now() + ms * 1_000_000
    wake.post()
  }
  func hush(ms: Int64) { quietUntil = max(quietUntil, sim_now() + ms * 1_000_000) }

  /// It has delivered without a break for 150 ms.
  var flows: Bool {
    guard let began, holdsFrames == nil, told == nil, goneUntil == nil, toLose + losing == 0, !stopped else {
      return false
    }
    return sim_now() - max(began, quietUntil) > 150_000_000
  }

  // MARK: what it does

  fileprivate func interrupt() {
    stopped = true
    wake.post()
  }
  /// Frames that it has had since it was opened, by its own clock.
  private var age: Int64 {
    guard let began else { return 0 }
    let ns = sim_now() - began
    return Int64(Double(ns) * Double(rate) * (1 + Double(drift) / 1e6) / 1e9)
  }
  private func time(of frame: Int64) -> Int64 {
    (began ?? 0) + Int64(Double(frame) * 1e9 / (Double(rate) * (1 + Double(drift) / 1e6))) + 1_000
  }
  fileprivate func read(_ buffer: inout MutableRawSpan) throws(SourceError) -> Int {
    let room = Int64(buffer.byteCount / (2 * channels))
    if let holdsFrames { return fill(&buffer, min(room, holdsFrames - delivered)) }
    if began == nil { (began, passed) = (sim_now(), 0) }
    while true {
      if goneUntil != nil { throw .device(gone()) }
      if stopped {
        let left = min(room, age - passed)
        return left > 0 && quietUntil <= sim_now() ? fill(&buffer, left) : 0
      }
      if toLose > 0 {  // nothing comes for as long as they would have lasted
        passed += toLose
        losing += toLose
        toLose = 0
        quietUntil = max(quietUntil, time(of: passed))
      }
      let due = max(time(of: passed + min(period, room)), quietUntil)
      if sim_now() >= due { break }
      _ = wake.wait(until: MonotonicTime(nanoseconds: due))
    }
    if told != nil {
      told = nil
      log.append((sim_now(), delivered, .back))
    }
    if losing > 0 {
      let lost = losing
      losing = 0
      if lost <= 2 * Int64(rate) {
        log.append((sim_now(), delivered, .lost(frames: lost)))
      } else if isTaking() {  // too long to be filled
        log.append((sim_now(), delivered, .away(.overrunStorm)))
        log.append((sim_now(), delivered, .back))
      }
      pendingLoss = CaptureLoss(frames: lost, measuredBy: .htimestamp, uncertaintyFrames: 1, cause: .overrun)
    }
    return fill(&buffer, min(period, room))
  }
  private func gone() -> CaptureFault {
    let reason = InterruptionReason(rawValue: fault.reason)
    if let reason, reason != told, isTaking() {
      log.append((sim_now(), delivered, .away(reason)))
      told = reason
    }
    return fault
  }
  private func fill(_ buffer: inout MutableRawSpan, _ frames: Int64) -> Int {
    guard frames > 0 else { return 0 }
    for i in 0..<Int(frames) {
      let sample = noise[(Int(delivered) + i) * 7 % noise.count]
      for c in 0..<channels {
        buffer.storeBytes(of: sample.littleEndian, toByteOffset: 2 * (i * channels + c), as: Int16.self)
      }
    }
    delivered += frames
    passed += frames
    log.append((sim_now(), delivered, .delivered(frames: frames)))
    return Int(frames)
  }
  fileprivate func takeLoss() -> CaptureLoss? {
    defer { pendingLoss = nil }
    return pendingLoss
  }
  fileprivate func reopen() throws(CaptureOpenError) {
    if let until = goneUntil, sim_now() < until { throw .noDevice(Path("sim")) }
    (goneUntil, began, passed, losing) = (nil, nil, 0, 0)
  }
  /// Frames delivered by a moment.
  func captured(at time: Int64) -> Int64 {
    log.last { if case .delivered = $0.entry { $0.time <= time } else { false } }?.captured ?? 0
  }
}

/// The device as the capture thread has it.
final class DeviceSource: Source {
  let device: Device
  let live: Bool
  init(_ device: Device, live: Bool) {
    (self.device, self.live) = (device, live)
  }
  var format: SourceFormat { SourceFormat(sample: .s16, rate: device.rate, channels: device.channels) }
  var statedFrames: Int64? { nil }
  var problems: [SourceProblem] { [] }
  var periodFrames: Int { Int(device.period) }
  var drainsAfterInterrupt: Bool { live }
  var canReopen: Bool { live }
  func read(into buffer: inout MutableRawSpan) throws(SourceError) -> Int { try device.read(&buffer) }
  func takeLoss() -> CaptureLoss? { device.takeLoss() }
  func reopen() throws(CaptureOpenError) { try device.reopen() }
  func interrupt() { device.interrupt() }
}
