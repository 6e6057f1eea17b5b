/// What is fixed about a take when it begins: the ledger's first record.
public struct TakeDescription: Sendable, Equatable {
  public var takeID: String
  /// Opaque text of the front end, at most 4 096 bytes of UTF-8; nil where none was given.
  public var context: String?
  /// Wall clock, milliseconds since 1970 in UTC. A stamp, never used as a length.
  public var createdMs: Int64
  /// What kind of source it came from: file, stdin, tone, alsa.
  public var source: String
  public var deviceRate: Int
  public var deviceChannels: Int
  /// `1`, `2`, … or `mix`.
  public var channel: String
  public var bitrate: Int
  public var complexity: Int
  public var preSkip: Int
  public var serial: UInt32
  public var gaps: GapPolicy
  /// Limits in milliseconds; 0 for none.
  public var maxMs: Int64
  public var minValidMs: Int64
  public var encoder: String
  /// Whether the source delivered in real time, and every packet went to the disk at once.
  public var live: Bool

  public static let largestContext = 4_096

  public init(
    takeID: String, context: String?, createdMs: Int64, source: String, deviceRate: Int, deviceChannels: Int,
    channel: String, bitrate: Int, complexity: Int, preSkip: Int, serial: UInt32, gaps: GapPolicy = .fill,
    maxMs: Int64, minValidMs: Int64, encoder: String, live: Bool = false
  ) {
    self.takeID = takeID
    self.context = context
    self.createdMs = createdMs
    self.source = source
    self.deviceRate = deviceRate
    self.deviceChannels = deviceChannels
    self.channel = channel
    self.bitrate = bitrate
    self.complexity = complexity
    self.preSkip = preSkip
    self.serial = serial
    self.gaps = gaps
    self.maxMs = maxMs
    self.minValidMs = minValidMs
    self.encoder = encoder
    self.live = live
  }

  /// The context as JSON: the value itself where it is JSON text, else a string.
  public var contextJSON: JSON? { context.map(Self.contextJSON) }
  public static func contextJSON(_ text: String) -> JSON {
    (try? JSON.read(Array(text.utf8))) ?? .string(text)
  }

  var json: JSON {
    var fields: [(String, JSON)] = [("take_id", .string(takeID))]
    if let context { fields.append(("context", .string(context))) }
    fields += [
      ("created_ms", .int(createdMs)), ("source", .string(source)), ("device_rate", .int(Int64(deviceRate))),
      ("device_channels", .int(Int64(deviceChannels))), ("channel", .string(channel)),
      ("bitrate", .int(Int64(bitrate))), ("complexity", .int(Int64(complexity))),
      ("pre_skip", .int(Int64(preSkip))), ("serial", .int(Int64(serial))), ("gaps", .string(gaps.rawValue)),
      ("max_ms", .int(maxMs)), ("min_valid_ms", .int(minValidMs)), ("encoder", .string(encoder)),
      ("live", .bool(live)),
    ]
    return .object(fields)
  }

  /// - Returns: nil where a field is missing or out of its range.
  init?(_ json: JSON) {
    func whole(_ key: String, _ range: ClosedRange<Int64>) -> Int64? {
      guard let value = json[key]?.int, range.contains(value) else { return nil }
      return value
    }
    guard let takeID = json["take_id"]?.string, let created = whole("created_ms", Int64.min...Int64.max),
      let source = json["source"]?.string, let rate = whole("device_rate", 1...1_000_000_000),
      let channels = whole("device_channels", 1...65_535), let channel = json["channel"]?.string,
      let bitrate = whole("bitrate", 0...10_000_000), let complexity = whole("complexity", 0...10),
      let preSkip = whole("pre_skip", 0...65_535), let serial = whole("serial", 0...Int64(UInt32.max)),
      let maxMs = whole("max_ms", 0...Int64.max), let minValidMs = whole("min_valid_ms", 0...Int64.max)
    else { return nil }
    self.init(
      takeID: takeID, context: json["context"]?.string, createdMs: created, source: source,
      deviceRate: Int(rate),
      deviceChannels: Int(channels), channel: channel, bitrate: Int(bitrate), complexity: Int(complexity),
      preSkip: Int(preSkip), serial: UInt32(serial),
      gaps: json["gaps"]?.string.flatMap(GapPolicy.init(rawValue:)) ?? .fill, maxMs: maxMs,
      minValidMs: minValidMs, encoder: json["encoder"]?.string ?? "",
      live: json["live"]?.bool ?? ["alsa", "stdin"].contains(source))
  }
}
