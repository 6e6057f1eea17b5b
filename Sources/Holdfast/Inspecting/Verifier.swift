import Capture
import Encoding
import Platform
import Session
import Store

/// One thing `verify` looked at.
public struct Check: Sendable, Equatable {
  public var name: String
  /// What is wrong; nil where nothing is.
  public var fault: String?
}

/// What `verify` says of a take.
public struct VerifyReport: Sendable {
  public var path: Path
  public var checks: [Check]
  public var effectiveFrames: Int64
  public var isSound: Bool { checks.allSatisfy { $0.fault == nil } }

  public var json: JSON {
    .object(
      path.fields + [
        ("ok", .bool(isSound)), ("effective_frames", .int(effectiveFrames)),
        ("duration_ms", .int(milliseconds(frames: effectiveFrames))),
        (
          "checks",
          .array(
            checks.map { check in
              .object(
                [("check", .string(check.name)), ("ok", .bool(check.fault == nil))]
                  + (check.fault.map { [("message", .string($0))] } ?? []))
            })
        ),
      ])
  }
}

/// Holds a sealed take against its manifest: every page, the checksum, the decoded length, the ledger.
public enum Verifier {
  /// - Parameter progress: told often, on the calling thread, how much is done, 0…1.
  public static func verify(
    _ path: Path, progress: @escaping (Double) -> Void = { _ in }
  ) throws(RecorderFailure) -> VerifyReport {
    if Inspector.partialName(path) != nil {
      throw RecorderFailure(
        code: 65, kind: "unfinished", path: path,
        message:
          "\(path.display) is an unfinished take: it can be verified once `holdfast recover \(path.display)` has sealed it"
      )
    }
    let report = try Inspector.inspect(path, progress: progress)
    let name = path.parent.appending(TakeName(audio: path.name).manifest)
    let pages = report.problems.filter {
      !["manifest", "checksum", "length", "not_finite", "over_full_scale"].contains($0.kind)
    }
    var checks = [Check(name: "pages", fault: pages.first?.message)]
    var manifest: Manifest?
    var fault: String?
    do throws(DiskError) {
      let bytes = try readFile(name, limit: Manifest.largest + 1)
      do throws(ManifestError) {
        manifest = try Manifest(bytes)
        fault = manifest.flatMap { Self.missing($0, bytes) }
      } catch { fault = error.message }
    } catch { fault = "\(name.name.display): \(error.errno.text)" }
    checks.append(Check(name: "manifest", fault: fault))
    if let manifest {
      let holds = manifest.sha256 == report.sha256 && manifest.sizeBytes == report.sizeBytes
      checks += [
        Check(name: "checksum", fault: holds ? nil : "the file's SHA-256 or size isn't the manifest's"),
        Check(
          name: "length",
          fault: manifest.effectiveFrames == report.frames
            ? nil : "it decodes to \(report.frames) frames, the manifest says \(manifest.effectiveFrames)"),
        Check(name: "ledger", fault: ledgerFault(manifest)),
      ]
    }
    return VerifyReport(path: path, checks: checks, effectiveFrames: report.effectiveFrames)
  }

  /// Fields that some versions or full disks leave out; all others stand in every manifest.
  private static let optional = ["auto_pauses", "speech", "speech_pauses", "practice", "clock_drift"]
  /// What was sealed with it and isn't there any more. What is there was held against the ledger when it was read.
  private static func missing(_ manifest: Manifest, _ bytes: [UInt8]) -> String? {
    guard case .object(let own)? = try? JSON.read(Array(manifest.text.utf8)),
      let there = try? JSON.read(bytes)
    else { return "the manifest can't be written again" }
    for (key, value) in own where !optional.contains(key) {
      guard let found = there[key] else { return "field \(key) is missing" }
      guard case .object(let parts) = value else { continue }
      for (part, _) in parts where found[part] == nil { return "field \(key) has no \(part)" }
    }
    guard there["context"] == nil || own.contains(where: { $0.0 == "context" }) else {
      return "field context isn't the take's"
    }
    return nil
  }

  private static func ledgerFault(_ manifest: Manifest) -> String? {
    let story = manifest.story
    if story.startedMs == nil { return "the ledger has no start" }
    if manifest.outcome == .complete, story.endedBy == nil { return "the ledger has no stop" }
    if manifest.outcome == .complete, story.endedBy != .disk, story.levels.frames != manifest.effectiveFrames
    {
      return "the ledger counts \(story.levels.frames) frames, the manifest \(manifest.effectiveFrames)"
    }
    return nil
  }
}
