import Glibc
import Synchronization
import Testing

@testable import Capture
@testable import Platform
@testable import Signal

/// The tests' own ALSA: scriptmic, built here, and a configuration in a temporary folder. Made once for the process,
/// before ALSA reads its configuration.
final class Rig: Sendable {
  static let shared = Rig()
  let folder: String
  /// Why the scripted card can't be used; nil where it can.
  let trouble: String?
  static var missing: Comment { Comment(rawValue: shared.trouble ?? "the scripted card is there") }
  static var works: Bool { shared.trouble == nil }

  private init() {
    var template = Array("/tmp/holdfast-alsa-XXXXXX".utf8CString)
    folder = template.withUnsafeMutableBufferPointer { String(cString: mkdtemp($0.baseAddress!)) }
    let library = folder + "/libscriptmic.so"
    let cc = Rig.compile("scriptmic", to: library, "-lasound", "-lm")
    trouble = cc.code == 0 ? nil : "skipped: cc or libasound2-dev is missing (\(cc.output))"
    _ = file("asoundrc", Array(configuration(library).utf8))
    setenv("ALSA_CONFIG_PATH", "/usr/share/alsa/alsa.conf:\(folder)/asoundrc", 1)
  }

  /// Builds one of `Tests/tools`.
  static func compile(_ tool: String, to library: String, _ libraries: String...) -> Shell.Result {
    let tests = Path(#filePath).parent.parent
    return Shell.run(
      ["cc", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-DPIC", "-o", library]
        + [tests.appending("tools/\(tool)/\(tool).c").text] + libraries)
  }

  private func configuration(_ library: String) -> String {
    """
    pcm_type.scriptmic { lib "\(library)" }
    pcm.sm {
      @args [ ID RAW WAV FORMATS RATEMIN RATEMAX CHMIN CHMAX SCRIPT DEMAND LOOP OPENERROR ]
      @args.ID { type string default "0" }
      @args.RAW { type string default "" }
      @args.WAV { type string default "" }
      @args.FORMATS { type string default "S16_LE" }
      @args.RATEMIN { type integer default 48000 }
      @args.RATEMAX { type integer default 48000 }
      @args.CHMIN { type integer default 1 }
      @args.CHMAX { type integer default 1 }
      @args.SCRIPT { type string default "" }
      @args.DEMAND { type integer default 0 }
      @args.LOOP { type integer default 1 }
      @args.OPENERROR { type string default "0" }
      type scriptmic
      raw $RAW wav $WAV formats $FORMATS script $SCRIPT on_demand $DEMAND loop $LOOP open_error $OPENERROR
      rate_min $RATEMIN rate_max $RATEMAX channels_min $CHMIN channels_max $CHMAX
    }
    pcm.nothing { type null }
    pcm.nothingbehind { type plug slave.pcm nothing }
    pcm.monitored { type pulse device "speakers.monitor" }
    pcm.noserver { type pulse server "unix:\(folder)/nobody" }
    pcm.pa { type pulse server "unix:\(folder)/pa/run/pulse/native" device "mic.monitor" }
    pcm.padefault { type pulse server "unix:\(folder)/pa/run/pulse/native" }
    pcm.paout { type pulse server "unix:\(folder)/pa/run/pulse/native" device "mic" }
    pcm.paunder { type pulse server "unix:\(folder)/pa/run/pulse/native" device "mic" handle_underrun 1 }
    pcm.panosink { type pulse server "unix:\(folder)/pa/run/pulse/native" device "nosuch" }
    pcm.filed { type file slave.pcm nothing file "\(folder)/filed.raw" format "raw" }
    pcm.panosource { type pulse server "unix:\(folder)/pa/run/pulse/native" device "nosuch" }
    pcm.listed {
      type scriptmic raw "\(folder)/listed.raw" formats "S16_LE S24_3LE" rate_min 44100 rate_max 48000 channels_min 1
      channels_max 2
      hint { show on description "Two lines,
    and a\ttab" }
    }
    pcm.listedbusy { type scriptmic raw "x" open_error EBUSY hint { show on description "busy" } }
    pcm.listeddenied { type scriptmic raw "x" open_error EACCES hint { show on description "denied" } }
    pcm.listedgone { type scriptmic raw "x" open_error ENODEV hint { show on description "gone" } }
    pcm."mic,é [x]" { type null hint { show on description "Mic, left [USB]" } }
    pcm."a|b" { type null hint { show on description "pipe|name" } }
    pcm."CARD=Mic,DEV=0" { type null hint { show on description "looks like a card" } }
    pcm."spät" { type null hint { show on description "Zeile eins
    Zeile zwei" } }

    """
  }

  /// Writes a file that one device plays.
  func file(_ name: String, _ bytes: [UInt8]) -> String {
    let path = folder + "/" + name
    if let file = fopen(path, "w") {
      fwrite(bytes, 1, bytes.count, file)
      fclose(file)
    }
    return path
  }
  private static let counter = Atomic<Int>(0)
  /// A name that no other test uses: a name is one device.
  static func fresh() -> String {
    "t\(counter.add(1, ordering: .relaxed).newValue)"
  }
}

/// The scripted card as a test wants it.
struct Card {
  var bytes: [UInt8]
  var formats = "S16_LE"
  var rates = 48_000...48_000
  var channels = 1...1
  var script = ""
  /// The clock waits for the reader: no time passes that isn't read.
  var onDemand = false
  var openError = "0"

  /// The PCM's name.
  func name() -> Path {
    let id = Rig.fresh()
    let raw = Rig.shared.file(id + ".raw", bytes)
    return Path(
      "sm:ID=\(id),RAW='\(raw)',FORMATS='\(formats)',RATEMIN=\(rates.lowerBound),RATEMAX=\(rates.upperBound),"
        + "CHMIN=\(channels.lowerBound),CHMAX=\(channels.upperBound),SCRIPT='\(script)',DEMAND=\(onDemand ? 1 : 0),"
        + "OPENERROR=\(openError)")
  }
}

/// What came out of a source.
struct Captured {
  var bytes: [UInt8] = []
  var frames = 0
  var reads: [Int] = []
  /// Each with the frame it stands before.
  var losses: [(frame: Int, loss: CaptureLoss)] = []
  var fault: CaptureFault?
}

extension ALSASource {
  /// Reads until `frames` are there, the source ends, or it fails.
  func collect(_ frames: Int, _ into: inout Captured, readFrames: Int? = nil) {
    let size = format.bytesPerFrame
    var room = [UInt8](repeating: 0, count: (readFrames ?? periodFrames) * size)
    while into.frames < frames {
      do throws(SourceError) {
        var mutable = room.mutableSpan
        var span = mutable.mutableBytes
        let n = try read(into: &span)
        if let loss = takeLoss() { into.losses.append((into.frames, loss)) }
        if n == 0 { return }
        into.bytes += room[..<(n * size)]
        into.frames += n
        into.reads.append(n)
      } catch {
        if case .device(let fault) = error { into.fault = fault }
        return
      }
    }
  }
  func collect(_ frames: Int) -> Captured {
    var captured = Captured()
    collect(frames, &captured)
    return captured
  }
}

/// Bytes that repeat nowhere within a test.
func noise(_ count: Int, seed: UInt64) -> [UInt8] {
  var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
  return (0..<count).map { _ in
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return UInt8(truncatingIfNeeded: state >> 24)
  }
}

/// 32-bit frames that say their own number; the file holds an hour of them less.
func counted(_ frames: Int) -> [UInt8] {
  var bytes: [UInt8] = []
  bytes.reserveCapacity(frames * 4)
  for n in 0..<UInt32(frames) { withUnsafeBytes(of: n.littleEndian) { bytes += $0 } }
  return bytes
}
/// The numbers that `counted` frames say.
func numbers(_ bytes: [UInt8]) -> [Int] {
  bytes.withUnsafeBytes { raw in
    (0..<(raw.count / 4)).map {
      Int(UInt32(littleEndian: raw.loadUnaligned(fromByteOffset: $0 * 4, as: UInt32.self)))
    }
  }
}
