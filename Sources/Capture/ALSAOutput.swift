import CALSA
import Glibc
import Platform
import Signal

/// A loudspeaker: one ALSA playback PCM. All of it belongs to one thread at a time, the player's.
///
/// It starts once its buffer is full or `drain` is asked for, and underruns are recovered: `underruns` counts them.
public final class ALSAOutput {
  /// Milliseconds a wait for room lasts at most.
  private static let slice: Int32 = 20
  /// Milliseconds without a frame taken after which a running device hangs.
  private static let silence: Int32 = 5_000

  /// What ALSA was asked for, unchanged.
  public let name: Path
  /// What the device runs with; its rate is the wished one wherever it has that.
  public let format: SourceFormat
  /// Frames of the device's own buffer, and of a period of it.
  public let bufferFrames: Int
  public let periodFrames: Int
  /// How often it ran out of sound.
  public private(set) var underruns = 0

  private let pcm: PCM
  private var bytes: [UInt8] = []
  private var isRunning = false
  private var waiting = 0  // frames written since it was prepared, until it runs
  private var silent: Int32 = 0
  private var drainEnd: MonotonicTime?

  /// Opens the device, without waiting for one in use. Nothing sounds yet.
  ///
  /// - Parameters:
  ///   - name: goes to ALSA unchanged.
  ///   - rate: hertz, wished.
  ///   - channels: wished; a device that hasn't as many runs with the fewest it has.
  /// - Throws: why not, sorted by what to do about it.
  public init(name: Path, rate: Int, channels: Int) throws(CaptureOpenError) {
    var pcm = PCM()
    do throws(Errno) { pcm = try PCM(opening: name, playing: true) } catch {
      throw .from(error.code, name, running: false)
    }
    var wish = CaptureWish(periodMs: 20, bufferMs: 200, rate: rate)
    wish.channels = channels
    let agreed: Negotiated
    do throws(NegotiationFailure) { agreed = try pcm.configure(wish) } catch {
      switch error {
      case .refused: throw .formatRefused(name, pcm.offer)
      case .errno(EIO) where pcm.isServer: throw .noDevice(name)  // a server has no sink of that name
      case .errno(let code): throw .from(code, name, running: true, offer: pcm.offer)
      }
    }
    self.name = name
    format = agreed.format
    (bufferFrames, periodFrames) = (agreed.buffer, agreed.period)
    let code = pcm.prepare()
    self.pcm = pcm
    guard code >= 0 else { throw .from(-code, name, running: true) }
  }

  /// Hands frames over; waits at most 20 ms for room.
  ///
  /// - Parameters:
  ///   - samples: interleaved in the device's channels, ±1.0.
  ///   - first: frame to begin with.
  ///   - count: frames, at most a period of them are taken.
  /// - Returns: frames taken; 0 where there is no room yet: try again.
  /// - Throws: once the device is lost, for good.
  public func write(_ samples: [Float], from first: Int, count: Int) throws(CaptureFault) -> Int {
    let wanted = min(count, periodFrames)
    encode(samples, from: first, count: wanted)
    let code = unsafe bytes.withUnsafeBytes { raw in
      guard let base = raw.baseAddress else { return 0 }
      return unsafe pcm.write(from: base, frames: wanted)
    }
    if code > 0 {
      silent = 0
      waiting += code
      if !isRunning, waiting >= bufferFrames { try start() }
      return code
    }
    if code == 0 || code == -Int(EAGAIN) || code == -Int(EINTR) {
      if !isRunning { try start() }
      waitForRoom()
      silent += Self.slice
      guard silent < Self.silence else { throw .deviceSilent }
      return 0
    }
    try recover(from: Int32(-code))
    return 0
  }
  private func waitForRoom() {
    let began = MonotonicTime.now
    let code = pcm.wait(milliseconds: Self.slice)
    // Ready and yet without room, or in no state to wait: such a device must not make the caller spin.
    if code < 0 || MonotonicTime.now < began.advanced(by: 1_000_000) { usleep(2_000) }
  }

  /// Frames written that haven't sounded yet; nil where the device doesn't tell, as after an underrun.
  public var delay: Int? {
    let frames = pcm.delay()
    return frames >= 0 ? frames : nil
  }

  /// Drops what hasn't sounded, and is ready for more.
  public func drop() throws(CaptureFault) {
    pcm.drop()
    try prepare()
  }
  private func prepare() throws(CaptureFault) {
    (isRunning, waiting, drainEnd) = (false, 0, nil)
    let code = pcm.prepare()
    guard code >= 0 else { throw lost(-code) }
  }
  private func start() throws(CaptureFault) {
    isRunning = true
    guard pcm.state() == PCMState.prepared else { return }
    let code = pcm.start()
    if code < 0 { try recover(from: -code) }
  }

  /// Lets what was written sound to its end; call it until it says so. Waits 20 ms at most; behind a sound server as long as
  /// the buffer lasts.
  ///
  /// - Returns: whether all has sounded.
  public func drain() throws(CaptureFault) -> Bool {
    guard let end = drainEnd else {
      if !isRunning { try start() }
      let left = Int64(min(bufferFrames, max(0, delay ?? 0))) * 1_000_000_000 / Int64(format.rate)
      drainEnd = .now.advanced(by: left + 2_000_000_000)
      let code = pcm.drain()
      return code != -EAGAIN && code != -EINTR  // an underrun is its end too
    }
    guard pcm.state() == PCMState.draining, MonotonicTime.now < end else { return true }
    usleep(UInt32(Self.slice) * 500)
    return false
  }

  // MARK: what can go wrong

  private func recover(from code: Int32) throws(CaptureFault) {
    switch code {
    case EPIPE:
      underruns += 1
      try prepare()
    case ESTRPIPE:
      for _ in 0..<40 {
        _ = pcm.resume()
        if pcm.prepare() >= 0 {
          (isRunning, waiting) = (false, 0)
          return
        }
        usleep(250_000)
      }
      throw .suspended
    case EBADFD where [PCMState.setup, PCMState.xrun].contains(pcm.state()): try prepare()
    default: throw lost(code)
    }
  }
  private func lost(_ code: Int32) -> CaptureFault {
    pcm.isServer && !DefaultSource.serverAnswers(name) ? .serverGone(code) : .deviceLost(code)
  }

  private func encode(_ samples: [Float], from first: Int, count: Int) {
    bytes.removeAll(keepingCapacity: true)
    for i in (first * format.channels)..<((first + count) * format.channels) {
      format.sample.append(samples[i], to: &bytes)
    }
  }
}

extension SampleFormat {
  /// Appends one sample, ±1.0, as it is laid out in memory: rounded, clipped, NaN as 0.
  func append(_ sample: Float, to bytes: inout [UInt8]) {
    func whole(_ bits: Int) -> Int64 {
      guard sample == sample else { return 0 }
      let scale = Double(Int64(1) << (bits - 1))
      return Int64(max(-scale, min(scale - 1, (Double(sample) * scale).rounded())))
    }
    func put(_ value: Int64, _ count: Int) {
      for i in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> Int64(8 * i))) }
    }
    switch self {
    case .u8: bytes.append(UInt8(truncatingIfNeeded: whole(8) + 128))
    case .s16: put(whole(16), 2)
    case .s24Packed: put(whole(24), 3)
    case .s24In32: put(whole(24), 4)
    case .s32: put(whole(32), 4)
    case .float32: put(Int64(sample == sample ? sample.bitPattern : 0), 4)
    }
  }
}
