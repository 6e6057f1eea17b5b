import CTestSupport
import Foundation

/// What a process gets on its standard input.
public enum Input: Sendable {
  case nothing  // /dev/null
  case bytes(Data)  // through a pipe that is closed after them
  case pipe  // a pipe that stays open: `Running.send(_:)`, `Running.closeInput()`
  case file(String)
  case closed  // no descriptor 0 at all
}

/// How a process ended and what it used.
public struct Finished: Sendable, CustomStringConvertible {
  /// The exit code; nil if a signal ended it.
  public let exit: Int32?
  public let signal: Int32?
  /// The exit code, or 128 + the signal as a shell says it.
  public var code: Int32 { exit ?? 128 + (signal ?? 0) }
  public let timedOut: Bool
  public let out: Data
  public let err: Data
  public var outText: String { String(decoding: out, as: UTF8.self) }
  public var errText: String { String(decoding: err, as: UTF8.self) }
  public var outLines: [String] { outText.split(separator: "\n").map(String.init) }
  /// Largest resident size, bytes. Exact where it is larger than the test process itself ever was; else the largest
  /// size seen every few ms (a child of posix_spawn starts with its parent's figure, so the kernel's own can't be used).
  public let peakMemory: Int
  public let cpuSeconds: Double
  public let wallSeconds: Double

  public init(
    exit: Int32?, signal: Int32? = nil, timedOut: Bool = false, out: Data, err: Data = Data(),
    peakMemory: Int = 0,
    cpuSeconds: Double = 0, wallSeconds: Double = 0
  ) {
    (self.exit, self.signal, self.timedOut, self.out, self.err) = (exit, signal, timedOut, out, err)
    (self.peakMemory, self.cpuSeconds, self.wallSeconds) = (peakMemory, cpuSeconds, wallSeconds)
  }

  /// Each line of standard output as a JSON object. Throws at a line that isn't one.
  public func jsonLines() throws -> [[String: Any]] {
    try outLines.map { line in
      guard let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] else {
        throw Failure("not an object: \(line)")
      }
      return object
    }
  }
  public var description: String {
    let ending = signal.map { "signal \($0)" } ?? "exit \(exit ?? -1)"
    return
      "\(ending)\(timedOut ? " (timed out)" : "")\nout: \(outText.suffix(2000))\nerr: \(errText.suffix(2000))"
  }
}

/// Runs a program to its end. Names without a slash are looked up on PATH.
///
/// - Parameter environment: Changes to the test's own environment; nil takes a variable away.
/// - Parameter timeout: Seconds; then the whole process group gets SIGKILL and `timedOut` is true.
@discardableResult
public func run(
  _ program: String, _ arguments: [String] = [], environment: [String: String?] = [:],
  input: Input = .nothing, folder: String? = nil, timeout: Double = 60
) throws -> Finished {
  try Running(program, arguments, environment: environment, input: input, folder: folder).wait(
    timeout: timeout)
}

/// Runs the `holdfast` command that was built with the tests.
@discardableResult
public func holdfast(
  _ arguments: [String], environment: [String: String?] = [:], input: Input = .nothing, folder: String? = nil,
  timeout: Double = 60
) throws -> Finished {
  try run(
    Places.holdfast, arguments, environment: environment, input: input, folder: folder, timeout: timeout)
}

/// A process that goes on while the test watches it, in a process group (with a terminal: a session) of its own, with
/// no signal blocked or ignored and no descriptor but 0, 1 and 2. Use it from one thread. Killed when it is let go of.
public final class Running {
  public let pid: pid_t
  private let started = Date()
  private let scratch: TempFolder
  private var inputEnd: Int32 = -1
  private let terminal: Terminal?
  private var finished: Finished?
  private var peak = 0

  /// - Parameter terminal: 0, 1 and 2 are a terminal of 80 × 24 that the process controls; what it shows is `out`.
  public init(
    _ program: String, _ arguments: [String] = [], environment: [String: String?] = [:],
    input: Input = .nothing, folder: String? = nil, terminal: Bool = false
  ) throws {
    _ = ignoreBrokenPipes
    scratch = try TempFolder("run")
    self.terminal = terminal ? try Terminal() : nil

    var inside: Int32 = -1
    if self.terminal == nil {
      switch input {
      case .nothing: inside = open("/dev/null", O_RDONLY | O_CLOEXEC)
      case .file(let path): inside = open(path, O_RDONLY | O_CLOEXEC)
      case .closed: break
      case .bytes, .pipe:
        var ends: [Int32] = [-1, -1]
        guard test_pipe(&ends) == 0 else { throw Failure("pipe: errno \(errno)") }
        (inside, inputEnd) = (ends[0], ends[1])
      }
      if case .closed = input {
      } else if inside < 0 {
        throw Failure("no input for \(program): errno \(errno)")
      }
    }
    var variables = ProcessInfo.processInfo.environment
    // Takes whose folder goes don't land among the person's own.
    variables["XDG_DATA_HOME"] = Places.built + "/data"
    // What a person has configured is no business of a test's.
    variables["XDG_CONFIG_HOME"] = Places.built + "/no-configuration"
    for (name, value) in environment { variables[name] = value }
    var child: pid_t = 0
    let (out, err, tty) = (scratch.file("out"), scratch.file("err"), self.terminal?.name)
    let code = withCStrings([program] + arguments) { argv in
      withCStrings(variables.map { "\($0.key)=\($0.value)" }) { envp in
        test_spawn(&child, argv, envp, folder, inside, out, err, tty)
      }
    }
    if inside >= 0 { close(inside) }
    guard code == 0 else {
      if inputEnd >= 0 { close(inputEnd) }
      throw Failure("\(program): \(String(cString: strerror(code)))")
    }
    pid = child
    self.terminal?.begin()
    if case .bytes(let data) = input {
      let end = inputEnd
      inputEnd = -1
      Thread.detachNewThread {
        _ = writeAll(end, data)
        close(end)
      }
    }
  }

