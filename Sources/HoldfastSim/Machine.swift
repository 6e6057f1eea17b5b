import CSim

/// The simulated machine as Swift sees it. One at a time, one thread.
enum Machine {
  private final class Body {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
  }
  /// Runs `body` and every thread it starts to their ends.
  ///
  /// - Returns: nil, or who waits for whom for ever.
  static func run(_ body: @escaping () -> Void) -> String? {
    let box = unsafe Unmanaged.passRetained(Body(body))
    let stuck = unsafe sim_run(
      { raw in
        guard let raw = unsafe raw else { return }
        unsafe Unmanaged<Body>.fromOpaque(raw).takeRetainedValue().run()
      }, box.toOpaque())
    return stuck == 0 ? nil : unsafe String(cString: sim_waiting())
  }

  /// What stands on a disk: bytes by path, nil for a folder.
  typealias Tree = [String: [UInt8]?]
  static func tree(_ disk: Disk) -> Tree {
    final class Found { var tree: Tree = [:] }
    let found = Found()
    unsafe sim_walk(
      disk.raw, Unmanaged.passUnretained(found).toOpaque(),
      { context, path, bytes, size in
        guard let context = unsafe context, let path = unsafe path, let bytes = unsafe bytes else { return }
        let found = unsafe Unmanaged<Found>.fromOpaque(context).takeUnretainedValue()
        let content: [UInt8]? =
          size < 0 ? nil : unsafe Array(UnsafeBufferPointer(start: bytes, count: Int(size)))
        unsafe found.tree.updateValue(content, forKey: String(cString: path))
      })
    return found.tree
  }

  /// A disk that frees itself.
  @safe final class Disk {
    let raw: OpaquePointer
    init(_ raw: OpaquePointer) { unsafe self.raw = raw }
    convenience init() { unsafe self.init(sim_disk_make()) }
    deinit { unsafe sim_disk_free(raw) }
    func mount() { unsafe sim_mount(raw) }
    func put(_ path: String, _ bytes: [UInt8]) {
      unsafe bytes.withUnsafeBufferPointer { unsafe sim_put(raw, path, $0.baseAddress, $0.count) }
    }
    /// The mounted disk, as it is now.
    static func copy(_ model: Crash.Model = .kill, spread: Int32 = 1, seed: UInt64 = 0) -> Disk {
      unsafe Disk(sim_copy(model.raw, spread, seed))
    }
  }

  /// A copy of the disk that a crash left.
  struct Image {
    var disk: Disk
    var call: Int64
    var time: Int64
    /// Until when the disk had been in trouble.
    var trouble: Int64
    var model: Crash.Model
  }
  /// Takes a copy that was made; it is the caller's then, once.
  static func image(_ index: Int32) -> Image {
    let image = unsafe sim_image_at(index)
    return unsafe Image(
      disk: Disk(image.disk), call: image.call, time: image.time, trouble: image.trouble,
      model: Crash.Model(raw: image.model))
  }
}

/// A copy of the disk as a crash leaves it.
struct Crash: Equatable {
  enum Model: String, CaseIterable {
    case kill, torn, posix, journal
    var raw: Int32 {
      switch self {
      case .kill: Int32(SIM_KILL)
      case .torn: Int32(SIM_TORN)
      case .posix: Int32(SIM_POSIX)
      case .journal: Int32(SIM_JOURNAL)
      }
    }
    init(raw: Int32) { self = Model.allCases[Int(raw)] }
    var isPowerCut: Bool { self == .posix || self == .journal }
  }
  var model: Model
  /// Of what isn't synced: 0 nothing, 1 all, 2 some.
  var spread: Int32
  var seed: UInt64
}

/// SplitMix64: small, and the same everywhere.
struct Chance: RandomNumberGenerator {
  private var state: UInt64
  init(_ seed: UInt64) { state = seed }
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
  mutating func below(_ n: Int64) -> Int64 { n <= 0 ? 0 : Int64(next() % UInt64(n)) }
  mutating func one<T>(of list: [T]) -> T { list[Int(below(Int64(list.count)))] }
  /// True in `percent` of 100 cases.
  mutating func sometimes(_ percent: Int64) -> Bool { below(100) < percent }
}
