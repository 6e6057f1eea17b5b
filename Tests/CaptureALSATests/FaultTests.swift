import Glibc
import Testing

@testable import Capture
@testable import Platform
@testable import Signal

/// Faults of a device that runs in real time. Every frame says its own number: what is missing shows in the content.
@Suite(.enabled(if: Rig.works, Rig.missing)) struct FaultTests {
  /// Room for a machine that is busy: only what the script does may overrun.
  private static let wish = CaptureWish(bufferMs: 1_000)

  private func source(_ script: String, _ wish: CaptureWish = Self.wish) throws -> ALSASource {
    try ALSASource(
      name: Card(bytes: counted(48_000 * 8), formats: "S32_LE", script: script).name(), wish: wish)
  }
  /// Where numbers don't follow one another: the index after the gap, and how many are missing.
  private func jumps(_ captured: Captured) -> [(frame: Int, missing: Int)] {
    let all = numbers(captured.bytes)
    return zip(all, all.dropFirst()).enumerated().compactMap { index, pair in
      pair.1 == pair.0 + 1 ? nil : (index + 1, pair.1 - pair.0 - 1)
    }
  }

  @Test func `an overrun is told at its frame, with its length`() throws {
    let source = try source("0.3 stall 500; 1.2 xrun; 1.5 stall 700", CaptureWish(bufferMs: 200))
    let got = source.collect(72_000)
    #expect(got.fault == nil)
    let jumps = jumps(got)
    #expect(jumps.count >= 3)
    #expect(jumps.map(\.frame) == got.losses.filter { $0.loss.frames > 0 }.map(\.frame))
    for (jump, told) in zip(jumps, got.losses) {
      // A call that was held up between the clock and the pointer widens it: 50 ms are for the machine.
      #expect(abs(told.loss.frames - Int64(jump.missing)) <= told.loss.uncertaintyFrames + 2_400)
      #expect(told.loss.measuredBy == .monotonic && told.loss.uncertaintyFrames >= 1)
    }
  }

  @Test func `what is lost before the first read isn't a loss`() throws {
    let source = try source("", CaptureWish(bufferMs: 50))
    usleep(300_000)
    let got = source.collect(1_000)
    #expect(got.fault == nil && got.frames >= 1_000)
    #expect(got.losses.filter { $0.frame == 0 }.isEmpty)
    #expect((numbers(got.bytes).first ?? 0) > 2_400)
  }

  @Test func `a suspended device comes back, and no read spins meanwhile`() throws {
    let source = try source("0.3 suspend 400")
    var got = source.collect(48_000)
    #expect(got.fault == .suspended && got.frames > 0)
    got.fault = nil
    source.collect(.max, &got)
    #expect(got.fault == .suspended)  // until it is brought back
    got.fault = nil
    let before = got.frames
    try source.reopen()
    source.collect(before + 9_600, &got)
    #expect(got.fault == nil && got.frames >= before + 9_600)
    #expect(jumps(got).map(\.frame) == [before])
  }

  @Test func `an unplugged device is lost, and found again when it is back`() throws {
    let source = try source("0.3 unplug 500")
    var got = source.collect(48_000)
    #expect(got.fault == .deviceLost(ENODEV))
    let before = got.frames
    var refused = 0
    while true {
      do throws(CaptureOpenError) {
        try source.reopen()
        break
      } catch {
        #expect(error == .noDevice(source.name))
        refused += 1
        guard refused < 1_000 else { return }
        usleep(20_000)
      }
    }
    #expect(refused > 0)
    got.fault = nil
    source.collect(before + 9_600, &got)
    #expect(got.fault == nil && got.losses.isEmpty)
    #expect(jumps(got).map(\.frame) == [before])
  }

  @Test(arguments: [("ENODEV", ENODEV), ("EIO", EIO), ("ENXIO", ENXIO)])
  func `an error in mid-stream is a fault that stays`(name: String, code: Int32) throws {
    let source = try source("0.1 err \(name) 1")
    var got = source.collect(48_000)
    #expect(got.fault == .deviceLost(code))
    got.fault = nil
    source.collect(.max, &got)
    #expect(got.fault == .deviceLost(code))
    source.interrupt()
    got.fault = nil
    source.collect(.max, &got)
    #expect(got.fault == nil)  // 0: the end
  }

  @Test func `EBADFD of a running device is an overrun`() throws {
    let source = try source("0.1 err EBADFD 1")
    let got = source.collect(24_000)
    #expect(got.fault == nil && got.frames >= 24_000 && got.losses.count >= 1)
  }

  @Test func `overruns without an end are a storm, not a loop`() throws {
    let source = try source("0.1 err EPIPE 100000")
    let got = source.collect(48_000)
    #expect(got.fault == .overrunStorm)
    try source.reopen()
    #expect(source.collect(48_000).fault == .overrunStorm)
  }

  @Test func `a device that says it runs and delivers nothing is silent`() throws {
    let source = try source("0.1 freeze 60000")
    let got = source.collect(48_000)
    #expect(got.fault == .deviceSilent && got.frames > 0)
  }

  @Test func `EAGAIN without an end takes no processor`() throws {
    let source = try source("0.1 err EAGAIN 100000")
    var before = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before)
    let got = source.collect(48_000)
    var after = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after)
    #expect(got.fault == .deviceSilent)
    let used = (after.tv_sec - before.tv_sec) * 1_000_000 + (after.tv_nsec - before.tv_nsec) / 1000
    #expect(used < 1_000_000)  // of the 2 s and more that it took
  }

  // MARK: the end

  @Test func `an interrupt brings out all that the device had by then, and then ends`() throws {
    for wait in [0, 3, 12, 300] as [useconds_t] {
      let before = MonotonicTime.now.nanoseconds
      let source = try source("")
      let open = MonotonicTime.now.nanoseconds
      var got = source.collect(4_800)
      usleep(wait * 1000)
      let asked = MonotonicTime.now.nanoseconds
      source.interrupt()
      source.collect(.max, &got)
      let ended = MonotonicTime.now.nanoseconds
      #expect(got.fault == nil && got.losses.isEmpty)
      #expect(numbers(got.bytes) == Array(0..<got.frames))
      // It started between `before` and `open`.
      #expect(got.frames >= Int((asked - open) * 48 / 1_000_000) - 1)
      #expect(got.frames <= Int((ended - before) * 48 / 1_000_000) + 1)
      let more = source.collect(.max)
      #expect(more.frames == 0 && more.fault == nil)
    }
  }

  @Test func `an interrupt wakes a read that waits`() throws {
    let source = try source("0.05 freeze 60000")
    var got = source.collect(480)
    let sleeper = try Platform.Thread(name: "interrupter") {
      usleep(100_000)
      source.interrupt()
    }
    source.collect(.max, &got)
    sleeper.join()
    #expect(got.fault == nil)
  }

  @Test func `a drain of a device that always has more ends with its buffer`() throws {
    let source = try ALSASource(name: Path("nothing"))
    _ = source.collect(48_000)
    source.interrupt()
    #expect(source.collect(.max).frames <= source.bufferFrames)
  }
}
