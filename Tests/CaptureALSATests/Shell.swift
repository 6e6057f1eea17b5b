import Glibc

/// A program that runs beside the test, by `posix_spawn`: Foundation's Process waits for one child at a time.
final class Child {
  let pid: pid_t
  private var code: Int32?

  /// - Parameters:
  ///   - words: the program, found in PATH, and its arguments.
  ///   - environment: in addition to the test's own.
  ///   - output: where both its outputs go; nil for nowhere.
  init?(_ words: [String], environment: [String: String] = [:], output: Int32? = nil) {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    if let output {
      posix_spawn_file_actions_adddup2(&actions, output, 1)
    } else {
      posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    }
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    let assignments = environment.map { "\($0.key)=\($0.value)" }
    var arguments = (["env"] + assignments + words).map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var made: pid_t = 0
    guard posix_spawnp(&made, "env", &actions, nil, &arguments, environ) == 0 else { return nil }
    pid = made
  }
  deinit { stop() }

  /// Waits until it ends.
  ///
  /// - Returns: its exit code; 128 and more for a signal.
  func wait() -> Int32 {
    if let code { return code }
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    let found = status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + (status & 0x7F)
    code = found
    return found
  }
  func stop() {
    if code == nil { kill(pid, SIGTERM) }
    _ = wait()
  }
}

enum Shell {
  struct Result {
    var code: Int32
    var output: String
  }
  /// Runs a program and waits; both its outputs together.
  static func run(_ words: [String], environment: [String: String] = [:]) -> Result {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return Result(code: 127, output: "no pipe") }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let child = Child(words, environment: environment, output: ends[1])
    close(ends[1])
    defer { close(ends[0]) }
    var bytes: [UInt8] = []
    var room = [UInt8](repeating: 0, count: 4096)
    while true {
      let n = read(ends[0], &room, room.count)
      if n <= 0 { break }
      bytes += room[..<n]
    }
    return Result(code: child?.wait() ?? 127, output: String(decoding: bytes, as: UTF8.self))
  }
}
