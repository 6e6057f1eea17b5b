import Capture
import Encoding
import Glibc
import Platform
import Session
import Signal
import Store
import Synchronization

/// What this machine can do for a recorder: measured with the very code that records.
///
/// Takes as long as its settings say and some 10 s more, and blocks: not on the thread that draws. What it writes lies in a
/// folder of its own, which it removes, also where it ends early; the next one removes that of a killed process.
public struct Bench: Sendable {
  /// Where the syncs are tried and the takes are made: the disk that is meant.
  public var folder: Path
  public var input: InputSpec
  public var options: InputOptions
  public var encoder: EncoderSettings
  /// Seconds that the device is read for, at rest and under load each.
  public var seconds: Double = 10

  /// - Parameters:
  ///   - folder: an existing one.
  ///   - input: the device; the default one may be missing: then a source by the clock stands in, and the line says so.
  ///   - options: its period and buffer.
  ///   - encoder: bit rate and complexity that are meant.
  public init(
    folder: Path, input: InputSpec = .defaultMicrophone, options: InputOptions = InputOptions(),
    encoder: EncoderSettings = EncoderSettings()
  ) {
    (self.folder, self.input, self.options, self.encoder) = (folder, input, options, encoder)
  }

  /// Measures, one line after the other.
  ///
  /// - Parameters:
  ///   - isCancelled: asked now and then, on any thread.
  ///   - onLine: told each as soon as it is there, on the calling thread.
  /// - Throws: 73 where nothing can be made in the folder; 69, 75, 77 where a device that was named can't be opened; 74
  ///   where the disk fails; `cancelled` (0).
  public func run(
    isCancelled: @escaping @Sendable () -> Bool = { false }, onLine: (BenchLine) -> Void
  ) throws(RecorderFailure) {
    let place = try BenchPlace(folder)
    defer { place.remove() }
    let run = Running(bench: self, place: place, isCancelled: isCancelled)
    onLine(try run.encode())
    onLine(try run.deadlines("deadlines_rest", load: 0))
    onLine(try run.deadlines("deadlines_load", load: BenchMachine.cores))
    onLine(try run.syncs())
    onLine(try run.seals())
    onLine(BenchJudge.memory(peak: Self.peakBytes))
  }

  private static var peakBytes: Int64 {
    var usage = rusage()
    unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    return Int64(usage.ru_maxrss) * 1_024
  }
}

/// The machine, as the first line of `holdfast bench` names it.
public enum BenchMachine {
  public static var json: JSON {
    .object([
      ("event", .string("machine")), ("processor", .string(processor)), ("cores", .int(Int64(cores))),
      ("kernel", .string(kernel)), ("holdfast", .string(HoldfastVersion.number)),
      ("libraries", .array(HoldfastVersion.libraries.map { .string($0) })),
    ])
  }
  public static var text: String {
    (["\(processor), \(cores) core\(cores == 1 ? "" : "s"), \(kernel)", "holdfast \(HoldfastVersion.number)"]
      + HoldfastVersion.libraries).joined(separator: "\n")
  }
  static var cores: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
  private static var kernel: String {
    var name = utsname()
    guard unsafe uname(&name) == 0 else { return "unknown" }
    func text<T>(_ field: T) -> String {
      unsafe withUnsafeBytes(of: field) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
    return "\(text(name.sysname)) \(text(name.release)) \(text(name.machine))"
  }
  /// The kernel's name for it; boards without one have a device tree's model.
  private static var processor: String {
    let info = head(of: "/proc/cpuinfo")
    for line in info.split(separator: "\n") {
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2 else { continue }
      let name = parts[0].filter { $0 != "\t" }
      if name == "model name" || name == "Model" { return String(parts[1].drop { $0 == " " }) }
    }
    let board = head(of: "/proc/device-tree/model").filter { $0 != "\0" }
    return board.isEmpty ? "unknown processor" : board
  }
  private static func head(of path: String) -> String {
    guard let file = unsafe fopen(path, "re") else { return "" }
    defer { unsafe fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 16_384)
    let count = unsafe bytes.withUnsafeMutableBytes { unsafe fread($0.baseAddress, 1, $0.count, file) }
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }
}

/// One run's measuring.
private struct Running {
  let bench: Bench
  let place: BenchPlace
  let isCancelled: @Sendable () -> Bool

