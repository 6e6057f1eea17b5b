import CALSA
import Glibc
import Platform
import Synchronization

// The capture thread's loop. Plain integers and raw pointers only: no closure, array, string or existential.
extension ALSASource {
  /// Milliseconds a wait lasts before the PCM's state is looked at.
  private static let slice: Int32 = 100
  /// Milliseconds without frames, while waiting, after which a device is silent.
  private static let silence = Int32(CaptureFault.silenceMs)
  /// Nanoseconds: far more than the two clocks are read apart.
  private static let shortestSleep: Int64 = 200_000_000

  /// Waits for one period and reads it.
  ///
  /// - Parameter buffer: room for at least one frame.
  /// - Returns: frames, 1 up to a period; 0 once interrupted and drained.
  /// - Throws: `.device` and nothing else; again and again the same until `reopen` succeeds. After an interrupt never.
  public func read(into buffer: inout MutableRawSpan) throws(SourceError) -> Int {
    let bytes = buffer.byteCount
    let frameBytes = unsafe s.pointee.frameBytes
    let room = min(bytes / frameBytes, periodFrames)
    guard room > 0 else { return 0 }
    let n = unsafe buffer.withUnsafeMutableBytes { target in
      guard let base = target.baseAddress else { return 0 }
      return unsafe capture(to: base, room: room)
    }
    if n >= 0 { return n }
    return try ended()
  }
  // What stands apart by `inline(never)` here is over with the capture, and may take its time: `scripts/capture-calls`.
  @inline(never) private func ended() throws(SourceError) -> Int {
    throw .device(unsafe s.pointee.fault ?? .deviceLost(EIO))
  }

  /// - Returns: frames; 0 at the end; −1 for a fault, which then stands in the state.
  private func capture(to target: UnsafeMutableRawPointer, room: Int) -> Int {
    if interrupted.load(ordering: .acquiring) { return unsafe drain(to: target, room: room) }
    if unsafe s.pointee.fault != nil { return -1 }
    var (since, last) = (Int64(0), Int64(0))
    var fruitless = 0
    var waited = false
    while true {
      // Not snd_pcm_wait: with nothing to read and a descriptor that stays readable, as PulseAudio's does while it has
      // nothing yet, that one spins inside alsa-lib, whatever its timeout.
      var code = unsafe s.pointee.pcm.ready()
      if code >= room {
        code = unsafe s.pointee.pcm.read(to: target, frames: room)
        if code > 0 { return delivered(code, waited: waited) }
      }
      if interrupted.load(ordering: .acquiring) { return unsafe drain(to: target, room: room) }
      if code < 0, code != -Int(EAGAIN), code != -Int(EINTR) {
        guard recover(from: Int32(-code)) else { return -1 }
        continue
      }
      let now = MonotonicTime.now.nanoseconds
      // Where a wait took far longer than it may, it is this program that was stopped, and the device has run on.
      if since == 0 || now - last > 1_000_000_000 { since = now }
      last = now
      if now - since >= Int64(Self.silence) * 1_000_000 { return fail(.deviceSilent) }
      // Ready and yet nothing, or woken for nothing: a driver that goes on so must not make this loop spin.
      fruitless += 1
      if fruitless > 4 { pause(milliseconds: 5) }
      waited = true
      let woken = unsafe poll(s.pointee.polls, nfds_t(s.pointee.pollCount), Self.slice)
      if woken > 0 { unsafe s.pointee.pcm.acknowledge(s.pointee.polls + 1, count: s.pointee.pollCount - 1) }
      if woken == 0 || fruitless > 1 {
        guard checkState() else { return -1 }
      }
    }
  }

  /// Counts frames and looks at the clock.
  private func delivered(_ frames: Int, waited: Bool) -> Int {
    unsafe s.pointee.delivered += Int64(frames)
    let asleep = MonotonicTime.asleep
    let before = unsafe s.pointee.asleep
    unsafe s.pointee.asleep = asleep
    if before != .min, asleep - before > Self.shortestSleep {
      slumbered(asleep - before)
      return frames
    }
    if let stamp = unsafe s.pointee.pcm.stamp() {
      let position = unsafe s.pointee.delivered + Int64(stamp.available)
      if let loss = unsafe s.pointee.meter.note(position: position, time: stamp.time, waited: waited) {
        unsafe s.pointee.hasLoss = true
        unsafe s.pointee.lossFrames = loss.frames
        unsafe s.pointee.lossUncertainty = loss.uncertainty
        unsafe s.pointee.lossCause = loss.2
      }
    }
    return frames
  }

