import CHoldfast
import Glibc
import Holdfast

/// C's settings as the library has them.
enum Settings {
  static func path(_ text: UnsafePointer<CChar>) -> Path {
    unsafe Path(bytes: (0..<strlen(text)).map { unsafe UInt8(bitPattern: text[$0]) })
  }
  static var standardFolder: Path? {
    TakesFolderPath.standard { name in
      guard let value = unsafe getenv(name) else { return nil }
      return unsafe path(value)
    }
  }
  static func store(_ folder: Path?) throws(RecorderFailure) -> TakeStore {
    guard let folder = folder ?? standardFolder else { throw noFolder }
    return TakeStore(folder: folder)
  }
  static var noFolder: RecorderFailure {
    RecorderFailure(
      code: 73, kind: "no_folder",
      message: "no folder for takes: neither XDG_DATA_HOME nor HOME is set; name one")
  }

  static var defaults: holdfast_settings {
    var fresh = unsafe holdfast_settings()
    unsafe fresh.size = MemoryLayout<holdfast_settings>.size
    unsafe (fresh.complexity, fresh.channel, fresh.wait_device_s) = (-1, 1, -1)
    return unsafe fresh
  }
  /// Bytes of the first version's struct: less is no struct of ours.
  static let smallest = 112
  /// The caller's settings, which may be an older version's: what that doesn't have is as it is by default.
  static func grown(_ settings: UnsafePointer<holdfast_settings>) -> holdfast_settings {
    var all = unsafe defaults
    let size = unsafe min(settings.pointee.size, MemoryLayout<holdfast_settings>.size)
    unsafe withUnsafeMutableBytes(of: &all) { room in
      unsafe room.copyBytes(from: UnsafeRawBufferPointer(start: settings, count: size))
    }
    return unsafe all
  }

  static func recorder(_ raw: holdfast_settings) throws(RecorderFailure) -> Recorder {
    func bad(_ text: String) -> RecorderFailure { RecorderFailure(code: 64, kind: "usage", message: text) }
    var options = InputOptions()
    options.paced = unsafe raw.realtime != 0
    let period = unsafe Int(raw.period_ms)
    guard (0...1_000).contains(period) else { throw bad("period_ms can be 0 to 1000") }
    if period > 0 { options.periodMs = period }
    let input = try InputSpec(unsafe raw.input.map { unsafe path($0) })
    if input == .standardInput { throw bad("input - is the command's: name a device, a file or a tone") }
    var settings = RecordingSettings(input: input, options: options)
    settings.output = unsafe raw.output.map { unsafe path($0) }
    settings.takesFolder = unsafe raw.folder.map { unsafe path($0) } ?? standardFolder
    if let context = unsafe raw.context {
      guard let text = unsafe String(validatingCString: context) else {
        throw bad("the context must be UTF-8")
      }
      guard text.utf8.count <= TakeDescription.largestContext else {
        throw bad("the context may have \(TakeDescription.largestContext) bytes")
      }
      settings.context = text
    }
    if let id = unsafe raw.take_id {
      let text = unsafe String(cString: id)
      guard (1...RecordingSettings.longestTakeID).contains(text.utf8.count),
        text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
      else {
        throw bad(
          "take_id: 1 to \(RecordingSettings.longestTakeID) printable ASCII characters without blanks")
      }
      settings.takeID = text
    }
    let limits = 0...(Int64.max / 48)
    settings.maxMs = unsafe raw.max_ms
    settings.minValidMs = unsafe raw.min_valid_ms
    settings.preRollMs = unsafe raw.pre_roll_ms
    guard limits.contains(settings.maxMs), limits.contains(settings.minValidMs),
      (0...RecordingSettings.longestPreRollMs).contains(settings.preRollMs)
    else { throw bad("max_ms, min_valid_ms or pre_roll_ms is out of range") }
    let bitrate = unsafe Int(raw.bitrate)
    if bitrate != 0 { settings.encoder.bitrate = bitrate }
    let complexity = unsafe Int(raw.complexity)
    if complexity >= 0 { settings.encoder.complexity = complexity }
    guard RecordingSettings.bitrates.contains(settings.encoder.bitrate), (-1...10).contains(complexity) else {
      throw bad("bitrate or complexity is out of range")
    }
    let channel = unsafe Int(raw.channel)
    guard (0...65_535).contains(channel) else { throw bad("channel can be 0 (mixed) to 65535") }
    settings.channel = channel == 0 ? .mix : .channel(channel)
    let wait = unsafe Int64(raw.wait_device_s)
    guard wait >= -1 else { throw bad("wait_device_s can be -1 (ask) or more") }
    settings.absence = wait < 0 ? .ask : .wait(seconds: min(wait, 86_400))
    settings.force = unsafe raw.force != 0
    settings.gaps = unsafe raw.close_gaps != 0 ? .close : .fill
    if let unfinished = unsafe raw.unfinished {
      return try Recorder.continuing(unsafe path(unfinished), settings: settings)
    }
    return Recorder(settings: settings)
  }
}