  private func settings(_ name: String) -> RecordingSettings {
    var settings = RecordingSettings(input: bench.input, options: bench.options)
    settings.output = place.path.appending(name)
    settings.takesFolder = place.path
    settings.temporaryFolder = place.path
    settings.encoder = bench.encoder
    settings.inhibitsSleep = false
    settings.absence = .wait(seconds: 0)
    return settings
  }
  private func check() throws(RecorderFailure) {
    if isCancelled() { throw RecorderFailure(code: 0, kind: "cancelled", message: "stopped") }
  }
  /// Records from a source to its end or until `stop` says so, and sees that the take was sealed.
  private func take(
    _ settings: RecordingSettings, _ source: any Source, until stop: () -> Bool
  ) throws(RecorderFailure) -> Int64 {
    let recorder = Recorder(settings: settings)
    nonisolated(unsafe) let given = source
    try unsafe recorder.start(source: given)
    while !recorder.wait(until: .now.advanced(by: 20_000_000)) {
      if stop() || isCancelled() { break }
    }
    let stopped = MonotonicTime.now
    recorder.stop(.user)
    recorder.wait()
    let took = MonotonicTime.now.nanoseconds - stopped.nanoseconds
    while case let events = recorder.events.next(), !events.isEmpty {
      for event in events { if case .failed(let failure) = event { throw failure } }
    }
    try check()
    return took
  }

  func encode() throws(RecorderFailure) -> BenchLine {
    let seconds = 60
    var settings = settings("encode.opus")
    (settings.live, settings.sourceKind) = (false, "file")
    let source = SyntheticSpeech(frames: Int64(seconds * takeRate))
    let before = cpu()
    _ = try take(settings, source) { false }
    return BenchJudge.encode(
      audio: Double(seconds), cpu: cpu() - before, bitrate: bench.encoder.bitrate,
      complexity: bench.encoder.complexity)
  }
  private func cpu() -> Double {
    var time = timespec()
    unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  /// The input's device, or what stands in for a default one that isn't there.
  private func open() throws(RecorderFailure) -> (source: any Source, name: String) {
    do throws(RecorderFailure) {
      var options = bench.options
      options.paced = true
      let name =
        switch bench.input {
        case .alsa(let name): "alsa:" + name.display
        case .defaultMicrophone: "alsa:default"
        case .file, .tone, .standardInput: "by the clock"
        }
      return (try bench.input.open(options), name)
    } catch {
      guard case .defaultMicrophone = bench.input, error.code == 69 else { throw error }
      let period = max(1, takeRate * bench.options.periodMs / 1_000)
      return (PacedSource(SyntheticSpeech(frames: .max), periodFrames: period), "by the clock: no microphone")
    }
  }

  func deadlines(_ name: String, load: Int) throws(RecorderFailure) -> BenchLine {
    let (source, shown) = try open()
    let timed = TimedSource(source)
    let rate = Int64(source.format.rate)
    let buffer = (source as? ALSASource).map { Int64($0.bufferFrames) * 1_000_000_000 / rate }
    let busy = try Load(threads: load)
    defer { busy.stop() }
    let begun = MonotonicTime.now
    let length = Int64(bench.seconds * 1e9)
    _ = try take(settings(name + ".opus"), timed) {
      MonotonicTime.now.nanoseconds - begun.nanoseconds >= length
    }
    return BenchJudge.deadlines(
      name,
      .init(
        waits: timed.waits, periodNs: Int64(source.periodFrames) * 1_000_000_000 / rate,
        bufferNs: buffer ?? Int64(bench.options.bufferMs) * 1_000_000, losses: timed.losses,
        lostFrames: timed.lostFrames, seconds: bench.seconds, isFIFO: timed.isFIFO,
        isDevice: source is ALSASource, source: shown))
  }

  /// As the sync thread does: some new bytes, then fdatasync; 200 of them, or for 10 s.
  func syncs() throws(RecorderFailure) -> BenchLine {
    var counts = DurationCounts()
    var provided = true
    do throws(DiskError) {
      let name = Path("sync.data")
      let file = try Disk.create(name, in: place.folder)
      let bytes = [UInt8](repeating: 0x55, count: 2_000)  // half a second at 32 kb/s
      let begun = MonotonicTime.now
      var at: Int64 = 0
      while counts.total < 200, MonotonicTime.now.nanoseconds - begun.nanoseconds < 10_000_000_000,
        !isCancelled()
      {
        try Disk.write(bytes.span, to: file, at: at, path: name)
        at += Int64(bytes.count)
        let before = MonotonicTime.now
        provided = try Disk.syncData(file, path: name)
        counts.add(MonotonicTime.now.nanoseconds - before.nanoseconds)
      }
    } catch { throw BenchPlace.failure(error, bench.folder) }
    try check()
    return BenchJudge.sync(counts, isProvided: provided)
  }

  /// From the stop to the sealed file; up to a period of it is the device's own.
  func seals() throws(RecorderFailure) -> BenchLine {
    var counts = DurationCounts()
    for number in 0..<7 {
      let source = PacedSource(SyntheticSpeech(frames: .max), periodFrames: 480)
      let begun = MonotonicTime.now
      var settings = settings("seal\(number).opus")
      (settings.live, settings.sourceKind) = (true, "tone")
      counts.add(
        try take(settings, source) { MonotonicTime.now.nanoseconds - begun.nanoseconds > 700_000_000 })
    }
    return BenchJudge.seal(counts)
  }
}

/// A busy thread a core.
private final class Load: Sendable {
  private let over = Atomic<Bool>(false)
  private let threads = Mutex<[Thread]>([])