  /// The machine slept, and the device says nothing of it, as behind a sound server.
  @inline(never) private func slumbered(_ nanoseconds: Int64) {
    let rate = Int64(format.rate)
    unsafe s.pointee.forgetTime()
    unsafe s.pointee.hasLoss = true
    unsafe s.pointee.lossFrames =
      nanoseconds / 1_000_000_000 * rate + nanoseconds % 1_000_000_000 * rate / 1_000_000_000
    unsafe s.pointee.lossUncertainty = Int64(bufferFrames)
    unsafe s.pointee.lossCause = .suspended
  }

  /// After the interrupt: what the device had by then, and no more. A device that always has some ends too.
  private func drain(to target: UnsafeMutableRawPointer, room: Int) -> Int {
    if unsafe s.pointee.fault != nil { return 0 }
    if unsafe s.pointee.drain < 0 {
      unsafe s.pointee.drain = max(0, min(s.pointee.pcm.available(), s.pointee.buffer))
    }
    let wanted = unsafe min(room, s.pointee.drain)
    guard wanted > 0 else { return 0 }
    var attempts = 0
    while attempts < 4 {
      let n = unsafe s.pointee.pcm.read(to: target, frames: wanted)
      if n > 0 {
        unsafe s.pointee.drain -= n
        unsafe s.pointee.delivered += Int64(n)
        return n
      }
      if n < 0, n != -Int(EINTR), n != -Int(EAGAIN) { break }
      attempts += 1
    }
    unsafe s.pointee.drain = 0
    return 0
  }

  // MARK: what can go wrong

  private func fail(_ fault: CaptureFault) -> Int {
    unsafe s.pointee.fault = fault
    return -1
  }
  /// - Returns: whether capture goes on.
  private func recover(from code: Int32) -> Bool {
    switch code {
    case EPIPE: return overrun()
    case ESTRPIPE: return fail(.suspended) >= 0
    case EBUSY: return fail(.deviceTaken) >= 0
    case EBADFD: return unsafe s.pointee.pcm.state() == PCMState.running ? overrun() : checkState()
    default: return lost(code)
    }
  }
  /// Starts the device again; the next frames tell how much was lost.
  private func overrun() -> Bool {
    let now = MonotonicTime.now.nanoseconds
    let index = unsafe s.pointee.overrunIndex
    let oldest = unsafe s.pointee.overruns[index]
    unsafe s.pointee.overruns[index] = now
    unsafe s.pointee.overrunIndex = (index + 1) % 20
    unsafe s.pointee.meter.overrun()
    if now - oldest < 1_000_000_000 { return fail(.overrunStorm) >= 0 }
    return restart()
  }
  private func restart() -> Bool {
    let code = unsafe -s.pointee.pcm.restart()
    switch code {
    case EPIPE, EAGAIN, EINTR: return true  // the next read says it again, and the storm is counted
    case ESTRPIPE: return fail(.suspended) >= 0
    case EBUSY: return fail(.deviceTaken) >= 0
    default: return code <= 0 || lost(code)
    }
  }
  @inline(never) private func lost(_ code: Int32) -> Bool {
    let server = unsafe s.pointee.pcm.isServer
    return fail(server && !DefaultSource.serverAnswers(name) ? .serverGone(code) : .deviceLost(code)) >= 0
  }
  /// Acts on a state in which no frames come.
  ///
  /// - Returns: whether capture goes on.
  private func checkState() -> Bool {
    switch unsafe s.pointee.pcm.state() {
    case PCMState.running: return true
    case PCMState.setup, PCMState.prepared: return restart()
    case PCMState.xrun: return overrun()
    case PCMState.suspended: return fail(.suspended) >= 0
    default: return lost(ENODEV)
    }
  }

  /// Waits that long, or for the interrupt.
  func pause(milliseconds: Int32) { unsafe _ = poll(s.pointee.polls, 1, milliseconds) }
}
