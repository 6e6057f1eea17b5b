import CALSA
import Glibc
import Platform
import Signal
import Synchronization

/// A microphone: one ALSA capture PCM, running from the moment it is made.
///
/// `read`, `takeLoss` and `reopen` belong to one thread at a time, the capture thread; `interrupt` to any. In the steady
/// state a read allocates nothing, takes no lock and counts no reference of ours: all memory is made when the device
/// opens and lies behind raw pointers.
@safe public final class ALSASource: Source, @unchecked Sendable {
  /// As asked for; `default` where nobody named one.
  public let name: Path
  public let format: SourceFormat
  /// Frames the device hands over at a time; a read returns this many at most.
  public let periodFrames: Int
  /// Frames the device holds before it overruns.
  public let bufferFrames: Int
  public var statedFrames: Int64? { nil }
  public var problems: [SourceProblem] { [] }
  public var drainsAfterInterrupt: Bool { true }
  public var canReopen: Bool { true }

  /// alsa-lib's own words.
  public static var libraryVersion: String { unsafe "alsa-lib " + String(cString: snd_asoundlib_version()) }

  let wish: CaptureWish
  private let isUnnamed: Bool
  let wake: Descriptor
  let interrupted = Atomic<Bool>(false)
  let s: UnsafeMutablePointer<ALSAState>  // only the capture thread looks behind it

  /// Opens the device and starts it. What it captures until the first read waits in its buffer.
  ///
  /// - Parameters:
  ///   - name: goes to ALSA unchanged; nil for the default microphone, which may be neither a monitor nor null.
  ///   - wish: period, buffer and access; the device's answer stands in `format` and `periodFrames`.
  /// - Throws: why not, sorted by what to do about it. Never takes long: a device in use isn't waited for.
  public init(name: Path?, wish: CaptureWish = CaptureWish()) throws(CaptureOpenError) {
    let asked = name ?? Path("default")
    var pcm = PCM()
    let agreed: Negotiated
    do throws(CaptureOpenError) {
      agreed = try Self.open(asked, wish, unnamed: name == nil, into: &pcm)
    } catch {
      throw name == nil ? error.forDefault : error
    }
    let fd = holdfast_eventfd()
    guard fd >= 0 else { throw .other(asked, errno) }
    wake = Descriptor(owning: fd)
    self.name = asked
    format = agreed.format
    periodFrames = agreed.period
    bufferFrames = agreed.buffer
    isUnnamed = name == nil
    var exact = wish
    exact.exactly = agreed.format
    self.wish = exact
    unsafe s = .allocate(capacity: 1)
    unsafe s.initialize(to: ALSAState(pcm: pcm, wake: fd, agreed: agreed))
  }
  deinit {
    unsafe s.deinitialize(count: 1)
    unsafe s.deallocate()
  }

  /// Opens, checks, configures and starts, in that order.
  static func open(
    _ name: Path, _ wish: CaptureWish, unnamed: Bool, into pcm: inout PCM
  ) throws(CaptureOpenError) -> Negotiated {
    do throws(Errno) { pcm = try PCM(opening: name) } catch {
      throw .from(error.code, name, running: false)
    }
    if unnamed {
      if pcm.isNull { throw .noMicrophone(.null) }
      if let monitor = DefaultSource.monitor(of: name, server: pcm.isServer) {
        throw .noMicrophone(.monitor(monitor))
      }
    }
    let agreed: Negotiated
    do throws(NegotiationFailure) { agreed = try pcm.configure(wish) } catch {
      switch error {
      case .refused: throw .formatRefused(name, pcm.offer)
      case .errno(EIO) where pcm.isServer: throw .noDevice(name)  // a server has no source of that name
      case .errno(let code): throw .from(code, name, running: true, offer: pcm.offer)
      }
    }
    let code = pcm.restart()
    if code == -EIO, pcm.isServer { throw .noDevice(name) }
    guard code >= 0 else { throw .from(-code, name, running: true, offer: pcm.offer) }
    return agreed
  }

  /// Ends the capture: reads go on until all that the device had delivered by now is read, and then return 0.
  ///
  /// For good. Any thread; also from a signal handler.
  public func interrupt() {
    interrupted.store(true, ordering: .releasing)
    holdfast_eventfd_set(wake.raw)
  }