  init(threads count: Int) throws(RecorderFailure) {
    for _ in 0..<count {
      do throws(Errno) {
        let thread = try Thread(name: "hf-load") { [self] in
          while !over.load(ordering: .relaxed) {}
        }
        threads.withLock { $0.append(thread) }
      } catch {
        stop()
        throw RecorderFailure(code: 74, kind: "thread", message: "can't start a thread: \(error.text)")
      }
    }
  }
  func stop() {
    over.store(true, ordering: .relaxed)
    for thread in threads.withLock({ threads in
      defer { threads = [] }
      return threads
    }) { thread.join() }
  }
}

/// A folder of the bench's own, inside the one that is measured.
private final class BenchPlace {
  let path: Path
  let folder: Descriptor
  private let name: Path
  private let parent: Descriptor
  private let lock: Descriptor
  private static let prefix = ".holdfast-bench-"

  init(_ parent: Path) throws(RecorderFailure) {
    do throws(DiskError) {
      let outer = try Disk.openFolder(parent)
      Self.sweep(outer, parent)
      name = Path(Self.prefix + Disk.randomHex(bytes: 8))
      try Disk.makeFolder(name, in: outer)
      folder = try Disk.openFolder(name, in: outer)
      lock = try Disk.create(Path("lock"), in: folder)
      _ = try Disk.lock(lock, path: Path("lock"))
      self.parent = outer
    } catch { throw Self.failure(error, parent) }
    path = parent.appending(name)
  }
  static func failure(_ error: DiskError, _ parent: Path) -> RecorderFailure {
    let code: Int32 =
      switch error.errno.code {
      case ENOENT, ENOTDIR, EROFS, ELOOP, ENAMETOOLONG: 73
      case EACCES, EPERM: 77
      default: 74
      }
    return RecorderFailure(
      code: code, kind: code == 77 ? "permission" : code == 73 ? "cannot_create" : "io",
      path: parent,
      message: "\(parent.display): nothing can be measured there: \(error.errno.text)")
  }
  /// Of processes that were killed: their locks are free.
  private static func sweep(_ parent: borrowing Descriptor, _ path: Path) {
    for name in (try? Disk.names(parent, path: path)) ?? [] where name.bytes.starts(with: prefix.utf8) {
      guard let folder = try? Disk.openFolder(name, in: parent),
        let lock = try? Disk.openToWrite(Path("lock"), in: folder),
        (try? Disk.lock(lock, path: Path("lock"))) == true
      else { continue }
      empty(folder, path.appending(name))
      try? Disk.removeFolder(name, in: parent)
    }
  }
  func remove() {
    Self.empty(folder, path)
    try? Disk.removeFolder(name, in: parent)
  }
  /// Takes, unfinished ones and a trash as `wipeAll` does; then what else was made.
  private static func empty(_ folder: borrowing Descriptor, _ path: Path) {
    _ = try? TakeStore(folder: path).wipeAll()
    for name in (try? Disk.names(folder, path: path)) ?? [] { try? Disk.remove(name, in: folder) }
  }
}