  deinit {
    if finished == nil {
      kill(-pid, SIGKILL)
      waitpid(pid, nil, 0)
    }
    closeInput()
  }

  /// Sends a signal to the process alone.
  public func signal(_ number: Int32) { if finished == nil { kill(pid, number) } }

  /// Writes to the process' standard input (`.pipe`) or types on its terminal. False if nobody reads there.
  @discardableResult public func send(_ text: String) -> Bool { send(Data(text.utf8)) }
  @discardableResult public func send(_ data: Data) -> Bool {
    writeAll(terminal?.master ?? inputEnd, data)
  }
  public func closeInput() {
    if inputEnd >= 0 { close(inputEnd) }
    inputEnd = -1
  }

  /// What it has printed so far.
  public var out: Data {
    terminal?.shown ?? FileManager.default.contents(atPath: scratch.file("out")) ?? Data()
  }
  public var err: Data { FileManager.default.contents(atPath: scratch.file("err")) ?? Data() }
  public var isRunning: Bool { !poll() }

  /// Waits until its standard output holds `text`; false if it ends or `timeout` seconds go by first.
  public func waitFor(_ text: String, timeout: Double = 10) -> Bool {
    let end = Date() + timeout
    while true {
      let over = poll()
      if out.range(of: Data(text.utf8)) != nil { return true }
      if over || Date() > end { return false }
      usleep(2000)
    }
  }

  /// Waits for the end; after `timeout` seconds its process group gets SIGKILL.
  @discardableResult public func wait(timeout: Double = 60) -> Finished {
    let end = Date() + timeout
    var pause: UInt32 = 500
    while !poll() {
      if Date() > end {
        kill(-pid, SIGKILL)
        kill(pid, SIGKILL)
        while !poll(timedOut: true) { usleep(1000) }
        break
      }
      usleep(pause)
      pause = min(pause * 2, 4000)
    }
    closeInput()
    return finished
      ?? Finished(
        exit: nil, signal: nil, timedOut: true, out: out, err: err, peakMemory: 0, cpuSeconds: 0,
        wallSeconds: 0)
  }

  /// True once it has ended.
  private func poll(timedOut: Bool = false) -> Bool {
    if finished != nil { return true }
    peak = max(peak, residentPeak(pid))
    var status: Int32 = 0
    var cpu = 0.0
    var (largest, own) = (0, 0)
    guard test_ended(pid, &status, &cpu, &largest, &own) == 1 else { return false }
    if largest > own { peak = largest * 1024 }
    terminal?.end()
    let number = status & 0x7F
    finished = Finished(
      exit: number == 0 ? status >> 8 & 0xFF : nil, signal: number == 0 ? nil : number, timedOut: timedOut,
      out: out, err: err, peakMemory: peak, cpuSeconds: cpu, wallSeconds: Date().timeIntervalSince(started))
    return true
  }
}

/// A pseudo-terminal; a thread takes what the process shows, so that it never blocks on a full one.
private final class Terminal: @unchecked Sendable {
  let master: Int32
  let name: String
  private let lock = NSLock()
  private var data = Data()
  private let done = DispatchSemaphore(value: 0)
  private var begun = false

  init() throws {
    var path = [CChar](repeating: 0, count: 64)
    master = test_terminal(&path, path.count, 80, 24)
    guard master >= 0 else { throw Failure("no pseudo-terminal: errno \(errno)") }
    name = path.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
  }
  deinit { close(master) }

  var shown: Data {
    lock.lock()
    defer { lock.unlock() }
    return data
  }
  func begin() {
    begun = true
    Thread.detachNewThread { [self] in
      var buffer = [UInt8](repeating: 0, count: 4096)
      while true {
        let n = read(master, &buffer, buffer.count)
        if n < 0 && errno == EINTR { continue }
        if n <= 0 { break }  // EIO: the last holder of the other side has gone
        lock.lock()
        data.append(contentsOf: buffer[..<n])
        lock.unlock()
      }
      done.signal()
    }
  }
  /// The process has ended: waits (not for ever, a grandchild may hold the terminal) for the last it showed.
  func end() {
    if begun { _ = done.wait(timeout: .now() + 1) }
    begun = false
  }
}

private let ignoreBrokenPipes: Void = { _ = signal(SIGPIPE, SIG_IGN) }()

private func writeAll(_ fd: Int32, _ data: Data) -> Bool {
  data.withUnsafeBytes { bytes in
    var done = 0
    while done < bytes.count {
      let n = write(fd, bytes.baseAddress.map { $0 + done }, bytes.count - done)
      if n < 0 && errno == EINTR { continue }
      if n <= 0 { return false }
      done += n
    }
    return true
  }
}

/// VmHWM of a live process, bytes; 0 if it has gone.
private func residentPeak(_ pid: pid_t) -> Int {
  guard let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8),
    let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
    let size = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
      ?? line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Int($0) })
  else { return 0 }
  return size * 1024
}

private func withCStrings<R>(_ strings: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> R) -> R {
  let copies: [UnsafeMutablePointer<CChar>?] = strings.map { strdup($0) } + [nil]
  defer { for copy in copies { free(copy) } }
  return body(copies)
}
