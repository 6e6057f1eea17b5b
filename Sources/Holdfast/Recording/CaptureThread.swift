import Capture
import Platform
import Signal
import Synchronization

/// Moves frames from the source into the ring, until the source ends, fails, or is told to stop.
///
/// Nothing else happens on this thread: no lock, no file of ours, no log.
final class CaptureThread: @unchecked Sendable {
  private let source: any Source  // only this thread touches it once it runs
  private let ring: FrameRing
  private let losses: LossRing
  private var keptLoss: CaptureLoss?  // the loss ring was full: it goes with the next one
  private var failure: SourceError?
  private let live: Bool
  /// It sleeps between its periods; a pipe can be read as fast as the machine goes, which a real-time thread mustn't.
  private let isDevice: Bool
  private let stopAsked = Atomic<Bool>(false)
  private let abandoned = Atomic<Bool>(false)
  private let waitsForSpace = Atomic<Bool>(false)
  private let space = CountingSemaphore()
  let filled: CountingSemaphore
  private let endBox = Mutex(End())

  /// Frames a read asks for at most: a live source's period.
  private let chunk: Int

  init(
    source: any Source, ring: FrameRing, losses: LossRing, filled: CountingSemaphore, live: Bool,
    isDevice: Bool
  ) {
    self.source = source
    self.ring = ring
    self.losses = losses
    self.filled = filled
    self.live = live
    self.isDevice = isDevice
    chunk = max(1, live ? source.periodFrames : ring.capacity / 4)
  }

  /// What the source was found to be.
  struct End: Sendable {
    /// Why it ended early; nil for a clean end or a stop.
    var failure: SourceError?
    var problems: [SourceProblem] = []
    var damage: String?
  }
  /// Device frames delivered so far. Any thread.
  var captured: Int64 { ring.written }
  /// Complete once the ring is closed.
  var end: End { endBox.withLock { $0 } }

  /// Ends the capture: a device's after what it had delivered by now, a file's after the read under way. Any thread.
  func stop() {
    stopAsked.store(true, ordering: .releasing)
    source.interrupt()
    wakeForSpace()
  }
  /// Ends the capture though nobody reads the ring any more. Any thread.
  func abandon() {
    abandoned.store(true, ordering: .releasing)
    stop()
  }
  /// The signal thread has made room. It calls this after each stretch it read.
  func wakeForSpace() { if waitsForSpace.exchange(false, ordering: .acquiringAndReleasing) { space.post() } }

  private func lost(_ new: CaptureLoss) {
    var loss = new
    if let kept = keptLoss {
      loss.frames += kept.frames
      loss.uncertaintyFrames += kept.uncertaintyFrames
    }
    keptLoss = losses.push(loss, at: ring.written) ? nil : loss
  }

  func run() {
    if isDevice {
      adoptRealtime()
      ring.withMemory { _ = lockInMemory($0) }
    }
    follow()
    let (problems, damage, failure) = (source.problems, source.damage, failure)
    endBox.withLock { ($0.problems, $0.damage, $0.failure) = (problems, damage, failure) }
    ring.close()
    filled.post()
  }

  /// The capture loop. `scripts/capture-calls` lists what its compiled form calls and refuses what waits or allocates.
  @inline(never) private func follow() {
    let drains = source.drainsAfterInterrupt
    while drains ? !abandoned.load(ordering: .acquiring) : !stopAsked.load(ordering: .acquiring) {
      if ring.free == 0 {
        waitsForSpace.store(true, ordering: .sequentiallyConsistent)
        if ring.free == 0, !stopAsked.load(ordering: .acquiring) || drains,
          !abandoned.load(ordering: .acquiring)
        {
          space.wait()
        }
        continue
      }
      let n = ring.write(atMost: chunk) { span in
        do throws(SourceError) {
          let n = try source.read(into: &span)
          if let loss = source.takeLoss() { lost(loss) }  // before the frames behind it can be seen
          return n
        } catch {
          failed(error)
          return 0
        }
      }
      if n == 0 { break }
      // A file's frames are handed over half a ring at a time: fewer wake-ups for the same work.
      if live || ring.free < ring.capacity / 2 { filled.post() }
    }
  }
  /// The loop's last act: from here on nothing is in a hurry.
  @inline(never) private func failed(_ error: __owned SourceError) { failure = error }
}