  /// What was lost right before the frames of the read that returned last; nil for nothing. Once only.
  ///
  /// Ask after every read. Never allocates or locks. An overrun without a measurable loss is told with 0 frames. A loss
  /// over 2 s is an interruption to the take, though capture goes on.
  public func takeLoss() -> CaptureLoss? {
    guard unsafe s.pointee.hasLoss else { return nil }
    unsafe s.pointee.hasLoss = false
    return unsafe CaptureLoss(
      frames: s.pointee.lossFrames, measuredBy: s.pointee.pcm.hasTimestamps ? .htimestamp : .monotonic,
      uncertaintyFrames: s.pointee.lossUncertainty, cause: s.pointee.lossCause)
  }

  /// Brings the device back after `read` threw a `CaptureFault`, in the same format. It may be called again and again.
  ///
  /// Frames arrive again only when a read returns some. Time and frames before it don't count as a loss here: the caller
  /// knows how long it was away. Blocks as long as ALSA takes to open, or to wake up; allocates.
  /// - Throws: why it isn't back yet. `.formatRefused` where it came back as another device, `.noMicrophone` where the
  ///   default is a monitor or null device now.
  public func reopen() throws(CaptureOpenError) {
    let fault = unsafe s.pointee.fault
    unsafe s.pointee.forgetTime()
    if fault == .overrunStorm {
      pause(milliseconds: 100)  // what follows at once would be the next storm
      unsafe s.pointee.overruns = InlineArray(repeating: .min / 2)
    }
    if fault == .overrunStorm || fault == .suspended || fault == nil, unsafe s.pointee.pcm.restart() >= 0 {
      unsafe s.pointee.fault = nil
      return
    }
    unsafe s.pointee.pcm = PCM()  // closed before it is opened again: most devices exist once
    let agreed = try unsafe Self.open(name, wish, unnamed: isUnnamed, into: &s.pointee.pcm)
    unsafe s.pointee.refresh(wake: wake.raw, agreed: agreed)
    unsafe s.pointee.fault = nil
  }
}

/// All that a read touches, in one place of memory.
@safe struct ALSAState: ~Copyable {
  var pcm: PCM
  var frameBytes: Int
  /// Frames a drain takes at most.
  var buffer: Int
  /// The wake-up first, then the PCM's own.
  var polls: UnsafeMutablePointer<pollfd>
  var pollCount: Int
  var delivered: Int64 = 0
  /// Frames still to read once interrupted; below 0 before that is known.
  var drain = -1
  var meter: LossMeter
  var fault: CaptureFault?
  /// Times of the last overruns, a ring.
  var overruns = InlineArray<20, Int64>(repeating: .min / 2)
  var overrunIndex = 0
  /// How long the machine had slept at the read before; `.min` where that isn't known.
  var asleep = Int64.min
  var hasLoss = false
  var lossFrames: Int64 = 0
  var lossUncertainty: Int64 = 1
  var lossCause = CaptureLoss.Cause.overrun

  init(pcm: consuming PCM, wake: Int32, agreed: Negotiated) {
    self.pcm = pcm
    frameBytes = agreed.format.bytesPerFrame
    buffer = agreed.buffer
    meter = LossMeter(rate: agreed.format.rate, period: agreed.period)
    unsafe polls = .allocate(capacity: 1)
    pollCount = 0
    refresh(wake: wake, agreed: agreed)
  }
  deinit { unsafe polls.deallocate() }

  /// Takes on a PCM that was opened anew.
  mutating func refresh(wake: Int32, agreed: Negotiated) {
    buffer = agreed.buffer
    let count = pcm.descriptorCount()
    unsafe polls.deallocate()
    unsafe polls = .allocate(capacity: 1 + count)
    unsafe polls.initialize(repeating: pollfd(), count: 1 + count)
    unsafe polls[0] = pollfd(fd: wake, events: Int16(POLLIN), revents: 0)
    pollCount = unsafe 1 + pcm.descriptors(polls + 1, count: count)
    meter = LossMeter(rate: agreed.format.rate, period: agreed.period)
  }
  /// What comes next has no known distance in time from what was.
  mutating func forgetTime() {
    meter = LossMeter(rate: Int(meter.rate), period: Int(meter.period))
    hasLoss = false
    asleep = .min
  }
}
